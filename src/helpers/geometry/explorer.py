"""A small explorer for JupyterLab: type an instruction and a query, see the nearest targets and the movement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from helpers.geometry.measurement import Embed
from helpers.geometry.measures import angulation, displacement, selectivity, similarity_improvement
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
        held = self.chosen.search
        prefix = self.spec.prefix(instruction.replace("{lang}", held.language))
        q, p = self.embed([([query], "", "query"), ([query], prefix, "query")])
        before, after = (q @ self.vectors.T)[0], (p @ self.vectors.T)[0]
        wanted = self._targets(query)
        order = np.argsort(-after, kind="stable")[:top]
        rank_before = np.argsort(np.argsort(-before, kind="stable"))
        nearest = pd.DataFrame(
            {
                "rank": range(1, len(order) + 1),
                "target": [held.targets[self.ids[i]] for i in order],
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
            metrics["similarity_improvement"] = float(similarity_improvement(q, p, a)[0])
            metrics["angulation"] = float(angulation(q, p, a)[0])
            metrics["selectivity"] = float(selectivity(q, p, a, n)[0])
        return Look(nearest, metrics)

    def widget(self) -> Any:
        """Two text fields and their answer, for a running kernel (JupyterLab, not the report)."""
        import ipywidgets as widgets

        from helpers.display.tables import table

        first = next(iter(self.chosen.search.queries.values()))
        wide = widgets.Layout(width="95%")
        instruction = widgets.Text(
            "Retrieve the answer to the question.", description="instruction", layout=wide
        )
        query = widgets.Combobox(
            value=first, options=list(self.chosen.search.queries.values()), description="query", layout=wide
        )
        answer = widgets.HTML()

        def update(_: Any = None) -> None:
            look = self.look(instruction.value, query.value)
            numbers = pd.DataFrame([look.metrics]).round(3)
            answer.value = "".join(table(part).markup for part in (numbers, look.nearest))

        for field in (instruction, query):
            field.continuous_update = False
            field.observe(update, names="value")
        update()
        return widgets.VBox([instruction, query, answer])

    def _targets(self, query: str) -> list[int]:
        """Places of the relevant targets of a query of the set; none for another text."""
        held = self.chosen.search
        places = {t: n for n, t in enumerate(self.ids)}
        for key, text in held.queries.items():
            if text == query:
                return [places[t] for t, gain in held.qrels[key].items() if gain > 0]
        return []
