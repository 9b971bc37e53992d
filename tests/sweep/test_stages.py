"""A group embedded in one process and scored in another one has the scores of a group computed at once."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from studies import STATIC, write_study

from helpers.models.load import load_model
from helpers.sweep.group import run_group
from helpers.sweep.quick import given_prompts
from helpers.sweep.results import scores_table
from helpers.sweep.run import sweep_study
from helpers.sweep.stages import cached_model, embed_group


@pytest.mark.parametrize(
    ("spec", "task"),
    [
        (STATIC, "DemoRetrieval"),
        (STATIC, "DemoTopicClassification"),
        (STATIC, "DemoBitextMining"),
        (STATIC, "DemoSTS"),
    ],
)
def test_what_one_stage_embeds_the_other_only_scores(spec: dict[str, str], task: str, tmp_path: Path) -> None:
    study = write_study(tmp_path, [spec], [task])
    prompts = given_prompts(["a:", "b:", "c:"], [task])
    model, place = study.models[0], study.tasks[0]
    folder = tmp_path / "staged"
    first, identity = embed_group(study, folder, prompts, model, place, lambda: load_model(model, folder))
    assert first.failed == 0 and first.done > 0
    stand_in = cached_model(model, folder, identity)
    second = run_group(study, folder, prompts, model, place, stand_in)
    assert second.failed == 0 and second.done > 0 and second.reused == first.done
    with pytest.raises(LookupError, match="not in the embedding cache"):
        stand_in.embed(["a text that nobody embedded"])
    sweep_study(study, tmp_path / "at-once", prompts, progress=None)
    tables = [scores_table(study, tmp_path / name, prompts) for name in ("staged", "at-once")]
    pd.testing.assert_frame_equal(*(t.drop(columns="seconds") for t in tables))
