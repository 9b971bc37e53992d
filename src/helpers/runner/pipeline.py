"""Pipeline: runs the notebooks of a study one after the other with papermill; finished ones are reused."""

from __future__ import annotations

import logging
import os
import signal
import time
import traceback
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from filelock import FileLock, Timeout

from helpers.base.errors import StudyError
from helpers.base.hashes import content_hash, keep
from helpers.base.progress import clock
from helpers.report import provenance
from helpers.runner.chain import LOCK, Chain
from helpers.runner.console import Console
from helpers.runner.status import NEVER, Step, read_status, snapshot, written
from helpers.study.inputs import input_places
from helpers.study.owner import claim

OK, FAILED, INTERRUPTED = 0, 1, 130


def run_chain(chain: Chain, console: Console | None = None) -> int:
    """Run the selected steps in their order; return 0, 1 where a notebook failed, 130 where a person stopped it.

    The first failure ends the chain. `status.json` in the run folder always says how far it came.
    """
    console = console or Console()
    chain.folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(chain.folder / LOCK)
    try:
        with lock.acquire(timeout=0):
            claim(chain.folder, chain.study.name, chain.study_file)
            chain.status = read_status(chain.folder, chain.study.name)  # another run may have ended meanwhile
            return _run_selected(chain, console)
    except Timeout:
        raise StudyError(f"another command is running study {chain.study.name}; wait for it or stop it") from None


def _run_selected(chain: Chain, console: Console) -> int:
    began, result, ended = time.monotonic(), OK, ""
    _tidy(chain)
    console.line(f"study {chain.study.name}: step{'s' * (len(chain.selected) > 1)} {', '.join(chain.selected)}")
    for number, step in enumerate(chain.selected, 1):
        head = f"[{number}/{len(chain.selected)}] {chain.notebooks[step].stem}"
        again = chain.why(step)
        if again is None:
            known = chain.status.steps[step]
            known.state, known.reason, known.reused = "done", None, True
            console.line(f"{head}: reused, finished {known.finished}")
            continue
        console.line(f"{head}: {running(again)} ({clock(time.monotonic() - began)} so far)")
        result = _run_step(chain, step, console)
        if result != OK:
            ended = step
            break
        console.line(f"{head}: done in {clock(chain.status.steps[step].seconds or 0)}")
    _settle(chain, ended)
    _summary(chain, console, time.monotonic() - began)
    return result


def running(again: str) -> str:
    """What is said of a step that begins to run: why it runs, where that is more than that it never did."""
    return "running" if again == NEVER else f"{again}, running"


def _run_step(chain: Chain, step: str, console: Console) -> int:
    """Run one notebook; record its state before and after, so that even a killed process leaves the truth."""
    source, output = chain.notebooks[step], chain.executed(step)
    log = chain.folder / "logs" / f"{source.stem}.log"
    for folder in (output.parent, log.parent):
        folder.mkdir(parents=True, exist_ok=True)
    now = Step(
        notebook=source.name,
        state="running",
        started=_now(),
        log=log.relative_to(chain.folder).as_posix(),
        parameters=chain.parameters[step],
        inputs=chain.inputs(step),
    )
    chain.status.steps[step] = now
    chain.status.save(chain.folder)
    before, began = snapshot(chain.folder, output), time.monotonic()
    result, reason = OK, None
    with (
        open(log, "w", encoding="utf-8") as written_log,
        console.following(written_log, len(chain.sources[step].cells)),
    ):
        written_log.write(f"{now.started} {source.name} {now.parameters}\n")
        try:
            _execute(source, output, now.parameters, console)
        except KeyboardInterrupt:
            result, reason = INTERRUPTED, "stopped by a person"
            _silence()
        except Exception as error:
            reason = _reason(error)
            result = INTERRUPTED if reason.startswith("KeyboardInterrupt") else FAILED
            written_log.write(traceback.format_exc())
        written_log.write(f"{_now()} {reason or 'done'}\n")
    if output.is_file():
        _annotate(output)
    now.inputs["review"] = content_hash(
        input_places(chain.study, step)["review"]
    )  # step 01 reads this file and writes it
    now.state, now.reason = ("done" if result == OK else "failed"), reason
    now.finished, now.seconds = _now(), round(time.monotonic() - began, 2)
    now.outputs = written(before, snapshot(chain.folder, output), chain.folder)
    chain.status.save(chain.folder)
    if result != OK:
        console.line(f"    {source.name} did not finish: {reason}")
        console.line(f"    log: {shown(log)}; executed so far: {shown(output)}")
    return result


def _silence() -> None:
    """Nothing of what a stopped notebook leaves behind is news: asyncio would print the traceback of nbclient's unfinished
    task at the end, nbclient that the kernel died, which it was told to."""
    for name in ("asyncio", "papermill", "traitlets"):
        logging.getLogger(name).disabled = True


def _execute(source: Path, output: Path, parameters: Mapping[str, Any], console: Console) -> None:
    """Run one notebook in a kernel of this environment, its working folder as in JupyterLab."""
    import papermill
    from papermill.engines import NBClientEngine, papermill_engines

    class Watched(NBClientEngine):
        """Papermill's engine; it lets the console see which cell is running."""

        @classmethod
        def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **kwargs: Any) -> Any:
            console.cells = nb_man.nb.cells
            return super().execute_managed_notebook(nb_man, kernel_name, **kwargs)

    papermill_engines.register("helpers", Watched)
    os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")  # a kernel 'python3' in the user's home is another Python

    def stop(*_: Any) -> None:
        _silence()
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, stop)
    try:
        papermill.execute_notebook(
            str(source).replace("{", "{{").replace("}", "}}"),  # papermill formats paths with the parameters
            str(output).replace("{", "{{").replace("}", "}}"),
            parameters=dict(parameters),
            engine_name="helpers",
            kernel_name="python3",
            language="python",
            cwd=str(source.parent),
            progress_bar=False,
            extra_arguments=[
                "--IPKernelApp.log_level=CRITICAL"
            ],  # neither its warning of local TCP nor what it says when it is stopped is news to a reader
            stdout_file=console.stdout,
            stderr_file=console.stderr,
        )
    finally:
        signal.signal(signal.SIGTERM, previous)


def _reason(error: Exception) -> str:
    """One line that says why a notebook ended; the traceback is in the log."""
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    if isinstance(error, DeadKernelError):
        return "its kernel died (killed, or out of memory)"
    if isinstance(error, PapermillExecutionError):
        value = str(error.evalue).strip()
        first = value.splitlines()[0] if value else ""
        return f"{error.ename}: {first}"[:500] if first else str(error.ename)
    return f"{type(error).__name__}: {error}"[:500]


def _tidy(chain: Chain) -> None:
    """Forget steps that the study no longer has, name those that never ran, correct those whose process was killed."""
    steps = chain.status.steps
    chain.status.study, chain.status.command = chain.study.name, chain.command
    for step, path in chain.notebooks.items():
        known = steps.setdefault(step, Step(notebook=path.name))
        known.reused = False
        if known.state == "running":
            known.state, known.reason = "pending", "was stopped before its end"
    chain.status.steps = {step: steps[step] for step in sorted(chain.notebooks)}
    chain.status.save(chain.folder)


def _settle(chain: Chain, ended: str) -> None:
    """Mark the steps outside the selection, or after a failure, whose result no longer fits its inputs."""
    for step, known in chain.status.steps.items():
        if step not in chain.selected and known.state == "done" and (reason := chain.why(step)):
            known.state, known.reason = "pending", reason
    if ended:
        for step in chain.selected[chain.selected.index(ended) + 1 :]:
            known = chain.status.steps[step]
            known.state, known.reason = "pending", f"waits for step {ended}"
    chain.status.save(chain.folder)
    keep(chain.folder)


def _summary(chain: Chain, console: Console, seconds: float) -> None:
    steps = chain.status.steps
    ran = [step for step in chain.selected if not steps[step].reused and steps[step].state in ("done", "failed")]
    reused = [step for step in chain.selected if steps[step].reused]
    console.line("")
    for step, known in steps.items():
        state = "reused" if known.reused else known.state
        took = clock(known.seconds) if step in ran and known.seconds is not None else ""
        console.line(f"  {known.notebook:<36} {state:<8} {took:>7}  {known.reason or ''}".rstrip())
    console.line(
        f"{len(ran)} ran, {len(reused)} reused, {clock(seconds)} in all; tables, notebooks, logs: {shown(chain.folder)}"
    )
    if chain.status.state != "complete":
        console.line(f"This run is incomplete. To complete it: {chain.command}")


def _annotate(path: Path) -> None:
    """Replace this machine's folders in papermill's notes by file names; record device, versions and code revision."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata[provenance.RECORD] = provenance.record()
    notes = notebook.metadata.get("papermill", {})
    for key in ("input_path", "output_path"):
        if notes.get(key):
            notes[key] = Path(notes[key]).name
    nbformat.write(notebook, path)


def shown(path: Path) -> str:
    """A path as a person would type it here: relative to the current folder where it lies below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
