"""The report in a real browser without network: charts are drawn and texts stay texts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.scores.board import borda

PAGES = [
    "index.html",
    "report/compare.html",
    *(f"report/{s}/{p}.html" for s in ("demo", "mine") for p in ("index", "03_inflation", "04_leaderboard")),
]


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
    page.wait_for_function("!document.querySelector('figure.hp-chart:not([data-state=drawn])')", timeout=20_000)


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
    assert len(figures) == {"index.html": 5, "compare.html": 1}.get(
        path.removeprefix("report/"), 0 if "index" in path else 2
    )
    assert all(drawn and picture == "none" and len(label) > 10 for drawn, picture, label in figures)
    assert tab.errors == [] and "hacked" not in tab.title()
    assert tab.locator("main b", has_text="raw").count() == 0, "markup of a prompt became an element"
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"


def test_the_board_of_the_landing_page_ranks_as_the_package_does(site, tab):
    tab.goto((site / "index.html").as_uri())
    rng = np.random.default_rng(0)
    for _ in range(40):  # ties and holes, models without any score
        scores = rng.integers(0, 4, (rng.integers(2, 7), rng.integers(1, 5))).astype(float)
        scores[rng.random(scores.shape) < 0.25] = np.nan
        board = borda(pd.DataFrame(scores)).set_index("model").sort_index()
        sent = [[None if np.isnan(s) else s for s in row] for row in scores]
        assert tab.evaluate("s => helpersBoard.points(s)", sent) == board["points"].fillna(0).tolist()  # none: 0
        ranks = [None if np.isnan(r) else r for r in board["rank"]]
        assert tab.evaluate("s => helpersBoard.ranks(s)", sent) == ranks


def test_the_address_brings_back_a_board(site, tab):
    tab.goto((site / "index.html").as_uri())
    board = tab.locator(".hp-board")
    by_default = board.get_attribute("data-ranks")
    board.get_by_role("button", name="Worst for the others").click()
    board.get_by_role("button", name="Best for it").click()
    chosen, address = board.get_attribute("data-ranks"), tab.url
    assert chosen != by_default and json.loads(chosen)[0] == 1
    tab.goto("about:blank")
    tab.goto(address)
    assert board.get_attribute("data-ranks") == chosen
    tab.evaluate("location.hash = '#board=0;9.9.9,0.0.77,x'")  # what does not exist changes nothing
    tab.wait_for_function("r => document.querySelector('.hp-board').dataset.ranks === r", arg=by_default)
    board.get_by_role("button", name="Draw all at random").click()
    board.get_by_role("button", name="All defaults").click()
    assert board.get_attribute("data-ranks") == by_default and tab.errors == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", ["index.html", "report/compare.html", "report/demo/03_inflation.html",
                                  "report/mine/index.html", "report/methods.html"])  # fmt: skip
def test_no_serious_accessibility_violation(site, tab, path, theme):
    import axe_playwright_python

    tab.goto((site / path).as_uri())
    if theme == "dark":
        tab.locator(".quarto-color-scheme-toggle").first.click()
        tab.wait_for_function("document.querySelector('.quarto-dark, [data-scheme=alternate]') !== null", timeout=5000)
    settle(tab)
    tab.evaluate((Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    bad = [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found if v["impact"] in ("serious", "critical")]
    assert bad == []


def test_search_on_a_page_opened_as_a_file_shows_markup_as_text(site, tab):
    tab.goto((site / "index.html").as_uri())
    quarto = tab.locator("#quarto-search .aa-Input").count() > 0
    box, hits = ("#quarto-search .aa-Input", ".aa-Panel") if quarto else (
        ".smalldocs-search input", ".smalldocs-search-results")  # fmt: skip
    tab.locator(box).first.fill("document.title='hacked'")
    found = tab.locator(hits).first
    found.get_by_text("Inflation").first.wait_for()
    assert "<script>document.title='hacked'</script>" in found.inner_text() and tab.title() != "hacked"
    assert found.locator("script, img, b").count() == 0 and tab.errors == []


def test_tables_are_sorted_and_pages_searched_with_the_keyboard(site, tab):
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    tab.locator("#tbl-scores th button", has_text="score").focus()
    tab.keyboard.press("Enter")
    values = [float(v) for v in tab.locator("#tbl-scores tbody td:nth-child(3)").all_inner_texts()]
    assert values == sorted(values)
    assert tab.evaluate("[...document.querySelectorAll('main button, main input')].every(e => e.tabIndex === 0)")


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
    tab.locator(".quarto-color-scheme-toggle").first.click()
    tab.wait_for_function("[...document.querySelectorAll('figure.hp-chart')].every(f => f.dataset.dark === 'true')")
    settle(tab)
    assert "#e08428" in tab.inner_html("#fig-inflation-0 .hp-plot")


def test_charts_are_drawn_beside_an_amd_loader(site, tab):
    tab.add_init_script("window.define = function () {}; window.define.amd = {}; window.require = window.define;")
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    settle(tab)
    own = [e for e in tab.errors if "autocomplete" not in e and "is not a constructor" not in e]  # Quarto's search box
    assert own == [] and tab.evaluate("typeof window.vegaEmbed") == "function"


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


def test_a_click_brings_one_model_forward_in_every_panel(site, tab):
    """Three models in the panels of two studies: the other two fade in both, until a double click."""
    tab.goto((site / "report/compare.html").as_uri())
    settle(tab)
    marks = tab.locator("#fig-compare-scores .mark-symbol.role-mark path")
    faint = "#fig-compare-scores .mark-symbol.role-mark path[opacity='0.2']"
    assert (marks.count(), tab.locator(faint).count()) == (6, 0)
    marks.first.click()
    tab.wait_for_function("faint => document.querySelectorAll(faint).length === 4", arg=faint)
    marks.first.dblclick()
    tab.wait_for_function("faint => document.querySelectorAll(faint).length === 0", arg=faint)


def test_a_click_highlights_in_a_chart_without_a_selection_of_its_own(site, tab):
    """Bars of the same model stay, in both facets; a second click on the bar brings the others back."""
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    settle(tab)
    bars = tab.locator("#fig-inflation-1 .mark-rect.role-mark path")
    models = bars.evaluate_all("bars => bars.map(b => b.__data__.datum.model)")
    faint = tab.locator("#fig-inflation-1 .hp-faint")
    bars.first.click()
    assert faint.count() == sum(m != models[0] for m in models) > 0
    bars.first.click()
    assert faint.count() == 0 and tab.errors == []


def test_marks_are_reached_with_the_keyboard_and_their_values_are_said(site, tab):
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    settle(tab)
    tab.locator("#fig-inflation-0 svg").focus()
    tab.keyboard.press("ArrowRight")
    said = tab.locator("#fig-inflation-0 .hp-said")
    assert said.get_attribute("aria-live") == "polite" and said.inner_text().startswith("1 of 60: prompt ")
    assert "<script>document.title='hacked'</script>" in said.inner_text() and said.locator("*").count() == 0
    tab.keyboard.press("ArrowLeft")
    assert said.inner_text().startswith("60 of 60: ") and tab.locator(".hp-at").count() == 1
    tab.keyboard.press("Escape")
    assert said.inner_text() == "" and tab.locator(".hp-at").count() == 0 and tab.errors == []


def test_data_and_tables_are_downloaded_exactly(site, tab, tmp_path):
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    settle(tab)
    for selector, name, lines in (
        ("#fig-inflation-0", "fig-inflation-0.csv", 61),
        ("#tbl-scores", "tbl-scores.csv", None),
    ):
        with tab.expect_download() as waiting:
            tab.locator(f"{selector} .hp-links button", has_text="Data" if "fig" in selector else "CSV").click()
        assert waiting.value.suggested_filename == name
        waiting.value.save_as(tmp_path / name)
        text = (tmp_path / name).read_bytes().decode()
        assert lines is None or text.count("\r\n") == lines
    assert "right\u202eto left" in text and "**bold** [link](http://example.org) `code`\n\n# heading" in text


def test_figure_and_table_are_downloaded_for_a_paper(site, tab, tmp_path):
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    settle(tab)
    got = {}
    for selector, words in (
        ("#fig-inflation-0", "SVG"),
        ("#fig-inflation-0", "PNG"),
        ("#tbl-scores", "LaTeX"),
    ):
        with tab.expect_download() as waiting:
            tab.locator(f"{selector} .hp-links button", has_text=words).click()
        waiting.value.save_as(tmp_path / words)
        got[words] = (tmp_path / words).read_bytes()
    assert got["SVG"].startswith(b"<svg") and got["PNG"].startswith(b"\x89PNG")
    latex = got["LaTeX"].decode()
    assert "\\begin{tabular}{llrl}\n\\toprule" in latex and r"\$\textbackslash{}frac\{1\}" in latex
    body = latex.split(r"\midrule")[1].replace(" & ", "")
    assert not re.search(r"(?<!\\)[$&#_%]", body)


def test_table_is_searched_and_sorted(site, tab):
    tab.goto((site / "report/demo/03_inflation.html").as_uri())
    tab.locator("#tbl-scores input[type=search]").fill("outer blanks")
    assert tab.locator("#tbl-scores tbody tr:visible").count() == 6
    tab.locator("#tbl-scores input[type=search]").fill("")
    tab.locator("#tbl-scores th button", has_text="score").click()
    values = [float(v) for v in tab.locator("#tbl-scores tbody td:nth-child(3)").all_inner_texts()]
    assert values == sorted(values) and len(values) == 60


def test_a_phone_gets_charts_that_are_not_scaled_down(site, browser):
    """390 px wide: text of charts is at least 11 px high where it is drawn, and nothing makes the page scroll sideways."""
    context = browser.new_context(offline=True, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    settle(page)
    sizes = page.eval_on_selector_all(
        "section.hp-claim .hp-plot svg",
        "svgs => svgs.map(s => s.getBoundingClientRect().width / (s.viewBox.baseVal.width || s.width.baseVal.value))",
    )
    assert sizes and min(sizes) * 12 >= 11, sizes
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
