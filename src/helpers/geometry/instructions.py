"""The instruction bank: what queries are instructed with, where each instruction comes from, what it is relevant for.

Study 2 instructs with 47 texts in retrieval and 51 in bitext mining (the four further ones name the language); 7 are
relevant for question answering, 10 for bitext mining. The bank keeps these counts. Controls of this suite (empty,
shuffled, reversed, ...) stand apart from them: they are measured and shown but take part in no statistic.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from helpers.base.errors import StudyError
from helpers.base.yaml import read_yaml
from helpers.study.geometry import Bank, Instruction, InstructionError


def load_instructions(path: Path | str, extra: Iterable[Instruction] = (), read_mteb: bool = True) -> list[Instruction]:
    """Read a bank (keys `instructions` and `controls`), then the user's own; ids and texts must be unique.

    With `read_mteb` the text of an entry with `mteb:` is the default of the installed mteb where its class is there;
    the file's text is the fallback. Raises `InstructionError` naming file, entry and remedy.
    """
    name = Path(path).name
    try:
        raw = read_yaml(Path(path))
    except StudyError as error:
        raise InstructionError(f"instruction bank: {error}") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("instructions"), list):
        raise InstructionError(f"{name}: needs the key 'instructions' with a list")
    unknown = sorted(set(raw) - {"instructions", "controls"})
    if unknown:
        raise InstructionError(f"{name}: unknown key '{unknown[0]}'; known are instructions, controls")
    controls = [{"group": "control", **entry, "control": True} for entry in raw.get("controls") or []]
    bank = [_entry(entry, name) for entry in [*raw["instructions"], *controls]]
    bank = [*(map(_with_installed_text, bank) if read_mteb else bank), *extra]
    _check_unique(bank, name)
    return bank


def select(
    bank: Sequence[Instruction], kind: Bank, groups: Sequence[str] | None = None, controls: bool = True
) -> list[Instruction]:
    """The instructions of one kind of task, in the bank's order; `groups` restricts all but the controls."""
    known = {i.group for i in bank}
    for group in set(groups or ()) - known:
        raise InstructionError(f"no instruction has the group '{group}'; groups: {sorted(known)}")
    return [i for i in bank if kind in i.banks and (controls if i.control else groups is None or i.group in groups)]


def mteb_default(path: str) -> str | None:
    """The default prompt (`abstask_prompt`) of a class `module:class` of the installed mteb, None where it is absent."""
    module, _, name = path.partition(":")
    try:
        prompt = getattr(importlib.import_module(module), name).abstask_prompt
    except (ImportError, AttributeError):
        return None
    return prompt if isinstance(prompt, str) else None


def instruction_table(bank: Iterable[Instruction]) -> pd.DataFrame:
    """The bank as a table: instruction_id, text, group, relevant_for, banks, control, source, motivation."""
    columns = ["instruction_id", "text", "group", "relevant_for", "banks", "control", "source", "motivation"]
    rows = [
        (i.id, i.text, i.group, ", ".join(i.relevant_for), ", ".join(i.banks), i.control, i.source, i.motivation)
        for i in bank
    ]
    return pd.DataFrame(rows, columns=pd.Index(columns))


def _entry(entry: Any, name: str) -> Instruction:
    try:
        return Instruction.model_validate(entry)
    except ValidationError as error:
        label = entry.get("id", "?") if isinstance(entry, dict) else "?"
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise InstructionError(f"{name}: instruction '{label}', key '{key}': {first['msg']}") from None


def _with_installed_text(instruction: Instruction) -> Instruction:
    text = mteb_default(instruction.mteb) if instruction.mteb else None
    if text is None or text == instruction.text:
        return instruction
    return instruction.model_copy(update={"text": text, "source": f"{instruction.source} (text of the installed mteb)"})


def _check_unique(bank: Sequence[Instruction], name: str) -> None:
    for what in ("id", "text"):
        counts = Counter(getattr(instruction, what) for instruction in bank)
        for value in (v for v, n in counts.items() if n > 1):
            raise InstructionError(f"{name}: two instructions have the {what} {value!r}; change or remove one of them")
