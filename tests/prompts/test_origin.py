"""The sweep takes the run's table of prompts only where it fits the study."""

from __future__ import annotations

import pytest
from studies import STATIC, write_study

from helpers.base.errors import StudyError
from helpers.prompts.origin import known_prompts, save_prompts
from helpers.prompts.review import write_review
from helpers.prompts.table import candidates, prompt_table
from helpers.study.run import Run


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A run whose prompts were made, by step 01, from a file with one prompt; and what makes it again."""
    monkeypatch.setenv("HELPERS_RUNS", str(tmp_path / "runs"))
    file = tmp_path / "prompts.yml"
    file.write_text("DemoSTS: {task: ['one:']}\nDemoRetrieval: {task: ['two:']}\n")

    def study(*tasks, steps=("01", "02"), **prompts):
        keys = {"source": "file", "file": str(file), "per_level": 1, **prompts}
        write_study(tmp_path, [STATIC], list(tasks), steps=list(steps), prompts=keys)
        return Run.open(tmp_path / "study.yml", step="02")

    run = study("DemoSTS")
    save_prompts(run, prompt_table(run.study))
    return study, file


def texts(run):
    return known_prompts(run)["text"].dropna().tolist()


def test_a_table_that_fits_is_taken_and_one_of_another_study_is_refused(made):
    study, file = made
    assert texts(study("DemoSTS")) == ["one:"]
    with pytest.raises(StudyError, match=r"the study's tasks changed.*run: helpers run .*study.yml --to 01"):
        known_prompts(study("DemoSTS", "DemoRetrieval"))
    with pytest.raises(StudyError, match="the study's 'prompts' changed"):
        known_prompts(study("DemoSTS", per_level=2))
    file.write_text(file.read_text().replace("one:", "uno:"))
    with pytest.raises(StudyError, match="a prompt file changed"):
        known_prompts(study("DemoSTS"))


def test_a_decision_of_a_person_after_step_01_counts(made):
    study, _ = made
    run = study("DemoSTS")
    write_review(run.folder / "prompts" / "review.csv", candidates(run.study))
    with pytest.raises(StudyError, match="the review file changed"):
        known_prompts(run)


def test_a_parameter_that_was_given_to_step_01_belongs_to_its_table(made, tmp_path):
    study, _ = made
    study("DemoSTS", per_level=3)
    first = Run.open(tmp_path / "study.yml", step="01", **{"prompts.per_level": 1})
    save_prompts(first, prompt_table(first.study))
    assert texts(study("DemoSTS", per_level=3)) == ["one:"]


def test_a_study_without_step_01_reads_its_prompt_files(made):
    study, _ = made
    assert texts(study("DemoSTS", "DemoRetrieval", steps=("02",))) == ["one:", "two:"]
