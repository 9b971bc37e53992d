"""Server probe: what a client cannot set, found out once with a few requests."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from helpers.base.errors import StudyError
from helpers.models.function import FINGERPRINT_TEXTS
from helpers.models.server import Refused, Server

BESIDE = "A second request, with another text in it."
LONG = "The long way home leads past the old mill and the river. " * 100  # about 1,300 tokens
MOST_NOISE = 0.1
ENDS = ("All trains are late.", "Bread rises in an hour.")


def probed(server: Server, now: np.ndarray) -> dict[str, Any]:
    """noise: how far vectors of the same texts are apart in two requests, relative to their length; long: what
    becomes of a text of 1,300 tokens (`cut`, `refused`, `read`, `unknown`); prompt: what the server puts before a text.

    now: its vectors of the fixed texts. Raises `StudyError` where the server puts a prompt that nobody asked for.
    """
    again = server.ask([BESIDE, *reversed(FINGERPRINT_TEXTS)])[:0:-1]
    noise = apart(again, now)
    if noise > MOST_NOISE:
        raise StudyError(
            f"model {server.label}: {server.place} gives quite different vectors for one text in two requests ({noise:.1e} of "
            "their length); it cannot be swept"
        )
    return {"noise": noise, "long": long_text(server), "prompt": own_prompt(server)}


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """The largest distance of two vectors of one text, relative to the second one's length; infinite for other shapes.

    >>> apart(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]))
    0.0
    """
    if one.shape != other.shape:
        return float("inf")
    sizes = np.maximum(np.linalg.norm(other, axis=1), 1e-12)
    return float((np.linalg.norm(one - other, axis=1) / sizes).max())


def long_text(server: Server) -> str:
    """Whether two long texts that differ in their last sentence alone have one vector: then the server cuts them."""
    try:
        vectors = server.ask([LONG + end for end in ENDS], patient=False)
    except Refused:
        return "refused"
    except StudyError:
        return "unknown"
    return "cut" if apart(vectors[:1], vectors[1:]) < 1e-4 else "read"


def own_prompt(server: Server) -> str | None:
    """What TEI puts before a text by itself, read from its tokens; None where it puts nothing or does not show it."""
    if server.spec.protocol != "tei":
        return None
    body = {"inputs": BESIDE, "add_special_tokens": False, "prompt_name": server.spec.prompt_name}
    try:
        tokens = server.post(f"{server.spec.url}/tokenize", body)
        read = "".join(str(token["text"]) for token in tokens[0] if not token.get("special"))
    except (StudyError, KeyError, IndexError, TypeError):
        return None
    read, sent = re.sub(r"\s", "", read), re.sub(r"\s", "", BESIDE)
    before = read.removesuffix(sent) if read.endswith(sent) else ""
    if before and server.spec.prompt_name is None:
        raise StudyError(
            f"model {server.label}: {server.place} puts {before[:80]!r} before every text by itself; start it without a "
            "default prompt, or name that prompt as server.prompt_name"
        )
    return before or None
