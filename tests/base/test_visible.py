"""Text from data cannot steer a terminal, a log, a page or a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from helpers.base.terminal import Lasting
from helpers.base.visible import for_terminal, show_controls
from helpers.prompts.prompt import prompt_id
from helpers.prompts.review import read_review, write_review
from helpers.report.sources import _plain_cell
from helpers.runner.console import Console

STEERING = "\x1b]0;title\x07\x1b[2J\u202eabc\x9b1m\u2066\U000e0041\x00"
PLAIN = "cost 5 €\t50 %\r\nnaïve 漢字 🙂\n"


def is_clean(text: str) -> bool:
    return not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]", text)


def test_ordinary_text_stays_as_it_is_and_controls_are_named() -> None:
    assert for_terminal(PLAIN) == show_controls(PLAIN) == PLAIN
    assert for_terminal("\x1b[31mred\x1b[0m") == "red" and for_terminal("a\u202eb") == "a⟨U+202E⟩b"
    assert is_clean(for_terminal(STEERING)) and "abc" in for_terminal(STEERING)


def test_terminal_and_log_get_no_control(tmp_path: Path) -> None:
    shown = io.StringIO()
    Lasting(shown).write(STEERING)
    console, log = Console(shown), io.StringIO()
    with console.following(log, 1):
        console.stdout.write(f"cell of {STEERING}\n")
        console.stderr.write(f"warning {STEERING}\n")
    console.line(STEERING)
    assert is_clean(shown.getvalue()) and is_clean(log.getvalue())
    assert shown.getvalue().count("abc") == 3 and log.getvalue().count("abc") == 2


def test_outputs_of_a_page_get_no_control() -> None:
    outputs = [
        nbformat.v4.new_output("stream", text=f"{STEERING}\n"),
        nbformat.v4.new_output("error", ename="E", evalue=STEERING, traceback=[STEERING]),
        nbformat.v4.new_output("display_data", data={"text/plain": STEERING}),
    ]
    cell = nbformat.v4.new_code_cell("x", outputs=outputs)
    _plain_cell(cell)
    texts = [
        cell.outputs[0].text,
        cell.outputs[1].evalue,
        *cell.outputs[1].traceback,
        cell.outputs[2].data["text/plain"],
    ]
    assert all(is_clean(text) and "abc" in text for text in texts)


CELLS = {
    "=1+1": "'=1+1", "+cmd": "'+cmd", "-2+3": "'-2+3", "@SUM(A1)": "'@SUM(A1)", "\tx": "'\tx", "-0.5": "-0.5",
    "+1e-05": "+1e-05", "-.5": "-.5", "": "", "plain": "plain", '=a"b': '"\'=a""b"',
}  # fmt: skip


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_a_download_of_the_site_holds_no_formula() -> None:
    script = (Path(__file__).parents[2] / "site" / "helpers.js").read_text(encoding="utf-8")
    found = re.search(r"function cell\(value\) \{.*?\n  \}", script, re.DOTALL)
    assert found is not None
    values = [*CELLS, -0.5, 3, None]
    code = f"{found[0]}; console.log(JSON.stringify({json.dumps(values)}.map(cell)))"
    done = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [*CELLS.values(), "-0.5", "3", ""]


def test_a_review_file_holds_no_formula_in_any_column(tmp_path: Path) -> None:
    text = "=1+1"
    row = {"task": "@task", "prompt_id": prompt_id(text), "text": text, "level": "task", "generator": "=cmd|' /C calc'!A0",
           "rules": "-x", "reasons": "+x"}  # fmt: skip
    path = write_review(tmp_path / "review.csv", pd.DataFrame([row]))
    with open(path, encoding="utf-8-sig", newline="") as file:
        cells = [cell for line in list(csv.reader(file))[1:] for cell in line]
    assert not any(cell[:1] in tuple("=+-@\t\r") and cell for cell in cells)
    assert ("@task", prompt_id(text)) in read_review(path).rows
    assert write_review(path, pd.DataFrame([row])).read_text(encoding="utf-8").count("calc") == 1
