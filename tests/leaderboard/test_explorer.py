"""The explorer of notebook 04: chosen prompts move ranks; a widget in JupyterLab, a table in the report."""

import pandas as pd
import pytest
from board_cells import cells_of

from helpers.leaderboard.explorer import BoardExplorer, _Panel

# By default a beats b on both tasks. b's prompt p1 on T beats a's default there; on U no prompt of b does.
SCORES = {"a": {"T": [0.5, 0.1], "U": [0.6, 0.6]}, "b": {"T": [0.2, 0.9], "U": [0.3, 0.2]}}
DEFAULT = {"a": {"T": 0.5, "U": 0.6}, "b": {"T": 0.4, "U": 0.3}}


@pytest.fixture
def explorer():
    return BoardExplorer(cells_of(SCORES, DEFAULT))


def test_without_choices_the_board_is_that_of_the_defaults(explorer):
    board = explorer.board({}).set_index("model")
    assert list(board["rank"]) == [1, 2] and list(board["points"]) == [2, 0] and list(board["moved"]) == ["", ""]


def test_a_chosen_prompt_moves_the_ranks(explorer):
    board = explorer.board({("b", "T"): "p1"}).set_index("model")
    assert board["rank"].to_dict() == {"a": 1, "b": 1} and board.loc["b", "moved"] == "▲ 1"
    assert board.loc["b", "mean_score"] == pytest.approx((0.9 + 0.3) / 2)


def test_best_and_worst_are_taken_per_task(explorer):
    assert explorer.best("b") == {("b", "T"): "p1", ("b", "U"): "p0"}
    assert explorer.worst_for_others("b")[("a", "T")] == "p1"


def test_no_prompt_can_be_chosen_but_is_no_candidate_for_best():
    cells = cells_of(SCORES, DEFAULT)
    none = cells.iloc[[0]].assign(prompt_id="none", kind="none", prompt="", score=0.99)
    explorer = BoardExplorer(pd.concat([cells, none]))
    assert explorer.best("a")[("a", "T")] in ("p0", "default")
    panel = _Panel(explorer)
    assert panel.prompt.options[0] == ("0.9900  (no prompt)", "none")


def test_best_is_taken_over_written_prompts_where_the_default_is_no_candidate():
    cells = cells_of(SCORES, DEFAULT | {"a": {"T": 0.9, "U": 0.9}})
    assert BoardExplorer(cells).best("a")[("a", "T")] == "default"
    assert BoardExplorer(cells, with_default=False).best("a")[("a", "T")] == "p0"


def test_an_unknown_prompt_is_an_error(explorer):
    with pytest.raises(ValueError, match="a has no score on T with the prompt 'p9'"):
        explorer.board({("a", "T"): "p9"})


def test_the_view_is_a_widget_with_a_table_for_the_report(explorer):
    bundle = explorer.view()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "b with its best prompt on every task" in bundle["text/html"]


def test_choosing_in_the_list_shows_the_new_ranks_and_a_button_resets(explorer):
    panel = _Panel(explorer)
    panel.model.value, panel.task.value = "b", "T"
    assert panel.prompt.value == "default" and "0 of 4 cells" in panel.answer.value
    panel.prompt.value = "p1"
    assert "1 of 4 cells" in panel.answer.value and "▲ 1" in panel.answer.value
    panel.box.children[3].children[2].click()
    assert panel.prompt.value == "default" and "▲" not in panel.answer.value


def test_markup_in_names_and_prompts_stays_text():
    explorer = BoardExplorer(cells_of({"<b>m</b>": {"T": [0.1]}}, {"<b>m</b>": {"T": 0.2}}))
    assert "<b>" not in _Panel(explorer).answer.value and "<b>" not in explorer.static().markup
