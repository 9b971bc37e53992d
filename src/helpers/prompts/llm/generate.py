"""Prompts written by a language model: what it is told, what is stored, what is still missing.

Study 1 let openai/gpt-oss-120b write 5 prompts per level of context. The instruction text here is this suite's own and
carries a version; a prompt's provenance names it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, Field

from helpers.base.phrases import choose, count
from helpers.prompts.context import TaskContext, contexts_of
from helpers.prompts.files import write_prompts
from helpers.prompts.llm.ask import Job, Outcome, ask_until_valid, parse
from helpers.prompts.llm.chat import Backend, model_name, without_key
from helpers.prompts.llm.open import open_backend
from helpers.prompts.llm.provenance import PROVENANCE, provenance_of
from helpers.prompts.llm.store import AnswerStore
from helpers.study.prompts import GeneratorSpec, PromptsSpec
from helpers.study.spec import Study

TEMPLATE_VERSION = "prompts-1"

SYSTEM = """\
You write short instructions for text embedding models. Each instruction will stand directly before a text when the \
text is encoded, so it must read as the beginning of an input, never as a remark about one.

Rules
1. The context is all you know. Whatever it leaves out (the name or subject of a data set, a language) must not appear.
2. All instructions mean the same: the task of the context, no other one, nothing added. Only the wording varies.
3. Mix the styles: a bare label, an imperative, a description of the task, a question, keywords. Vary the length from \
one word to about twelve.
4. No placeholders, numbering, quotation marks, line breaks or explanations. No two instructions alike.

Answer with a JSON object {"prompts": [...]} that holds exactly the number of strings asked for, and nothing else."""


class PromptList(BaseModel):
    """The shape of the model's answer."""

    prompts: list[str] = Field(min_length=1)


@dataclass
class Generated:
    """Prompts with their provenance, and the places (task, level) that are still short of prompts, with the reason."""

    table: pd.DataFrame
    missing: pd.DataFrame
    asked: int = 0

    def require_complete(self) -> None:
        """Raise `StudyError` naming the places that are short, their number and the last reason."""
        from helpers.base.errors import StudyError

        if len(self.missing):
            first, short = self.missing.iloc[0], int(self.missing["short"].sum())
            raise StudyError(
                f"{count(short, 'prompt')} {choose(short, 'is', 'are')} missing, in {count(len(self.missing), 'place')}; first: "
                f"{first['task']}, level {first['level']}: {first['reason']}. What is there is kept: run notebook 01 "
                "again, or raise prompts.generator.attempts"
            )


def messages_for(given: dict[str, str], count: int, present: Sequence[str]) -> tuple[dict[str, str], ...]:
    """What the model is told: the rules, the context of one level, what exists already, how many are wanted."""
    lines = [f"{name}: {value}" for name, value in given.items() if value]
    user = "Context\n" + "\n".join(lines)
    if present:
        user += "\n\nThese exist already; write others:\n" + "\n".join(f"- {p}" for p in present)
    user += f"\n\nWrite exactly {count} instructions."
    return ({"role": "system", "content": SYSTEM}, {"role": "user", "content": user})


def place_key(given: dict[str, str]) -> str:
    """A place is a context as the model sees it; tasks of one type share the first level, as in study 1."""
    content = json.dumps({"template": TEMPLATE_VERSION, "system": SYSTEM, "given": given}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def writer_of(spec: GeneratorSpec) -> dict[str, Any] | None:
    """What makes two answers comparable: model, revision, sampling. None where no model is named."""
    model = model_name(spec)
    if model is None:
        return None
    keys = ("revision", "temperature", "max_tokens", "seed", "structured")
    return {"model": model, **{k: getattr(spec, k) for k in keys}, "extra": spec.extra}


def generate(
    study: Study,
    folder: Path,
    backend: Backend | None = None,
    report: Callable[[str], None] = print,
    contexts: dict[str, TaskContext] | None = None,
) -> Generated:
    """Ask for the prompts that are not in `folder` yet; write them with their provenance to `folder/prompts.json`.

    The levels are asked one after the other, because a level is shown what the earlier ones hold. Every attempt is kept
    in `folder/answers.jsonl`. Without a model in study and environment, what is there is used if it is complete.
    contexts: task -> what is known of it; null takes mteb's metadata.
    """
    spec = study.prompts
    assert spec is not None
    contexts = contexts_of(study) if contexts is None else contexts
    store = AnswerStore(folder / "answers.jsonl")
    with store.alone():
        memory = _Memory(store, writer_of(spec.generator))
        asked = 0
        try:
            for level in spec.levels:
                jobs = list(_jobs(spec, contexts, level, memory))
                if jobs and backend is None:
                    backend = open_backend(spec.generator, folder)
                if jobs and backend is not None:
                    asked += _ask(backend, jobs, spec, memory, report, level)
        finally:  # what was answered is usable even if the rest is not
            found = _generated(spec, contexts, memory, asked)
            if len(found.table):
                _write(folder / "prompts.json", found)
    return found


class _Memory:
    """What the store holds of one writer: accepted prompts per place, the last reason per place."""

    def __init__(self, store: AnswerStore, writer: dict[str, Any] | None) -> None:
        self.store = store
        records = store.records()
        written = [r for r in records if r.get("prompts")]
        # No model named: the one that wrote last.
        self.writer = writer if writer is not None else (written[-1]["writer"] if written else None)
        self.records = [r for r in records if r.get("writer") == self.writer]

    def accepted(self, place: str) -> list[dict[str, Any]]:
        """One entry per accepted prompt of a place: its text and the record it is from."""
        return [
            {"text": text, "record": r}
            for r in self.records
            if r["place"] == place and r.get("prompts")
            for text in r["prompts"]
        ]

    def texts(self, place: str) -> list[str]:
        return [entry["text"] for entry in self.accepted(place)]

    def last_reason(self, place: str) -> str:
        reasons = [r["reason"] for r in self.records if r["place"] == place and r.get("reason")]
        return reasons[-1] if reasons else "not asked yet"

    def add(self, record: dict[str, Any]) -> None:
        self.store.add(record)
        self.records.append(record)


def _jobs(
    spec: PromptsSpec, contexts: dict[str, TaskContext], level: str, memory: _Memory
) -> Sequence[Job[PromptList]]:
    jobs: dict[str, Job[PromptList]] = {}
    for context in contexts.values():
        given = context.given(level)
        place = place_key(given)
        have = memory.texts(place)
        short = spec.per_level - len(have)
        if short <= 0 or place in jobs:
            continue
        earlier = spec.levels[: spec.levels.index(level)]  # type: ignore[arg-type]
        present = [t for lower in earlier for t in memory.texts(place_key(context.given(lower)))] + have
        jobs[place] = Job(
            id=place,
            messages=messages_for(given, short, present),
            read=lambda text, finish: parse(text, PromptList, finish),
            schema=answer_schema(short),
            schema_name="prompts",
            accept=lambda answer, short=short, present=tuple(present): problem(answer.prompts, short, present),  # type: ignore[misc]
        )
    return list(jobs.values())


def answer_schema(count: int) -> dict[str, Any]:
    """The JSON schema of an answer with exactly `count` prompts."""
    prompts = {"type": "array", "items": {"type": "string"}, "minItems": count, "maxItems": count}
    return {
        "type": "object", "properties": {"prompts": prompts}, "required": ["prompts"], "additionalProperties": False,
    }  # fmt: skip


def problem(prompts: Sequence[str], count: int, present: Sequence[str]) -> str | None:
    """Why a list of prompts cannot be used as an answer, or None. Milder faults are marked by the checks later."""
    if len(prompts) != count:
        return f"it holds {len(prompts)} instructions instead of {count}"
    for number, text in enumerate(prompts, 1):
        if not text.strip():
            return f"instruction {number} is empty"
        if text in prompts[: number - 1]:
            return f"instruction {number} repeats another one: '{text}'"
        if text in present:
            return f"instruction {number} exists already: '{text}'"
    return None


def _ask(
    backend: Backend, jobs: Sequence[Job[PromptList]], spec: PromptsSpec, memory: _Memory,
    report: Callable[[str], None], level: str,
) -> int:  # fmt: skip
    asked = done = 0
    by_id = {job.id: job for job in jobs}
    memory.writer = memory.writer or writer_of(spec.generator)
    for outcome in ask_until_valid(backend, jobs, spec.generator.attempts, spec.generator.seed):
        asked += 1
        memory.add(_record(outcome, by_id[outcome.job_id], backend, spec, memory.writer, level))
        done += outcome.reason is None
        end = "accepted" if outcome.reason is None else f"not usable: {without_key(outcome.reason, spec.generator)}"
        report(f"[{done}/{len(jobs)}] level {level}, place {outcome.job_id}, attempt {outcome.attempt}: {end}")
    return asked


def _record(
    outcome: Outcome, job: Job[PromptList], backend: Backend, spec: PromptsSpec, writer: dict[str, Any] | None,
    level: str,
) -> dict[str, Any]:  # fmt: skip
    answer = outcome.answer
    return {
        "place": outcome.job_id,
        "level": level,
        "writer": writer,
        "backend": backend.name,
        "template": TEMPLATE_VERSION,
        "prompts": outcome.value.prompts if outcome.value is not None else None,
        "reason": None if outcome.reason is None else without_key(outcome.reason, spec.generator),
        "attempt": outcome.attempt,
        "seed": outcome.seed,
        "created_at": outcome.at,
        "request": list(job.messages),
        "answer": None if answer is None else answer.model_dump(),
    }


def _generated(spec: PromptsSpec, contexts: dict[str, TaskContext], memory: _Memory, asked: int) -> Generated:
    rows, missing = [], []
    for task, context in contexts.items():
        for level in spec.levels:
            place = place_key(context.given(level))
            entries = memory.accepted(place)[: spec.per_level]
            rows += [provenance_of(task, level, e["text"], e["record"]) for e in entries]
            if len(entries) < spec.per_level:
                short = spec.per_level - len(entries)
                missing.append({"task": task, "level": level, "short": short, "reason": memory.last_reason(place)})
    return Generated(
        pd.DataFrame(rows, columns=PROVENANCE),
        pd.DataFrame(missing, columns=["task", "level", "short", "reason"]),
        asked,
    )


def _write(path: Path, found: Generated) -> None:
    """The readable file: prompts with their provenance, without the long texts that the Parquet table also has."""
    short = found.table.drop(columns=["reasoning", "request"])
    records = short.astype(object).where(short.notna(), None).to_dict("records")
    about = {"template": TEMPLATE_VERSION, "instructions": SYSTEM, "missing": found.missing.to_dict("records")}
    write_prompts(path, records, about)
