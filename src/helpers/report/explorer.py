"""The board that a reader turns himself: prompts per model and task as data in the page, ranks in `site/board.js`.

The script counts as `scores.board.borda` does; scores that `ties.compare` calls equal are made equal here.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from helpers.base.ties import levelled
from helpers.base.visible import show_controls
from helpers.display.tables import NO_MATH, escaped

NAMES = {"default": "(default)", "none": "(no prompt)"}

SHOWN = 120  # characters of a prompt in a list


def explorer_html(cells: pd.DataFrame) -> str:
    """A place for the board, and what it needs; cells: one score per model, task and prompt, without variants."""
    data = json.dumps(board_data(cells), ensure_ascii=False, separators=(",", ":"))
    data = data.replace("<", "\\u003c").replace("{{", "{\\u007b").replace("$", "\\u0024")
    return (
        f'<section class="hp-board {NO_MATH}" id="board"><h2>{escaped("Choose the prompts yourself")}</h2>'
        "<p>Every model keeps its default until you choose another prompt for it. The address of this page holds your "
        "choice, so it can be sent.</p>"
        '<div class="hp-board-view"><noscript>This board needs scripts.</noscript></div>'
        f'<script type="application/json" class="hp-board-data">{data}</script><script src="site/board.js" defer></script></section>'
    )


def board_data(cells: pd.DataFrame) -> dict[str, Any]:
    """What the script reads: models, tasks, prompts, scores.

    prompts: the texts. scores[model][task]: pairs [number of the prompt, score], best first, with written prompts,
    the default and the run without one. defaults[model][task]: place of the default in that list, -1 where it has none.
    """
    part = cells[cells["score"].notna() & cells["kind"].isin(["prompt", *NAMES])]
    models, tasks = sorted(part["model"].unique()), sorted(part["task"].unique())
    texts: dict[str, int] = {}
    scores: list[list[list[list[float]]]] = [[[] for _ in tasks] for _ in models]
    defaults = np.full((len(models), len(tasks)), -1)
    for t, task in enumerate(tasks):
        column = part[part["task"] == task]
        column = column.assign(score=levelled(column["score"].to_numpy(float)))
        for model, own in column.sort_values(["score", "prompt_id"], ascending=[False, True]).groupby("model"):
            m = models.index(str(model))
            for place, row in enumerate(own.itertuples()):
                text = NAMES.get(str(row.kind)) or show_controls(str(row.prompt))[:SHOWN]
                scores[m][t].append([texts.setdefault(text, len(texts)), float(row.score)])
                if row.kind == "default":
                    defaults[m, t] = place
    return {"models": models, "tasks": tasks, "prompts": list(texts), "scores": scores, "defaults": defaults.tolist()}
