"""Study errors: what pydantic found wrong in a study, as short lines that name the key, what it must be, and the value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

MOST = 5  # problems that are named; the others are counted

_TAGS = {"str", "int", "float", "bool", "PromptFile", "LoraSpec"}

_WANTED = {
    "string": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "list": "a list",
    "tuple": "a list", "dict": "keys with values", "model": "keys with values",
}  # fmt: skip


def readable(error: ValidationError, root: type[BaseModel], unknown: Callable[..., str]) -> list[str]:
    """One line per problem: the dotted key, what is wrong, and for an unknown key the nearest known one.

    unknown: makes the sentence about an unknown name (`helpers.base.names.unknown`).
    """
    problems: dict[tuple[str, ...], list[Any]] = {}
    for problem in error.errors(include_url=False):
        problems.setdefault(_place(problem["loc"]), []).append(problem)
    deeper = [p for p in problems if not any(q[: len(p)] == p and len(q) > len(p) for q in problems)]
    lines = []
    for place in deeper:
        told = list(dict.fromkeys(_told(problem, root, unknown) for problem in problems[place]))
        wanted = [t.removeprefix("must be ") for t in told if t.startswith("must be ")]
        what = f"must be {' or '.join(wanted)}" if len(wanted) == len(told) else told[0]
        given = problems[place][0].get("input")
        first = problems[place][0]["type"]
        is_shown = first not in ("missing", "extra_forbidden") and not _is_secret(place)
        is_shown = is_shown and not (first == "value_error" and isinstance(given, (dict, list)))
        lines.append(f"{'.'.join(place) or 'study'}: {what}{f' (given: {shown(given)})' if is_shown else ''}"[:400])
    rest = [f"and {len(lines) - MOST} more problems"] if len(lines) > MOST else []
    return [*lines[:MOST], *rest]


def shown(value: Any) -> str:
    """A value of a study as a message may show it: short, on one line, in the words of YAML."""
    if isinstance(value, (dict, list)):
        return kind_of(value)
    if value is None:
        return "nothing"
    text = str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 70 else f"{text[:60]}… ({len(text):,} characters)"


def kind_of(value: Any) -> str:
    """What a value is, for a message: "a list of 3", "text", "nothing"."""
    if isinstance(value, dict):
        return f"keys with values ({', '.join(map(str, list(value)[:3]))[:60]})"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None:
        return "nothing"
    words = {"str": "text", "bool": "true or false", "int": "a number", "float": "a number"}
    return words.get(type(value).__name__, f"a {type(value).__name__}")


def misread(raw: Any, found: Any, place: str = "") -> Iterator[str]:
    """Places where a word became a number (`seed: yes` is no seed) or where a number is none (`.nan`, `.inf`)."""
    if isinstance(raw, dict):
        for key, value in raw.items():
            inner = found.get(key) if isinstance(found, dict) else getattr(found, str(key), None)
            yield from misread(value, inner, f"{place}.{key}" if place else str(key))
    elif isinstance(raw, list) and isinstance(found, list) and len(raw) == len(found):
        for number, (value, inner) in enumerate(zip(raw, found, strict=True)):
            yield from misread(value, inner, f"{place}.{number}")
    elif isinstance(raw, bool) and type(found) in (int, float):
        yield f"{place}: must be a number (given: {shown(raw)}; YAML reads yes, no, on and off as true and false)"
    elif isinstance(raw, float) and not math.isfinite(raw):
        yield f"{place}: must be a finite number (given: {raw})"


def _place(location: tuple[int | str, ...]) -> tuple[str, ...]:
    """The key's place without the alternatives of a union, which pydantic names in between."""
    return tuple(str(part)[:80] for part in location if not (isinstance(part, str) and ("[" in part or part in _TAGS)))


def _is_secret(place: tuple[str, ...]) -> bool:
    return bool(place) and (place[-1].endswith("_env") or place[-1] == "url" or "extra" in place)


def _told(problem: Any, root: type[BaseModel], unknown: Callable[..., str]) -> str:
    kind, context = str(problem["type"]), problem.get("ctx") or {}
    if kind == "extra_forbidden":
        known = _keys_beside(problem["loc"], root)
        return unknown("key", str(problem["loc"][-1])[:80], known)
    if kind == "missing":
        return "this key is missing"
    if kind in ("value_error", "assertion_error"):
        return " ".join(str(context.get("error", problem["msg"])).split())[:250]
    if kind == "literal_error":
        return f"must be {context['expected']}"
    first = kind.split("_")[0]
    if first in _WANTED and kind.endswith(("_type", "_parsing", "_from_float", "_parsing_size")):
        return f"must be {_WANTED[first]}"
    if kind == "too_short":
        return f"needs at least {context['min_length']} entry"
    if kind == "invalid_key":
        return "a key must be text"
    if kind == "string_pattern_mismatch":
        return f"does not have the form {context.get('pattern')}"
    return str(problem["msg"]).replace("Input should", "must").replace("String should", "must")[:200]


def _keys_beside(location: tuple[int | str, ...], root: type[BaseModel]) -> list[str]:
    """The keys that are known where an unknown one stands."""
    model = root
    for part in location[:-1]:
        field = model.model_fields.get(str(part)) if isinstance(part, str) else None
        if field is not None:
            model = _model_in(field.annotation) or model
    return sorted(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _model_in(inner)
        if found is not None:
            return found
    return None
