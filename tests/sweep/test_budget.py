"""A study with a budget: which items are scored, what is estimated, what is computed again, what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import helpers as h
from helpers.base.errors import StudyError
from helpers.study.load import load_study
from helpers.sweep.part import FEWEST_PER_STRATUM, binned, item_order

PROMPTS = ["query: ", "Find the answer: ", "Classify this: "]


def swept(folder, budget, tasks=("DemoSTS",), **more):
    return h.run_sweep(
        {"table": "package:wordllama"}, list(tasks), PROMPTS, folder=folder, budget=budget, progress=None, **more
    )


def by_prompt(scores):
    return scores[scores["kind"] == "prompt"].set_index(["task", "prompt_id"]).sort_index()


def test_a_larger_part_holds_the_smaller_and_every_stratum_in_proportion():
    strata = ["a"] * 60 + ["b"] * 30 + ["c"] * 10
    order = item_order(strata, seed=3)
    assert sorted(order) == list(range(100))
    for n in (10, 20, 50):
        counts = pd.Series(strata)[order[:n]].value_counts()
        assert all(abs(counts.get(s, 0) - n * share) <= 1 for s, share in (("a", 0.6), ("b", 0.3), ("c", 0.1)))


def test_equal_values_share_a_stratum():
    assert len(set(binned([1.0] * 50 + [2.0] * 50))) == 2


@pytest.fixture(scope="module")
def budgeted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("budgeted")
    tasks = ["DemoSTS", "DemoRetrieval", "DemoTopicClassification"]
    return folder, swept(folder / "part", 0.5, tasks), swept(folder / "full", "full", tasks)


def test_prompts_are_scored_on_a_part_and_the_default_on_all_items(budgeted):
    _, part, _ = budgeted
    default, prompts = part[part["kind"] == "default"], by_prompt(part)
    assert default["estimate"].eq("full").all() and default["standard_error"].eq(0).all()
    assert prompts["estimate"].eq("anchored").all() and (prompts["standard_error"] >= 0).all()
    assert (prompts["items"] / prompts["items_of"]).between(0.5, 0.55).all()


def test_estimates_lie_within_four_errors_of_the_full_scores(budgeted):
    _, part, full = budgeted
    part, full = by_prompt(part), by_prompt(full)
    gap = (part["main_score"] - full["main_score"]).abs()
    assert (gap <= 4 * part["standard_error"] + 0.02).all() and gap.max() > 0
    assert full["estimate"].eq("full").all()


def test_a_larger_budget_embeds_only_the_new_items_and_ends_with_the_full_scores(tmp_path, monkeypatch):
    from helpers.models import embed

    seen = []
    stock = embed.embed_many

    def counted(model, requests):
        seen.extend((prefix, text) for texts, prefix, _ in requests for text in texts
                    if model.cache is None or model.cache.read(model.cache.key(model.key, (texts, prefix, None)), len(texts)) is None)  # fmt: skip
        return stock(model, requests)

    monkeypatch.setattr("helpers.sweep.encoder.embed_many", counted)
    swept(tmp_path / "grown", 0.35)
    first = len(seen)
    swept(tmp_path / "grown", 0.5)
    second = len(seen) - first
    assert 0 < second < first  # .15 of the items after .35
    grown = swept(tmp_path / "grown", "full")
    assert grown["estimate"].eq("full").all()
    full = swept(tmp_path / "full", "full")
    assert by_prompt(grown)["main_score"].to_numpy() == pytest.approx(
        by_prompt(full)["main_score"].to_numpy(), abs=1e-6
    )


def test_an_estimate_is_never_exported_as_a_benchmark_score(budgeted):
    folder, _, _ = budgeted
    part = list((folder / "part" / "results").rglob("Demo*.json"))
    full = list((folder / "full" / "results").rglob("Demo*.json"))
    assert 0 < len(part) < len(full)


@pytest.mark.parametrize(
    ("budget", "said"),
    [(0, "between 0 and 1, not at 0"), (1.5, "not at 1.5"), (1, "all of them: full"), (500, "{items: 500}"),
     ("half", "'half' is no budget"), ({"items": 0}, "greater than or equal to 1"), ({"item": 5}, "item")],
)  # fmt: skip
def test_what_is_no_budget_is_refused_by_name(budget, said):
    with pytest.raises(StudyError, match="budget") as error:
        load_study("demo", budget=budget)
    assert said in str(error.value)


def test_too_few_items_per_stratum_and_tasks_that_cannot_be_thinned_are_refused_before_anything_runs(tmp_path):
    with pytest.raises(StudyError, match=f"fewer than {FEWEST_PER_STRATUM} for each of its 5 strata; ask for at least"):
        swept(tmp_path / "few", 0.1)
    with pytest.raises(StudyError, match="DemoTopicClustering: budget: Clustering cannot be scored on a part"):
        swept(tmp_path / "never", 0.5, ["DemoSTS", "DemoTopicClustering"])
    assert not list((tmp_path / "never").glob("cells/*/*/*.json"))


def test_the_part_depends_on_the_seed_alone():
    strata = np.zeros(50)
    assert item_order(strata, 1).tolist() == item_order(strata, 1).tolist() != item_order(strata, 2).tolist()
