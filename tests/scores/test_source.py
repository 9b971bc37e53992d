"""The published study, number by number: what `data/published/README.md` of the shared data says must come out.

Read from the archives of both versions, not from the reference tables; these are compared.
"""

import numpy as np
import pandas as pd
import pytest

from helpers.leaderboard import scenarios
from helpers.leaderboard import words as leaderboard_words
from helpers.scores.board import board_matrix, borda
from helpers.scores.cells import chosen_records, task_scores
from helpers.scores.source import load_published, reported_defaults
from helpers.sensitivity import audit
from helpers.sensitivity.defaults import model_summary, sensitivity_table
from helpers.sensitivity.scope import public_scope
from helpers.sensitivity.words import completeness, percentiles
from helpers.study.load import load_study

KALM, QWEN, E5 = (
    "KaLM-embedding-multilingual-mini-instruct-v2.5",
    "Qwen3-Embedding-0.6B",
    "multilingual-e5-large-instruct",
)
LARGE, BASE, SMALL = "bge-large-en-v1.5", "bge-base-en-v1.5", "bge-small-en-v1.5"
KEY = ["model_name", "task", "split", "subset", "experiment"]


def load(name, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PUBLISHED_RESULTS", str(folder / "published"))
        study = load_study(name)
        return study.results_from, load_published(study.results_from, name)


@pytest.fixture(scope="module")
def first(shared_data):
    return load("published", shared_data)


@pytest.fixture(scope="module")
def cells(first):
    return task_scores(first[1].scores, first[0].records)


@pytest.fixture(scope="module")
def table(cells):
    return sensitivity_table(cells, draws=200)


@pytest.mark.parametrize("name, reference", [("published", "scores_paper_v1"), ("published-revised", "scores")])
def test_every_score_equals_the_independently_read_table(name, reference, first, shared_data):
    source, found = first if name == "published" else load(name, shared_data)
    expected = pd.read_parquet(shared_data / "published" / f"{reference}.parquet").rename(
        columns={"model": "model_name"}
    )
    expected = expected[
        ~expected["task"].isin(source.exclude_tasks) & ~expected["model_name"].isin(source.exclude_models)
    ]
    ours = found.scores.assign(experiment=found.scores["experiment"].fillna(""))
    both = ours.merge(expected.fillna({"experiment": ""}), on=KEY, how="outer", suffixes=("", "_ref"), indicator=True)
    assert (both["_merge"] == "both").all() and found.problems.empty
    assert (both["main_score"] == both["main_score_ref"]).all() and (both["metric"] == both["metric_ref"]).all()
    for a, b in (
        ("prompt", "prompt_ref"),
        ("mteb_version", "mteb_version_ref"),
        ("task_type", "task_type_ref"),
    ):
        assert (both[a].fillna("") == both[b].fillna("")).all()
    levels = [
        set(str(x).split("|")) == set(str(y).split("|"))
        for x, y in both[["level", "prompt_level"]].fillna("").to_numpy()
    ]
    assert all(levels)


def test_a_part_of_the_cache_unpacked_gives_the_same_scores(shared_data):
    from helpers.scores.published import read_results

    found = read_results(shared_data / "published" / "mteb_cache")
    expected = pd.read_parquet(shared_data / "published" / "scores.parquet")
    both = found.scores.merge(expected.rename(columns={"model": "model_name"}), on=KEY, suffixes=("", "_ref"))
    assert len(both) == len(found.scores) > 400 and (both["main_score"] == both["main_score_ref"]).all()


def test_words_per_prompt(first):
    words = first[1].prompts["text"].str.split().str.len()
    assert (len(words), round(words.mean(), 4), round(words.std(ddof=0), 4)) == (165, 5.2485, 2.3314)


def test_972_distinct_runs_behind_the_nominal_990(cells):
    assert (cells["kind"] == "prompt").sum() == 972 and (cells["kind"] == "default").sum() == 66


@pytest.mark.parametrize("model, median, q1, q3, largest, task", [
    (QWEN, 0.0220, 0.0142, 0.0759, 0.1333, "TweetSentimentClassification"),
    (KALM, 0.0368, 0.0155, 0.0633, 0.1312, "Touche2020Retrieval.v3"),
    (E5, 0.0575, 0.0241, 0.0912, 0.2607, "MIRACLRetrievalHardNegatives.v2"),
    (LARGE, 0.0381, 0.0199, 0.0972, 0.3211, "Touche2020Retrieval.v3"),
    (BASE, 0.0292, 0.0157, 0.0649, 0.3202, "Touche2020Retrieval.v3"),
    (SMALL, 0.0363, 0.0149, 0.0790, 0.4442, "Touche2020Retrieval.v3"),
])  # fmt: skip
def test_coefficient_of_variation(table, model, median, q1, q3, largest, task):
    row = model_summary(table).set_index("model").loc[model]
    assert [round(row[c], 4) for c in ("cv_median", "cv_q1", "cv_q3", "cv_max")] == [median, q1, q3, largest]
    assert row["cv_max_task"] == task


def test_another_reading_of_amazon_counterfactual_changes_two_medians(first):
    cells = task_scores(first[1].scores, {"AmazonCounterfactualClassification": "test/en"})
    row = model_summary(sensitivity_table(cells, draws=50)).set_index("model")["cv_median"].round(4)
    assert row[KALM] == 0.0399 and row[LARGE] == 0.0317 and row[QWEN] == 0.0220


@pytest.mark.parametrize("model, share, above, best, worst", [
    (QWEN, 0.783, 9, 8, 0), (KALM, 0.806, 9, 7, 1), (E5, 0.791, 9, 6, 0),
    (LARGE, 0.885, 10, 8, 1), (BASE, 0.835, 9, 8, 0), (SMALL, 0.900, 10, 7, 0),
])  # fmt: skip
def test_where_the_defaults_stand(table, model, share, above, best, worst):
    row = model_summary(table).set_index("model").loc[model]
    assert round(row["mean_percentile"], 3) == share
    assert [row["above_mean"], row["at_or_above_best"], row["at_or_below_worst"]] == [above, best, worst]


def test_56_of_66_cells_above_the_mean_and_44_at_or_above_the_best(table):
    assert table[["above_mean", "at_or_above_best", "at_or_below_worst"]].sum().tolist() == [56, 44, 2]
    assert "in 56 of 66 cells" in percentiles(table).findings[0]


def test_borda_with_defaults(cells):
    board = borda(board_matrix(cells, "default"))
    assert board["model"].tolist() == [KALM, QWEN, E5, LARGE, BASE, SMALL]
    assert board["rank"].tolist() == [1, 2, 3, 4, 5, 6] and board["points"].tolist() == [
        48,
        46,
        29,
        22,
        13,
        7,
    ]


@pytest.mark.parametrize("with_default, own, against_worst", [
    (True, {SMALL: 6, BASE: 5, LARGE: 4, E5: 3, KALM: 1, QWEN: 1}, {}),
    (False, {SMALL: 6, BASE: 5, LARGE: 5, E5: 3, KALM: 2, QWEN: 2}, {SMALL: 3}),
])  # fmt: skip
def test_scenarios_and_how_they_depend_on_the_default_as_a_candidate(cells, with_default, own, against_worst):
    ranks = scenarios(cells, with_default).set_index("model")
    assert ranks["best_vs_default"].to_dict() == own
    assert ranks["best_vs_worst"].to_dict() == dict.fromkeys(own, 1) | against_worst
    text = leaderboard_words.scenarios(ranks.reset_index()).findings[0]
    assert "all 6 reach rank 1" in text if with_default else "5 of 6 reach rank 1" in text and f"{SMALL} 3" in text


def test_the_mean_over_prompts_gives_the_order_of_the_defaults(cells):
    assert borda(board_matrix(cells, "mean"))["model"].tolist() == [KALM, QWEN, E5, LARGE, BASE, SMALL]


def test_the_reported_defaults_are_not_like_for_like(first, cells, shared_data, monkeypatch):
    monkeypatch.setenv("PUBLISHED_DEFAULTS", str(shared_data / "published" / "defaults_mteb_results_repo.parquet"))
    reference = reported_defaults(first[0], "published")
    reported = audit.reported_scores(reference, first[1].scores).set_index(["model", "task"])["score"]
    for task, value in (("MIRACLRetrievalHardNegatives.v2", 0.0553), ("STS22.v2", 0.4693), ("TweetSentimentClassification", 0.4170),
                        ("AmazonCounterfactualClassification", 0.6480)):  # fmt: skip
        assert round(reported[SMALL, task], 4) == value
    grades = audit.cell_grades(audit.audit_table(first[1].scores, reference)).set_index(["model", "task"])
    assert "languages" in grades.loc[(SMALL, "MIRACLRetrievalHardNegatives.v2"), "checks"]
    assert not grades["strictly_like"].any() and (~grades["like_for_like"]).sum() == 27
    assert grades.loc[(SMALL, "STS15"), "like_for_like"]


def test_the_measured_defaults_are_and_what_they_are_not_is_a_caution(first):
    table = audit.audit_table(first[1].scores)
    summary = audit.check_summary(table).set_index("check")
    assert summary["differs"].sum() == 0 and summary.loc["prompt applied", "caution"] == 24
    nothing = table[(table["check"] == "prompt applied") & (table["default"] == "nothing")]
    assert set(nothing["model"]) == {SMALL, BASE, LARGE} and not nothing["task"].str.contains("Retrieval|FEVER").any()


def test_the_tasks_whose_public_score_is_another_quantity_are_named(first):
    scope = public_scope(chosen_records(first[1].scores, first[0].records)).set_index("task")
    partly = scope[~scope["whole"]]
    assert set(partly.index) == {"MIRACLRetrievalHardNegatives.v2", "STS22.v2", "TweetSentimentClassification",
                                 "AmazonCounterfactualClassification"}  # fmt: skip
    assert partly.loc["STS22.v2", ["measured", "defined"]].tolist() == [1, 18]


def test_findings_change_with_a_permuted_table(cells, table):
    rng = np.random.default_rng(0)
    permuted = cells.assign(score=cells.groupby("task")["score"].transform(lambda s: rng.permutation(s.to_numpy())))
    assert percentiles(sensitivity_table(permuted, draws=50)) != percentiles(table)
    first, other = (leaderboard_words.scenarios(scenarios(c)) for c in (cells, permuted))
    assert first.findings != other.findings


@pytest.fixture(scope="module")
def revised(shared_data):
    return load("published-revised", shared_data)


def test_the_revised_version_has_unequal_prompts_and_mixed_versions(revised):
    cells = task_scores(revised[1].scores, revised[0].records)
    table = sensitivity_table(cells, draws=50)
    assert (table["n_prompts"].min(), table["n_prompts"].max()) == (37, 54)
    assert any("unequal numbers of prompts (37 to 54)" in f["text"] for f in completeness(table))
    assert (
        audit.check_summary(audit.audit_table(revised[1].scores)).set_index("check").loc["mteb version", "caution"]
        == 55
    )
    row = model_summary(table).set_index("model")[["cv_median", "cv_max"]]
    assert round(row.loc[E5, "cv_max"], 3) == 0.351 and round(row.loc[SMALL, "cv_max"], 3) == 0.828
    assert round(row.loc[BASE, "cv_median"], 4) == 0.0349 and round(row.loc[QWEN, "cv_median"], 4) == 0.0203


def test_the_revised_order_by_the_mean_of_language_models_prompts(revised):
    listed = revised[1].scores.query("kind == 'default' or source == 'llm'")
    board = borda(board_matrix(task_scores(listed, revised[0].records), "mean"))
    assert board["model"].tolist() == [KALM, QWEN, E5, BASE, LARGE, SMALL]
    unlisted = revised[1].scores.query("source == 'unlisted'")
    assert (
        set(unlisted["model"]) == {SMALL, BASE}
        and unlisted.drop_duplicates(["model", "task", "prompt_id"]).shape[0] == 220
    )
