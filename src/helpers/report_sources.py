"""Sources of the report, made from what the runs left behind: executed notebooks, findings, the state of each step."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import yaml

from helpers.html_table import escaped, folded
from helpers.kit import KIT, vega_bundle
from helpers.provenance import provenance
from helpers.site_pages import machine_paths
from helpers.study_runs import STEP_NAMES, StudyRun, page_title

UNSEEN = {"parameters", "injected-parameters", "papermill-error-cell-tag"}
KEPT = ("text/html", "text/markdown", "text/latex", "image/svg+xml", "image/png", "image/jpeg", "text/plain")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def prepare(root: Path, runs: list[StudyRun], renderer: str) -> Path:
    """Write `report/` of the project anew: pages of every run, the landing page's list, the sidebar, the chart file."""
    report = root / "report"
    shutil.rmtree(report, ignore_errors=True)
    (report / "assets").mkdir(parents=True)
    (report / "assets" / "vega.js").write_text(vega_bundle(), encoding="utf-8")
    sections: list[Any] = ["index.qmd"]
    for run in runs:
        pages = report / run.name
        (pages / "executed").mkdir(parents=True)
        (pages / "index.qmd").write_text(study_page(run, renderer), encoding="utf-8")
        for source in run.notebooks.values():
            nbformat.write(light_copy(nbformat.read(source, as_version=4)), pages / "executed" / source.name)
            page = notebook_page(nbformat.read(source, as_version=4), run, source.name, renderer)
            nbformat.write(page, pages / source.name)
        names = [p.name for p in run.notebooks.values()]
        contents = [
            {"text": "Overview", "href": f"report/{run.name}/index.qmd"},
            *(f"report/{run.name}/{n}" for n in names),
        ]
        sections.append({"section": run.title, "contents": contents})
    sidebar = {"website": {"sidebar": {"style": "docked", "search": True, "contents": sections}}}
    (report / "_sidebar.yml").write_text(
        yaml.safe_dump(sidebar, sort_keys=False, allow_unicode=True), encoding="utf-8"
    )
    (report / "_made.qmd").write_text(raw_html(provenance("", renderer)), encoding="utf-8")
    (report / "_runs.qmd").write_text(raw_html("".join(run_card(run) for run in runs)), encoding="utf-8")
    return report


def light_copy(notebook: Any) -> Any:
    """The executed notebook to download: whole, but without machine paths and the packed chart library."""
    for cell in notebook.cells:
        cell.metadata = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        if cell.cell_type == "code":
            _plain_cell(cell)
    notebook.metadata = {
        k: notebook.metadata[k] for k in ("kernelspec", "language_info") if k in notebook.metadata
    }
    return nbformat.from_dict(json.loads(scrub(json.dumps(notebook))))


def notebook_page(notebook: Any, run: StudyRun, name: str, renderer: str) -> Any:
    """An executed notebook as a page: no parameter cells, only outputs a page can show, banner, provenance."""
    step = name[:2]
    executed = (notebook.metadata.get("papermill") or {}).get("end_time") or ""
    cells = [c for c in notebook.cells if not UNSEEN & set(c.metadata.get("tags", []))]
    title = f"{int(step)} · {STEP_NAMES.get(step, step)}"
    for cell in cells:
        if cell.cell_type == "markdown" and cell.source.lstrip().startswith("# "):
            first, _, rest = cell.source.lstrip().partition("\n")
            title, cell.source = first[2:].strip(), rest.lstrip("\n")
            break
    for cell in cells:
        if cell.cell_type == "code":
            _plain_cell(cell)
            hidden = {"hide-input", "remove-input"} & set(
                cell.metadata.get("tags", [])
            )  # Quarto ignores these tags
            # smalldocs folds a notebook's cell only where the cell itself says so
            cell.source = ("#| echo: false\n" if hidden else "#| code-fold: true\n") + cell.source
    page = nbformat.v4.new_notebook()
    page.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    head = f"---\ntitle: {json.dumps(title, ensure_ascii=False)}\n---\n"
    page.cells = [
        _cell("raw", head, "page-head"),
        *([_cell("markdown", raw_html(banner(run)), "page-banner")] if run.incomplete else []),
        *(c for c in cells if c.cell_type != "markdown" or c.source.strip()),
        _cell("markdown", raw_html(provenance(run.name, renderer, executed, name)), "page-provenance"),
    ]
    return page


def _plain_cell(cell: Any) -> None:
    """Keep of a code cell's outputs what both renderers show the same way."""
    cell.metadata = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
    tags = set(cell.metadata.get("tags", []))
    outputs = []
    for output in cell.outputs if "remove-output" not in tags else []:
        if output.output_type == "stream":
            if output.name == "stdout":  # warnings and progress are in the step's log file
                output.text = scrub(
                    "\n".join(line.rsplit("\r", 1)[-1] for line in output.text.rstrip("\r\n").split("\n"))
                    + "\n"
                )
                outputs.append(output)
        elif output.output_type == "error":
            output.traceback = [scrub(_ANSI.sub("", line)) for line in output.traceback]
            output.evalue = scrub(output.evalue)
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
    if (
        best == "text/markdown"
    ):  # computed text: its words may come from data, so no HTML, shortcode or formula
        value = value.replace("<", "&lt;").replace("$", "\\$")
    return {best: value}


def scrub(text: str) -> str:
    """Text without this machine's folders: paths of the project become relative, others lose their folder."""
    for folder in machine_paths():
        text = text.replace(folder, "")
    return text


def banner(run: StudyRun) -> str:
    """What is missing in an incomplete run and the command that completes it, as HTML."""
    rows = []
    for step, entry in run.incomplete.items():
        state = {"failed": "failed", "running": "was running or was stopped"}.get(
            entry.get("state", ""), "has not run"
        )
        reason = f": {escaped(scrub(entry['reason']))}" if entry.get("reason") else ""
        rows.append(f"<li>Step {escaped(step)}, {escaped(STEP_NAMES.get(step, ''))}, {state}{reason}</li>")
    return (
        '<div class="hp-banner" role="note"><p><strong>This run is incomplete.</strong></p>'
        f"<ul>{''.join(rows)}</ul><p>Complete it with <code>{escaped(run.command)}</code>. "
        "Finished results are reused.</p></div>"
    )


def study_page(run: StudyRun, renderer: str) -> str:
    """The landing page of one study: findings of every step, its pages, its provenance."""
    pages = "".join(
        f'<li><a href="{html.escape(p.stem)}.html">{escaped(page_title(p, step))}</a></li>'
        for step, p in run.notebooks.items()
    )
    body = [banner(run)] if run.incomplete else []
    if run.description:
        body.append(f'<p class="lead">{escaped(run.description)}</p>')
    body += [
        findings_html(run, run.findings, "", level="h2"),
        f'<div class="hp-pages"><p><strong>Pages</strong></p><ul>{pages}</ul></div>',
    ]
    body.append(provenance(run.name, renderer))
    return f"---\ntitle: {json.dumps(run.title, ensure_ascii=False)}\ntoc: false\n---\n\n{raw_html(''.join(body))}"


def run_card(run: StudyRun) -> str:
    """One study on the landing page: its state, the first findings of its steps, links to its pages."""
    first: dict[str, int] = {}
    chosen = []
    for entry in run.findings:
        first[entry["step"]] = first.get(entry["step"], 0) + 1
        if first[entry["step"]] <= 2:
            chosen.append(entry)
    done = len(run.steps) - len(run.incomplete)
    state = '<span class="hp-state">complete</span>'
    if run.incomplete:
        state = f'<span class="hp-state hp-open">incomplete: {done} of {len(run.steps)} steps</span>'
    base = f"report/{run.name}/"
    pages = "".join(
        f'<li><a href="{base}{html.escape(p.stem)}.html">{escaped(page_title(p, step))}</a></li>'
        for step, p in run.notebooks.items()
    )
    return (
        f'<section class="hp-run" aria-labelledby="run-{run.name}"><h2 id="run-{run.name}">'
        f'<a href="{base}index.html">{escaped(run.title)}</a> {state}</h2>'
        f"{findings_html(run, chosen, base)}<ul class='hp-pagelist'>{pages}</ul></section>"
    )


def findings_html(run: StudyRun, findings: list[dict[str, str]], base: str, level: str = "h3") -> str:
    """Finding sentences grouped by step, each with a link to the figure that shows it where that figure exists."""
    if not findings:
        return '<p class="hp-none">This run has no findings yet.</p>'
    out, step = [], ""
    for entry in findings:
        if entry["step"] != step:
            name = STEP_NAMES.get(entry["step"], entry["step"])
            out.append(f"{'</ul>' if step else ''}<{level}>{escaped(name).capitalize()}</{level}><ul>")
            step = entry["step"]
        page, anchor = run.notebooks.get(step), entry.get("figure") or ""
        link = ""
        if page is not None:
            shown = anchor if anchor and f'id=\\"{anchor}\\"' in page.read_text(encoding="utf-8") else ""
            target = f"{base}{page.stem}.html{'#' + shown if shown else ''}"
            words = "see the figure" if shown else "see the page"
            link = f' <a class="hp-see" href="{html.escape(target)}">{words}</a>'
        out.append(f"<li>{folded(entry.get('text', ''))}{link}</li>")
    return f'<div class="hp-findings">{"".join(out)}</ul></div>'


def raw_html(markup: str) -> str:
    """HTML as a raw block, which neither renderer reads as Markdown; the fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall("`+", markup)), default=0)
    fence = "`" * max(3, longest + 1)
    one_line = re.sub(r"\s*\n\s*", " ", markup)
    return f"{fence}{{=html}}\n{one_line}\n{fence}\n"


def _cell(kind: str, source: str, name: str) -> Any:
    cell = getattr(nbformat.v4, f"new_{kind}_cell")(source)
    cell.id = name  # fixed, so that the same run gives the same sources
    return cell
