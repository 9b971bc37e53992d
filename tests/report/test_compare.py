"""Studies side by side: what is compared, what is said, and what a missing or broken run costs."""

from __future__ import annotations

import pandas as pd
import pytest

from helpers.report.compare import compare, compare_studies, findings
from helpers.runner.cli import main


def save(folder, **tables):
    (folder / "tables").mkdir(parents=True)
    for name, table in tables.items():
        table.to_parquet(folder / "tables" / f"{name}.parquet")


def headline(low: dict[str, tuple[float, float]]) -> pd.DataFrame:
    rows = [
        {"model": m, "tasks": 1, "default": b + 0.1, "prompt_mean": (a + b) / 2, "low": a, "high": b, "percentile": 1.0,
         "rank": 1.0, "rank_low": 1, "rank_high": 2, "verdict": "inflated"} for m, (a, b) in low.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def sensitivity(model: str, label: str, cvs: dict[str, float]) -> pd.DataFrame:
    return pd.DataFrame(
        [{"model": model, "task": t, "n_prompts": 3, "default": 0.9, "mean": 0.8, "cv": cv, "percentile": 1.0,
          "label": label} for t, cv in cvs.items()]
    )  # fmt: skip


def scores(model: str, task: str, fingerprint: str) -> pd.DataFrame:
    return pd.DataFrame({"model": [model], "task": [task], "data_fingerprint": [fingerprint]})


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Study `one` has models m (0.1 to 0.2) and n (0.15 to 0.3); study `two` has m on the same task, other records."""
    monkeypatch.setenv("HELPERS_RUNS", str(tmp_path))
    save(
        tmp_path / "one",
        headline=headline({"m": (0.1, 0.2), "n": (0.15, 0.3)}),
        sensitivity=sensitivity("m", "inflated", {"T": 0.1, "U": 0.3, "V": 0.2}),
        scores=scores("m", "T", "a"),
        rank_orders=pd.DataFrame(
            {"winner": ["n"], "loser": ["m"], "probability": [0.7], "low": [0.4], "high": [0.9], "verdict": ["open"]}
        ),
    )
    save(
        tmp_path / "two",
        headline=headline({"m": (0.1, 0.2)}),
        sensitivity=sensitivity("m", "undecided", {"T": 0.4}),
        scores=scores("m", "T", "b"),
        finetuning=pd.DataFrame(
            {"preset": ["baseline", "tuned"], "seed": [-1, 42], "task": "T", "language": "", "pool": "normal",
             "metric": "recall_at_1", "value": [0.5, 0.75], "before": [None, 0.5], "difference": [None, 0.25],
             "low": [None, 0.1], "high": [None, 0.4]}
        ),
    )  # fmt: skip
    return tmp_path


def test_models_of_studies_stand_side_by_side(runs):
    found = compare({name: runs / name for name in ("one", "two")})
    table = found.models.set_index(["study", "model"])
    assert table.loc[("one", "m"), "cv_median"] == 0.2 and table.loc[("one", "m"), "inflated"] == 3
    assert table.loc[("two", "m"), "undecided"] == 1 and len(table) == 3
    assert list(found.tuning["difference"]) == [0.25] and found.geometry.empty


def test_only_cells_of_several_studies_are_shared_and_other_records_are_named(runs):
    shared = compare({name: runs / name for name in ("one", "two")}).shared
    assert list(zip(shared["task"], shared["study"], shared["data"], strict=True)) == [
        ("T", "one", "differs"),
        ("T", "two", "differs"),
    ]
    assert compare({"one": runs / "one"}).shared.empty


def test_findings_give_the_probability_of_orders_and_count_equal_labels(runs):
    said = " ".join(e["text"] for e in findings(compare({name: runs / name for name in ("one", "two")})))
    assert "one: under random prompts 0 of 1 order of two models are certain and 1 open" in said
    assert "that n has more points than m (70%, 95% interval over other prompts 40% to 90%)" in said
    assert "by study: one 20.0%, two 40.0%" in said
    assert "1 cell (model x task) is in several studies; the default has the same label there in 0" in said
    assert "In 1 of them the studies read different records" in said


def test_the_command_prints_the_comparison(runs, capsys):
    assert main(["compare", "one", "two"]) == 0
    out = capsys.readouterr().out
    assert "Models" in out and "Fine-tuning" in out and "tuned" in out


@pytest.mark.parametrize(
    ("names", "words"),
    [(["one", "demo"], "study demo has not run; run it first: make report STUDY=demo"),
     (["onee"], "unknown study 'onee'; did you mean one?")],
)  # fmt: skip
def test_a_study_that_has_not_run_is_an_error(runs, names, words, capsys):
    assert main(["compare", *names]) == 2
    assert words in capsys.readouterr().err


def test_a_table_that_does_not_open_is_named_with_the_remedy(runs):
    (runs / "one" / "tables" / "headline.parquet").write_text("broken")
    with pytest.raises(Exception, match=r"tables/headline.parquet is not readable; delete it and run"):
        compare_studies(["one", "two"])
    assert list(compare({name: runs / name for name in ("one", "two")}).models["study"]) == ["two"]
