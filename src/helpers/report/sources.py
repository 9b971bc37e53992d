"""Sources of the report, made from what the runs left behind: executed notebooks, findings, the state of each step."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import yaml

from helpers.base.visible import show_controls
from helpers.display.kit import KIT, vega_bundle
from helpers.report import claims_page
from helpers.report import compare_page as comparison_page
from helpers.report.answers import evidence
from helpers.report.glossary import glossary_html, terms_html
from helpers.report.landing import landing_html
from helpers.report.markup import raw_html, scrub
from helpers.report.methods import methods_source
from helpers.report.provenance import RECORD, provenance
from helpers.report.runs import StudyRun, step_name
from helpers.report.study_pages import banner, studies_table, study_page

UNSEEN = {"parameters", "injected-parameters", "papermill-error-cell-tag"}

KEPT = ("text/html", "text/markdown", "text/latex", "image/svg+xml", "image/png", "image/jpeg", "text/plain")

GUIDE = (
    "studies", "own-study", "python", "choose-a-prompt", "task-data", "served-models", "prompts-from-a-model", "many-gpus", "budget", "tables",
    "troubleshooting", "architecture",
)  # fmt: skip
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def prepare(root: Path, runs: list[StudyRun], renderer: str) -> Path:
    """Write `report/` of a project (or of a run folder that is rendered alone) anew: all pages, the pieces of the landing page, the sidebar, the chart file."""
    report = root / "report"
    shutil.rmtree(report, ignore_errors=True)
    (report / "assets").mkdir(parents=True)
    (report / "assets" / "vega.js").write_text(vega_bundle(), encoding="utf-8")
    sections: list[Any] = [{"text": "The answers", "href": "index.qmd"}]
    foot = provenance([run.name for run in runs], renderer, max(run.executed for run in runs))
    if comparison := comparison_page.page_body(runs):
        _write_page(report / "compare.qmd", comparison_page.page_title(runs), raw_html(comparison + foot))
        sections.append("report/compare.qmd")
    if claims := claims_page.page_body(evidence(runs)):
        _write_page(report / "papers.qmd", claims_page.TITLE, raw_html(claims + foot))
        sections.append("report/papers.qmd")
    for run in runs:
        _write_study(report / run.name, run, renderer)
        contents = [
            {"text": "Overview", "href": f"report/{run.name}/index.qmd"},
            *(f"report/{run.name}/{p.name}" for p in run.notebooks.values()),
        ]
        sections.append({"section": run.title, "contents": contents})
    _write_page(report / "methods.qmd", "Methods: every definition", f"{methods_source()}\n{raw_html(foot)}")
    sections.append("report/methods.qmd")
    _write_page(report / "glossary.qmd", "Words used here", raw_html(glossary_html("methods.html") + foot))
    sections.append("report/glossary.qmd")
    sections.append({"section": "Guide", "contents": [f"docs/{name}.md" for name in GUIDE]})
    sections.append({"section": "Clusters", "contents": ["site/slurm.qmd", "site/kubernetes.qmd"]})
    sidebar = {"website": {"sidebar": {"style": "docked", "search": True, "contents": sections}}}
    (report / "_sidebar.yml").write_text(yaml.safe_dump(sidebar, sort_keys=False, allow_unicode=True), encoding="utf-8")
    pages = ([("compare", comparison_page.page_title(runs))] if comparison else []) + (
        [("papers", claims_page.TITLE)] if claims else []
    )
    links = " · ".join(f'<a href="report/{name}.html">{title}</a>' for name, title in pages)
    links = f'<p class="hp-see">{links}</p>' if links else ""
    for name, markup in (
        ("landing", landing_html(evidence(runs))),
        ("runs", studies_table(runs) + links),
        ("made", foot),
    ):
        (report / "assets" / f"{name}.qmd").write_text(raw_html(markup), encoding="utf-8")
    return report


def _write_study(folder: Path, run: StudyRun, renderer: str) -> None:
    (folder / "executed").mkdir(parents=True)
    (folder / "index.qmd").write_text(study_page(run, renderer), encoding="utf-8")
    for source in run.notebooks.values():
        nbformat.write(light_copy(nbformat.read(source, as_version=4)), folder / "executed" / source.name)
        page = notebook_page(nbformat.read(source, as_version=4), run, source.name, renderer)
        nbformat.write(page, folder / source.name)


def _write_page(path: Path, title: str, body: str) -> None:
    path.write_text(f"---\ntitle: {json.dumps(title)}\ntoc: true\n---\n\n{body}", encoding="utf-8")


def light_copy(notebook: Any) -> Any:
    """The executed notebook to download: whole, but without machine paths and the packed chart library."""
    for cell in notebook.cells:
        cell.metadata = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        if cell.cell_type == "code":
            _plain_cell(cell)
    notebook.metadata = {k: notebook.metadata[k] for k in ("kernelspec", "language_info") if k in notebook.metadata}
    return nbformat.from_dict(json.loads(scrub(json.dumps(notebook))))


def notebook_page(notebook: Any, run: StudyRun, name: str, renderer: str) -> Any:
    """An executed notebook as a page: no parameter cells, only outputs a page can show, banner, provenance."""
    step = name[:2]
    executed = (notebook.metadata.get("papermill") or {}).get("end_time") or ""
    recorded = notebook.metadata.get(RECORD)
    cells = [c for c in notebook.cells if not UNSEEN & set(c.metadata.get("tags", []))]
    title = f"{int(step)} · {step_name(step)}"
    for cell in cells:
        if cell.cell_type == "markdown" and cell.source.lstrip().startswith("# "):
            first, _, rest = cell.source.lstrip().partition("\n")
            title, cell.source = first[2:].strip(), rest.lstrip("\n")
            break
    for cell in cells:
        if cell.cell_type == "code":
            _plain_cell(cell)
            hidden = {"hide-input", "remove-input"} & set(cell.metadata.get("tags", []))  # Quarto ignores these tags
            # smalldocs folds a notebook's cell only where the cell itself says so
            cell.source = ("#| echo: false\n" if hidden else "#| code-fold: true\n") + cell.source
    terms = terms_html("\n".join(c.source for c in cells if c.cell_type == "markdown"), "../../")
    page = nbformat.v4.new_notebook()
    page.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    head = f"---\ntitle: {json.dumps(title, ensure_ascii=False)}\n---\n"
    page.cells = [
        _cell("raw", head, "page-head"),
        *([_cell("markdown", raw_html(banner(run)), "page-banner")] if run.incomplete else []),
        *(c for c in cells if c.cell_type != "markdown" or c.source.strip()),
        *([_cell("markdown", raw_html(terms), "page-terms")] if terms else []),
        _cell("markdown", raw_html(provenance([run.name], renderer, executed, name, recorded)), "page-provenance"),
    ]
    return page


def _plain_cell(cell: Any) -> None:
    """Keep of a code cell's outputs what both renderers show the same way."""
    cell.metadata = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
    tags = set(cell.metadata.get("tags", []))
    outputs: list[Any] = []
    for output in cell.outputs if "remove-output" not in tags else []:
        if output.output_type == "stream":
            if output.name == "stdout":  # warnings and progress are in the step's log file
                lines = (line.rsplit("\r", 1)[-1] for line in output.text.rstrip("\r\n").split("\n"))
                output.text = show_controls(scrub(_ANSI.sub("", "\n".join(lines) + "\n")))
                if outputs and outputs[-1].output_type == "stream":
                    outputs[-1].text += output.text  # printed line by line, shown as one block
                else:
                    outputs.append(output)
        elif output.output_type == "error":
            output.traceback = [show_controls(scrub(_ANSI.sub("", line))) for line in output.traceback]
            output.evalue = show_controls(scrub(output.evalue))
            outputs.append(output)
        elif (bundle := _bundle(dict(output.data))) is not None:
            output.data, output.metadata = bundle, {}
            outputs.append(output)
    cell.outputs = outputs


def _bundle(data: dict[str, Any]) -> dict[str, Any] | None:
    if "application/vnd.jupyter.widget-view+json" in data and "text/html" not in data:
        return None  # a widget needs its kernel; its static part, if any, comes as HTML
    best = next((m for m in KEPT if m in data), None)
    if best is None:
        return None
    value = data[best]
    if isinstance(value, str):
        value = scrub(KIT.sub("", value) if best == "text/html" else value)
        value = show_controls(value) if best in ("text/markdown", "text/plain") else value  # HTML: where it is made
    if best == "text/markdown":  # computed text: its words may come from data, so no HTML, shortcode or formula
        value = value.replace("<", "&lt;").replace("$", "\\$")
    return {best: value}


def _cell(kind: str, source: str, name: str) -> Any:
    cell = getattr(nbformat.v4, f"new_{kind}_cell")(source)
    cell.id = name  # fixed, so that the same run gives the same sources
    return cell
