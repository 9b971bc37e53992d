"""Pages that are made for all studies together: comparison, methods, glossary, examples on the landing page."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from types import SimpleNamespace

import nbformat
import pytest

from helpers.report import glossary, provenance
from helpers.report import methods as methods_page
from helpers.report.compare_page import page_body
from helpers.runner.notebooks import notebook_paths
from helpers.sensitivity import defaults as sensitivity


def read(site, page: str) -> str:
    return (site / page).read_text(encoding="utf-8")


def test_methods_page_holds_the_docstring_of_a_public_function(site):
    text = re.sub(r"<[^>]+>|\s+", " ", read(site, "report/methods.html"))
    first = (sensitivity.percentile_of.__doc__ or "").split("\n")[0]
    assert first in text and "src/helpers/sensitivity/defaults.py, line" in text


# What a notebook uses to run, to draw, to put into words or to open an explorer: it defines no quantity. Whole rooms,
# under their aliases, and modules of these names are left out too.
DRAWS = {"charts", "explorer", "fairness", "figures", "findings", "maps", "words"}
NO_QUANTITY = {
    *("geometry.sets", "geometry.study", "models.load", "prompts.llm", "prompts.origin", "scores.source"),
    *("study.run", "sweep.received", "sweep.results", "sweep.run", "tuning.card", "tuning.effects", "tuning.sets", "tuning.train"),
}  # fmt: skip


def _module_of(package: str, name: str) -> str:
    """`room.module` of what is imported: a module itself, or a name of a module or of a room's face."""
    found = getattr(importlib.import_module(package), name, None) or importlib.import_module(f"{package}.{name}")
    return (found.__name__ if inspect.ismodule(found) else found.__module__).removeprefix("helpers.")


def test_methods_page_defines_what_the_notebooks_use():
    """A module that a notebook imports is on the methods page, or is named above."""
    used = set()
    for path in notebook_paths().values():
        code = [c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
        for node in ast.walk(ast.parse("\n".join(code))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("helpers"):
                used |= {_module_of(node.module, alias.name) for alias in node.names}
    listed = {module for modules in methods_page.CHAPTERS.values() for module in modules}
    measures = {m for m in used if "." in m and m.split(".")[-1] not in DRAWS}
    assert measures - listed <= NO_QUANTITY and not listed & NO_QUANTITY


def test_every_term_is_defined_by_a_function_on_the_methods_page():
    known = {
        d.anchor for modules in methods_page.CHAPTERS.values() for m in modules for d in methods_page.definitions(m)
    }
    entries = glossary.entries()
    assert len(entries) == len({e.anchor for e in entries}) > 15
    assert [e.term for e in entries if methods_page.anchor_of(e.defined_by) not in known] == []


def test_a_page_links_the_terms_it_uses_and_no_others(site):
    assert [e.term for e in glossary.terms_in("A CV and two Prompts, but no promptness.")] == [
        "Prompt",
        "Coefficient of variation (CV)",
    ]
    page = read(site, "report/demo/03_inflation.html")
    assert 'href="../../report/glossary.html#term-prompt"' in page and "#term-angulation" not in page


@pytest.mark.parametrize("name", ["inflation", "ranks"])
def test_landing_page_explains_each_figure_with_a_made_up_example(site, name):
    page = read(site, "index.html")
    assert f'id="fig-example-{name}"' in page and "How to read the figures of page" in page


def test_long_findings_grow_instead_of_scrolling(site):
    text = read(site, "report/demo/index.html")
    assert "x" * 10_000 in text and "hp-long" not in text


def test_no_comparison_page_without_a_headline_table(tmp_path):
    assert page_body([SimpleNamespace(name="x", folder=tmp_path)]) is None  # type: ignore[list-item]


def test_the_foot_says_device_seeds_study_hash_and_renderer_of_the_execution(site):
    recorded = {"code": "abc", "packages": "mteb 1", "python": "3.11.1", "device": "2 x <GPU>"}
    foot = provenance.provenance(["demo"], "smalldocs 1", "2026-11-01T10:00:00", "03_x.ipynb", recorded)
    for part in (
        "sha256",
        "<dt>Seeds</dt><dd>42",
        "2 x &lt;GPU&gt;",
        "abc",
        "mteb 1",
        "smalldocs 1",
        "2026-11-01 10:00",
    ):
        assert part in foot
    assert "(at the rendering)" in provenance.provenance([], "x")
    assert provenance.record()["device"] != ""
