"""The page of tables is what the rooms declare, and the notebooks save what it lists."""

import re
from pathlib import Path

import pytest

from helpers.report.tables import page
from helpers.runner.notebooks import notebook_paths
from helpers.study.tables import declared_tables

ROOT = Path(__file__).resolve().parents[2]
BY_A_FUNCTION = {"prompts", "problems", "published_prompts"}  # saved together with what they were made from


def test_the_page_in_docs_is_what_the_rooms_declare():
    committed = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert committed == page(), "docs/tables.md is not as the rooms declare; `make docs` writes it"


@pytest.mark.parametrize("step", ["01", "02", "03", "04", "05", "06"])
def test_a_notebook_saves_the_tables_of_its_step(step):
    saved = set(re.findall(r'save_table\(\\"(\w+)\\"', notebook_paths(ROOT)[step].read_text(encoding="utf-8")))
    assert saved == {t.name for t in declared_tables().values() if t.step == step} - BY_A_FUNCTION


def test_every_anchor_of_the_page_is_one_of_a_notebook_or_a_figure():
    sources = [*notebook_paths(ROOT).values(), *(ROOT / "src" / "helpers").rglob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources).replace("tbl-audit-{name}", "")
    anchors = {a for t in declared_tables().values() for a in t.page.split(", ") if a}
    assert {a for a in anchors if not re.search(rf'\b{a}\\?"', text)} == set()
