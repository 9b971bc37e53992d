"""Fairness: what the tables of the comparison say, in sentences: which defaults can be held against the prompts."""

from __future__ import annotations

import pandas as pd

from helpers.base.phrases import choose, count, out_of
from helpers.sensitivity.audit import cell_grades
from helpers.study.spec import Study

Finding = dict[str, str]


def comparability(checks: pd.DataFrame, effects: pd.DataFrame, scope: pd.DataFrame, study: Study) -> list[Finding]:
    """All that `scope.comparability` tells: what the study lacks, both audits, the scope, the consequences."""
    reported, measured = (checks[checks["defaults"] == kind] for kind in ("reported", "measured"))
    out, source = audit(reported, "reported default")[:1], study.results_from
    if "default" not in study.baselines and measured.empty:
        text = "The study asks for no default, so there is none to compare with the prompts."
        out.append({"text": text, "figure": "tbl-audit"})
    out += audit(measured, "measured default") + public_scope(scope)
    if source is not None and source.reported is not None and reported.empty:
        text = (
            "The defaults that were reported elsewhere are not at hand, so they could not be audited; get them with: "
        )
        out.append({"text": f"{text}helpers fetch-published {study.name}", "figure": "tbl-audit"})
    return out + consequences(effects)


def audit(checks: pd.DataFrame, subject: str = "default") -> list[Finding]:
    """An `audit_table` as sentences; `subject` names what was audited ("measured default", "reported default")."""
    if checks.empty:
        return []
    grades = cell_grades(checks)
    bad, careful = grades[grades["worst"].isin(["differs", "missing"])], grades[grades["worst"] == "caution"]
    n = len(grades)
    if len(bad):
        text = (
            f"{out_of(len(bad), n, subject)} {choose(n, 'is', 'are')} not like for like with the prompt runs beside them "
            f"({_reasons(checks, bad, ['differs', 'missing'])})."
        )
    else:
        who = choose(n, f"The one {subject} is", f"All {count(n, subject)} are")
        text = f"{who} on the same records, languages and revisions as the prompt runs."
    if len(careful):
        who = "others" if len(bad) else "of them"
        text += f" {len(careful)} {who} {choose(len(careful), 'differs', 'differ')} in a condition ({_reasons(checks, careful, ['caution'])})."
    out = [{"text": text, "figure": "tbl-audit"}]
    applied = checks[checks["check"] == "prompt applied"].drop_duplicates("model")
    raw, template = (applied.loc[applied["prompts"] == how, "model"] for how in ("raw", "template"))
    if len(raw) and len(template):
        out.append({
            "text": f"The board compares two conditions: {count(len(raw), 'model')} {choose(len(raw), 'gets', 'get')} a prompt "
            f"raw before the text, {len(template)} inside the model's instruction template ({', '.join(template)}).",
            "figure": "tbl-audit",
        })  # fmt: skip
    return out


def consequences(effects: pd.DataFrame) -> list[Finding]:
    """What changes from one view of the defaults to another; nothing for a single view."""
    if len(effects) < 2:
        return []
    known = effects[effects["cells"] > 0].itertuples()
    counts = "; ".join(f"{r.defaults} {r.above_mean} and {r.at_or_below_worst} of {r.cells}" for r in known)
    orders = effects.groupby("borda_order", sort=False)["defaults"].agg(list)
    texts = [f"Defaults above the mean of the prompts, and at or below the worst of them: {counts}."]
    if len(orders) > 1:
        texts += [f"Borda with {' and '.join(views)}: {models}." for models, views in orders.items()]
    else:
        texts.append("The Borda order does not depend on which defaults are taken.")
    return [{"text": text, "figure": "tbl-consequences"} for text in texts]


def public_scope(table: pd.DataFrame) -> list[Finding]:
    """Which tasks' public scores are another quantity than the prompt runs; nothing where all are whole."""
    part = table[~table["whole"].astype(bool)] if len(table) else table
    if part.empty:
        return []
    named = "; ".join(f"{r.task}: {r.measured} of {r.defined} subsets and splits" for r in part.itertuples())
    texts = (
        f"For {out_of(len(part), len(table), 'task')} the prompt runs cover only a part of what mteb's task holds ({named}).",
        "A public leaderboard score of such a task is a mean over other languages or splits: it is not like for like and "
        "must not be called inflated or deflated by these prompts.",
    )
    return [{"text": text, "figure": "tbl-scope"} for text in texts]


def _reasons(checks: pd.DataFrame, cells: pd.DataFrame, status: list[str]) -> str:
    """How many of the cells have which difference: "languages: 22, data set revision: 10"."""
    part = checks.merge(cells[["model", "task"]], on=["model", "task"])
    part = part[part["status"].isin(status)]
    nothing = (part["check"] == "prompt applied") & (part["default"] == "nothing")
    names = part["check"].mask(nothing, "the default puts nothing before the text")
    return ", ".join(f"{check}: {n}" for check, n in names.value_counts().items())
