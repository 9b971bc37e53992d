"""Compute the missing cells of a group, and keep each result or the reason why there is none."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from helpers.base.errors import StudyError
from helpers.base.files import write_json
from helpers.base.network import may_pass
from helpers.base.progress import tell_scores
from helpers.models.application import Prefixes, has_sides
from helpers.models.load import LoadedModel
from helpers.models.role import Role
from helpers.models.shape import pools_prompt, uses_chat_template
from helpers.study.spec import Study
from helpers.sweep.cell import Cell, keeps_stock_batches
from helpers.sweep.encoder import SweepEncoder
from helpers.sweep.files import write_cell
from helpers.sweep.inputs import describe_inputs
from helpers.sweep.mteb_patches import searched_with
from helpers.sweep.part import thinned
from helpers.sweep.probe import probe
from helpers.sweep.score import evaluate, unit_scores
from helpers.sweep.store import GroupReport

logger = logging.getLogger(__name__)
BASELINES_FIRST = ("default", "none", "prompt")


def compute_missing(
    study: Study, folder: Path, model: LoadedModel, task: Any, cells: list[Cell], report: GroupReport
) -> None:
    """Evaluate the missing cells of a group, all prompts of one subset together; an interrupted one has its baselines.

    The first prompt shows what the task embeds for prompts; the others' texts are embedded together.
    """
    tell_scores(0, len(cells))
    for encoder, part in _parts(study, folder, model, task, cells, report):
        ready = sum(cell.prompt.kind != "prompt" for cell in part) + 1
        thin = _Thin(task)
        for number, cell in enumerate(part):
            if number == ready:
                ahead = encoder.prompts_ahead()
                encoder.forget()
                _prefetch(encoder, task, part[number : number + ahead])
                ready = number + ahead
            _try_cell(study, folder, encoder, thin.of(cell), cell, report)
            tell_scores(report.done + report.failed, len(cells))


class _Thin:
    """The task as a cell scores it: as it is, or a copy with a part of its items, made once."""

    def __init__(self, task: Any) -> None:
        self.task, self.known = task, dict[tuple[str, str], Any]()

    def of(self, cell: Cell) -> Any:
        if cell.part is None:
            return self.task
        key = cell.slot["subset"], cell.slot["split"]
        if key not in self.known:
            self.known[key] = thinned(self.task, *key, cell.part)
        return self.known[key]


def _parts(
    study: Study, folder: Path, model: LoadedModel, task: Any, cells: list[Cell], report: GroupReport
) -> Iterator[tuple[SweepEncoder, list[Cell]]]:
    """The cells of each subset and split with an encoder of their own, after the model has been probed with them.

    Prompts that cannot be applied are recorded as failed and left out; the baselines never are.
    The default comes first, then no prompt, then the prompts: what a run that is stopped should have.
    """
    cells = _applicable(folder, model, task, cells, report)
    by_part: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        by_part.setdefault((cell.slot["split"], cell.slot["subset"]), []).append(cell)
    for (split, subset), part in by_part.items():
        part.sort(key=lambda cell: BASELINES_FIRST.index(cell.prompt.kind))
        encoder = SweepEncoder(model, study.sweep.exact, study.sweep.bitext_side)
        encoder.searched_with = searched_with(task, subset, split)
        encoder.block = next((cell.part.block for cell in part if cell.part is not None), None)
        yield encoder, part


def _prefetch(encoder: SweepEncoder, task: Any, cells: list[Cell]) -> None:
    """Embed what the next cells need together. A failure is left to the cell that it belongs to."""
    try:
        encoder.prefetch([c.prefixes for c in cells if not keeps_stock_batches(c.prompt, task)])
    except Exception as error:
        logger.warning("texts are embedded prompt by prompt: %s: %s", type(error).__name__, error)


def _applicable(folder: Path, model: LoadedModel, task: Any, cells: list[Cell], report: GroupReport) -> list[Cell]:
    """The cells whose prompt the model can be given; the others are recorded as failed, with the reason."""
    unfit = _unfit(model, task, [c.prefixes for c in cells if c.prompt.kind == "prompt"])
    for cell in cells:
        if cell.prompt.kind == "prompt" and cell.prefixes in unfit:
            _fail_cell(folder, cell, unfit[cell.prefixes], report)
    return [c for c in cells if c.prompt.kind != "prompt" or c.prefixes not in unfit]


def _unfit(model: LoadedModel, task: Any, prompted: list[Prefixes]) -> dict[Prefixes, str]:
    """Why prompts cannot be applied: each by itself where two of them against each other do not pass the probe."""
    if not prompted or model.only_cached:
        return {}
    role: Role = "query" if has_sides(task.metadata) else None
    distinct = list(dict.fromkeys(prompted))
    other = next((p for p in distinct if p.of(role) != distinct[0].of(role)), distinct[0])
    if _fault(model, distinct[0], other, role) is None:
        return {}
    faults = {p: _fault(model, p, other if p == distinct[0] else distinct[0], role) for p in distinct}
    return {p: fault for p, fault in faults.items() if fault is not None}


def _fault(model: LoadedModel, first: Prefixes, second: Prefixes, role: Role) -> str | None:
    try:
        probe(model, first, second, role)
    except StudyError as error:
        return str(error)
    except (FloatingPointError, OSError) as error:  # the cells that it concerns fail by themselves
        logger.warning("model %s could not be probed: %s", model.label, error)
    except Exception as error:
        return f"model {model.label} fails on the probe: {type(error).__name__}: {error}"
    return None


def _fail_cell(folder: Path, cell: Cell, reason: str, report: GroupReport, trace: str | None = None) -> None:
    """Record that a cell failed, with one line of the reason in the report."""
    report.failed += 1
    report.reasons.append(reason.splitlines()[0][:300])
    record = {"slot": cell.slot, "prompt": cell.prompt.text, "reason": reason, "at": now()}
    record_failure(folder / f"{cell.stem}.error.json", record | {"traceback": trace})


def _try_cell(study: Study, folder: Path, encoder: SweepEncoder, task: Any, cell: Cell, report: GroupReport) -> None:
    """Evaluate and store one cell; a failure that may pass is tried again, then recorded with its reason."""
    for attempt in range(study.sweep.retries + 1):
        try:
            _store_cell(folder, encoder, task, cell)
            (folder / f"{cell.stem}.error.json").unlink(missing_ok=True)
            report.done += 1
            return
        except Exception as error:
            if may_pass(error) and attempt < study.sweep.retries:
                time.sleep(2.0**attempt)
                continue
            doing = "".join(f"{note}: " for note in getattr(error, "__notes__", []))
            _fail_cell(folder, cell, f"{doing}{type(error).__name__}: {error}", report, traceback.format_exc())
            return


def record_failure(path: Path, content: dict[str, Any]) -> None:
    """Write down why something failed; where even that fails (a full disk), the report still carries the reason."""
    try:
        write_json(path, content)
    except OSError as error:
        logger.warning("%s could not be written: %s", path.name, error)


def _store_cell(folder: Path, encoder: SweepEncoder, task: Any, cell: Cell) -> None:
    started = time.monotonic()
    scores = evaluate(encoder, task, cell)
    main = scores.get("main_score")
    if main is None or not np.isfinite(main):
        raise ValueError(f"the main score is not a number ({main})")
    model, metadata = encoder.model, task.metadata
    units = unit_scores(encoder, task, cell)
    record = {
        "slot": cell.slot,
        "identity": cell.identity,
        "model": model.identity,
        "include_prompt": pools_prompt(model.st),
        "chat_template": uses_chat_template(model.st),
        "prompt": cell.prompt.text,
        "kind": cell.prompt.kind,
        "level": cell.prompt.level,
        "source": cell.prompt.source,
        "separator": cell.prefixes.separator,
        "task_type": metadata.type,
        "languages": list(map(str, metadata.hf_subsets_to_langscripts.get(cell.slot["subset"], []))),
        "metric": metadata.main_score,
        "dataset_revision": metadata.dataset.get("revision"),
        "main_score": float(main),
        "items": None if cell.part is None else cell.part.items,
        "items_of": None if cell.part is None else len(cell.part.order),
        "scores": _plain(scores),
        "inputs": describe_inputs(model, encoder.calls, encoder),
        "seconds": time.monotonic() - started,
        "at": now(),
    }
    write_cell(folder / f"{cell.stem}.json", record, units)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
