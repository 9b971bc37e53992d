"""What fails is recorded with its reason, the others go on, and nothing finished is lost."""

from __future__ import annotations

import errno
import http.server
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from studies import STATIC, write_study
from tiny_models import plain

import helpers.study.run
from helpers.base import files as base_files
from helpers.base.network import may_pass, reason_behind
from helpers.sweep import results
from helpers.sweep import score as sweep_score
from helpers.sweep.group import run_group
from helpers.sweep.quick import given_prompts
from helpers.sweep.run import sweep_study

SWEEP = (
    "import sys, pandas as pd; from pathlib import Path; from helpers.study.load import load_study;"
    "from helpers.sweep.run import sweep_study;"
    "sweep_study(load_study(sys.argv[1]), Path(sys.argv[2]), pd.read_parquet(sys.argv[3]))"
)


def in_a_process(before: str, folder: Path, prompts: pd.DataFrame, **environment: str) -> str:
    """Run the sweep of `folder/study.yml` in a process of its own, after some statements; its output."""
    with base_files.replacing(folder / "prompts.parquet") as temporary:
        prompts.to_parquet(temporary)
    arguments = [str(folder / name) for name in ("study.yml", "run", "prompts.parquet")]
    done = subprocess.run(
        [sys.executable, "-c", before + SWEEP, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HOME": str(folder / "hf"), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_prompt_whose_vectors_are_not_numbers_or_all_zero_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = plain(tmp_path)
    real = model.st.encode

    def encode(inputs: list[str], **settings: Any) -> Any:
        vectors = np.array(real(inputs, **settings))
        for row, text in enumerate(inputs):
            if text.startswith(("nan:", "zero:")):
                vectors[row] = float("nan") if text.startswith("nan:") else 0.0
        return torch.from_numpy(vectors)

    monkeypatch.setattr(model.st, "encode", encode)
    study = write_study(tmp_path, [model.spec.model_dump()], ["DemoSTS"], baselines=["none"])
    rows = given_prompts(["good:", "nan:", "zero:", "fine:"], ["DemoSTS"])
    report = run_group(study, tmp_path, rows, study.models[0], study.tasks[0], model)
    assert (report.done, report.failed) == (3, 2)
    scores = results.scores_table(study, tmp_path, rows).set_index("prompt")
    assert scores["status"].to_dict() == {
        "good:": "ok", "nan:": "failed", "zero:": "failed", "fine:": "ok", pd.NA: "ok"
    }  # fmt: skip
    assert "not finite" in scores.loc["nan:", "reason"] and "zero" in scores.loc["zero:", "reason"]


def test_out_of_memory_in_one_group_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    real = sweep_score.evaluate

    def evaluate(encoder: Any, task: Any, cell: Any) -> Any:
        if cell.prompt.text == "b:":
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(encoder, task, cell)

    monkeypatch.setattr("helpers.sweep.compute.evaluate", evaluate)
    study = write_study(tmp_path, [STATIC], ["DemoSTS"], baselines=["none"])
    report = sweep_study(study, tmp_path / "run", given_prompts(["a:", "b:", "c:"], ["DemoSTS"]), progress=None)[0]
    assert (report.done, report.failed) == (3, 1) and "out of memory" in report.reasons[0]


def test_a_full_disk_is_named_and_the_next_run_completes_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write_study(tmp_path, [STATIC], ["DemoSTS"], baselines=["none"], sweep={"retries": 0})
    rows = given_prompts([f"prompt {n}:" for n in range(6)], ["DemoSTS"])
    real, written = os.fsync, []

    def fsync(handle: int) -> None:
        written.append(handle)
        if len(written) > 12:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(helpers.study.run.os, "fsync", fsync)
    report = sweep_study(study, tmp_path / "run", rows, progress=None)[0]
    assert report.done and report.failed and "No space left" in report.reasons[0]
    monkeypatch.undo()
    left = [p for p in (tmp_path / "run").rglob("*") if p.name.endswith(".part")]
    assert not left
    again = sweep_study(study, tmp_path / "run", rows, progress=None)[0]
    assert (again.reused, again.done, again.failed) == (report.done, report.failed, 0)
    resumed = results.scores_table(study, tmp_path / "run", rows)
    sweep_study(study, tmp_path / "other", rows, progress=None)
    undisturbed = results.scores_table(study, tmp_path / "other", rows)
    pd.testing.assert_frame_equal(resumed.drop(columns="seconds"), undisturbed.drop(columns="seconds"))


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ConnectionResetError("reset"), True),
        (TimeoutError("slow"), True),
        (OSError(errno.EIO, "hiccup"), True),
        (OSError(errno.ENOSPC, "full"), False),
        (FileNotFoundError("gone"), False),
        (ValueError("wrong"), False),
    ],
)
def test_only_what_may_pass_is_tried_again(error: Exception, passes: bool) -> None:
    assert may_pass(error) is passes


def test_the_reason_is_the_first_failure_of_a_chain() -> None:
    try:
        try:
            raise ConnectionError("503 Service Unavailable\nmore")
        except ConnectionError as error:
            raise FileNotFoundError("no data file in /some/folder") from error
    except FileNotFoundError as error:
        assert reason_behind(error) == "ConnectionError: 503 Service Unavailable"


@pytest.mark.parametrize(
    ("task", "file", "columns"),
    [
        ("STS15", "test", {"sentence1": ["a", None], "sentence2": ["b", "c"], "score": [1.0, 2.0]}),
        ("Tatoeba", "deu-eng", {"sentence1": ["a", "b"], "score": [1.0, 2.0]}),
    ],
)
def test_data_that_hold_no_text_fail_alone(tmp_path: Path, task: str, file: str, columns: dict[str, list[Any]]) -> None:
    (tmp_path / "data" / task).mkdir(parents=True)
    pd.DataFrame(columns).to_parquet(tmp_path / "data" / task / f"{file}.parquet")
    broken = {"name": task, "subsets": ["deu-eng"] if task == "Tatoeba" else None}
    study = write_study(tmp_path, [STATIC], [broken, "DemoSTS"], data_root=str(tmp_path / "data"))
    prompts = given_prompts(["a:", "b:"], [task, "DemoSTS"])
    failed = {r.task: r.failed for r in sweep_study(study, tmp_path / "run", prompts, progress=None)}
    assert failed == {task: 4, "DemoSTS": 0}
    table = results.scores_table(study, tmp_path / "run", prompts).set_index("task")
    assert table.loc[task, "reason"].notna().all() and table.loc["DemoSTS", "main_score"].notna().all()


def test_offline_opens_no_connection_at_all(tmp_path: Path) -> None:
    models = [STATIC, {"name": "BAAI/bge-small-en-v1.5"}, {"name": "some/model", "weights": "hub:some/model"}]
    study = write_study(
        tmp_path, models, ["STS15", "DemoSTS"], sweep={"offline": True, "retries": 0}, baselines=["none"]
    )
    rows = given_prompts(["a:"], ["STS15", "DemoSTS"])
    noted = str(tmp_path / "connections")
    guard = (
        "import socket, mteb\n"  # the Hub's libraries are imported before the study is read, as in a notebook
        f"def refuse(*a): open({noted!r}, 'a').write(repr(a[1:]) + '\\n'); raise OSError('no network')\n"
        "socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse\n"
    )
    in_a_process(guard, tmp_path, rows, HF_HUB_OFFLINE="0")
    assert not (tmp_path / "connections").exists()
    scores = results.scores_table(study, tmp_path / "run", rows)
    states = scores.groupby(["model", "task"])["status"].first()
    assert states["static", "DemoSTS"] == "ok"
    assert set(states.drop(("static", "DemoSTS"))) == {"failed"}


def test_two_processes_on_one_folder_compute_every_cell_once(tmp_path: Path) -> None:
    tasks = ["DemoSTS", "DemoTopicClassification", "DemoRetrieval"]
    study = write_study(tmp_path, [STATIC], tasks, baselines=["none"])
    rows = given_prompts(["a:", "b:", "c:"], tasks)
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda _: in_a_process("", tmp_path, rows), range(2)))
    computed = [int(n) for output in said for n in re.findall(r"(\d+) computed", output)]
    assert sum(computed) == 12
    shared = results.scores_table(study, tmp_path / "run", rows)
    sweep_study(study, tmp_path / "alone", rows, progress=None)
    alone = results.scores_table(study, tmp_path / "alone", rows)
    pd.testing.assert_frame_equal(shared.drop(columns="seconds"), alone.drop(columns="seconds"))


class Unavailable(http.server.BaseHTTPRequestHandler):
    """A Hub that answers every request with 503."""

    def do_GET(self) -> None:
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *given: Any) -> None:
        """Quiet."""


def test_the_hubs_503_is_tried_again_with_growing_pauses_then_recorded(tmp_path: Path) -> None:
    hub = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unavailable)
    threading.Thread(target=hub.serve_forever, daemon=True).start()
    models = [{"name": "org/gone", "weights": "hub:org/gone"}, STATIC]
    study = write_study(tmp_path, models, ["DemoSTS"], baselines=["none"])
    rows = given_prompts(["a:"], ["DemoSTS"])
    # huggingface_hub makes the pauses; here they are only noted, because they sum up to 23 s per file.
    before = "import time; time.sleep = lambda s: print('pause', s)\n"
    said = in_a_process(before, tmp_path, rows, HF_HUB_OFFLINE="0", HF_ENDPOINT=f"http://127.0.0.1:{hub.server_port}")
    hub.shutdown()
    pauses = {float(line.split()[1]) for line in said.splitlines() if line.startswith("pause")}
    assert {1, 2, 4, 8} <= pauses
    scores = results.scores_table(study, tmp_path / "run", rows).groupby("model").first()
    assert scores["status"].to_dict() == {"gone": "failed", "static": "ok"}
    assert "503" in scores.loc["gone", "reason"]
