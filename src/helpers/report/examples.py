"""Three figures of the chapters on made-up numbers, with words that say how to read them, for the landing page.

Scores, weights and defaults are made up; charts, labels, ranks and intervals come from the functions of the chapters.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from helpers.display.chart import drawing
from helpers.geometry import maps
from helpers.leaderboard import charts as board_charts
from helpers.leaderboard.random_ranks import random_boards, rank_probabilities, rank_table
from helpers.scores.board import borda
from helpers.sensitivity import charts as strip_charts
from helpers.sensitivity.defaults import sensitivity_table

SCORES = (0.52, 0.53, 0.537, 0.545, 0.55, 0.555, 0.56, 0.562, 0.566, 0.57, 0.575, 0.58, 0.586, 0.592, 0.60)  # by prompt

DEFAULTS = {"Model A": 0.611, "Model B": 0.588}

SHIFTS = {"Model A": 0.0, "Model B": 0.02}

BOARD = {  # two tasks, three prompts and the default of each model
    "Model A": ([0.60, 0.64, 0.70], [0.50, 0.55, 0.57], 0.68),
    "Model B": ([0.58, 0.63, 0.68], [0.49, 0.54, 0.58], 0.62),
    "Model C": ([0.30, 0.33, 0.35], [0.20, 0.22, 0.27], 0.34),
}

INSTRUCTIONS = {  # weights of query, distractor and target; rank of the target without and with paraphrases
    "ignored, the query stays": (0.86, 0.07, 0.07, 2, 3),
    "drawn to the paraphrase": (0.32, 0.56, 0.12, 1, 2),
    "moved towards the answer": (0.24, 0.10, 0.66, 1, 1),
}


@cache
def example_html(name: str) -> str:
    """One of the three figures with its reading aid, folded: "inflation", "ranks" or "triangle"."""
    chart, words, title, alt = {
        "inflation": (
            inflation(),
            "Every tick is the score under one prompt, the dark bar their mean, the diamond the default prompt, which is "
            f"the one that a leaderboard reports. Its percentile is the share of prompts that score lower. {places()}",
            "the default of Model A flatters it, that of Model B does not",
            "Two rows of ticks, one per prompt. Model A's diamond stands right of all its ticks, Model B's in the middle "
            "of its ticks.",
        ),
        "ranks": (
            ranks(),
            "The discs are the ranks that a model gets when every model draws its prompts at random, the larger, the more "
            "often; the bar spans 95% of them; the diamond is its rank by default. Models whose bars overlap have no "
            "order without saying which prompts were used.",
            "A and B may change places, C cannot leave rank 3",
            "Three rows: discs and a bar from rank 1 to 2 for Model A and Model B, one disc at rank 3 for Model C, and a "
            "diamond at each rank by default.",
        ),
        "triangle": (
            triangle(),
            "The corners are the query <strong>Q</strong>, its paraphrase, the distractor <strong>D</strong>, and the right "
            "target <strong>A</strong>. A point is a query under one instruction, a cross the mean of an instruction: the "
            "nearer to a corner, the more of its vector lies there; its colour says what is found first. Good "
            "instructions move queries towards A.",
            "three instructions move queries to three places",
            "Two triangles with corners Q, D and A and three groups of points: near Q, on the way to D, close to A. With "
            "paraphrases in the pool, the group on the way to D finds the paraphrase first.",
        ),
    }[name]
    figure = drawing(chart, f"fig-example-{name}", alt, f"Made-up example: {title}").markup
    page = {"inflation": 3, "ranks": 4, "triangle": 5}[name]
    return (
        f'<details class="hp-example"><summary>How to read the figures of page {page}: a made-up example</summary>'
        f"<p>{words}</p>{figure}</details>"
    )


def example_cells() -> pd.DataFrame:
    """Two models on one task with fifteen prompts and their default, as `scores.task_scores` has them."""
    rows = [
        {"model": model, "task": "one task", "task_type": "STS", "prompt_id": str(k), "kind": kind, "score": score,
         "prompt": f"wording {k + 1}"}
        for model, shift in SHIFTS.items()
        for k, (kind, score) in enumerate([*(("prompt", s + shift) for s in SCORES), ("default", DEFAULTS[model])])
    ]  # fmt: skip
    return pd.DataFrame(rows)


def example_labels() -> pd.DataFrame:
    """The table `sensitivity` of the first example."""
    return sensitivity_table(example_cells(), draws=100)


def places() -> str:
    """Where the two defaults of the first example stand and what the report calls that."""
    said = [
        f"{r.model}'s default is above {r.percentile * r.n_prompts:.0f} of {r.n_prompts} prompts: {r.label}."
        for r in example_labels().itertuples()
    ]
    return " ".join(said)


def inflation() -> Any:
    """An inflated and a representative default among the scores of fifteen prompts."""
    return strip_charts.strips(example_cells())


def example_boards() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Rank intervals and probabilities of the second example under random prompts, and its board of defaults."""
    models = list(BOARD)
    boards = random_boards(np.array([[first, second] for first, second, _ in BOARD.values()]))
    default = pd.DataFrame({"task": [d for *_, d in BOARD.values()]}, index=pd.Index(models, name="model"))
    return rank_table(boards, models), rank_probabilities(boards, models), borda(default)


def ranks() -> Any:
    """Two models whose rank intervals overlap, and one whose rank is fixed."""
    table, chances, default = example_boards()
    return board_charts.rank_map(table, chances, default)


def triangle() -> Any:
    """Three queries under three instructions: unmoved, drawn to the distractor, moved towards the target."""
    rows = [
        {"model": "Model A", "task": "one task", "subset": "default", "relevant": True, "text": text, "query_id": f"q{k}",
         "w_query": query - step, "w_distractor": distractor + step / 2, "w_target": target + step / 2,
         "normal_rank": alone, "paraphrase_rank": among, "paraphrase_own_first": float(distractor > 0.5)}
        for text, (query, distractor, target, alone, among) in INSTRUCTIONS.items()
        for k, step in enumerate((-0.08, 0.02, 0.06), 1)
    ]  # fmt: skip
    return maps.triangle(pd.DataFrame(rows))
