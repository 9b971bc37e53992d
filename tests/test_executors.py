"""Worker processes give the table of one process, and never more threads than cores."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tiny import STATIC, prompt_rows, tiny_study

from helpers.executors import work_list, worker_count
from helpers.results import scores_table
from helpers.study import load_study
from helpers.sweep import run_sweep


@pytest.mark.parametrize(
    ("wanted", "gpus", "cores", "expected"),
    [(8, 0, 2, 2), (1, 0, 2, 1), (8, 4, 2, 4), (2, 4, 64, 2), (0, 0, 2, 1)],
)
def test_one_worker_per_gpu_or_at_most_one_per_core(
    wanted: int, gpus: int, cores: int, expected: int
) -> None:
    assert worker_count(wanted, gpus, cores) == expected


def test_the_longest_groups_come_first() -> None:
    order = [(model.label, task.name) for model, task in work_list(load_study("paper-sensitivity"))]
    assert order[0] == ("Qwen3-Embedding-0.6B", "MedrxivClusteringP2P.v2")
    assert len(order) == 66 and order[-1][0] == "bge-small-en-v1.5"


def test_two_processes_give_the_table_of_one(tmp_path: Path) -> None:
    tasks = ["DemoSTS", "DemoRetrieval"]
    prompts = pd.concat([prompt_rows(t, "a:", "b:") for t in tasks], ignore_index=True)
    tables = []
    for workers in (1, 2):
        study = tiny_study(tmp_path, [STATIC], tasks, sweep={"workers": workers})
        run_sweep(study, tmp_path / f"run{workers}", prompts, progress=None)
        tables.append(scores_table(study, tmp_path / f"run{workers}", prompts).drop(columns="seconds"))
    pd.testing.assert_frame_equal(*tables)
