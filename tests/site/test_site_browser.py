"""The report and JupyterLab in a real browser without network: charts are drawn and texts stay texts."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import altair as alt
import nbformat
import pandas as pd
import pytest

from helpers import charts

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on PATH: pages are not opened in a browser"
)
PAGES = [
    "index.html",
    *(f"report/{s}/{p}.html" for s in ("demo", "mine") for p in ("index", "03_inflation", "04_leaderboard")),
]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        chromium = p.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def tab(browser):
    """A page without network that notes every error of the console and every failed request."""
    context = browser.new_context(offline=True, accept_downloads=True)
    page = context.new_page()
    page.errors = []
    page.on("console", lambda m: m.type in ("error", "warning") and page.errors.append(m.text))
    page.on("pageerror", lambda e: page.errors.append(str(e)))
    page.on("requestfailed", lambda r: page.errors.append(f"failed: {r.url}"))
    yield page
    context.close()


def settle(page) -> None:
    page.wait_for_function(
        "!document.querySelector('figure.hp-chart:not([data-state=drawn])')", timeout=20_000
    )


@pytest.mark.parametrize("path", PAGES)
def test_every_chart_is_drawn_and_nothing_complains(site, tab, path):
    tab.goto((site / path).as_uri())
    settle(tab)
    figures = tab.eval_on_selector_all(
        "figure.hp-chart",
        "fs => fs.map(f => [f.querySelectorAll('.hp-plot svg path').length > 3,"
        " getComputedStyle(f.querySelector('.hp-picture')).display,"
        " f.querySelector('svg').getAttribute('aria-label')])",
    )
    assert len(figures) == (0 if "index" in path else 2)
    assert all(drawn and picture == "none" and "<alt>" in label for drawn, picture, label in figures)
    assert tab.errors == [] and "hacked" not in tab.title()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"


def test_picture_is_shown_without_javascript(site, browser):
    context = browser.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "report/demo/03_inflation.html").as_uri())
    pictures = page.locator(".hp-picture")
    assert pictures.count() == 2 and all(pictures.nth(n).bounding_box()["height"] > 50 for n in range(2))
    context.close()


def test_picture_is_printed_instead_of_the_drawing(site, tab):
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    settle(tab)
    tab.emulate_media(media="print")
    assert tab.locator(".hp-picture").first.is_visible() and not tab.locator(".hp-plot").first.is_visible()


def test_charts_follow_the_dark_page(site, tab):
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    settle(tab)
    tab.evaluate("document.documentElement.classList.add('quarto-dark')")
    tab.wait_for_function(
        "[...document.querySelectorAll('figure.hp-chart')].every(f => f.dataset.dark === 'true')"
    )
    settle(tab)
    assert "#e08428" in tab.inner_html("#fig-inflation-0 .hp-plot")


def test_charts_are_drawn_beside_an_amd_loader(site, tab):
    tab.add_init_script(
        "window.define = function () {}; window.define.amd = {}; window.require = window.define;"
    )
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    settle(tab)
    assert tab.errors == [] and tab.evaluate("typeof window.vegaEmbed") == "function"


def test_hover_shows_markup_of_a_prompt_as_text(site, tab):
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    settle(tab)
    marks = tab.locator("#fig-inflation-0 .mark-symbol.role-mark path")
    for n in range(12):
        marks.nth(n).dispatch_event("pointermove", {"bubbles": True})
        marks.nth(n).dispatch_event("mousemove", {"bubbles": True})
        tab.wait_for_timeout(30)
        assert tab.locator("#vg-tooltip-element script, #vg-tooltip-element img").count() == 0
    assert tab.locator("#vg-tooltip-element").inner_text() and "hacked" not in tab.title()


def test_data_and_tables_are_downloaded_exactly(site, tab, tmp_path):
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    settle(tab)
    for selector, name, lines in (
        ("#fig-inflation-0", "fig-inflation-0.csv", 61),
        ("#tbl-scores", "tbl-scores.csv", None),
    ):
        with tab.expect_download() as waiting:
            tab.locator(
                f"{selector} .hp-links button", has_text="Data" if "fig" in selector else "CSV"
            ).click()
        assert waiting.value.suggested_filename == name
        waiting.value.save_as(tmp_path / name)
        text = (tmp_path / name).read_bytes().decode()
        assert lines is None or text.count("\r\n") == lines
    assert "right\u202eto left" in text and "**bold** [link](http://example.org) `code`\n\n# heading" in text


def test_table_is_searched_and_sorted(site, tab):
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    tab.locator("#tbl-scores input[type=search]").fill("outer blanks")
    assert tab.locator("#tbl-scores tbody tr:visible").count() == 6
    tab.locator("#tbl-scores input[type=search]").fill("")
    tab.locator("#tbl-scores th button", has_text="score").click()
    values = [float(v) for v in tab.locator("#tbl-scores tbody td:nth-child(3)").all_inner_texts()]
    assert values == sorted(values) and len(values) == 60


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@pytest.fixture
def jupyterlab(tmp_path):
    """A JupyterLab of its own: its address, without token, and its root folder."""
    root = tmp_path / "lab"
    root.mkdir()
    own = {
        k: str(tmp_path / v)
        for k, v in {"JUPYTER_CONFIG_DIR": "c", "JUPYTER_RUNTIME_DIR": "r", "IPYTHONDIR": "i"}.items()
    }
    port = free_port()
    options = [
        f"--port={port}",
        f"--ServerApp.root_dir={root}",
        "--no-browser",
        "--allow-root",
        "--IdentityProvider.token=",
    ]
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            env={**os.environ, **own},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=1).close()
                break
            except OSError:
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}", root
    finally:
        server.terminate()
        server.wait(30)


@pytest.mark.slow
def test_charts_are_drawn_in_jupyterlab_without_network(jupyterlab, browser):
    address, root = jupyterlab
    code = (Path(__file__).parent / "lab_cells.py").read_text(encoding="utf-8").split("# %%\n")
    cells = [nbformat.v4.new_code_cell(c.strip()) for c in code[1:]]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, root / "t.ipynb")
    context = browser.new_context()
    context.route(
        "**/*",
        lambda r: r.continue_() if r.request.url.startswith((address, "data:", "blob:")) else r.abort(),
    )
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda e: errors.append(str(e)))
    page.goto(f"{address}/lab/tree/t.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=90_000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)  # "Run" before that is lost
    page.wait_for_timeout(1000)
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.get_by_text("Run", exact=True).first.click()
    page.get_by_text("Run All Cells", exact=True).click()
    page.wait_for_function(
        "document.querySelectorAll('figure.hp-chart[data-state=drawn]').length === 2", timeout=120_000
    )
    assert page.locator(".hp-plot svg").count() == 2 and not page.locator(".hp-picture:visible").count()
    assert page.locator(".hp-table mjx-container").count() == 0, "a formula in the data was typeset"
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    page.wait_for_function(
        "document.querySelectorAll('figure.hp-chart[data-dark=true][data-state=drawn]').length === 2"
    )
    assert errors == []

    # The notebook of somebody else: its scripts do not run, so its pictures are shown.
    dots = alt.Chart(pd.DataFrame({"x": [1, 2]})).mark_point().encode(x="x")
    bundle = charts.show(dots, name="fig-x", alt="dots", title="A claim")._repr_mimebundle_()
    shown = nbformat.v4.new_output("display_data", data=bundle)
    other = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", outputs=[shown])])
    nbformat.write(other, root / "other.ipynb")
    page.goto(f"{address}/lab/tree/other.ipynb?reset")
    page.wait_for_selector("figure img[alt=dots]", timeout=60_000)
    assert page.evaluate("document.querySelector('figure img').naturalWidth > 100")
    context.close()
