"""The landing page: the finding as its title, four answers, and one figure for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.phrases import count, out_of
from helpers.display.chart import drawing
from helpers.display.tables import escaped
from helpers.leaderboard.random_ranks import random_boards, rank_probabilities
from helpers.report import charts, words
from helpers.report.answers import Answer, Evidence, answers, change_rows, pool_rows, without_prompt
from helpers.report.examples import example_html
from helpers.report.explorer import explorer_html
from helpers.report.runs import run_study
from helpers.scores.cells import Records, prompt_scores, task_scores
from helpers.scores.source import known_records
from helpers.sweep.variants import distinct

QUESTION = "How much of a score is the prompt?"

PAPERS = (
    ("One prompt is not enough", "https://arxiv.org/abs/2605.22544"),
    ("Your prompt should do more", "https://arxiv.org/abs/2610.10508"),
)

LINKS = (("Data", "docs/tables.html"), ("Code", "docs/architecture.html"), ("How to cite", "#cite"))

DRAWS = 20_000


def landing_title(studies: Sequence[Evidence]) -> str:
    """The page's title: what the best study found, or the question where none has scores yet."""
    first = answers(studies)[0]
    if first.study is None:
        return QUESTION
    return f"Change only the wording of the prompt, and an embedding score moves by {first.number} in 100"


def landing_html(studies: Sequence[Evidence]) -> str:
    """Everything above the list of studies: the context, the cards, the four figures, the board to try."""
    cards = answers(studies)
    parts = [_context(cards), f'<div class="hp-cards">{"".join(map(_card, cards))}</div>']
    for answer, section in zip(cards, (_reported, _ranks, _pools, _changes), strict=True):
        if answer.study is not None:
            parts.append(section(answer.study))
    return "".join(parts)


def _context(cards: Sequence[Answer]) -> str:
    study = cards[0].study
    links = " · ".join(f'<a href="{href}">{escaped(name)}</a>' for name, href in (*PAPERS, *LINKS))
    about = ""
    if study is not None:
        cells = study.table("sensitivity")
        about = (
            f" <em>{escaped(study.title)}</em>: {count(cells['model'].nunique(), 'model')}, "
            f"{count(cells['task'].nunique(), 'task')}, {cells['n_prompts'].max():.0f} wordings per task."
        )
        about += " It is the demo of this suite: its numbers say nothing about these models." if study.is_demo else ""
    lead = "Leaderboards report one prompt per task. This suite writes many, and asks four questions."
    return f'<p class="lead">{lead}{about}</p><p class="hp-sources">{links}</p>'


def _card(answer: Answer) -> str:
    study = answer.study
    badge = "" if study is None else f'<span class="hp-badge">{escaped(study.title)}</span>'
    if study is not None and study.is_demo:
        badge = '<span class="hp-badge hp-demo">demo data only</span>'
    number = escaped(answer.number)
    if study is not None and (page := _page(study, answer.page)):
        number = f'<a href="{page}">{number}</a>'
    return (
        f'<div class="hp-card"><p class="hp-asked">{escaped(answer.question)}</p><p class="hp-number">{number}</p>'
        f'<p class="hp-means">{escaped(answer.meaning)}</p>{badge}</div>'
    )


def _page(study: Evidence, step: str) -> str:
    """The page of a step of a study, from the site's root; empty where it has not run."""
    return next((f"report/{study.name}/{p.stem}.html" for p in study.folder.glob(f"notebooks/{step}_*.ipynb")), "")


def _section(study: Evidence, step: str, claim: str, how: str, figure: str, more: str = "") -> str:
    page = _page(study, step)
    link = f'<p class="hp-see"><a href="{page}">{escaped(study.title)}, page {int(step)} →</a></p>' if page else ""
    demo = '<p><span class="hp-badge hp-demo">demo data only</span></p>' if study.is_demo else ""
    return (
        f'<section class="hp-claim"><div><h2>{escaped(claim)}</h2><p>{how}</p>{more}{demo}{link}</div>'
        f"<div>{figure}</div></section>"
    )


def _drawn(chart: Any, name: str, title: str, alt: str) -> str:
    return drawing(chart, f"fig-landing-{name}", alt, title).markup


def _reported(study: Evidence) -> str:
    headline = study.table("headline").dropna(subset=["low", "high"]) if len(study.table("headline")) else None
    if headline is None or headline.empty:
        return ""
    bare, more = without_prompt(study), ""
    if bare:
        none, cells, above, rest = bare
        more = (
            f"<p><strong>Caution:</strong> in {out_of(none, cells, 'cell')} the default is <em>no prompt</em> at all"
            + (f"; of the other {rest} it is at or above every prompt in {above}" if rest else "")
            + ". A default may also be the prompt that the model was trained with.</p>"
        )
    how = (
        "Bar: where the mean score would lie with one further prompt per task (95% prediction interval). Tick: mean of the "
        "prompts. Diamond: the default, "
        "which a leaderboard reports, with its distance to that mean."
    )
    claim = words.reported(headline)
    figure = _drawn(charts.reported(headline), "reported", "Reported score and what other prompts give",
                    f"One row per model: the prediction interval and the default. {claim}.")  # fmt: skip
    return _section(study, "03", claim, how, figure, more) + example_html("inflation")


def _ranks(study: Evidence) -> str:
    scores, board = study.table("scores"), study.table("leaderboard")
    if scores.empty or board.empty:
        return ""
    cells = distinct(task_scores(scores, _records(study, scores)))
    data = prompt_scores(cells)
    if len(data.models) < 2:
        return ""
    chances = rank_probabilities(random_boards(data.values, DRAWS), data.models)
    today = board.loc[board["board"] == "default", ["model", "rank"]]
    claim = words.ranks(study.table("rank_distribution"))
    figure = _drawn(charts.rank_tiles(chances, today), "ranks", "Share of boards in which a model gets a rank",
                    f"A tile per model and rank with the share of boards; the rank by default is outlined. {claim}.")  # fmt: skip
    how = "Share of boards in which a model gets a rank when every model draws its prompts at random. Outlined: its rank by default."
    return _section(study, "04", claim, how, figure) + example_html("ranks") + explorer_html(cells)


def _records(study: Evidence, scores: pd.DataFrame) -> Records:
    """Which records make a task's score: what the study says, the mean where it is no longer there."""
    try:
        return known_records(run_study(study.folder).results_from, scores)
    except StudyError:
        return None


def _pools(study: Evidence) -> str:
    rows = pool_rows(study)
    claim = words.pools(rows)
    figure = _drawn(charts.slopes(rows), "pools", "Best recall@1 over instructions in three pools",
                    f"A line per model and task over three pools. {claim}.")  # fmt: skip
    how = (
        "Search the same documents, then mix in other people's questions, then a paraphrase of the question itself. A model "
        "that follows its instruction would not care."
    )
    return _section(study, "05", claim, how, figure) + example_html("triangle")


def _changes(study: Evidence) -> str:
    rows = change_rows(study)
    claim = words.changes(rows)
    figure = _drawn(charts.changes(rows, TRAININGS), "changes", "Change of recall@1 after fine-tuning",
                    f"A dot with its interval per pool and training, around a line at no change. {claim}.")  # fmt: skip
    how = "Recall@1 after minus before fine-tuning, on the same queries."
    return _section(study, "06", claim, how, figure)


TRAININGS = {"distractor": "trained with paraphrases as negatives", "ablation": "the same training without them"}
