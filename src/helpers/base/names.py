"""Names: of things that nobody knows, of languages, of files."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable
from functools import cache


def repeated(names: Iterable[str]) -> str | None:
    """The first name that occurs more than once, None where all differ."""
    counts = Counter(names)
    return next((name for name, count in counts.items() if count > 1), None)


def unknown(kind: str, name: str, known: list[str]) -> str:
    """The message for a name that nobody knows: "unknown task 'STS51'; did you mean STS15?"."""
    name = name if len(name) <= 80 else f"{name[:60]}…"
    lower = {k.lower(): k for k in known}
    close = [lower[k] for k in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.6)]
    if close:
        return f"unknown {kind} '{name}'; did you mean {' or '.join(close)}?"
    listed = ", ".join(known[:8]) + (" …" if len(known) > 8 else "")
    return f"unknown {kind} '{name}'; known: {listed or 'none'}"


@cache
def language_name(code: str) -> str:
    """The English name of an ISO 639-3 code ("deu" -> "German"), or the code where mteb does not know it."""
    from mteb.languages import ISO_TO_LANGUAGE

    return str(ISO_TO_LANGUAGE.get(code, code)).split(" (")[0].split(";")[0]
