"""A Ray cluster of two nodes gives the table of one process, also when one of them is killed in the middle."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from studies import STATIC, write_study

from helpers.base.errors import StudyError
from helpers.study.spec import Study
from helpers.study.sweep import RaySpec
from helpers.sweep import run as executors
from helpers.sweep.quick import given_prompts
from helpers.sweep.ray import Files, changes, gpus_per_task, init_arguments
from helpers.sweep.results import scores_table
from helpers.sweep.run import sweep_study

TASKS = ["DemoTopicClassification", "DemoRetrieval", "DemoSTS"]
MODELS = [STATIC, STATIC | {"label": "again"}]


@pytest.fixture(scope="module")
def prompts() -> pd.DataFrame:
    return given_prompts([f"prompt {n}:" for n in range(4)], TASKS)


def study_with(folder: Path, tasks: list[str | dict[str, Any]], **sweep: Any) -> Study:
    return write_study(folder, MODELS, tasks, sweep=sweep)


def table(study: Study, folder: Path, prompts: pd.DataFrame, progress: Any = None) -> pd.DataFrame:
    sweep_study(study, folder, prompts, progress)
    return scores_table(study, folder, prompts).drop(columns="seconds")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, prompts: pd.DataFrame) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("one-process")
    found = table(study_with(folder, list(TASKS)), folder / "run", prompts)
    assert set(found["status"]) == {"ok"}
    return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one slot each on this machine; this process is connected to them."""
    ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed (it is part of 'dev')")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        for key, value in {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}.items():
            patch.setenv(key, value)
        node = {"num_cpus": 1, "num_gpus": 0, "object_store_memory": 80 * 2**20, "include_dashboard": False}
        started = Cluster(initialize_head=True, head_node_args=node)
        started.second = started.add_node(**node)
        ray.init(address=started.address, log_to_driver=False, logging_level="error")
        yield started
        ray.shutdown()
        started.shutdown()


def test_fetched_results_are_those_of_one_process(
    cluster: Any, expected: pd.DataFrame, prompts: pd.DataFrame, tmp_path: Path
) -> None:
    study = study_with(tmp_path, ["DemoSTS"], executor="ray", ray={"results": "fetch"})
    found = table(study, tmp_path / "run", prompts)
    wanted = expected[expected["task"] == "DemoSTS"].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, wanted)
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["cells"]  # the nodes worked somewhere else
    reports = sweep_study(study, tmp_path / "run", prompts, progress=None)
    assert [(r.done, r.reused) for r in reports] == [(0, 6), (0, 6)]


def test_embedding_and_scoring_in_two_tasks_give_the_scores_of_one(
    cluster: Any, expected: pd.DataFrame, prompts: pd.DataFrame, tmp_path: Path
) -> None:
    study = study_with(tmp_path, ["DemoSTS"], executor="ray", ray={"score_on_cpu": True})
    lines: list[str] = []
    found = table(study, tmp_path / "run", prompts, lines.append)
    wanted = expected[expected["task"] == "DemoSTS"].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, wanted)
    assert len(lines) == 2 and all("6 computed, 0 reused" in line for line in lines)


def test_a_node_killed_in_the_middle_changes_no_score(
    cluster: Any, expected: pd.DataFrame, prompts: pd.DataFrame, tmp_path: Path
) -> None:
    import ray

    study = study_with(tmp_path, list(TASKS), executor="ray")
    groups = executors.work_list(study)
    lines: list[str] = []

    def kill_once(line: str) -> None:
        lines.append(line)
        if len(lines) == 1:
            give_up = time.monotonic() + 120
            while time.monotonic() < give_up:
                if sum(not executors._is_free(tmp_path / "run", group) for group in groups) == 2:
                    break  # both nodes are computing a group
            else:
                raise AssertionError("the two nodes never computed at the same time")
            cluster.remove_node(cluster.second, allow_graceful=False)

    found = table(study, tmp_path / "run", prompts, kill_once)
    give_up = time.monotonic() + 60  # the cluster's head learns of a lost node after some seconds
    while sum(node["Alive"] for node in ray.nodes()) > 1:
        assert time.monotonic() < give_up, "the killed node is still alive"
        time.sleep(0.2)
    assert len(lines) == len(groups)
    pd.testing.assert_frame_equal(found, expected)


def test_vectors_that_nodes_cannot_share_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="needs results: shared"):
        study_with(tmp_path, ["DemoSTS"], ray={"score_on_cpu": True, "results": "fetch"})


def test_without_the_package_the_message_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(StudyError, match=r"pip install .*\[ray\]"):
        sweep_study(study_with(tmp_path, ["DemoSTS"], executor="ray"), tmp_path / "run", given_prompts([], ["DemoSTS"]))


def test_the_study_comes_before_the_environment_and_both_before_a_new_cluster(tmp_path: Path) -> None:
    plain = study_with(tmp_path, ["DemoSTS"], workers=3)
    named = study_with(tmp_path, ["DemoSTS"], ray={"address": "auto"})
    given = {"RAY_ADDRESS": "10.0.0.1:6379"}
    assert init_arguments(named, given)["address"] == "auto"
    assert init_arguments(plain, given)["address"] == "10.0.0.1:6379"
    local = init_arguments(plain, {})
    assert (local["address"], local["num_cpus"], local["include_dashboard"]) == ("local", 3, False)


@pytest.mark.parametrize(
    ("wanted", "resources", "expected_gpus"),
    [(None, {"CPU": 8.0}, 0), (None, {"GPU": 4.0}, 1), (0.5, {"GPU": 4.0}, 0.5), (0, {"GPU": 4.0}, 0)],
)
def test_a_task_takes_a_gpu_where_there_are_any(
    wanted: float | None, resources: dict[str, float], expected_gpus: float
) -> None:
    assert gpus_per_task(RaySpec(num_gpus=wanted), resources) == expected_gpus


def test_only_what_changed_is_sent_back() -> None:
    before = Files({"a-1.json": b"1", "b-1.error.json": b"x"})
    after = Files({"a-1.json": b"1", "b-1.json": b"2"})
    assert changes(before, after) == Files({"b-1.json": b"2"}, ("b-1.error.json",))
