"""A typed prompt is scored as the study's own are, placed among them, and enters no table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from studies import STATIC, write_study

from helpers.base.errors import StudyError
from helpers.study.run import Run
from helpers.sweep.quick import given_prompts
from helpers.sweep.results import scores_table
from helpers.sweep.run import sweep_study
from helpers.sweep.trial import try_prompt

ASKED = ("Sentence:", "Weather report:", "A sentence about animals:")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("HELPERS_RUNS", str(tmp_path / "runs"))
    run = Run(write_study(tmp_path, [STATIC], ["DemoSTS"], baselines=["none"]))
    prompts = given_prompts(ASKED, ["DemoSTS"])
    sweep_study(run.study, run.folder, prompts, progress=None)
    run.save_table("scores", scores_table(run.study, run.folder, prompts))
    return run


def test_a_typed_prompt_scores_exactly_what_the_sweep_gives_it(run: Run) -> None:
    scores = run.table("scores")
    wanted = scores.set_index("prompt")["main_score"]
    for prompt in (None, *ASKED):
        tried = try_prompt(run, prompt=prompt)
        assert tried["score"].tolist() == [wanted[tried.loc[0, "prompt"]]]
    run.save_table("scores", scores[scores["prompt"] != ASKED[1]])  # as if the study did not ask it
    tried = try_prompt(run, "static", "DemoSTS", ASKED[1])
    others = wanted[[ASKED[0], ASKED[2]]]
    assert tried["score"].tolist() == [wanted[ASKED[1]]]
    assert tried["percentile"].tolist() == [(others < wanted[ASKED[1]]).mean()]
    assert tried["n_prompts"].tolist() == [2]


def test_it_enters_no_table_and_is_computed_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = run.table("scores")
    first = try_prompt(run, prompt="Typed:")
    monkeypatch.setattr("helpers.sweep.compute.evaluate", None)  # the second time nothing is computed
    pd.testing.assert_frame_equal(try_prompt(run, prompt="Typed:"), first)
    after = scores_table(run.study, run.folder, given_prompts(ASKED, ["DemoSTS"]))
    assert after["prompt"].tolist() == before["prompt"].tolist()


def test_ties_count_half(run: Run) -> None:
    run.save_table("scores", run.table("scores").assign(main_score=0.5))
    assert try_prompt(run, prompt=ASKED[2])["percentile"].tolist() == [0.5]


def test_what_the_study_does_not_know_is_named(run: Run) -> None:
    with pytest.raises(StudyError, match="unknown model 'statik'; did you mean static"):
        try_prompt(run, "statik")
    run.save_table("scores", run.table("scores").assign(status="failed"))
    assert try_prompt(run).empty
