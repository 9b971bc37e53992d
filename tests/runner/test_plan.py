"""The plan lists the papers' grids exactly, without data, models or network."""

from __future__ import annotations

import pandas as pd
from studies import STATIC, write_study

from helpers.runner.plan import plan_text
from helpers.study.load import load_study
from helpers.study.spec import TaskSpec
from helpers.sweep.cost import plan_table
from helpers.sweep.counts import text_counts
from helpers.sweep.quick import given_prompts
from helpers.sweep.run import sweep_study


def test_study_1_is_990_prompt_runs_and_66_defaults() -> None:
    table = plan_table(load_study("paper-sensitivity"))
    assert (table["prompt_runs"].sum(), table["baseline_runs"].sum()) == (990, 66)
    assert len(table) == 6 * 11


def test_study_2_has_47_and_51_instructions_in_eight_languages() -> None:
    text = plan_text(load_study("paper-geometry"))
    assert "ARCChallenge: 47 instructions" in text
    assert "Tatoeba: 51 instructions and 6 controls x 8 subset(s)" in text
    assert "8 models" in text


def test_texts_are_counted_once_per_prompt_and_documents_once() -> None:
    table = plan_table(load_study("demo"))
    row = table[table["task"] == "DemoRetrieval"].iloc[0]
    assert row["texts"] == 128 * (15 + 2) + 330


def test_only_tasks_without_statistics_have_no_text_count() -> None:
    table = plan_table(load_study("paper-sensitivity"))
    assert table["texts"].notna().all() and (table["texts"] > 0).all()


def test_cells_of_other_settings_are_not_done(tmp_path) -> None:
    """A prompt and two baselines are computed; with another seed none of them counts."""
    study = write_study(tmp_path, [STATIC], ["DemoSTS"])
    sweep_study(study, tmp_path / "run", given_prompts(["a:"], ["DemoSTS"]), progress=None)
    assert plan_table(study, tmp_path / "run")["cells_done"].tolist() == [3]
    other = write_study(tmp_path, [STATIC], ["DemoSTS"], seed=7)
    assert plan_table(other, tmp_path / "run")["cells_done"].tolist() == [0]


def test_local_task_data_are_counted_instead_of_the_whole_data_set(tmp_path) -> None:
    """Three pairs of four characters, two prompts and two baselines: 2 x 3 x 4 texts of one token."""
    place = tmp_path / "data" / "STS15"
    place.mkdir(parents=True)
    pairs = pd.DataFrame({"sentence1": ["abcd"] * 3, "sentence2": ["efgh"] * 3, "score": [1.0, 2.0, 3.0]})
    pairs.to_parquet(place / "test.parquet")
    (tmp_path / "p.yml").write_text("STS15: {task: ['One:', 'Two sentences:']}")
    prompts = {"source": "file", "file": str(tmp_path / "p.yml"), "levels": ["task"]}
    study = write_study(tmp_path, [STATIC], ["STS15"], data_root=str(tmp_path / "data"), prompts=prompts)
    row = plan_table(study, tmp_path / "run").iloc[0]
    assert (row["prompt_runs"], row["texts"], row["mtokens"]) == (2, 24, 24e-6)
    assert "1 tasks x 2 prompts" in plan_text(study, tmp_path / "run")


def test_of_a_clustering_task_only_the_share_that_mteb_embeds_is_counted() -> None:
    """TwentyNewsgroupsClustering.v2 has 59,545 rows, of which mteb draws 4 %."""
    table = plan_table(load_study("small")).set_index("task")
    assert table.loc["TwentyNewsgroupsClustering.v2", "texts"] in (17 * 2381, 17 * int(0.04 * 1502))


def test_training_texts_count_as_many_as_can_be_drawn() -> None:
    """Banking77Classification: 3,080 test texts; 77 labels x 8 texts x 10 draws, of 10,003 for training."""
    assert text_counts(TaskSpec(name="Banking77Classification"))[0] == 3080 + 6160
