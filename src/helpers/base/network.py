"""The network: how to stay off it, and which failure lies behind an error that was passed on several times."""

from __future__ import annotations

import errno
import os

LASTING = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT, errno.EISDIR}


def go_offline() -> None:
    """No connection from here on, also where the Hub's libraries read their settings when they were imported."""
    import datasets.config
    import huggingface_hub.constants

    os.environ["HF_HUB_OFFLINE"] = "1"  # for worker processes
    huggingface_hub.constants.HF_HUB_OFFLINE = True
    datasets.config.HF_HUB_OFFLINE = True


def may_pass(error: BaseException) -> bool:
    """Whether trying again can help: the network or a file system that hiccups, but no full disk or missing file."""
    return isinstance(error, (ConnectionError, TimeoutError, OSError)) and (
        getattr(error, "errno", None) not in LASTING and not isinstance(error, (FileNotFoundError, PermissionError))
    )


def reason_behind(error: BaseException) -> str:
    """Type and first line of the failure that started a chain of exceptions, e.g. the Hub's answer 503.

    huggingface_hub has tried five more times with growing pauses before it raises such an answer.
    """
    first, seen = error, {id(error)}
    while getattr(first, "response", None) is None:
        following = first.__cause__ or (None if first.__suppress_context__ else first.__context__)
        if following is None or id(following) in seen:
            break
        first = following
        seen.add(id(first))
    lines = str(first).splitlines() or [""]
    return f"{type(first).__name__}: {lines[0][:300]}"
