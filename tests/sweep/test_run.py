"""Several processes give the table of one, share the work, and never take more threads than cores."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from pathlib import Path

import pandas as pd
import pytest
from filelock import FileLock
from studies import STATIC, write_study

from helpers.base.progress import Say
from helpers.study.load import load_study
from helpers.sweep.processes import in_processes, worker_count
from helpers.sweep.quick import given_prompts
from helpers.sweep.results import scores_table
from helpers.sweep.run import sweep_study, work_list
from helpers.sweep.store import GroupReport, group_folder
from helpers.sweep.work import Group, Outcomes, Work

ONE_OF_TWO = """
import json, sys
from pathlib import Path
import pandas as pd
import mteb
from helpers.sweep import run as executors
from helpers.study.load import load_study
from helpers.sweep.run import sweep_study

executors.POLL_SECONDS = 0.05
print("ready", flush=True)
study, folder, prompts = sys.argv[1:]
reports = sweep_study(load_study(study), Path(folder), pd.read_parquet(prompts), progress=None)
print(json.dumps([(r.done, r.reused, r.failed) for r in reports]))
"""


@pytest.mark.parametrize(
    ("wanted", "gpus", "cores", "expected"),
    [(8, 0, 2, 2), (1, 0, 2, 1), (8, 4, 2, 4), (2, 4, 64, 2), (0, 0, 2, 1)],
)
def test_one_worker_per_gpu_or_at_most_one_per_core(wanted: int, gpus: int, cores: int, expected: int) -> None:
    assert worker_count(wanted, gpus, cores) == expected


def test_the_longest_groups_come_first() -> None:
    order = [(model.label, task.name) for model, task in work_list(load_study("paper-sensitivity"))]
    assert order[0] == ("Qwen3-Embedding-0.6B", "Touche2020Retrieval.v3")
    assert len(order) == 66 and order[-1][0] == "bge-small-en-v1.5"


def test_two_processes_give_the_table_of_one(tmp_path: Path) -> None:
    tasks = ["DemoSTS", "DemoRetrieval"]
    prompts = given_prompts(["a:", "b:"], tasks)
    tables = []
    for workers in (1, 2):
        study = write_study(tmp_path, [STATIC], tasks, sweep={"workers": workers})
        sweep_study(study, tmp_path / f"run{workers}", prompts, progress=None)
        tables.append(scores_table(study, tmp_path / f"run{workers}", prompts).drop(columns="seconds"))
    pd.testing.assert_frame_equal(*tables)


def test_a_group_that_kills_every_worker_takes_no_other_one_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool that holds the deadly group breaks before it gives anything back."""
    study = write_study(tmp_path, [STATIC], ["DemoSTS", "DemoRetrieval"])
    deadly, other = work_list(study)
    pools: list[int] = []

    def one_pool(work: Work, groups: list[Group], count: int, gpus: list[str], say: Say) -> Outcomes:
        pools.append(len(groups))
        if deadly in groups:
            raise BrokenProcessPool
        yield from ((group, GroupReport(group[0].label, group[1].name, done=3)) for group in groups)

    monkeypatch.setattr("helpers.sweep.processes._one_pool", one_pool)
    prompts = given_prompts(["a:"], [deadly[1].name])
    work = Work(study, tmp_path / "run", prompts, {})
    found = {group[1].name: report for group, report in in_processes(work, [deadly, other], print)}
    assert pools == [2, 2, 1, 1] and found[other[1].name].done == 3
    assert found[deadly[1].name].failed == 3  # one prompt and two baselines
    table = scores_table(study, tmp_path / "run", prompts)
    assert table.loc[table["task"] == deadly[1].name, "reason"].str.contains("worker process died").all()


def test_one_process_goes_model_by_model() -> None:
    order = [(model.label, task.name) for model, task in work_list(load_study("paper-sensitivity"), True)]
    assert len({label for label, _ in order[:11]}) == 1
    assert order[0] == ("Qwen3-Embedding-0.6B", "Touche2020Retrieval.v3")


def test_two_commands_on_one_run_folder_share_its_groups(tmp_path: Path) -> None:
    tasks = ["DemoSTS", "DemoRetrieval", "DemoTopicClassification"]
    texts = [f"prompt {n}:" for n in range(4)]
    prompts = given_prompts(texts, tasks)
    prompts.to_parquet(tmp_path / "prompts.parquet")
    models = [STATIC, STATIC | {"label": "again"}]
    study = write_study(tmp_path, models, list(tasks), baselines=["none"])
    command = [sys.executable, "-c", ONE_OF_TWO]
    arguments = [str(tmp_path / name) for name in ("study.yml", "run", "prompts.parquet")]
    with ExitStack() as held:
        for group in work_list(study):
            place = group_folder(tmp_path / "run", *group)
            place.mkdir(parents=True)
            held.enter_context(FileLock(place / ".lock"))
        both = [subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for process in both:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
    found = [json.loads(process.communicate()[0]) for process in both]
    computed = [sum(done for done, _, _ in reports) for reports in found]
    assert min(computed) > 0 and sum(computed) == 6 * 5  # both worked, and no cell was computed twice
    for reports in found:
        assert [done + reused for done, reused, _ in reports] == [5] * 6  # each knows of every group
    alone = write_study(tmp_path / "alone", models, list(tasks), baselines=["none"])
    sweep_study(alone, tmp_path / "alone" / "run", prompts, progress=None)
    tables = [
        scores_table(s, f / "run", prompts).drop(columns="seconds")
        for s, f in ((study, tmp_path), (alone, tmp_path / "alone"))
    ]
    pd.testing.assert_frame_equal(*tables)


def test_without_waiting_a_group_that_another_process_holds_is_left_to_it(tmp_path: Path) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoSTS", "DemoRetrieval"], baselines=["none"])
    prompts = given_prompts([], [])
    place = group_folder(tmp_path / "run", study.models[0], study.tasks[0])
    place.mkdir(parents=True)
    lines: list[str] = []
    with FileLock(place / ".lock"):
        reports = sweep_study(study, tmp_path / "run", prompts, lines.append, wait=False)
    assert [(r.task, r.done) for r in reports] == [("DemoRetrieval", 1)]
    assert lines[-1] == "1 of 2 groups are being computed by other processes"
    assert sum(r.done for r in sweep_study(study, tmp_path / "run", prompts, None)) == 1
