"""A small explorer for JupyterLab: type an instruction and a query, see the nearest targets and the movement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from helpers.geometry.measurement import Embed
from helpers.geometry.measures import MEASURES, displacement, pair_geometry
from helpers.geometry.sets import InstructedSet
from helpers.study.geometry import GeometrySpec


@dataclass
class Look:
    """What one instruction does to one query.

    nearest: rank, target, similarity without and with the instruction, rank without, whether it is relevant. metrics:
    displacement, and where the query's target is known similarity_improvement, angulation, selectivity.
    """

    nearest: pd.DataFrame
    metrics: dict[str, float]


class Explorer:
    """Targets of one set under one model; `look` computes, `widget` asks and shows."""

    def __init__(self, embed: Embed, chosen: InstructedSet, spec: GeometrySpec) -> None:
        self.embed, self.chosen, self.spec = embed, chosen, spec
        self.ids = list(chosen.search.targets)
        self.vectors = embed([(list(chosen.search.targets.values()), "", "document")])[0]

    def look(self, instruction: str, query: str, top: int = 5) -> Look:
        """The `top` nearest targets of a query under an instruction (`{lang}` is replaced), and the metrics.

        A query of the set (its exact text) has a known target; for any other text only the displacement is known.
        """
        searched = self.chosen.search
        prefix = self.spec.prefix(instruction.replace("{lang}", searched.language))
        q, p = self.embed([([query], "", "query"), ([query], prefix, "query")])
        before, after = (q @ self.vectors.T)[0], (p @ self.vectors.T)[0]
        wanted = self._relevant(query)
        order = np.argsort(-after, kind="stable")[:top]
        rank_before = np.argsort(np.argsort(-before, kind="stable"))
        nearest = pd.DataFrame(
            {
                "rank": range(1, len(order) + 1),
                "target": [searched.targets[self.ids[i]] for i in order],
                "similarity": after[order].round(3),
                "without instruction": before[order].round(3),
                "rank without": rank_before[order] + 1,
                "relevant": [i in wanted for i in order],
            }
        )
        metrics = {"displacement": float(displacement(q, p)[0])}
        if wanted:
            a = self.vectors[[wanted[0]]]
            others = np.where(np.isin(np.arange(len(before)), wanted), -np.inf, before)
            n = self.vectors[[int(others.argmax())]]
            metrics |= {
                m: float(values[0]) for m, values in pair_geometry(q, p, a, n, np.array([0])).items() if m in MEASURES
            }
        return Look(nearest, metrics)

    def widget(self) -> Any:
        """Two text fields and their answer, for a running kernel (JupyterLab, not the report)."""
        import ipywidgets as widgets

        from helpers.display.tables import table

        queries = list(self.chosen.search.queries.values())
        wide, answer = widgets.Layout(width="95%"), widgets.HTML()
        instruction = widgets.Text("Retrieve the answer to the question.", description="instruction", layout=wide)
        query = widgets.Combobox(value=queries[0], options=queries, description="query", layout=wide)

        def update(_: Any = None) -> None:
            look = self.look(instruction.value, query.value)
            numbers = pd.DataFrame([look.metrics]).round(3)
            answer.value = "".join(table(part).markup for part in (numbers, look.nearest))

        for field in (instruction, query):
            field.continuous_update = False
            field.observe(update, names="value")
        update()
        return widgets.VBox([instruction, query, answer])

    def _relevant(self, query: str) -> list[int]:
        """Numbers of the relevant targets of a query of the set; none for another text."""
        searched = self.chosen.search
        key = next((k for k, text in searched.queries.items() if text == query), None)
        return [] if key is None else [self.ids.index(t) for t, gain in searched.qrels[key].items() if gain > 0]
