"""YAML files: the one reader for studies, prompt files, instruction banks and pages.

Plain data only. A key that stands twice, text that refers to itself or unfolds without end, a file that is too large:
each is an error of one line that names file, line and remedy.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import yaml

from helpers.base.errors import StudyError

LARGEST = 16 * 2**20  # bytes of a file

MOST_NODES = 1_000_000  # of a file whose aliases (*name) are all written out

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path, name: str = "") -> Any:
    """The content of a YAML file; a `StudyError` of one line, which begins with `name`, where it cannot be used."""
    return parse_yaml(read_text(path, name), name or path.name)


def read_text(path: Path, name: str = "") -> str:
    """The UTF-8 text of a small file; a `StudyError` of one line where it cannot be read as one."""
    name = name or path.name
    if os.path.isdir(path):
        raise StudyError(f"{name} is a folder; name a file")
    try:
        found = path.stat()
        size = found.st_size
        if not stat.S_ISREG(found.st_mode):  # a device or a pipe: endless, or one that never answers
            raise ValueError("no regular file")
        if size > LARGEST:
            raise ValueError(f"{size:,} bytes; at most {LARGEST:,} are read")
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise StudyError(f"there is no file '{name}'") from None
    except UnicodeDecodeError as error:
        raise StudyError(f"{name}: not readable as UTF-8 text (byte {error.start + 1}); save it as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StudyError(f"{name[:80]}: cannot be read ({reason})") from None


def parse_yaml(text: str, name: str) -> Any:
    """The content of a YAML text, as `read_yaml`."""
    loader = _LOADER(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _require_finite(node)
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}, column {mark.column + 1}:" if mark is not None else ""
        told = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        raise StudyError(f"{name}:{where} not readable as YAML: {' '.join(str(told).split())[:200]}") from None
    except RecursionError:
        raise StudyError(f"{name}: nested too deeply; a usable file has a few levels") from None
    except ValueError as error:  # of ours, and of a number or date that Python cannot hold
        told = str(error).split(";")[0] if "set_int_max" in str(error) else str(error)
        raise StudyError(f"{name}: {told[:300]}") from None
    finally:
        loader.dispose()


def _require_finite(root: yaml.Node) -> None:
    """Raise `ValueError` where a key stands twice in a mapping, or where the aliases lead in a circle or explode."""
    sizes: dict[int, int] = {}
    under_way: set[int] = set()

    def size(node: yaml.Node) -> int:
        if id(node) in under_way:
            raise ValueError(f"line {node.start_mark.line + 1}: refers to itself")
        if id(node) not in sizes:
            under_way.add(id(node))
            total = 1
            if isinstance(node, yaml.MappingNode):
                _require_distinct(node)
                total += sum(size(key) + size(value) for key, value in node.value)
            elif isinstance(node, yaml.SequenceNode):
                total += sum(map(size, node.value))
            if total > MOST_NODES:
                raise ValueError(
                    f"line {node.start_mark.line + 1}: unfolds to more than {MOST_NODES:,} entries; "
                    "write out what its aliases (*name) repeat"
                )
            under_way.discard(id(node))
            sizes[id(node)] = total
        return sizes[id(node)]

    size(root)


def _require_distinct(mapping: yaml.MappingNode) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in mapping.value:
        if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
            continue
        same, line = (key.tag, key.value), key.start_mark.line + 1
        if same in lines:
            raise ValueError(
                f"the key '{key.value[:80]}' stands twice, in line {lines[same]} and in line {line}; keep one"
            )
        lines[same] = line


def parse_json(text: str, name: str) -> Any:
    """The content of a JSON text, with the same errors of one line."""
    try:
        return json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        told = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise StudyError(f"{name}: not readable as JSON: {told[:200]}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key '{twice[:80]}' stands twice in one object; keep one")
    return found
