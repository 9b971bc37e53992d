"""Claims: what the two papers say, as one declared list (`claims.yml`), and what the tables of the runs say to it.

The verdict is computed from our value and the tolerance that the list declares, nothing about its outcome is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from helpers.base.phrases import listed, out_of
from helpers.base.yaml import read_yaml
from helpers.report import instruction_claims, wording_claims
from helpers.report.answers import Evidence
from helpers.report.claim_tables import Found, Tables, Untestable

MODULES = {"wording": wording_claims, "instructions": instruction_claims}

YES, NO, OPEN = "reproduced", "not reproduced", "not testable here"

UNSURE = "undecided"  # our interval lies neither within the tolerance nor beyond it

ELSEWHERE = {YES: "holds in other data", NO: "does not hold in other data"}  # where a run has not the paper's models

DEMO = "demo data only"

EXACT = 1e-9


@dataclass(frozen=True)
class Claim:
    """One sentence or number of a paper, in our words.

    value: theirs: a number, a text, or numbers by name, each of which is the argument `over` of the computation. within:
    tolerance of numbers. least, most: instead, the range in which ours must lie; theirs: what is then shown as theirs.
    compute, given: the function of the paper's module and its arguments. general: other models and data can show it too.
    only: of the paper's studies those that have what the sentence is about, where not all have.
    reading: how we read the sentence. if_not: what is known of the reason where it is not reproduced. untestable: why
    nothing is computed at all.
    """

    id: str
    place: str
    says: str
    value: float | str | Mapping[str, float] | None = None
    within: float = 0.0
    least: float = float("-inf")
    most: float = float("inf")
    theirs: str = ""
    compute: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    over: str = ""
    general: bool = False
    only: Sequence[str] = ()
    reading: str = ""
    if_not: str = ""
    untestable: str = ""

    @property
    def shown(self) -> str:
        """Theirs in print."""
        if self.theirs or self.value is None:
            return self.theirs
        if isinstance(self.value, Mapping):
            return ", ".join(f"{name} {value:g}" for name, value in self.value.items())
        return self.value if isinstance(self.value, str) else f"{self.value:,.10g}"

    @property
    def tolerance(self) -> str:
        """What is accepted, in print."""
        low, high = self.least > float("-inf"), self.most < float("inf")
        if low or high:
            return (
                f"{self.least:g} to {self.most:g}"
                if low and high
                else f"≥ {self.least:g}"
                if low
                else f"≤ {self.most:g}"
            )
        return f"± {self.within:g}" if self.within else "exactly" if self.value is not None else ""

    def accepts(self, ours: float | str, theirs: float | str | None) -> bool:
        """Whether our value is theirs within the tolerance, or lies in the range."""
        if isinstance(ours, str):
            return ours == theirs
        if isinstance(theirs, int | float):
            return abs(ours - theirs) <= self.within + EXACT
        return self.least - EXACT <= ours <= self.most + EXACT


@dataclass(frozen=True)
class Paper:
    """A paper with its claims; studies: the runs that have its own models and data, which are asked first; needs: in words."""

    title: str
    short: str
    address: str
    module: str
    studies: tuple[str, ...]
    needs: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Outcome:
    """What one run says to a claim; study is None where none can say anything."""

    claim: Claim
    verdict: str
    ours: str = ""
    why: str = ""
    study: Evidence | None = None

    @property
    def reproduced(self) -> bool | None:
        """None where it cannot be tested."""
        return {YES: True, NO: False, ELSEWHERE[YES]: True, ELSEWHERE[NO]: False}.get(self.verdict)


@cache
def papers() -> tuple[Paper, ...]:
    """Both papers as `claims.yml` declares them."""
    entries = read_yaml(Path(__file__).with_name("claims.yml"))["papers"]
    return tuple(
        Paper(**{**entry, "studies": tuple(entry["studies"]), "claims": tuple(Claim(**c) for c in entry["claims"])})
        for entry in entries
    )


def outcomes(paper: Paper, studies: Sequence[Evidence]) -> list[list[Outcome]]:
    """Per claim what the runs say, the paper's own studies first; at least one, which may say "not testable here".

    Of runs with other models and data only the first that can answer is asked, the demo last, and only where no run of
    the paper's own can.
    """
    tables = [Tables(study) for study in studies]
    return [_outcomes(paper, claim, tables) for claim in paper.claims]


def compared(claim: Claim, found: Found) -> str:
    """The verdict on one number: by its interval where it has one, else by the number itself.

    >>> claim = Claim("equal", "", "", least=-0.01, most=0.01)
    >>> [compared(claim, Found(v, "", (v - 0.02, v + 0.02))) for v in (-0.025, -0.04)]
    ['undecided', 'not reproduced']
    """
    if found.interval is not None:
        inside = [claim.accepts(end, claim.value) for end in found.interval]  # type: ignore[arg-type]
        across = found.interval[0] <= claim.least and claim.most <= found.interval[1]
        if any(inside) != all(inside) or (across and not all(inside)):
            return UNSURE
        return YES if all(inside) else NO
    return YES if claim.accepts(found.value, claim.value) else NO  # type: ignore[arg-type]


def judge(claim: Claim, compute: Callable[..., Found], tables: Tables) -> tuple[str, str, str]:
    """The verdict that these tables give, our value in print, and what could not be compared.

    Raises `Untestable` where nothing can be computed.
    """
    if not isinstance(claim.value, Mapping):
        found = _computed(compute, tables, claim.given)
        return compared(claim, found), found.shown, ""
    met, reasons = {}, []
    for name, theirs in claim.value.items():
        try:
            found = _computed(compute, tables, {**claim.given, claim.over: name})
            met[name] = (claim.accepts(found.value, theirs), found.shown)
        except Untestable as reason:
            reasons.append(str(reason))
    if not met:
        raise Untestable(listed(set(reasons)))
    ours = ", ".join(f"{name} {shown}" for name, (_, shown) in met.items())
    kept = sum(ok for ok, _ in met.values())
    return YES if kept == len(met) else NO, f"{ours} ({out_of(kept, len(met), 'number')} within)", listed(set(reasons))


def _computed(compute: Callable[..., Found], tables: Tables, given: Mapping[str, Any]) -> Found:
    try:
        found = compute(tables, **given)
    except KeyError as absent:  # a table of an older run
        raise Untestable(f"the run's tables have no column {absent}") from None
    if isinstance(found.value, float) and found.value != found.value:
        raise Untestable("the run has no value for it")
    return found


def _outcomes(paper: Paper, claim: Claim, tables: Sequence[Tables]) -> list[Outcome]:
    if claim.untestable:
        return [Outcome(claim, OPEN, why=claim.untestable)]
    compute = getattr(MODULES[paper.module], claim.compute)
    own = [t for t in tables if t.study.name in (claim.only or paper.studies)]
    others = [t for t in tables if t.study.name not in paper.studies] if claim.general else []
    found: list[Outcome] = []
    reasons: list[str] = []
    for table in [*own, *others]:
        if found and table.study.name not in paper.studies:
            break
        try:
            verdict, ours, missing = judge(claim, compute, table)
        except Untestable as reason:
            reasons.append(str(reason))
            continue
        mine = table.study.name in paper.studies
        why = [claim.if_not if mine and verdict == NO else "", f"Not compared: {missing}." if missing else ""]
        verdict = verdict if mine else ELSEWHERE.get(verdict, verdict)
        found.append(Outcome(claim, verdict, ours, " ".join(w for w in why if w), table.study))
    lacking = "; ".join(dict.fromkeys(reasons)) or paper.needs
    return found or [Outcome(claim, OPEN, why=lacking)]
