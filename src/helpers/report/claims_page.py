"""The report's page that holds the two papers against the tables of the runs, claim by claim."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.base.phrases import count
from helpers.display import tables
from helpers.display.tables import escaped
from helpers.report.answers import PREFERRED, Evidence
from helpers.report.claims import DEMO, NO, OPEN, UNSURE, YES, Outcome, outcomes, papers
from helpers.report.small_print import badge, cell, table

TITLE = "What the papers say, what we get"

ABOUT = (
    "Every sentence and number of the two papers that can be checked, in our words, with our value from the tables of the "
    "runs in this report. The verdict is computed from our value and the tolerance that stands beside theirs. A run with "
    "other models or data cannot reproduce a number; of a general sentence it can say whether it holds there too."
)

BADGES = {YES: "hp-state", NO: "hp-state hp-open"}


def page_body(studies: Sequence[Evidence]) -> str | None:
    """The page as HTML, None where no run is of a paper's own models and data."""
    if not any(study.name in PREFERRED for study in studies):
        return None
    parts = [f"<p>{ABOUT}</p>"]
    for paper in papers():
        found = outcomes(paper, studies)
        tested = [outs for outs in found if outs[0].verdict != OPEN]
        untested = [outs[0] for outs in found if outs[0].verdict == OPEN]
        address = f'<p><a href="{escaped(paper.address)}">{escaped(paper.short)}</a></p>'
        said = tables.findings(sentences(found)).markup
        parts += [f'<h2 id="{paper.module}">{escaped(paper.title)}</h2>', address, said]
        if tested:
            parts.append(table(f"claims-{paper.module}", f"{paper.title}: what could be tested",
                                ["claim", "paper", "ours", "verdict"], [_tested(outs) for outs in tested]))  # fmt: skip
        if untested:
            parts.append(table(f"claims-{paper.module}-untested", f"{paper.title}: not testable here",
                                ["claim", "paper", "why not"], [_untested(out) for out in untested]))  # fmt: skip
    return "".join(parts)


def sentences(found: Sequence[Sequence[Outcome]]) -> list[str]:
    """How many claims are reproduced, which are not, and which have another verdict in a further run."""
    first = [outs[0] for outs in found]
    own = {verdict: [o for o in first if o.verdict == verdict] for verdict in (YES, NO, UNSURE, OPEN)}
    other = [o for o in first if o.verdict not in own]
    counts = f"{len(own[YES])} reproduced, {len(own[NO])} not, {len(own[UNSURE])} undecided, {len(own[OPEN])} not testable here"
    counts += f", {len(other)} only looked at in other data" if other else ""
    turned = [o for outs in found for o in outs[1:] if outs[0].reproduced != o.reproduced]
    return [
        f"{count(len(first), 'claim')}: {counts}.",
        *(f"Not reproduced: {_short(o)}." for o in own[NO]),
        *(f"Undecided: {_short(o)}." for o in own[UNSURE]),
        *(f"In {o.study.name} the verdict is {o.verdict}: {_short(o)}." for o in turned if o.study),
    ]


def _tested(outs: Sequence[Outcome]) -> list[str]:
    first, claim = outs[0], outs[0].claim
    further = [f"{o.study.name}: {o.ours}, {o.verdict}" for o in outs[1:] if o.study]
    return [
        cell(claim.says, claim.place, claim.reading),
        cell(claim.shown, claim.tolerance),
        cell(first.ours, f"from {_source(first)}", *further, first.why),
        badge(first.verdict, BADGES.get(first.verdict, "hp-badge")),
    ]


def _untested(outcome: Outcome) -> list[str]:
    return [cell(outcome.claim.says, outcome.claim.place), cell(outcome.claim.shown), cell(outcome.why)]


def _source(outcome: Outcome) -> str:
    study = outcome.study
    return "" if study is None else f"{study.name} ({DEMO})" if study.is_demo else study.name


def _short(outcome: Outcome) -> str:
    return f"{outcome.claim.says} ({outcome.claim.shown}; ours {outcome.ours})"
