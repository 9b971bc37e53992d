"""Executors: a study's (model, task) groups in this process, in worker processes, or on a Ray cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pandas as pd
from filelock import FileLock, Timeout

from helpers.base.errors import StudyError
from helpers.base.network import go_offline
from helpers.base.progress import Progress, Say
from helpers.study.spec import ModelSpec, Study, TaskSpec
from helpers.sweep.cell import prompts_of
from helpers.sweep.group import group_line, stale_line
from helpers.sweep.part import check_budget
from helpers.sweep.processes import in_processes
from helpers.sweep.requests import check_limits
from helpers.sweep.store import GroupReport, group_folder, read_note, request_of
from helpers.sweep.work import Group, Outcomes, Work, Worker, name

POLL_SECONDS = 2.0  # between two looks at groups that other processes are computing


def run_groups(
    study: Study, folder: Path, prompts: pd.DataFrame, progress: Say | None = print, wait: bool = True
) -> list[GroupReport]:
    """Run every group of a study with the executor that it names; the table is the same with each.

    Several processes may do this on one run folder at the same time. Each takes the groups that no other one holds and
    comes back to the others; a group that another one finished meanwhile is taken over from its note. With `wait=False`
    it ends, instead of waiting, when all that is left is being computed by others; these groups are not reported.
    """
    left = work_list(study, by_model=chosen_executor(study) == "here")
    work = Work(study, folder, prompts, {name(g): read_note(group_folder(folder, *g)) for g in left})
    reports: list[GroupReport] = []
    total, started, worked, costs = len(left), time.monotonic(), 0.0, _costs(work, left)
    with Progress(total, "group", progress) as bar:
        while left:
            free = [group for group in left if _is_free(folder, group)]
            if not free and not wait:
                bar.say(f"{len(left)} of {total} groups are being computed by other processes")
                break
            with closing(_outcomes(work, free, bar.say)) as outcomes:  # ends workers when stopped
                for group, report in outcomes:
                    if report.locked:
                        continue
                    left = [other for other in left if name(other) != name(group)]
                    reports.append(report)
                    worked += costs[name(group)] if report.done + report.failed else 0.0
                    to_do = sum(costs[name(other)] for other in left)
                    seconds = (time.monotonic() - started) / worked * to_do if worked else None
                    bar.step(group_line(len(reports), total, report, seconds))
                    if (stale := stale_line(report)) is not None:
                        bar.say(stale)
            if left and not free:
                time.sleep(POLL_SECONDS)
    return reports


def _costs(work: Work, groups: Sequence[Group]) -> dict[tuple[str, str], float]:
    """What each group costs relative to the others: characters to embed x parameters, 0 where all cells are finished.

    Groups of unknown size count as an average one.
    """
    sizes = {task.name: _size(work.study, task) for task in work.study.tasks}
    raw = {name((m, t)): sizes[t.name] * (m.parameters or 1) for m, t in groups}
    known = [cost for cost in raw.values() if 0 < cost < float("inf")]
    usual = sum(known) / len(known) if known else 1.0
    costs = {key: cost if 0 < cost < float("inf") else usual for key, cost in raw.items()}
    requests = {
        task.name: request_of(work.study, [p.id for p in prompts_of(work.study, work.prompts, task.name)])
        for task in work.study.tasks
    }
    for group in groups:
        note = work.notes.get(name(group))
        if note is not None and note.request == requests[group[1].name] and note.finished and not note.failed:
            costs[name(group)] = 0.0
    return costs


def chosen_executor(study: Study) -> str:
    """`here` (this process), `process` or `ray`, from the study's `sweep.executor` and `sweep.workers`."""
    if study.sweep.executor == "auto":
        return "process" if study.sweep.workers > 1 else "here"
    return study.sweep.executor


def _outcomes(work: Work, groups: Sequence[Group], say: Say) -> Outcomes:
    executor = chosen_executor(work.study) if groups else "here"
    if executor == "ray":
        from helpers.sweep.ray import on_ray

        yield from on_ray(work, groups, say)
    elif executor == "process":
        yield from in_processes(work, groups, say)
    else:
        worker = Worker(work, keep_tasks=True, say=say)
        yield from ((group, worker.run(group)) for group in groups)


def _is_free(folder: Path, group: Group) -> bool:
    """Whether no process holds the group's lock at this moment."""
    place = group_folder(folder, *group)
    if not place.is_dir():
        return True
    try:
        with FileLock(place / ".lock", timeout=0):
            return True
    except Timeout:
        return False


def work_list(study: Study, by_model: bool = False) -> list[Group]:
    """The groups of a study, longest first by characters to embed x parameters, so that no long one comes last.

    A model that finds its vectors in the cache once its twin was embedded (`Study.twin`) comes after all others.
    Tasks without statistics in mteb come first: nothing says that they are short. With `by_model` all groups of the
    largest model come first, then those of the next: one process loads each model once.
    """
    sizes = {task.name: _size(study, task) for task in study.tasks}
    models = sorted(study.models, key=lambda model: -(model.parameters or 1))
    if by_model:
        return [(m, t) for m in models for t in sorted(study.tasks, key=lambda task: -sizes[task.name])]
    pairs = [(model, task) for model in study.models for task in study.tasks]
    order = {model.label: place for place, model in enumerate(study.models)}

    def follows(model: ModelSpec) -> bool:
        twin = study.twin(model)
        return twin is not None and order[twin.label] < order[model.label]

    return sorted(pairs, key=lambda p: (follows(p[0]), -sizes[p[1].name] * (p[0].parameters or 1)))


def _size(study: Study, task: TaskSpec) -> float:
    from helpers.sweep.counts import text_counts

    try:
        sided, shared, characters = text_counts(task)
    except (StudyError, KeyError):  # not a task of mteb; running it says more
        return float("inf")
    runs = (study.prompts.expected_count(1) if study.prompts else 0) + len(study.baselines)
    if sided is None or characters is None:
        return float("inf")
    return (sided * runs + (shared or 0)) * characters


def sweep_study(
    study: Study, folder: Path, prompts: pd.DataFrame, progress: Callable[[str], None] | None = print, wait: bool = True
) -> list[GroupReport]:
    """Compute every missing cell of a study into `folder/cells`; finished ones are reused, failures recorded.

    `prompts` is the table of `helpers.prompts.table.prompt_table`. Each group reports one line, with an estimate of the time
    left that counts only groups with missing cells. Several processes may run this on one folder and share its groups;
    `wait=False` ends when only groups are left that others are computing. Raises `StudyError` before anything is
    computed where a server would be asked for more than the study allows.
    """
    check_budget(study)
    check_limits(study, folder)
    if study.sweep.offline:
        go_offline()
    return run_groups(study, folder, prompts, progress, wait)
