"""The report: what it shows of a run, and that a failed render costs nothing."""

from __future__ import annotations

import html
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from helpers.report.pages import check_site, tidy_page, tidy_site
from helpers.report.runs import study_runs
from helpers.report.search import entries
from helpers.report.site import ReportError, render_site


def read(site: Path, page: str) -> str:
    return (site / page).read_text(encoding="utf-8")


def test_rendered_site_has_no_problem(site):
    assert check_site(site) == []


def test_one_page_per_executed_notebook_and_none_for_others(site):
    pages = sorted(p.relative_to(site / "report").as_posix() for p in site.glob("report/*/*.html"))
    assert pages == [
        f"{study}/{page}.html" for study in ("demo", "mine") for page in ("03_inflation", "04_leaderboard", "index")
    ]


def test_the_page_of_a_study_links_each_finding_to_its_figure(site):
    page = read(site, "report/demo/index.html")
    assert 'href="03_inflation.html#fig-inflation-0"' in page
    assert "demo 03: &lt;script&gt;document.title=" in page


def test_the_landing_page_has_the_finding_as_its_title_and_four_answers(site):
    page = read(site, "index.html")
    assert "Change only the wording of the prompt, and an embedding score moves by 10 points in 100" in page
    assert page.count('class="hp-card"') == 4 and page.count("no study here answers this") == 1
    assert "<i>U</i>" not in page and page.index("mine") < page.index("its numbers say nothing about the models")


def test_incomplete_run_says_so_on_every_page_of_it(site):
    for page in ("index", "03_inflation", "04_leaderboard"):
        text = read(site, f"report/mine/{page}.html")
        assert "This run is incomplete" in text and "make report STUDY=mine" in text
        assert "&lt;b&gt;KeyError&lt;/b&gt;" in text and "Step 05, instruction geometry, has not run" in text
        assert "This run is incomplete" not in read(site, f"report/demo/{page}.html")


def test_parameters_are_not_repeated_as_code(site):
    text = read(site, "report/demo/03_inflation.html")
    assert "demo-injected" not in text and 'study = "demo"' not in text and "tbl-settings" in text


def test_pages_leave_out_the_packed_library_and_text_fallbacks(site):
    text = read(site, "report/demo/03_inflation.html")
    assert "hp-kit" not in text and "helpersVegaPacked" not in text and "[Figure 0" not in text
    assert len(text) < 300_000


def test_shortcodes_and_markup_in_outputs_are_text(site):
    text = read(site, "report/demo/03_inflation.html")
    assert os.environ.get("HOME", "/nonexistent") + " " not in text
    assert "<script>document.title" not in text


def test_search_finds_a_word_that_only_one_notebook_holds(site):
    hits = {e["href"].split("#")[0] for e in json.loads(read(site, "search.json")) if "zanzibar04" in e["text"]}
    assert hits == {"report/demo/04_leaderboard.html", "report/mine/04_leaderboard.html"}


def test_search_finds_prompts_and_model_names_of_tables_as_plain_text(site, hostile):
    index = json.loads(read(site, "search.json"))
    scores = next(e for e in index if e["href"] == "report/demo/03_inflation.html#tbl-scores")
    for text in (
        hostile[0],
        r"$\frac{1}{2}$",
        "<b>model</b>",
        "<i>task</i> $x$ ⟨U+202E⟩",
        "(empty)",
        "{{< include",
    ):
        assert text in html.unescape(scores["text"]), text  # Quarto's index holds HTML
    assert scores["section"] == "Scores" and any("Kendall" in e["text"] for e in index if "methods" in e["href"])
    assert read(site, "report/assets/search.js") == f"window.helpersSearch={read(site, 'search.json')};\n"


def test_added_search_texts_are_escaped_for_a_renderer_that_shows_them_as_html():
    page = '<title>t</title><div class="hp-table" id="x"><caption>c</caption><td>&lt;b&gt;</td><br><td>y</div><p>no'
    assert [e["text"] for e in entries(page, "p.html", escape=True)] == ["&lt;b&gt; y"]
    assert entries(page, "p.html") == [
        {"objectID": "p.html#x", "href": "p.html#x", "title": "t", "section": "c", "text": "<b> y"}
    ]
    named = page.replace("<title>t<", "<title>3 – t – Site's name<")
    assert entries(named, "p.html", escape=True, site_title="Site's name")[0]["title"] == "3 – t"


def test_every_page_names_its_renderer(site):
    for page in site.rglob("*.html"):
        assert "Rendered by" in page.read_text(encoding="utf-8"), page.name


def test_executed_notebook_is_offered_without_machine_paths(site):
    text = read(site, "report/demo/executed/03_inflation.ipynb")
    assert (
        "demo-injected" in text
        and "input_path" not in text
        and 'href="executed/03_inflation.ipynb"' in read(site, "report/demo/03_inflation.html")
    )


def test_formulas_are_mathml(site):
    assert "<mfrac>" in read(site, "report/demo/03_inflation.html")


def test_no_run_is_an_error_that_names_the_command(project):
    for notebook in project.glob("data/runs/*/notebooks/*"):
        notebook.unlink()
    with pytest.raises(ReportError, match="make report"):
        render_site(project)


def test_same_runs_give_the_same_sources(project):
    def sources() -> dict[str, bytes]:
        render_site(project)
        return {str(p): p.read_bytes() for p in sorted((project / "report").rglob("*")) if p.is_file()}

    assert sources() == sources()


def program(folder: Path, body: str) -> None:
    folder.mkdir()
    script = folder / "quarto"
    script.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo 1.10.0 && exit 0\n{body}\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


def test_real_quarto_is_preferred(project, monkeypatch):
    program(project / "bin", 'mkdir -p "$2/_site/report/demo" && echo "<p>by quarto</p>" > "$2/_site/index.html"')
    monkeypatch.setenv("PATH", f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("HELPERS_RENDERER", raising=False)
    assert "by quarto" in render_site(project).read_text()


def test_failed_render_leaves_the_old_site(project, monkeypatch):
    (project / "_site").mkdir()
    (project / "_site" / "index.html").write_text("old")
    program(
        project / "bin",
        'mkdir "$2/_site"; echo half > "$2/_site/index.html"; echo broken sidebar >&2; exit 3',
    )
    monkeypatch.setenv("PATH", f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("HELPERS_RENDERER", raising=False)
    with pytest.raises(ReportError, match=r"Quarto 1\.10\.0 failed \(status 3\)(?s:.*)broken sidebar"):
        render_site(project)
    assert (project / "_site" / "index.html").read_text() == "old"
    assert not list((project / "report").glob(".build-*"))


def test_unreadable_status_counts_as_complete_pages(project):
    (project / "data/runs/mine/status.json").write_text("{half")
    run = study_runs(project / "data" / "runs")[1]
    assert run.name == "mine" and not run.incomplete


QUARTO_HEAD = """<head>
<script src="https://cdnjs.cloudflare.com/ajax/libs/require.js/2.3.6/require.min.js" integrity="x"></script>
<script src="https://cdnjs.cloudflare.com/ajax/libs/jquery/3.5.1/jquery.min.js" data-relocate-top="true"></script>
<script type="application/javascript">define('jquery', [],function() {return window.jQuery;})</script>
<link href="https://fonts.example/x.css" rel="stylesheet">
<script src="/site/helpers.js" defer></script></head><a href="https://example.org">kept</a>"""


def test_tidy_page_links_the_page_and_not_its_folder():
    """A browser shows a list of files for a folder that is opened from the disk."""
    assert tidy_page('<a class="x" href="../../">Home</a>', depth=2) == '<a class="x" href="../../index.html">Home</a>'
    kept = '<a href="#top"></a><a href="https://example.org/"></a><a href="x.html"></a><a href="/base/"></a>'
    assert tidy_page(kept, depth=0) == kept


def test_imported_style_sheets_of_other_hosts_go_and_the_rest_stays(tmp_path):
    sheet = tmp_path / "a.css"
    sheet.write_text('@import"https://fonts.example/css2?f=Lato:wght@0,400;0,700&d=swap";a{b:c}@import "own.css";')
    tidy_site(tmp_path)
    assert sheet.read_text() == 'a{b:c}@import "own.css";'


def test_module_scripts_run_from_a_file_too(tmp_path):
    """As Quarto 1.8 and later have them: a module that imports another one, and a tag for each."""
    (tmp_path / "lib").mkdir()
    tags = [f'<script src="lib/{name}.js" type="module"></script>' for name in ("main", "tabs", "odd")]
    (tmp_path / "index.html").write_text("\n".join(tags))
    (tmp_path / "lib" / "tabs.js").write_text("const n = 41;\nexport function init() { return n + 1; }\n")
    (tmp_path / "lib" / "main.js").write_text('import * as tabs from "./tabs.js";\nwindow.found = tabs.init();\n')
    (tmp_path / "lib" / "odd.js").write_text("export default 3;\n")
    tidy_site(tmp_path)
    assert (tmp_path / "index.html").read_text().splitlines() == [
        '<script src="lib/main.js" defer></script>', '<script src="lib/odd.js" type="module"></script>',
    ]  # fmt: skip
    code = (tmp_path / "lib" / "main.js").read_text()
    run = ["node", "-e", f"const window = {{}};\n{code}\nconsole.log(window.found)"]
    if shutil.which("node") is None:
        pytest.skip("no node on PATH: the script is not run")
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "42\n"


def test_tidy_page_takes_out_other_hosts_and_what_depends_on_them():
    tidy = tidy_page(QUARTO_HEAD, depth=2)
    assert "cdnjs" not in tidy and "define(" not in tidy and "fonts.example" not in tidy
    assert 'src="../../site/helpers.js"' in tidy and 'href="https://example.org"' in tidy


def test_check_site_names_each_kind_of_problem(tmp_path):
    (tmp_path / "a.css").write_text("@import url(https://fonts.example/x);")
    (tmp_path / "index.html").write_text(
        '<p id="x"></p><p id="x"></p><a href="gone.html"></a><a href="#none"></a><img src="http://h/x.png">'
        f'<a href="/root.html"></a><a href="report/">list</a><link id="x"><a href="#x">ok</a><p>{tmp_path}/cache</p>'
    )
    (tmp_path / "heavy.html").write_text("<p>" + "x" * 3_100_000)
    (tmp_path / "report" / "big").mkdir(parents=True)
    with open(tmp_path / "report" / "big" / "large.png", "wb") as picture:
        picture.truncate(26_000_000)
    problems = "\n".join(check_site(tmp_path))
    for part in ("report/big: weighs 26.0 MB", "heavy.html: weighs 3.1 MB", "loads http://h/x.png",
                 "id 'x' is used 2", "dead link gone.html", "dead anchor #none",
                 "from the root of the host: /root.html", "link to the folder report/", "of this machine", "a.css: loads"):  # fmt: skip
        assert part in problems
    assert len(problems.splitlines()) == 10
