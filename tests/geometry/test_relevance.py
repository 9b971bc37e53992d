"""The statistics reproduce the arithmetic of the paper's tables and say so where nothing can be computed."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from helpers.geometry.relevance import (
    correlation_table,
    quadrants,
    r_squared,
    rank_biserial,
    relevance_table,
    separability_table,
    spearman,
    top_k_share,
)
from helpers.geometry.separability import _logistic_scores, auc, separability_of, stratified_folds


def paper_case(seed=0, n=47, k=7):
    rng = np.random.default_rng(seed)
    relevant = np.zeros(n, dtype=bool)
    relevant[rng.choice(n, k, replace=False)] = True
    return rng.normal(size=n), relevant


@pytest.mark.parametrize("seed", range(5))
def test_values_are_multiples_of_those_in_table_2(seed):
    score, relevant = paper_case(seed)
    effect, _ = rank_biserial(score, relevant)
    assert effect * 280 == pytest.approx(round(effect * 280), abs=1e-9)
    share = top_k_share(score, relevant)
    assert share * 7 == pytest.approx(round(share * 7), abs=1e-9)


def test_published_values_of_table_2_are_such_multiples():
    for effect in (0.457, 0.814, -0.021, 0.571, 0.543):
        assert abs(effect - round(effect * 280) / 280) < 0.0005
    for share in (0.286, 0.571, 0.143, 0.429):
        assert abs(share - round(share * 7) / 7) < 0.0005


def test_relevant_instructions_all_on_top():
    score, relevant = np.arange(47.0), np.arange(47) >= 40
    assert top_k_share(score, relevant) == 1
    effect, p = rank_biserial(score, relevant)
    assert effect == 1 and p < 1e-6
    assert r_squared(score, relevant) == pytest.approx(np.corrcoef(score, relevant)[0, 1] ** 2)


def test_one_win_of_four_by_hand():
    effect, _ = rank_biserial(np.array([2.0, 1.0, 3.0, 4.0, 5.0]), np.array([True, False, False, False, False]))
    assert effect == pytest.approx((1 - 3) / 4)


def test_ties_at_the_border_of_the_best_k_count_by_expectation():
    score, relevant = np.array([3.0, 2.0, 2.0, 1.0]), np.array([True, True, False, False])
    assert top_k_share(score, relevant) == pytest.approx(0.75)


@pytest.mark.parametrize("relevant", [np.zeros(4, bool), np.ones(4, bool)])
def test_one_group_alone_gives_missing_values(relevant):
    score = np.arange(4.0)
    assert np.isnan(rank_biserial(score, relevant)).all()
    assert np.isnan(r_squared(score, relevant))


def test_logistic_fits_equal_sklearn():
    score, relevant = paper_case(3)
    x = np.c_[score, np.random.default_rng(1).normal(size=47) * 5 + 2]
    train = np.arange(47) % 5 != 0
    scaler = StandardScaler().fit(x[train])
    fitted = LogisticRegression(tol=1e-10).fit(scaler.transform(x[train]), relevant[train])
    ours = _logistic_scores(x, relevant[None], train[None])[0]
    assert ours == pytest.approx(fitted.decision_function(scaler.transform(x)), abs=1e-6)


def test_auc_equals_sklearn_with_ties():
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 4, size=(3, 20)).astype(float), rng.random((3, 20)) < 0.4
    test = rng.random((3, 20)) < 0.8
    wanted = [roc_auc_score(v[t], s[t]) for s, v, t in zip(scores, labels, test, strict=True)]
    assert auc(scores, labels, test) == pytest.approx(wanted)


def test_folds_hold_both_labels_in_even_numbers():
    labels = np.arange(47)[None] < 7
    folds = stratified_folds(labels, 5, seed=0)[0]
    assert sorted(np.bincount(folds[labels[0]])) == [1, 1, 1, 2, 2]
    assert sorted(np.bincount(folds[~labels[0]])) == [8] * 5


def test_separable_labels_reach_one_and_random_ones_stay_at_chance():
    _, relevant = paper_case(0)
    clear = separability_of(np.c_[relevant * 1.0, np.zeros(47)], relevant, repeats=3, permutations=50)
    assert clear["auc"] == 1 and clear["auc_p"] == pytest.approx(1 / 51)
    ps = []
    for seed in range(40):
        score, labels = paper_case(seed)
        ps.append(separability_of(np.c_[score, score**2], labels, repeats=2, permutations=60, seed=seed)["auc_p"])
    assert kstest(ps, "uniform").pvalue > 0.001


def test_separability_of_a_single_relevant_instruction_is_missing():
    found = separability_of(np.random.default_rng(0).normal(size=(10, 2)), np.arange(10) == 0)
    assert np.isnan(found["auc"]) and found["n_folds"] == 0


def test_spearman_interval_holds_the_estimate_and_constants_are_missing():
    x = np.arange(20.0)
    rho, low, high, p = spearman(x, x + np.random.default_rng(0).normal(size=20) * 5)
    assert -1 <= low < rho < high <= 1 and p < 0.05
    assert np.isnan(spearman(x, np.ones(20))).all()


def table(subsets=("a", "b")):
    rng = np.random.default_rng(0)
    rows = []
    for subset in subsets:
        for i in range(12):
            rows.append(
                {
                    "model": "m",
                    "task": "t",
                    "subset": subset,
                    "instruction_id": f"i{i}",
                    "group": "control" if i == 11 else "vague",
                    "control": i == 11,
                    "relevant": i < 3,
                    "score": 1.0 - i / 12,
                    "displacement": i / 12,
                    "similarity_improvement": rng.normal(),
                    "angulation": np.nan,
                    "selectivity": rng.normal(),
                    "gain": 0.1 if i < 6 else -0.1,
                }
            )
        rows.append({**rows[-1], "instruction_id": "none", "group": "none", "control": False})
    return pd.DataFrame(rows)


def test_controls_and_the_plain_query_stay_out_of_the_statistics():
    found = relevance_table(table(["a"]))
    assert found[["n_relevant", "n_other"]].iloc[0].tolist() == [3, 8]
    assert found["rank_biserial"].iloc[0] == 1


def test_several_subsets_get_a_mean_row():
    found = relevance_table(table())
    mean = found[found["subset"] == "mean"].iloc[0]
    assert mean["rank_biserial"] == 1 and mean["n_subsets"] == 2 and np.isnan(mean["p"])


def test_correlations_are_adjusted_and_missing_metrics_stay_missing():
    found = correlation_table(table(["a"])).set_index("metric")
    assert found.loc["displacement", "rho"] == pytest.approx(-1)
    assert np.isnan(found.loc["angulation", "rho"]) and np.isnan(found.loc["angulation", "p_adjusted"])
    assert found.loc["displacement", "p_adjusted"] >= found.loc["displacement", "p"]


def test_separability_table_has_a_row_per_metric_and_a_mean():
    found = separability_table(table(), repeats=2, permutations=10)
    assert len(found) == 3 * 4
    assert found.loc[found["metric"] == "angulation", "auc"].isna().all()


def test_quadrants_name_the_big_shift_without_gain():
    found = quadrants(table(["a"])).set_index("instruction_id")["quadrant"]
    assert found["i0"] == "small shift, gain"
    assert found["i10"] == "big shift, no gain"
    assert "none" not in found.index and "i11" not in found.index


@pytest.mark.parametrize("make", [relevance_table, separability_table, correlation_table, quadrants])
def test_an_empty_table_gives_an_empty_table(make):
    assert len(make(table(["a"]).iloc[:0])) == 0
