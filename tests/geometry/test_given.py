"""The geometry of own texts under any function: by hand, and like the study's own measurement."""

import numpy as np
import pytest

import helpers as h
from helpers.base.errors import StudyError

QUERIES, TARGETS, QRELS = {"q": "east"}, {"n": "north", "w": "west"}, {"q": "n"}
DIRECTIONS = {
    "east": (1, 0),
    "north": (0, 1),
    "west": (-1, 0),
    "turn east": (0.6, 0.8),
    "eastward": (0.8, 0.6),
}


def compass(texts: list[str]) -> np.ndarray:
    return np.array([DIRECTIONS[text] for text in texts], dtype=float)


def test_an_instruction_that_turns_the_query_towards_its_target():
    plain, turned = h.measure(
        compass, QUERIES, TARGETS, QRELS, ["turn"], template="{instruction} ").to_dict("records")  # fmt: skip
    assert plain["displacement"] == 0 and plain["score"] == 1
    assert turned["displacement"] == pytest.approx(0.4)  # 1 - cos = 1 - 0.6
    assert turned["similarity_improvement"] == pytest.approx(0.8)  # from 0 to 0.8
    assert turned["selectivity"] == pytest.approx(0.8 - 0.4)  # the other target, west, comes nearer by -0.6 - (-1)
    assert np.isnan(turned["gain_low"])  # one query carries no interval


def test_a_paraphrase_beside_the_targets_can_take_their_place():
    table = h.measure(
        compass, QUERIES, TARGETS, QRELS, ["turn"], paraphrases={"q": "eastward"}, template="{instruction} ")  # fmt: skip
    assert list(table["recall_at_1"]) == [0, 0] and list(table["own_first"]) == [1, 1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instructions": "turn"}, "instructions: give a list of texts"),
        ({"instructions": []}, "instructions: give a list of texts"),
        ({"template": "turn "}, "template must contain '{instruction}'"),
        ({"qrels": {"q": "s"}}, "there is no document 's'"),
        ({"paraphrases": {"x": "east"}}, "there is no judged query 'x'"),
        ({"embed": 5}, "int gives no vectors"),
        ({"embed": lambda texts: np.zeros(len(texts))}, r"returned shape \(1,\) for 1 texts"),
    ],
)
def test_what_does_not_fit_is_named(change, said):
    call = {
        "embed": compass,
        "queries": QUERIES,
        "targets": TARGETS,
        "qrels": QRELS,
        "instructions": ["turn"],
    } | change
    with pytest.raises(StudyError, match=said):
        h.measure(**call)
