"""From a set and a model to tables: a fake embedder in the plane, so that every number can be checked by
hand.
"""

import numpy as np
import pandas as pd
import pytest

from helpers.base.errors import StudyError
from helpers.geometry.measurement import bank_for, distractor_table, geometry_table, measure, set_distractors
from helpers.geometry.sets import InstructedSet, draw_foreign, folder_search_set, read_paraphrases
from helpers.study.geometry import GeometrySpec, GeometryTask, Instruction
from helpers.tasks.search import SearchSet

SPEC = GeometrySpec(tasks=[GeometryTask(name="Toy")], template="{instruction}>", n_boot=50)
TURN = Instruction(id="turn", text="turn", relevant_for=("question-answering",))
STAY = Instruction(id="stay", text="stay {lang}")
CONTROL = Instruction(id="empty", text="", control=True, group="control")


def toy(paraphrases=None):
    return InstructedSet(
        SearchSet(
            "Toy",
            "default",
            "test",
            "German",
            queries={"a": "0", "b": "50"},
            targets={"t": "20", "u": "70"},
            qrels={"a": {"t": 1}, "b": {"u": 1}},
            paraphrases=paraphrases or {},
        ),
        "retrieval",
        "question-answering",
        [("elsewhere", ["200", "210", "0", "20"])],
        "file" if paraphrases else "",
    )


class Angles:
    """A text is an angle in degrees; the instruction `turn` adds 20, any other nothing. Counts what it
    encodes.
    """

    def __init__(self):
        self.seen = []

    def __call__(self, requests):
        out = []
        for texts, prefix, role in requests:
            self.seen += [(prefix + text, role) for text in texts]
            angles = np.radians([float(t) + 20 * (prefix == "turn>") for t in texts])
            out.append(np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32))
        return out


def measured(chosen, instructions=(TURN, STAY)):
    return measure(Angles(), "m", chosen, list(instructions), SPEC)


def test_an_instruction_that_turns_towards_the_target():
    rows, _ = measured(toy())
    turned = rows[rows["instruction_id"] == "turn"]
    assert turned["displacement"].tolist() == pytest.approx([1 - np.cos(np.radians(20))] * 2, abs=1e-6)
    assert turned["similarity_improvement"].tolist() == pytest.approx([1 - np.cos(np.radians(20))] * 2, abs=1e-6)
    assert turned["angulation"].tolist() == pytest.approx([1, 1], abs=1e-5)
    assert turned["relevant"].all()


def test_an_instruction_that_does_nothing_has_missing_angulations():
    rows, _ = measured(toy())
    table = geometry_table(rows, toy(), n_boot=50).set_index("instruction_id")
    assert table.loc["stay", "n_missing_angulation"] == 2 and np.isnan(table.loc["stay", "angulation"])
    assert table.loc["stay", ["displacement", "gain", "gain_low", "gain_high"]].tolist() == [0, 0, 0, 0]
    assert table.loc["stay", "text"] == "stay German"
    assert table.loc["none", "group"] == "none"


def test_documents_and_distractors_are_never_instructed():
    embed = Angles()
    measure(embed, "m", toy({"a": "10", "b": "55"}), [TURN], SPEC)
    assert {text for text, role in embed.seen if role == "document"} == {"20", "70", "200", "210", "10", "55"}
    assert ("turn>0", "query") in embed.seen


def test_paraphrases_win_until_the_query_is_turned_past_them():
    chosen = toy({"a": "5", "b": "55"})
    rows, pools = measured(chosen)
    table = distractor_table(rows, pools).set_index(["instruction_id", "pool"])
    assert table.loc[("none", "normal"), "recall_at_1"] == 1
    assert table.loc[("none", "paraphrase"), ["recall_at_1", "own_first"]].tolist() == [0, 1]
    assert table.loc[("turn", "paraphrase"), ["recall_at_1", "own_first"]].tolist() == [1, 0]
    assert table.loc[("none", "random"), ["recall_at_1", "n_distractors"]].tolist() == [1, 2]


def test_a_query_without_paraphrase_is_named_and_leaves_that_pool_only():
    rows, pools = measured(toy({"a": "5"}))
    table = distractor_table(rows, pools)
    pool = table[(table["pool"] == "paraphrase") & (table["instruction_id"] == "none")].iloc[0]
    assert (pool["n_queries"], pool["n_missing"], pool["missing"]) == (1, 1, "b")
    assert table.loc[table["pool"] == "normal", "n_queries"].eq(2).all()
    assert pool["recall_at_1_same_queries"] == 1


def test_position_is_missing_without_paraphrases_and_moves_with_them():
    rows, _ = measured(toy())
    assert rows["w_target"].isna().all()
    rows, _ = measured(toy({"a": "5", "b": "55"}))
    by_id = rows.groupby("instruction_id")["w_target"].mean()
    assert by_id["none"] == pytest.approx(0, abs=1e-5)
    assert by_id["turn"] == pytest.approx(1, abs=1e-5)


def test_random_distractors_exclude_queries_and_targets():
    pools = set_distractors(toy(), SPEC, seed=0)
    assert [p.pool for p in pools] == ["random"] and pools[0].texts == ["200", "210"]
    assert pools[0].source == "elsewhere"


def test_foreign_texts_come_from_the_first_sources_that_suffice():
    foreign = [("first", ["a", "b"]), ("second", ["b", "c"]), ("third", ["d"])]
    assert draw_foreign(foreign, {"a"}, 2) == (["b", "c"], "first; second")
    assert draw_foreign(foreign, set(), 1) == (["a", "b"], "first")


def test_few_vectors_at_a_time_give_the_same_rows():
    few = SPEC.model_copy(update={"embedding_mb": 1e-9})
    one, _ = measure(Angles(), "m", toy(), [TURN, STAY], few)
    pd.testing.assert_frame_equal(one, measured(toy())[0])


def test_the_studys_own_instructions_and_controls_join_the_bank():
    spec = SPEC.model_copy(update={"extra": [TURN], "groups": ["vague"]})
    chosen = bank_for(spec, toy())
    assert [i.group for i in chosen].count("vague") == 6
    assert chosen[-1] == TURN and sum(i.control for i in chosen) == 6
    without = bank_for(spec.model_copy(update={"controls": False}), toy())
    assert not any(i.control for i in without)


@pytest.mark.parametrize("column, values", [("id", ["a", "x"]), ("question", ["0", "1"]), ("text", ["0 ", "1"])])
def test_paraphrases_are_read_by_id_or_by_the_querys_text(tmp_path, column, values):
    path = tmp_path / "p.parquet"
    pd.DataFrame({column: values, "paraphrase": ["zero", "one"]}).to_parquet(path)
    assert read_paraphrases(path, {"a": "0", "b": "50"}) == {"a": "zero"}


@pytest.mark.parametrize(
    "rows, message",
    [({"id": ["a"]}, "needs a column 'paraphrase'"), ({"paraphrase": ["x"]}, "no row belongs")],
)
def test_unusable_paraphrase_files_say_why(tmp_path, rows, message):
    path = tmp_path / "p.parquet"
    pd.DataFrame(rows).to_parquet(path)
    with pytest.raises(StudyError, match=message):
        read_paraphrases(path, {"a": "0"})


def test_a_folder_of_three_files_is_a_search_set(tmp_path):
    folder = tmp_path / "Own"
    folder.mkdir()
    pd.DataFrame({"_id": ["d"], "title": ["T"], "text": ["x"]}).to_parquet(folder / "corpus.parquet")
    pd.DataFrame({"_id": ["q", "r"], "text": ["?", "unjudged"]}).to_parquet(folder / "queries.parquet")
    pd.DataFrame({"query-id": ["q"], "corpus-id": ["d"], "score": [1]}).to_parquet(folder / "qrels.parquet")
    found = folder_search_set(folder)
    assert (found.task, found.queries, found.targets, found.qrels) == (
        "Own",
        {"q": "?"},
        {"d": "T x"},
        {"q": {"d": 1}},
    )


def test_a_template_without_a_place_for_the_instruction_is_refused():
    with pytest.raises(ValueError, match="must contain"):
        GeometrySpec(tasks=[GeometryTask(name="Toy")], template="Query: ")
    with pytest.raises(ValueError, match="stands there twice"):
        GeometrySpec(tasks=[GeometryTask(name="Toy"), GeometryTask(name="Toy")])
