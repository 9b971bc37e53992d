"""The mean of the vectors under all prompts: one prompt is itself, two are by hand, and nothing is embedded anew."""

import numpy as np
import pytest

import helpers as h
from helpers.sweep.mean_prompt import mean_prompt

# a: turns a query left, b: turns it right; their mean is the plain direction.
VECTORS = {
    "who?": (0, 1),
    "a: who?": (-0.8, 0.6),
    "b: who?": (0.8, 0.6),
    "left": (-1, 0),
    "right": (1, 0),
    "up": (0, 1),
}


def compass(texts: list[str]) -> np.ndarray:
    return np.array([VECTORS.get(text, (sum(map(ord, text)), 1000)) for text in texts], dtype=float)


def swept(folder, prompts, function=compass):
    task = h.retrieval_task("t", ["left", "right", "up"], ["who?"], {0: 2})
    models = {"m": h.embedder(function, "1")}
    return h.run_sweep(models, [task], prompts, folder=folder, progress=None)


def test_the_mean_of_a_left_and_a_right_turn_finds_what_lies_between(tmp_path):
    scores = swept(tmp_path / "run", ["a: ", "b: "]).set_index("prompt")["main_score"]
    assert scores["a: "] == scores["b: "] == pytest.approx(1 / np.log2(3), abs=1e-5)  # the answer stands second
    rows, units = mean_prompt(h.load_run(tmp_path / "run"))
    assert rows["main_score"].tolist() == [1.0] and units["score"].tolist() == [1.0]


def test_the_mean_of_one_prompt_is_that_prompt(tmp_path):
    scores = swept(tmp_path / "run", ["a: "])
    rows, _ = mean_prompt(h.load_run(tmp_path / "run"))
    assert rows["main_score"].item() == scores.set_index("prompt")["main_score"]["a: "]


def test_nothing_is_embedded_anew(tmp_path):
    asked: list[str] = []

    def spy(texts):
        asked.extend(texts)
        return compass(texts)

    swept(tmp_path / "run", ["a: ", "b: "], spy)
    asked.clear()
    mean_prompt(h.load_run(tmp_path / "run"))
    assert not {*asked} & {*VECTORS}  # but for the texts with which a loaded model is looked at


def test_it_stands_beside_the_candidates_and_is_never_chosen(tmp_path):
    scores = swept(tmp_path / "run", ["a: ", "b: "])
    table = h.choose_prompt(scores, with_mean=True).set_index("prompt")
    assert table.loc["(mean)", "score"] == 1.0 and not table.loc["(mean)", "best_mean"]
    assert table.loc["(mean)", "gain"] == pytest.approx(1.0 - table.loc["(default)", "score"])


def test_a_model_of_another_process_is_named(tmp_path, monkeypatch):
    swept(tmp_path / "run", ["a: "])
    monkeypatch.setattr("helpers.models.given._OBJECTS", {})
    rows, units = mean_prompt(h.load_run(tmp_path / "run"))
    assert rows["status"].item() == "failed" and "another process" in rows["reason"].item() and units.empty
