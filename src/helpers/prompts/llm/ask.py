"""Answers that must have a shape: the JSON in a model's text, checked by pydantic, asked for again with the reason.

The openai client's own `parse` is not used: it serves one of the three back ends, and refuses what open models write
around the JSON (reasoning, fences, talk) without the text that the journal keeps and the next question names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from helpers.prompts.llm.chat import Answer, Backend, Failure, Request

Shape = TypeVar("Shape", bound=BaseModel)

Value = TypeVar("Value")


class NotUsable(ValueError):
    """An answer that cannot be used; the message is the reason that the model is told."""


def parse(text: str, shape: type[Shape], finish_reason: str | None = None) -> Shape:
    """The last JSON object of the text that has the shape.

    Reasoning before it, code fences around it and talk after it are tolerated. Raises `NotUsable` with the reason.

    >>> parse('<think>a list</think> ```json\\n{"text": "x"}\\n```', Text).text  # doctest: +SKIP
    'x'
    """
    found = list(json_objects(text))
    problem = ""
    for candidate in reversed(found):
        try:
            value = shape.model_validate(candidate)
            json.dumps(candidate, ensure_ascii=False).encode()
            return value
        except ValidationError as error:
            problem = problem or _readable(error)
        except UnicodeEncodeError:
            problem = problem or "a text holds half a character (a lone surrogate)"
    if finish_reason == "length":
        raise NotUsable("the answer was cut off before the JSON ended; answer more briefly (or raise max_tokens)")
    if not text.strip():
        raise NotUsable("the answer was empty")
    if not found:
        cut = "{" in text
        raise NotUsable("the JSON is incomplete or malformed" if cut else "the answer holds no JSON object")
    raise NotUsable(problem)


def plain(text: str, finish_reason: str | None = None) -> str:
    """The answer as text: without reasoning in tags, code fences and quotation marks around it.

    Raises `NotUsable` where nothing is left, the answer was cut off, or it has several paragraphs.
    """
    if finish_reason == "length":
        raise NotUsable("the answer was cut off; answer more briefly (or raise max_tokens)")
    left = _without_reasoning(text).strip()
    left = re.sub(r"^```\w*\n(.*?)\n?```$", r"\1", left, flags=re.DOTALL).strip()
    if len(left) > 1 and (left[0], left[-1]) in (('"', '"'), ("“", "”"), ("'", "'"), ("«", "»")):
        left = left[1:-1].strip()
    if not left:
        raise NotUsable("the answer was empty")
    if "\n\n" in left:
        raise NotUsable("the answer has several paragraphs; give the text alone")
    return left


def _without_reasoning(text: str) -> str:
    """The text without what stands between `<think>` and `</think>`, and the like; an open end stays."""
    kept, position, lower = [], 0, text.lower()
    for tag in re.finditer(r"<(think|thinking|reasoning)>", lower) if len(lower) == len(text) else ():
        if tag.start() < position:
            continue
        end = lower.find(f"</{tag[1]}>", tag.end())
        if end < 0:
            break
        kept.append(text[position : tag.start()])
        position = end + len(tag[1]) + 3
    return "".join([*kept, text[position:]])


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost JSON object in a text, in its order."""
    decoder, position = json.JSONDecoder(), 0
    while (position := text.find("{", position)) >= 0:
        try:
            value, end = decoder.raw_decode(text, position)
        except RecursionError:
            return  # nested without end: no object of ours, and looking at every brace of it takes minutes
        except ValueError:
            position += 1
            continue
        if isinstance(value, dict):
            yield value
        position = end


def _readable(error: ValidationError) -> str:
    lines = []
    for problem in error.errors()[:3]:
        place = ".".join(map(str, problem["loc"])) or "answer"
        lines.append(f"{place}: {re.sub(r'^Value error, ', '', problem['msg'])}")
    return "; ".join(lines)


@dataclass
class Job(Generic[Value]):
    """One thing to ask for.

    read: text and finish reason -> value, or `NotUsable`; accept: a further check that returns a reason or None.
    """

    id: str
    messages: tuple[dict[str, str], ...]
    read: Callable[[str, str | None], Value]
    schema: dict[str, Any] | None = None
    schema_name: str = "answer"
    accept: Callable[[Value], str | None] = field(default=lambda value: None)


@dataclass
class Outcome:
    """How one attempt at a job ended: a value, or the reason why there is none."""

    job_id: str
    value: Any | None
    reason: str | None
    attempt: int
    answer: Answer | None
    seed: int | None
    at: str


def ask_until_valid(
    backend: Backend, jobs: Sequence[Job[Any]], attempts: int, seed: int | None = None
) -> Iterator[Outcome]:
    """Ask for every job until its answer is valid, at most `attempts` times; yields the outcome of every attempt.

    An answer that is not usable is shown to the model again together with the reason, with another seed. Requests that
    fail on the way are not asked again here, the back end has tried already. Raises `StudyError`, after everything that
    was answered has been handed over, when the back end says that further requests are in vain.
    """
    from helpers.base.errors import StudyError

    waiting = {job.id: (job, job.messages) for job in jobs}
    for attempt in range(1, attempts + 1):
        if not waiting:
            return
        used = None if seed is None else seed + attempt - 1
        requests = [
            Request(
                id=f"{job.id}#{attempt}", messages=messages, seed=used, answer_schema=job.schema,
                schema_name=job.schema_name,
            )
            for job, messages in waiting.values()
        ]  # fmt: skip
        in_vain: str | None = None
        for request_id, answer in backend.ask(requests):
            job = waiting[request_id.rsplit("#", 1)[0]][0]
            if isinstance(answer, Failure):
                in_vain = in_vain or (answer.reason if answer.fatal else None)
                waiting.pop(job.id)
                yield Outcome(job.id, None, answer.reason, attempt, None, used, _now())
                continue
            value, reason = _judge(job, answer)
            if reason is None:
                waiting.pop(job.id)
            else:
                waiting[job.id] = (job, (*job.messages, *_again(answer.text, reason)))
            yield Outcome(job.id, value, reason, attempt, answer, used, _now())
        if in_vain:
            raise StudyError(f"the language model cannot be used: {in_vain}")


def _judge(job: Job[Any], answer: Answer) -> tuple[Any | None, str | None]:
    try:
        value = job.read(answer.text, answer.finish_reason)
    except NotUsable as error:
        return None, str(error)
    reason = job.accept(value)
    return (None, reason) if reason else (value, None)


def _again(text: str, reason: str) -> Iterable[dict[str, str]]:
    yield {"role": "assistant", "content": text[-4000:] or "(nothing)"}
    yield {
        "role": "user",
        "content": f"This answer cannot be used: {reason}. Answer again, with nothing but the JSON object asked for.",
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
