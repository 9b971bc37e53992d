"""Ranks in the three pools: by hand, against pytrec_eval through ir-measures, and under a small memory
budget.
"""

import numpy as np
import pandas as pd
import pytest

from helpers.base.ranking import metrics
from helpers.geometry.measures import unit
from helpers.geometry.pools import (
    Distractors,
    Judgements,
    count_at_least,
    paraphrase_distractors,
    pool_scores,
    random_distractors,
    search,
)


def at(*degrees):
    angle = np.radians(degrees)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)


def one_each(n):
    return Judgements(np.arange(n), np.arange(n), np.ones(n), n)


def own(n, pool="paraphrase"):
    return Distractors(pool, ["x"] * n, np.arange(n), np.ones(n, bool), "test")


def test_a_distractor_nearer_than_the_target_costs_the_hit():
    queries, targets, distractors = at(0, 90), at(20, 80), at(10, 60)
    found = search(queries, targets, one_each(2))
    assert list(pool_scores(found, queries)["rank"]) == [1, 1]
    scores = pool_scores(found, queries, own(2), distractors)
    assert list(scores["rank"]) == [2, 1]
    assert list(scores["recall_at_1"]) == [0, 1]
    assert list(scores["own_first"]) == [1, 0]


def test_a_distractor_that_equals_the_target_wins_the_tie():
    queries, targets = at(0), at(20)
    scores = pool_scores(search(queries, targets, one_each(1)), queries, own(1), targets)
    assert (scores["rank"][0], scores["recall_at_1"][0], scores["recall_at_5"][0]) == (2, 0, 1)


def test_two_queries_may_share_one_target():
    judgements = Judgements.from_qrels({"a": {"t": 1}, "b": {"t": 1}}, ["a", "b"], ["t", "u"])
    found = search(at(0, 50), at(10, 60), judgements)
    assert list(pool_scores(found, at(0, 50))["rank"]) == [1, 2]


def test_a_query_with_a_graded_second_target():
    judgements = Judgements.from_qrels({"a": {"t": 2, "u": 1, "v": 0}}, ["a"], ["t", "u", "v"])
    found = search(at(0), at(30, 10, 20), judgements)  # order: u, v, t
    scores = pool_scores(found, at(0))
    ideal = 2 + 1 / np.log2(3)
    assert scores["ndcg_at_10"] == pytest.approx([(1 + 2 / np.log2(4)) / ideal])
    assert scores["recall_at_1"] == pytest.approx([0.5])
    assert scores["mrr"] == pytest.approx([1])


def test_judgements_name_the_query_without_a_target():
    with pytest.raises(ValueError, match="query 'b' has no relevant target"):
        Judgements.from_qrels({"a": {"t": 1}, "b": {"t": 0}}, ["a", "b"], ["t"])
    with pytest.raises(ValueError, match="target 'x', which is not there"):
        Judgements.from_qrels({"a": {"x": 1}}, ["a"], ["t"])


def random_case(seed=0, n=40, m=130, d=8):
    rng = np.random.default_rng(seed)
    queries, targets = unit(rng.normal(size=(n, d))), unit(rng.normal(size=(m, d)))
    qrels = {
        f"q{i}": {f"t{t}": int(rng.integers(1, 4)) for t in rng.choice(m, rng.integers(1, 5), replace=False)}
        for i in range(n)
    }
    return queries, targets, qrels


def test_metrics_equal_ir_measures_on_the_same_ranking():
    import ir_measures
    from ir_measures import RR, R, nDCG

    queries, targets, qrels = random_case(seed=1)
    ids, targets_ids = [f"q{i}" for i in range(40)], [f"t{i}" for i in range(130)]
    found = search(queries, targets, Judgements.from_qrels(qrels, ids, targets_ids))
    ours = pd.DataFrame(pool_scores(found, queries)).mean()
    run = {
        q: dict(zip(targets_ids, map(float, row), strict=True)) for q, row in zip(ids, queries @ targets.T, strict=True)
    }
    theirs = ir_measures.calc_aggregate([nDCG @ 10, R @ 1, R @ 5, RR], qrels, run)
    for name, measure in (
        ("ndcg_at_10", nDCG @ 10),
        ("recall_at_1", R @ 1),
        ("recall_at_5", R @ 5),
        ("mrr", RR),
    ):
        assert ours[name] == pytest.approx(theirs[measure], abs=1e-9)


def test_blocks_of_any_size_give_the_same_counts(monkeypatch):
    queries, targets, _ = random_case(n=700, m=900)
    limits = np.einsum("ij,ij->i", queries[:700], targets[:700])[:, None]
    skip = (np.arange(700), np.arange(700))
    whole = count_at_least(queries, targets, limits, skip, block_mb=64)
    in_blocks = count_at_least(queries, targets, limits, skip, block_mb=1)
    for one, other in zip(whole, in_blocks, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    full = queries @ targets.T
    full[skip] = -np.inf
    assert (whole[0][:, 0] == (full >= limits - 1e-6).sum(axis=1)).all()
    assert (whole[2] == full.argmax(axis=1)).all()


def test_random_distractors_are_foreign_and_reproducible():
    foreign = ["a question", "the target", "a query", "another", "third"]
    drawn = random_distractors(foreign, ["a query"], ["the target"], 2, seed=3, source="x")
    again = random_distractors(foreign[::-1], ["a query"], ["the target"], 2, seed=3, source="x")
    assert drawn.texts == again.texts and len(drawn.texts) == 2
    assert set(drawn.texts) <= {"a question", "another", "third"}
    assert len(random_distractors(foreign, ["a query"], [], 99, 3, "x").texts) == 4


def test_a_missing_paraphrase_is_named_left_out_and_counted():
    queries = {"a": "who?", "b": "what?", "c": "when?"}
    paraphrases = {"a": "which person?", "c": "noon"}
    pool = paraphrase_distractors(paraphrases, queries, {"c": {"noon"}}, "file")
    assert (pool.missing, pool.equal) == (["b"], ["c"])
    assert pool.texts == ["which person?"] and list(pool.row_of) == [0, -1, -1]
    found = search(at(0, 0, 0), at(10, 20, 30), one_each(3))
    scores = pool_scores(found, at(0, 0, 0), pool, at(40))
    assert list(np.isnan(scores["rank"])) == [False, True, True]
    assert scores["own_first"][0] == 0


def test_a_paraphrase_that_repeats_its_query_is_no_distractor():
    queries = {"a": "Who was it?", "b": "What?", "c": "When?"}
    paraphrases = {"a": "who  was\tIT?", "b": "Which thing?", "c": " NOON "}
    pool = paraphrase_distractors(paraphrases, queries, {"c": {"noon"}}, "file")
    assert (pool.unchanged, pool.equal, pool.missing) == (["a"], ["c"], [])
    assert pool.texts == ["Which thing?"] and list(pool.measured) == [False, True, False]
    assert pool.left_out == ["c", "a"]


def test_recall_at_1_is_a_share_of_the_relevant_targets_and_rank_1_a_success():
    """Two relevant targets, one of them first: half of them is found, and the top hit is right."""
    found = metrics(np.array([[1.0, 4.0], [1.0, np.nan], [2.0, np.nan]]), np.ones((3, 2)))
    assert list(found["recall_at_1"]) == [0.5, 1, 0] and list(found["rank"] == 1) == [True, True, False]
    assert list(found["recall_at_5"]) == [1, 1, 1]


def test_rank_beyond_the_first_ten_gives_no_ndcg_but_a_reciprocal_rank():
    scores = metrics(np.array([[11.0]]), np.array([[1.0]]))
    assert (scores["ndcg_at_10"][0], scores["recall_at_5"][0]) == (0, 0)
    assert scores["mrr"][0] == pytest.approx(1 / 11)
