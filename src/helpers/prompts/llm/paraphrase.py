"""Paraphrases of queries, written by a language model: the query-side distractors of study 2.

Study 2 let gpt-5.4-mini write one paraphrase per query through the batch interface (185,254 for 10.22 US dollars).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.files import replacing
from helpers.base.names import unknown
from helpers.base.paths import below
from helpers.prompts.llm.ask import Job, ask_until_valid, plain
from helpers.prompts.llm.chat import Backend, without_key
from helpers.prompts.llm.generate import writer_of
from helpers.prompts.llm.open import open_backend
from helpers.prompts.llm.store import AnswerStore
from helpers.study.prompts import GeneratorSpec
from helpers.study.spec import Study, TaskSpec

# Table 7 of study 2 (arXiv 2610.10508), one wording per data set. Its Tatoeba and ARCChallenge wordings are the same.
_TEXT = (
    "Paraphrase the following text while preserving its meaning exactly. Use different wording and avoid producing a "
    "near-identical phrasing. Output only the paraphrased text and nothing else. Text: {input}"
)

WORDINGS = {
    "SQuAD": (
        "Paraphrase the following question while preserving its meaning exactly. Use different wording and avoid "
        "producing a near-identical phrasing. Output only the paraphrased question and nothing else. Question: {input}"
    ),
    "Tatoeba": _TEXT,
    "ARCChallenge": _TEXT,
}

COLUMNS = [
    "id", "text", "paraphrase", "wording", "generator", "model_answered", "revision", "backend", "parameters", "seed",
    "attempt", "created_at", "prompt_tokens", "answer_tokens", "raw_answer", "reason",
]  # fmt: skip

CHARACTERS_PER_TOKEN = 4.0  # a rule of thumb for English; other scripts need more tokens


@dataclass(frozen=True)
class Estimate:
    """What a run would ask for. Tokens are guessed from characters; cost in US dollars, None without prices."""

    requests: int
    stored: int
    prompt_tokens: int
    answer_tokens: int
    cost: float | None

    def __str__(self) -> str:
        money = "no prices given" if self.cost is None else f"about {self.cost:.2f} US dollars"
        return (
            f"{self.requests} paraphrases to ask for ({self.stored} are there already): about {self.prompt_tokens:,} "
            f"tokens in and {self.answer_tokens:,} out, {money}"
        )


def wording_of(name: str) -> str:
    """A preset by the name of its data set, or a wording of one's own that contains {input}."""
    if "{input}" in name:
        return name
    if name in WORDINGS:
        return WORDINGS[name]
    raise StudyError(unknown("paraphrase wording", name, list(WORDINGS)) + "; or a wording that contains {input}")


def estimate(
    queries: Mapping[str, str],
    wording: str,
    folder: Path,
    spec: GeneratorSpec,
    price_in: float | None = None,
    price_out: float | None = None,
) -> Estimate:
    """Requests, tokens and cost of what is not stored yet. Prices in US dollars per million tokens.

    The answer is taken to be as long as its query; reasoning of the model comes on top and is not known before.
    """
    template = wording_of(wording)
    memory = _stored(folder, template, writer_of(spec))
    todo = [t for t in dict.fromkeys(queries.values()) if t not in memory]
    tokens_in = sum(_tokens(template.replace("{input}", text)) for text in todo)
    tokens_out = sum(_tokens(text) for text in todo)
    cost = None
    if price_in is not None and price_out is not None:
        cost = (tokens_in * price_in + tokens_out * price_out) / 1e6
    return Estimate(len(todo), len(set(queries.values())) - len(todo), tokens_in, tokens_out, cost)


def paraphrase(
    queries: Mapping[str, str],
    wording: str,
    folder: Path,
    spec: GeneratorSpec,
    backend: Backend | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    max_cost: float | None = None,
    report: Callable[[str], None] = print,
) -> pd.DataFrame:
    """One paraphrase per query (id -> text); only texts without one in `folder` are asked for, equal texts once.

    Returns one row per query in its order with the provenance; `paraphrase` is null where no attempt was usable, with
    the last `reason`. Also written to `folder/paraphrases.jsonl` (id and paraphrase are what the geometry reads).
    Raises `StudyError` before the first request when the estimate exceeds `max_cost`.
    """
    before = estimate(queries, wording, folder, spec, price_in, price_out)
    report(str(before))
    if max_cost is not None and before.cost is None and before.requests:
        raise StudyError("max_cost needs price_in and price_out (US dollars per million tokens)")
    if max_cost is not None and before.cost is not None and before.cost > max_cost:
        raise StudyError(f"the run would cost about {before.cost:.2f} US dollars, more than max_cost {max_cost:.2f}")
    template = wording_of(wording)
    store = AnswerStore(folder / "answers.jsonl")
    with store.alone():
        writer = writer_of(spec)
        memory = _stored(folder, template, writer)
        todo = {_key(t): t for t in dict.fromkeys(queries.values()) if t not in memory}
        reasons: dict[str, str] = {}
        try:
            if todo:
                backend = backend or open_backend(spec, folder)
                _ask(backend, todo, template, spec, store, memory, reasons, report)
        finally:
            table = _table(queries, wording, memory, reasons)
            _write(folder / "paraphrases.jsonl", table)
    return table


def paraphrase_queries(study: Study, task: str = "") -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Name -> (queries, ready paraphrases) of the retrieval and bitext tasks; of one task where it is named.

    Bitext mining is searched with its English side, so one subset stands for all.
    """
    from helpers.tasks.load import load_task, task_class
    from helpers.tasks.search import search_set

    specs = [s for s in study.tasks if not task or s.name == task]
    if task and not specs:
        raise StudyError(unknown("task", task, [s.name for s in study.tasks]))
    sets = {}
    for spec in specs:
        if task_class(spec).metadata.type not in ("Retrieval", "BitextMining"):
            continue
        try:
            loaded = load_task(
                TaskSpec(name=spec.name, subsets=(spec.subsets or [])[:1] or None, split=spec.split), study
            )
        except StudyError:
            if task:
                raise
            continue
        searched = search_set(loaded)
        sets[spec.name] = (searched.queries, searched.paraphrases)
    return sets


def write_paraphrases(
    study: Study,
    run_folder: Path,
    task: str,
    queries: Mapping[str, str],
    wording: str = "SQuAD",
    price_in: float | None = None,
    price_out: float | None = None,
    max_cost: float | None = None,
) -> dict[str, str]:
    """Query id -> paraphrase of a task (empty where none was usable), what is missing written by the study's generator.

    See `paraphrase`. All lie in `paraphrases/<task>/paraphrases.jsonl` of the run folder, which the study's geometry can
    name.
    """
    assert study.prompts is not None
    folder = below(run_folder / "paraphrases", task)
    spec = study.prompts.generator
    table = paraphrase(queries, wording, folder, spec, price_in=price_in, price_out=price_out, max_cost=max_cost)
    return dict(zip(table["id"], table["paraphrase"].fillna(""), strict=True))


def _ask(
    backend: Backend, todo: dict[str, str], template: str, spec: GeneratorSpec, store: AnswerStore,
    memory: dict[str, dict[str, Any]], reasons: dict[str, str], report: Callable[[str], None],
) -> None:  # fmt: skip
    jobs = [
        Job(
            id=key,
            messages=({"role": "user", "content": template.replace("{input}", text)},),
            read=plain,
            accept=lambda answer, text=text: "it equals the text" if same(answer, text) else None,  # type: ignore[misc]
        )
        for key, text in todo.items()
    ]
    done, writer = 0, writer_of(spec)
    for outcome in ask_until_valid(backend, jobs, spec.attempts, spec.seed):
        text = todo[outcome.job_id]
        reason = None if outcome.reason is None else without_key(outcome.reason, spec)
        record = {
            "text": text, "template": template, "writer": writer, "backend": backend.name, "paraphrase": outcome.value,
            "reason": reason, "attempt": outcome.attempt, "seed": outcome.seed, "created_at": outcome.at,
            "answer": None if outcome.answer is None else outcome.answer.model_dump(),
        }  # fmt: skip
        store.add(record)
        if reason is None:
            memory[text] = record
            done += 1
            if done % max(1, len(jobs) // 20) == 0 or done == len(jobs):
                report(f"[{done}/{len(jobs)}] paraphrases")
        else:
            reasons[text] = reason


def _stored(folder: Path, template: str, writer: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    """Text -> record of the accepted paraphrases of this wording and writer (of any writer where none is named)."""
    return {
        r["text"]: r
        for r in AnswerStore(folder / "answers.jsonl").records()
        if r.get("paraphrase") and r.get("template") == template and writer in (None, r.get("writer"))
    }


def _table(
    queries: Mapping[str, str], wording: str, memory: dict[str, dict[str, Any]], reasons: dict[str, str]
) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for query_id, text in queries.items():
        record = memory.get(text)
        if record is None:
            reason = reasons.get(text, "not asked yet")
            rows.append({"id": query_id, "text": text, "wording": wording, "reason": reason})
            continue
        writer, answer = record["writer"] or {}, record["answer"] or {}
        parameters = {k: v for k, v in writer.items() if k not in ("model", "revision")}
        rows.append({
            "id": query_id, "text": text, "paraphrase": record["paraphrase"], "wording": wording,
            "generator": writer.get("model"), "model_answered": answer.get("model"), "revision": writer.get("revision"),
            "backend": record["backend"], "parameters": json.dumps(parameters, sort_keys=True), "seed": record["seed"],
            "attempt": record["attempt"], "created_at": record["created_at"],
            "prompt_tokens": answer.get("prompt_tokens"), "answer_tokens": answer.get("answer_tokens"),
            "raw_answer": answer.get("text"),
        })  # fmt: skip
    table = pd.DataFrame(rows, columns=COLUMNS).astype(object)
    return table.where(table.notna(), None)


def _write(path: Path, table: pd.DataFrame) -> None:
    kept = table[table["paraphrase"].notna()]
    with replacing(path) as temporary:
        lines = (json.dumps(r, ensure_ascii=False) + "\n" for r in kept.to_dict("records"))
        temporary.write_text("".join(lines), encoding="utf-8")


def same(one: str, other: str) -> bool:
    """Whether two texts have the same words, whatever their case, marks and blanks."""

    def reduced(text: str) -> str:
        return "".join(c for c in text.casefold() if c.isalnum())

    return reduced(one) == reduced(other)


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _tokens(text: str) -> int:
    return max(1, math.ceil(len(text) / CHARACTERS_PER_TOKEN))
