"""Code that a model brings along: the source of its classes that belong to no library."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers.base.hashes import digest

# Classes of these packages are pinned by the packages' versions.
LIBRARIES = ("helpers", "torch", "transformers", "sentence_transformers", "tokenizers", "peft")


def own_code(st: Any) -> tuple[dict[str, str], list[str]]:
    """Digest of the source of every class that is not a library's, and what of it cannot be read."""
    found: dict[str, str] = {}
    hidden = []
    for kind in _classes(st):
        if kind.__module__.split(".")[0] in LIBRARIES:
            continue
        name = f"{kind.__module__.rsplit('.', 1)[-1]}.{kind.__qualname__}"
        try:
            found[name] = digest([_source(path) for path in _source_files(kind)])
            hidden.append(f"what the code of {name} does besides computing, e.g. reads elsewhere")
        except (OSError, TypeError):
            found[name] = "unknown"
            hidden.append(f"source of {name}")
    return found, sorted(hidden)


def _classes(st: Any) -> Iterator[type]:
    """The classes of all modules, their tokenizers and configurations, each once."""
    seen = set()
    for module in st.modules():
        owned = vars(module)
        for part in (module, owned.get("processor"), owned.get("tokenizer"), owned.get("config")):
            if part is not None and (kind := type(part)) not in seen:
                seen.add(kind)
                yield kind


def _source_files(kind: type) -> list[str]:
    """The file that a class is written in, and those that it imports from beside it."""
    from transformers.dynamic_module_utils import get_relative_import_files

    file = inspect.getsourcefile(kind)
    if file is None:
        raise OSError(f"no source of {kind.__name__}")
    return [file, *sorted(get_relative_import_files(file))]


def _source(path: str) -> list[str]:
    return [Path(path).name, hashlib.sha256(Path(path).read_bytes()).hexdigest()]
