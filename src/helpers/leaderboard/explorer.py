"""An explorer for notebook 04: choose a prompt per model and task and watch the ranks; a static table in the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from helpers.display.tables import Html, table, visible_whitespace
from helpers.scores.board import board_matrix, borda

Choices = dict[tuple[str, str], str]  # (model, task) -> prompt id; who is absent keeps the default

BASELINES = {"default": "(default)", "none": "(no prompt)"}

SHOWN = 90  # characters of a prompt in a list


class BoardExplorer:
    """A Borda board under chosen prompts; `board` computes, `view` asks and shows.

    cells: a `task_scores` table. holes: as in `leaderboard.borda`. with_default: whether the default is a candidate for
    best and worst.
    """

    def __init__(self, cells: pd.DataFrame, holes: str = "mteb", with_default: bool = True) -> None:
        self.cells, self.holes = cells[cells["score"].notna()], holes
        self.candidates = ("prompt", "default") if with_default else ("prompt",)
        self.default = board_matrix(cells, "default")
        self.ranks = borda(self.default, holes).set_index("model")["rank"]

    def prompts(self, model: str, task: str) -> pd.DataFrame:
        """What a model can be scored with on a task, best score first: prompt_id, kind, prompt, score."""
        own = self.cells[(self.cells["model"] == model) & (self.cells["task"] == task)]
        columns = ["prompt_id", "kind", "prompt", "score"]
        return own.sort_values("score", ascending=False, kind="stable")[columns].reset_index(drop=True)

    def board(self, choices: Mapping[tuple[str, str], str]) -> pd.DataFrame:
        """The board when some cells take another prompt than the default.

        Columns: model, rank, by_default (rank), moved ("▲ 2": two places up), points, mean_score (over the tasks that
        the model has). Raises `ValueError` for a prompt that the model has no score with.
        """
        scores = self.default.copy()
        for (model, task), prompt in choices.items():
            own = self.prompts(model, task)
            found = own.loc[own["prompt_id"] == prompt, "score"]
            if found.empty:
                raise ValueError(f"{model} has no score on {task} with the prompt '{prompt}'")
            scores.loc[model, task] = found.iloc[0]
        board = borda(scores, self.holes)
        board["by_default"] = board["model"].map(self.ranks)
        board["mean_score"] = board["model"].map(scores.mean(axis=1))
        change = board["by_default"] - board["rank"]
        board["moved"] = [f"{'▲' if c > 0 else '▼'} {abs(c):.0f}" if c == c and c else "" for c in change]
        return board[["model", "rank", "by_default", "moved", "points", "mean_score"]]

    def best(self, model: str) -> Choices:
        """The best-scoring prompt of a model on each of its tasks."""
        return self._pick(model, 0)

    def worst_for_others(self, model: str) -> Choices:
        """The worst-scoring prompt on each task for every model but this one."""
        return {k: v for other in self.default.index if other != model for k, v in self._pick(other, -1).items()}

    def _pick(self, model: str, place: int) -> Choices:
        found = {
            t: own[own["kind"].isin(self.candidates)]
            for t in self.default.columns
            if len(own := self.prompts(model, t))
        }
        return {(model, task): own["prompt_id"].iloc[place] for task, own in found.items() if len(own)}

    def view(self) -> Any:
        """Shows the widget where a kernel runs it, and a static table elsewhere (report, GitHub, print)."""
        return _View(self)

    def static(self) -> Html:
        """One example as a table: the last model by default takes its best prompt everywhere, the others do not."""
        if self.ranks.dropna().empty:
            return Html("<p>No model has a default score.</p>", "No model has a default score.")
        last = str(self.ranks.idxmax())
        caption = f"Example: {last} with its best prompt on every task, the others with their default"
        return table(self.board(self.best(last)), name="tbl-explorer", caption=caption)

    def widget(self) -> Any:
        """Lists of models, tasks and prompts, three buttons, and the board that follows from the choices."""
        return _Panel(self).box


class _View:
    def __init__(self, explorer: BoardExplorer) -> None:
        self.explorer = explorer

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        # JupyterLab takes the widget, the report the HTML
        return {**self.explorer.widget()._repr_mimebundle_(), **self.explorer.static()._repr_mimebundle_()}


class _Panel:
    """The widget's fields and what happens when one changes."""

    def __init__(self, explorer: BoardExplorer) -> None:
        import ipywidgets as widgets

        self.explorer, self.choices, self.busy = explorer, Choices(), False
        wide = widgets.Layout(width="95%")
        models, tasks = list(explorer.default.index), list(explorer.default.columns)
        self.model = widgets.Dropdown(options=models, description="model", layout=wide)
        self.task = widgets.Dropdown(options=tasks, description="task", layout=wide)
        self.prompt = widgets.Select(description="prompt", rows=8, layout=wide)
        self.answer = widgets.HTML()
        actions = {
            "its best prompts": lambda: self.choices.update(explorer.best(self.model.value)),
            "worst for the others": lambda: self.choices.update(explorer.worst_for_others(self.model.value)),
            "back to the defaults": self.choices.clear,
        }
        buttons = []
        for words, action in actions.items():
            button = widgets.Button(description=words, layout=widgets.Layout(width="auto"))
            button.on_click(lambda _, action=action: self._act(action))
            buttons.append(button)
        for each in (self.model, self.task):
            each.observe(lambda _: self.refresh(), names="value")
        self.prompt.observe(self._chosen, names="value")
        self.box = widgets.VBox([self.model, self.task, self.prompt, widgets.HBox(buttons), self.answer])
        self.refresh()

    def _act(self, action: Callable[[], object]) -> None:
        action()
        self.refresh()

    def refresh(self) -> None:
        """Fill the list of prompts for the model and task that are shown, then show the board."""
        own = self.explorer.prompts(self.model.value, self.task.value)
        shown = [
            f"{row.score:.4f}  {BASELINES.get(row.kind) or visible_whitespace(row.prompt)[:SHOWN]}"
            for row in own.itertuples()
        ]
        default = own.loc[own["kind"] == "default", "prompt_id"]
        now = self.choices.get((self.model.value, self.task.value), default.iloc[0] if len(default) else None)
        self.busy = True  # setting options moves the selection, which is no choice of the reader
        self.prompt.options = list(zip(shown, own["prompt_id"], strict=True))
        self.prompt.value = now
        self.busy = False
        self._show()

    def _chosen(self, change: Any) -> None:
        if not self.busy and change["new"] is not None:
            self.choices[(self.model.value, self.task.value)] = change["new"]
            self._show()

    def _show(self) -> None:
        board = self.explorer.board(self.choices)
        changed = f"{len(self.choices)} of {self.explorer.default.notna().sum().sum()} cells have a chosen prompt"
        self.answer.value = table(board, caption=f"Ranks now; {changed}").markup
