"""One set of weights is one model: its variants are found, shown, and left out of counts over models."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from board_cells import cells_of, records
from studies import write_study
from tiny_models import random_sentence_transformer

from helpers.leaderboard.random_ranks import random_boards, rank_table
from helpers.scores.board import board_matrix, borda
from helpers.scores.cells import prompt_scores, task_scores
from helpers.sensitivity import defaults as sensitivity
from helpers.sensitivity import words as sensitivity_words
from helpers.sensitivity.agreement import agreement_table
from helpers.sweep.quick import given_prompts
from helpers.sweep.results import scores_table
from helpers.sweep.run import sweep_study
from helpers.sweep.variants import distinct, findings, other_models, variant_of

TWINS = pd.DataFrame(
    {
        "model": ["z pooled", "a not pooled", "b", "c"],
        "model_name": ["org/m", "org/m", "org/b", "org/c"],
        "revision": ["1", "1", "1", None],
        "weights": ["d", "d", "e", None],
    }
)


def test_the_first_of_the_study_is_the_model_and_the_others_its_variants():
    assert variant_of(TWINS, ["z pooled", "a not pooled"]) == {"a not pooled": "z pooled"}
    assert variant_of(TWINS[::-1]) == {"z pooled": "a not pooled"}  # without an order the names decide


def test_without_digests_name_and_revision_tell_weights_apart():
    published = TWINS.drop(columns="weights")
    assert variant_of(published, ["z pooled"]) == {"a not pooled": "z pooled"}
    assert variant_of(published.assign(revision=["1", "2", "1", None])) == {}


def test_a_folder_with_the_digest_of_another_model_is_no_model_of_its_own():
    folder = TWINS.assign(model_name=["org/m", "local/copy", "org/b", "org/c"], revision=["1", "2", "1", "1"])
    assert variant_of(folder, ["z pooled", "a not pooled"]) == {"a not pooled": "z pooled"}


def test_tables_without_the_column_hold_models_only():
    assert len(distinct(TWINS)) == 4 and findings(TWINS) == []


def test_a_variant_is_named_with_its_model():
    table = TWINS.assign(variant_of=[None, "z pooled", None, None])
    assert "a not pooled has the weights of z pooled: pages 2 and 3 show it" in findings(table)[0]["text"]


def test_the_rivals_of_a_model_have_other_weights():
    table = TWINS.assign(variant_of=[None, "z pooled", None, None])
    for label in ("z pooled", "a not pooled"):
        assert list(other_models(table, [label])["model"]) == ["b", "c"]
    assert list(other_models(table, ["b"])["model"]) == ["z pooled", "c"]


@pytest.fixture
def cells() -> pd.DataFrame:
    """Two models and a variant of the first with the same order of prompts; the second orders them the other way."""
    up, down = [0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]
    table = cells_of({"a": {"T": up}, "a2": {"T": up}, "b": {"T": down}}, {m: {"T": 0.9} for m in ("a", "a2", "b")})
    return table.assign(variant_of=table["model"].map({"a2": "a"}))


def test_boards_and_agreement_of_models_leave_variants_out(cells):
    drawn = prompt_scores(cells)
    random = rank_table(random_boards(drawn.values), drawn.models)
    assert list(borda(board_matrix(cells, "default"))["model"]) == sorted(random["model"]) == ["a", "b"]
    assert agreement_table(cells, 50)["kendall_w"].item() == pytest.approx(0)  # two opposite orders
    twice = cells.drop(columns="variant_of")
    assert agreement_table(twice, 50)["kendall_w"].item() > 0.1  # one of them counted twice


def test_variants_are_labelled_apart_and_not_counted(cells):
    """A model's q-value is what it is without the variant: the same weights are not tested twice in one family."""
    whole = sensitivity.sensitivity_table(cells, draws=20).set_index("model")
    alone = sensitivity.sensitivity_table(distinct(cells), draws=20).set_index("model")
    assert list(whole.index) == ["a", "a2", "b"] and whole["variant_of"].dropna().to_dict() == {"a2": "a"}
    assert whole.loc[["a", "b"], "q_value"].tolist() == alone["q_value"].tolist()
    assert sensitivity_words.percentiles(whole.reset_index()).title.startswith("Of 2 defaults")
    text = " ".join(sensitivity_words.percentiles(whole.reset_index()).findings)
    assert "of 2 cells" in text and "of 3 cells" not in text


def test_the_column_survives_the_reduction_to_cells():
    rows = [{"model": "m", "variant_of": None}, {"model": "n", "variant_of": "m"}]
    found = task_scores(records(rows)).set_index("model")["variant_of"]
    assert found["n"] == "m" and pd.isna(found["m"])


def test_the_sweep_finds_the_weights_of_a_model_in_a_copy_and_with_another_pooling(tmp_path: Path):
    folder = random_sentence_transformer(tmp_path / "a", "bert", layers=1)
    copy = shutil.copytree(folder, tmp_path / "copy")
    specs = [
        {"name": "local/z", "label": "z", "weights": f"path:{folder}"},
        {"name": "local/copy", "label": "a copy", "weights": f"path:{copy}"},
        {"name": "local/z", "label": "z, not pooled", "weights": f"path:{folder}", "include_prompt": False},
    ]
    study = write_study(tmp_path, specs, ["DemoSTS"], baselines=["default"], sweep={"workers": 1})
    rows = given_prompts(["a:"], ["DemoSTS"])
    sweep_study(study, tmp_path / "run", rows, lambda line: None)
    scores = scores_table(study, tmp_path / "run", rows)
    assert scores["status"].eq("ok").all()
    found = scores.drop_duplicates("model").set_index("model")["variant_of"].dropna().to_dict()
    assert found == {"a copy": "z", "z, not pooled": "z"}
