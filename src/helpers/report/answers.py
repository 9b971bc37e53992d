"""Answers: what the studies at hand say to the four questions of the suite, each as one number with its meaning.

An answer comes from one study, the best that can give it; a question that no study answers says which one would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from helpers.base.phrases import count, signed
from helpers.geometry.pools import POOLS
from helpers.report.compare import geometry_rows, tuning_rows
from helpers.report.runs import StudyRun
from helpers.sweep.variants import distinct

PREFERRED = ("published", "published-revised", "paper-sensitivity", "paper-geometry")  # the studies of the papers first

DEMO = "demo"

PRESET, ABLATION = "distractor", "ablation"


@dataclass(frozen=True)
class Evidence:
    """The tables of one finished study; `table` gives a frame, empty where its step has not run or it does not open."""

    name: str
    title: str
    folder: Path

    def table(self, name: str) -> pd.DataFrame:
        """The saved table of that name."""
        path = self.folder / "tables" / f"{name}.parquet"
        try:
            return pd.read_parquet(path) if path.is_file() else pd.DataFrame()
        except (OSError, ValueError):
            return pd.DataFrame()

    @property
    def is_demo(self) -> bool:
        """Short texts written for the suite: they show that a step works and say nothing about models in general."""
        return self.name == DEMO


@dataclass(frozen=True)
class Answer:
    """One question, answered by one study: `number` large, `meaning` in one line, `page` the notebook's number.

    study is None where no study at hand answers; `meaning` then names the study that would.
    """

    question: str
    number: str
    meaning: str
    page: str
    study: Evidence | None = None


@dataclass(frozen=True)
class Number:
    """A number and what it means, from one study."""

    number: str
    meaning: str


def evidence(runs: Sequence[StudyRun]) -> list[Evidence]:
    """The studies in the order in which they are asked: those of the papers, others by name, the demo last."""
    order = {name: place for place, name in enumerate(PREFERRED)}

    def place(run: StudyRun) -> tuple[int, str]:
        return (len(order) + 1 if run.name == DEMO else order.get(run.name, len(order)), run.name)

    return [Evidence(run.name, run.title, run.folder) for run in sorted(runs, key=place)]


def answers(studies: Sequence[Evidence]) -> list[Answer]:
    """The four questions in their order, each with the answer of the first study that has one."""
    return [_answer(studies, *question) for question in QUESTIONS]


def wording(study: Evidence) -> Number | None:
    """How far a score moves: the median over cells (model x task) of best minus worst written prompt, in points."""
    cells = _cells(study)
    if cells.empty:
        return None
    types = cells.groupby("task_type")["range"].median().mul(100).sort_values()
    most, least = cells["n_prompts"].max(), cells["n_prompts"].min()
    prompts = f"{most:.0f}" if most == least else f"{least:.0f} to {most:.0f}"
    text = f"median gap between the best and the worst of {prompts} prompts, over {count(len(cells), 'cell')} (model x task)"
    if len(types) > 1:
        text += f"; {_points(types.iloc[-1])} in {types.index[-1]}, {_points(types.iloc[0])} in {types.index[0]}"
    return Number(f"{_points(100 * cells['range'].median())} points", text)


def ranking(study: Evidence) -> Number | None:
    """How many models can be put first: with everybody's prompts chosen for them, and with their own alone."""
    scenarios = study.table("scenarios")
    if len(scenarios) < 2 or scenarios["default"].isna().any():
        return None
    everybody, own = (int((scenarios[c] == 1).sum()) for c in ("best_vs_worst", "best_vs_default"))
    return Number(
        f"{everybody} of {len(scenarios)}",
        f"models can be made first when the prompts of all models are chosen; {own} with their own prompts alone",
    )


def following(study: Evidence) -> Number | None:
    """Best recall@1 over instructions, targets alone and with paraphrases, as means over pairs of model and task."""
    rows = pool_rows(study)
    if rows.empty:
        return None
    alone, beside = rows[POOLS[0]].mean(), rows[POOLS[-1]].mean()
    return Number(
        f"{alone:.2f} → {beside:.2f}",
        "recall@1 with the best instruction once paraphrases of the query are in the pool, mean over "
        + count(len(rows), "pair of model and task", "pairs of model and task"),
    )


def repair(study: Evidence) -> Number | None:
    """The change of recall@1 with paraphrases in the pool after training against them, and after the ablation."""
    rows = change_rows(study)
    rows = rows[rows["pool"] == POOLS[-1]]
    trained, without = (rows[rows["preset"] == preset] for preset in (PRESET, ABLATION))
    if trained.empty:
        return None
    interval = f" [{trained['low'].iloc[0]:+.2f}, {trained['high'].iloc[0]:+.2f}]" if len(trained) == 1 else ""
    over = "" if len(trained) == 1 else f", mean of {count(len(trained), 'training and task', 'trainings and tasks')}"
    more = f"; {signed(without['difference'].mean(), 2)} after the same training without them" if len(without) else ""
    text = f"recall@1 among paraphrases after fine-tuning against such paraphrases{interval}{over}{more}"
    return Number(signed(trained["difference"].mean(), 2), text)


def pool_rows(study: Evidence) -> pd.DataFrame:
    """Best recall@1 in every pool per model and task (`compare.geometry_rows`), those with all three pools."""
    geometry, distractors = study.table("geometry"), study.table("distractors")
    if geometry.empty or distractors.empty:
        return pd.DataFrame(columns=pd.Index(["model", "task", *POOLS]))
    return geometry_rows({study.name: geometry}, {study.name: distractors}).dropna(subset=list(POOLS))


def change_rows(study: Evidence) -> pd.DataFrame:
    """Recall@1 before and after training per pool (`compare.tuning_rows`)."""
    return tuning_rows({study.name: table} if len(table := study.table("finetuning")) else {})


def without_prompt(study: Evidence) -> tuple[int, int, int, int] | None:
    """How the defaults that are no prompt at all weigh: (those, all cells, rest at or above every prompt, rest).

    From the audit's check "prompt applied": a default that puts nothing before the text. None where it does not know.
    """
    audit, cells = study.table("audit"), _cells(study)
    if audit.empty or cells.empty:
        return None
    put = audit[(audit["check"] == "prompt applied") & (audit.get("defaults", "measured") == "measured")]
    bare = put[put["default"] == "nothing"].set_index(["model", "task"]).index
    known = cells[cells["default"].notna()].set_index(["model", "task"])
    rest = known[~known.index.isin(bare)]
    if put.empty or len(rest) == len(known):
        return None
    return len(known) - len(rest), len(known), int(rest["at_or_above_best"].sum()), len(rest)


def _answer(
    studies: Sequence[Evidence], question: str, page: str, ask: Callable[[Evidence], Number | None], who: str
) -> Answer:
    for study in studies:
        if number := ask(study):
            return Answer(question, number.number, number.meaning, page, study)
    return Answer(question, "–", f"no study here answers this; `make report STUDY={who}` would", page)


def _cells(study: Evidence) -> pd.DataFrame:
    table = study.table("sensitivity")
    if table.empty:
        return table
    return distinct(table[table["n_prompts"] > 1].dropna(subset=["range"]))


def _points(value: float) -> str:
    """Points of a hundred: whole where there are several of them, else with a decimal."""
    return f"{value:.0f}" if value >= 2 else f"{value:.1f}"


QUESTIONS: tuple[tuple[str, str, Callable[[Evidence], Number | None], str], ...] = (
    ("How far does a score move with wording?", "03", wording, "published"),
    ("Can the leaderboard be turned by choosing prompts?", "04", ranking, "published"),
    ("Does a model follow the instruction, or the phrasing?", "05", following, "paper-geometry"),
    ("Does fine-tuning against such paraphrases repair it?", "06", repair, "paper-geometry"),
)
