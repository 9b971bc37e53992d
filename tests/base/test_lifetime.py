"""No worker outlives the process that started it, however that one ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import psutil
import pytest

START = """
import signal
import time
from pathlib import Path
from helpers.sweep.work import Work
from helpers.sweep.processes import start_pool
from helpers.sweep.processes import stop
from helpers.study.load import load_study

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a script started the tests with "&"
    pool = start_pool(Work(load_study("demo"), Path("unused"), None, {}), 2, [])
    pool.submit(int).result()  # the fork server has imported its libraries
    for _ in range(2):
        pool.submit(time.sleep, 600)
    time.sleep(1)
    print("working", flush=True)
    try:
        time.sleep(600)
    finally:
        stop(pool)
"""


@pytest.fixture
def parent(tmp_path):
    """A process with a fork server, a resource tracker and two workers that are busy for ten minutes."""
    script = tmp_path / "start.py"
    script.write_text(START, encoding="utf-8")
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line == "working\n":
            break
    for _ in range(600):  # on a busy machine a worker may come later than the word
        if len(psutil.Process(process.pid).children(recursive=True)) >= 4:
            break
        time.sleep(0.1)
    time.sleep(1)
    yield process
    process.kill()
    process.communicate()


def test_workers_end_with_a_parent_that_is_killed(parent) -> None:
    family = psutil.Process(parent.pid).children(recursive=True)
    assert len(family) >= 4  # fork server, resource tracker, two workers
    parent.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(family, timeout=120)
    assert not alive


def test_an_interrupt_of_the_whole_terminal_ends_all_of_them_without_a_traceback_of_a_worker(parent) -> None:
    family = psutil.Process(parent.pid).children(recursive=True)
    for process in [*family, parent]:
        process.send_signal(signal.SIGINT)
    _, said = parent.communicate(timeout=120)
    assert said.count("Traceback") == 1  # of the script itself, which does not catch the interrupt
    _, alive = psutil.wait_procs(family, timeout=120)
    assert not alive
