"""Pieces of pages that speak of studies: their table on the landing page, a study's own page, the banner of an open run."""

from __future__ import annotations

import html
import json

import pandas as pd

from helpers.base.phrases import count
from helpers.display.tables import escaped, table
from helpers.report.markup import raw_html, scrub
from helpers.report.provenance import provenance
from helpers.report.runs import StudyRun, page_title, step_name

DEMO = "demo"

CAVEAT = "Short texts written for this suite: the demo shows that every step works; its numbers say nothing about the models."

STATES = {"failed": "failed", "running": "was running or was stopped"}

VERDICT = ["model", "default", "prompt_mean", "low", "high", "percentile", "rank", "rank_low", "rank_high", "verdict"]  # fmt: skip


def banner(run: StudyRun) -> str:
    """What is missing in an incomplete run and the command that completes it, as HTML."""
    rows = []
    for step, entry in run.incomplete.items():
        state = STATES.get(entry.get("state", ""), "has not run")
        reason = f": {escaped(scrub(entry['reason']))}" if entry.get("reason") else ""
        rows.append(f"<li>Step {escaped(step)}, {escaped(step_name(step))}, {state}{reason}</li>")
    return (
        '<div class="hp-banner" role="note"><p><strong>This run is incomplete.</strong></p>'
        f"<ul>{''.join(rows)}</ul><p>Complete it with <code>{escaped(run.command)}</code>. "
        "Finished results are reused.</p></div>"
    )


def study_page(run: StudyRun, renderer: str) -> str:
    """The landing page of one study: findings of every step, its pages, its provenance."""
    body = [banner(run)] if run.incomplete else []
    if run.description:
        body.append(f'<p class="lead">{escaped(run.description)}</p>')
    body += [
        verdict_table(run),
        findings_html(run, run.findings, "", level="h2"),
        f'<div class="hp-pages"><p><strong>Pages</strong></p><ul>{page_links(run, "")}</ul></div>',
        provenance([run.name], renderer, run.executed, recorded=run.recorded),
    ]
    return f"---\ntitle: {json.dumps(run.title, ensure_ascii=False)}\ntoc: false\n---\n\n{raw_html(''.join(body))}"


def studies_table(runs: list[StudyRun]) -> str:
    """The studies of the landing page, one row each, the demo last with its caveat."""
    rows = []
    for run in sorted(runs, key=lambda r: r.name == DEMO):
        base, done = f"report/{run.name}/", len(run.steps) - len(run.incomplete)
        open_ = f' <span class="hp-state hp-open">{done} of {len(run.steps)} steps</span>' if run.incomplete else ""
        about = CAVEAT if run.name == DEMO else run.description
        rows.append(
            f'<tr><th scope="row"><a href="{base}index.html">{escaped(run.title)}</a>{open_}<p>{escaped(about)}</p></th>'
            f'<td><a href="{base}index.html">{count(len(run.findings), "finding")}</a></td>'
            f'<td><ul class="hp-pagelist">{page_links(run, base)}</ul></td></tr>'
        )
    head = "<tr><th scope='col'>study</th><th scope='col'>says</th><th scope='col'>pages</th></tr>"
    return f'<table class="hp-studies"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'


def verdict_table(run: StudyRun) -> str:
    """The study's headline table as HTML; empty where step 04 has not run or the table does not open."""
    path = run.folder / "tables" / "headline.parquet"
    try:
        headline = pd.read_parquet(path)[VERDICT] if path.is_file() else pd.DataFrame()
    except (OSError, ValueError, KeyError):
        return ""
    if headline.empty:
        return ""
    caption = "Mean score and rank by default, and the 95% intervals of other prompts"
    short = pd.DataFrame(
        {
            "model": headline["model"],
            "default": headline["default"],
            "other prompts": _spans(headline["low"], headline["high"], ".3f"),
            "percentile": [f"{v:.0%}" if v == v else None for v in headline["percentile"]],
            "rank": headline["rank"],
            "ranks": _spans(headline["rank_low"], headline["rank_high"], ".0f"),
            "verdict": headline["verdict"]
            .str.partition(" (")[0]
            .str.replace(" what other prompts predict", "", regex=False),
        }
    )
    return table(short, name=f"tbl-verdict-{run.name}", caption=caption).markup


def _spans(low: pd.Series, high: pd.Series, form: str) -> list[str | None]:
    """Intervals in words of their ends, one number where they are equal, None where one is missing."""
    pairs = zip(low, high, strict=True)
    return [None if a != a or b != b else f"{a:{form}}" if a == b else f"{a:{form}} to {b:{form}}" for a, b in pairs]


def page_links(run: StudyRun, base: str) -> str:
    """One list item with a link per notebook page."""
    return "".join(
        f'<li><a href="{base}{html.escape(path.stem)}.html">{escaped(page_title(path))}</a></li>'
        for path in run.notebooks.values()
    )


def findings_html(run: StudyRun, findings: list[dict[str, str]], base: str, level: str = "h3") -> str:
    """Finding sentences grouped by step, each with a link to the figure that shows it where that figure exists."""
    if not findings:
        return '<p class="hp-none">This run has no findings yet.</p>'
    out, step = [], ""
    for entry in findings:
        if entry["step"] != step:
            name = escaped(step_name(entry["step"])).capitalize()
            out.append(f"{'</ul>' if step else ''}<{level}>{name}</{level}><ul>")
            step = entry["step"]
        out.append(f"<li>{escaped(entry.get('text', ''))}{_see(run, step, entry.get('figure') or '', base)}</li>")
    return f'<div class="hp-findings">{"".join(out)}</ul></div>'


def _see(run: StudyRun, step: str, anchor: str, base: str) -> str:
    """A link to the figure or table behind a finding, to its page where that has no such anchor."""
    page = run.notebooks.get(step)
    if page is None:
        return ""
    shown = anchor if anchor and f'id=\\"{anchor}\\"' in page.read_text(encoding="utf-8") else ""
    words = "see the table" if shown.startswith("tbl-") else "see the figure" if shown else "see the page"
    target = f"{base}{page.stem}.html{'#' + shown if shown else ''}"
    return f' <a class="hp-see" href="{html.escape(target)}">{words}</a>'
