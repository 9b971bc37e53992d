"""Comparability: each difference between a default and the prompt runs is found and named, and nothing else."""

from types import SimpleNamespace

import pandas as pd
import pytest
from board_cells import records

from helpers.scores.cells import task_scores
from helpers.sensitivity.audit import (
    audit_table,
    cell_grades,
    check_summary,
    consequences,
    reported_scores,
    same_records,
    with_default_prefix,
)
from helpers.sensitivity.fairness import audit
from helpers.sensitivity.fairness import comparability as compared
from helpers.sensitivity.fairness import consequences as consequence_findings
from helpers.sensitivity.fairness import public_scope as scope_findings
from helpers.sensitivity.scope import comparability, public_scope

DEFAULT = {"kind": "default", "prompt_id": "default", "prompt": None, "main_score": 0.7}


def statuses(default=None, prompts=({}, {"prompt_id": "p1"})):
    table = audit_table(records([*prompts, DEFAULT | (default or {})]))
    return table.set_index("check")["status"].to_dict()


def test_equal_conditions_are_the_same():
    got = statuses()
    assert {k for k, v in got.items() if v == "same"} == {
        "records (split/subset)", "languages", "data set revision", "model revision", "mteb version",
    }  # fmt: skip
    assert {got["numeric type"], got["length limit"], got["prompt applied"]} == {"unknown"}


@pytest.mark.parametrize("change, check, status", [
    ({"subset": "de"}, "records (split/subset)", "differs"),
    ({"split": "dev"}, "records (split/subset)", "differs"),
    ({"languages": "eng-Latn|deu-Latn"}, "languages", "differs"),
    ({"dataset_revision": "e"}, "data set revision", "differs"),
    ({"revision": "s"}, "model revision", "differs"),
    ({"mteb_version": "1.0"}, "mteb version", "caution"),
])  # fmt: skip
def test_each_difference_is_named(change, check, status):
    got = statuses(change)
    assert got[check] == status and all(v in ("same", "unknown") for k, v in got.items() if k != check)


def test_prompt_runs_of_mixed_versions_are_a_caution():
    assert statuses(prompts=[{}, {"prompt_id": "p1", "mteb_version": "2.1"}])["mteb version"] == "caution"


def test_a_default_over_more_languages_differs():
    table = audit_table(records([{}, DEFAULT, DEFAULT | {"subset": "ru", "languages": "rus-Cyrl"}]))
    row = table.set_index("check").loc["records (split/subset)"]
    assert row["status"] == "differs" and row["default"] == "test/default, test/ru" and row["prompts"] == "test/default"


def test_a_missing_default_is_missing_and_not_fine():
    table = audit_table(records([{}]))
    assert table["status"].tolist() == ["missing"] and not cell_grades(table)["like_for_like"].item()


@pytest.mark.parametrize("prefix, how, status", [
    ("nothing", "raw", "caution"), ("raw", "raw", "same"), ("template", "template", "same"), ("raw", "template", "caution"),
])  # fmt: skip
def test_how_the_prompt_is_applied_is_compared(prefix, how, status):
    scores = records([{"application": how}, DEFAULT | {"application": "default"}]).assign(default_prefix=[None, prefix])
    assert audit_table(scores).set_index("check").loc["prompt applied", "status"] == status


def test_the_sweep_tells_what_the_default_put_before_the_text():
    inputs = pd.DataFrame([
        {"model": "m", "task": "T", "kind": "default", "side": "query", "prefix": ""},
        {"model": "m", "task": "T", "kind": "default", "side": "document", "prefix": "passage: "},
    ])  # fmt: skip
    scores = with_default_prefix(records([{}, DEFAULT]), inputs)
    assert scores["default_prefix"].isna().tolist() == [True, False] and scores["default_prefix"].iloc[1] == "nothing"


def test_grades_and_summary_count_cells():
    table = audit_table(records([{}, DEFAULT | {"subset": "de", "mteb_version": "1"}]))
    grade = cell_grades(table).iloc[0]
    assert grade["worst"] == "differs" and grade["checks"] == "records (split/subset), mteb version"
    assert check_summary(table).iloc[0]["check"] == "records (split/subset)"


def reference():
    rows = [DEFAULT | {"subset": s, "main_score": v} for s, v in (("default", 0.1), ("ru", 0.3))]
    return records([*rows, DEFAULT | {"split": "dev", "main_score": 0.6}])


def test_reported_scores_weigh_every_record_alike_as_mteb_does():
    assert reported_scores(reference(), records([{}]))["score"].item() == pytest.approx((0.1 + 0.3 + 0.6) / 3)
    same = same_records(reference(), records([{}]))
    assert reported_scores(same, records([{}]))["score"].item() == pytest.approx(0.1)


def test_a_default_has_one_score_whoever_aggregates_it():
    """a/x 0.2, a/y 0.2, b/x 0.8 (split/subset): mteb's own task score is 0.4."""
    from mteb.results import TaskResult

    own = [("a", "x", 0.2), ("a", "y", 0.2), ("b", "x", 0.8)]
    rows = records([DEFAULT | {"split": s, "subset": u, "main_score": v} for s, u, v in own])
    found = {
        "dataset_revision": "d",
        "task_name": "T",
        "mteb_version": "2",
        "evaluation_time": 0.0,
        "kg_co2_emissions": None,
    }
    scores = {split: [{"main_score": v, "hf_subset": u, "languages": ["eng-Latn"]} for s, u, v in own if s == split] for split in "ab"}  # fmt: skip
    assert TaskResult(**found, scores=scores).get_score() == pytest.approx(0.4)
    assert reported_scores(rows, rows)["score"].item() == task_scores(rows)["score"].item() == pytest.approx(0.4)


def test_a_reported_default_serves_every_label_of_its_model():
    rows = records([DEFAULT])
    twice = pd.concat([rows, rows.assign(model="m, template")])
    assert reported_scores(rows, twice)["model"].tolist() == ["m", "m, template"]


def test_rounding_puts_no_default_above_the_mean():
    """Three prompts that equal the default: the mean of 0.1, 0.1, 0.1 is 0.10000000000000002."""
    values = [0.1 + 0.1 * k for k in range(11)]
    rows = [{"task": f"T{k}", "prompt_id": f"p{p}", "main_score": v} for k, v in enumerate(values) for p in range(3)]
    rows += [DEFAULT | {"task": f"T{k}", "main_score": v} for k, v in enumerate(values)]
    cells = task_scores(records(rows))
    row = consequences(cells, {"all": cells[cells["kind"] == "default"]}).iloc[0]
    assert row["above_mean"] == 0 and row["at_or_above_best"] == row["at_or_below_worst"] == 11


def test_consequences_compare_views_and_findings_say_them():
    scores = records([{"main_score": 0.2}, {"prompt_id": "p1", "main_score": 0.4}, DEFAULT])
    cells = task_scores(scores)
    views = {"the reported defaults": reported_scores(same_records(reference(), scores), scores),
             "the measured defaults": cells.loc[cells["kind"] == "default", ["model", "task", "score"]]}  # fmt: skip
    effects = consequences(cells, views)
    assert effects["at_or_below_worst"].tolist() == [1, 0] and effects["at_or_above_best"].tolist() == [0, 1]
    texts = " ".join(
        f["text"] for f in audit(audit_table(scores, reference()), "reported default") + consequence_findings(effects)
    )
    assert (
        "1 of 1 reported default is not like for like" in texts
        and "the reported defaults 0 and 1 of 1; the measured defaults 1 and 0 of 1" in texts
    )


def run_of(baselines, records=None):
    """What `comparability` needs of a run: its study, and that no table of inputs is there."""
    source = records and SimpleNamespace(records=records, reported=None)
    study = SimpleNamespace(name="s", baselines=baselines, results_from=source)
    return SimpleNamespace(study=study, has_table=lambda _: False)


@pytest.mark.parametrize("baselines, status", [(["none", "default"], ["missing"]), (["none"], [])])
def test_a_default_that_was_not_asked_for_is_not_missing(baselines, status):
    scores = records([{}, {"prompt_id": "p1"}])
    run = run_of(baselines)
    tables = comparability(run, scores, task_scores(scores))
    assert tables[0]["status"].tolist() == status
    assert ("asks for no default" in compared(*tables, run.study)[0]["text"]) == (baselines == ["none"])


def test_records_that_the_study_does_not_choose_are_not_audited():
    """The default lacks the records of split dev; the study reads test only."""
    scores = records([{}, {"split": "dev"}, DEFAULT])
    checks = comparability(
        run_of(["default"], {"T": "test/default"}), scores, task_scores(scores, {"T": "test/default"})
    )[0]
    assert checks.set_index("check").loc["records (split/subset)", "status"] == "same"
    checks = comparability(run_of(["default"], {"T": "mean"}), scores, task_scores(scores))[0]
    assert checks.set_index("check").loc["records (split/subset)", "status"] == "differs"


def test_nothing_is_said_about_nothing():
    empty = audit_table(records([{}]).iloc[:0])
    assert empty.empty and audit(empty) == []


def test_raw_and_templated_models_on_one_board_are_pointed_out():
    rows = [{"model": m, "model_name": m, "application": a} for m, a in (("a", "raw"), ("b", "template"))]
    rows += [DEFAULT | {"model": m, "model_name": m} for m in "ab"]
    assert any("two conditions" in f["text"] for f in audit(audit_table(records(rows))))


def test_prompt_runs_on_a_part_of_a_task_are_said_to_be_no_public_score():
    scores = records([{"task": "Many", "subset": "en"}, {"task": "One"}])
    table = public_scope(scores, {"Many": [("test", "en"), ("test", "ru")], "One": [("test", "default")]})
    assert table["whole"].tolist() == [False, True] and table["defined_records"].tolist()[0] == "test/en, test/ru"
    text = scope_findings(table)[0]["text"]
    assert "For 1 of 2 tasks" in text and "Many: 1 of 2 subsets and splits" in text
    assert scope_findings(table[table["whole"]]) == []
