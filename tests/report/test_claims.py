"""The page that holds the papers against the tables: what is computed decides the verdict, and nothing else does."""

from __future__ import annotations

import inspect

import pandas as pd
import pytest

from helpers.report import claims, claims_page
from helpers.report.answers import PREFERRED, Evidence
from helpers.report.claims import MODULES, NO, OPEN, YES, Claim, outcomes, papers

WORDING, INSTRUCTIONS = papers()


def study(folder, name="published", **tables):
    (folder / name / "tables").mkdir(parents=True)
    for table, rows in tables.items():
        pd.DataFrame(rows).to_parquet(folder / name / "tables" / f"{table}.parquet")
    return Evidence(name, name.title(), folder / name)


def first(paper, key, *studies):
    found = dict(zip([c.id for c in paper.claims], outcomes(paper, studies), strict=True))
    return found[key][0]


def scores(board: dict[str, dict[str, float]], task="T") -> list[dict]:
    """A table of scores: model -> default (`d`) and prompts by name."""
    return [
        {"model": m, "model_name": m, "task": task, "task_type": "STS", "split": "test", "subset": "s", "record": 0,
         "prompt_id": p, "kind": "default" if p == "d" else "prompt", "prompt": p, "source": "llm", "main_score": v,
         "status": "ok", "languages": "eng-Latn", "variant_of": None}
        for m, prompts in board.items() for p, v in prompts.items()
    ]  # fmt: skip


def test_the_list_is_whole_and_every_computation_is_there():
    assert len(WORDING.claims) >= 30 and len(INSTRUCTIONS.claims) >= 30
    for paper in papers():
        assert len({c.id for c in paper.claims}) == len(paper.claims) and set(paper.studies) <= set(PREFERRED)
        for claim in paper.claims:
            assert claim.says and claim.place and bool(claim.compute) != bool(claim.untestable), claim.id
            if claim.compute:
                given = dict.fromkeys([*claim.given, *([claim.over] if claim.over else [])])
                inspect.signature(getattr(MODULES[paper.module], claim.compute)).bind(None, **given)
                assert claim.value is not None or claim.tolerance, claim.id


@pytest.mark.parametrize(("models", "verdict"), [(6, YES), (5, NO)])
def test_the_verdict_turns_when_the_table_does(tmp_path, models, verdict):
    rows = [{"model": f"m{k}", "task": "T", "task_type": "STS", "cv": 0.1} for k in range(models)]
    found = first(WORDING, "models", study(tmp_path, sensitivity=rows))
    assert (found.verdict, found.ours) == (verdict, str(models))


@pytest.mark.parametrize(
    ("claim", "ours", "met"),
    [(Claim("a", "", "", value=5.24, within=0.01), 5.25, True), (Claim("a", "", "", value=5.24, within=0.01), 5.26, False),
     (Claim("a", "", "", least=0.1), 0.09, False), (Claim("a", "", "", least=0.1, most=0.2), 0.2, True),
     (Claim("a", "", "", value="eng"), "eng", True), (Claim("a", "", "", value="eng"), "deu, eng", False)],
)  # fmt: skip
def test_a_value_is_accepted_within_its_tolerance(claim, ours, met):
    assert claim.accepts(ours, claim.value) is met


def test_a_table_that_is_absent_makes_a_claim_not_testable_and_says_which(tmp_path):
    found = first(WORDING, "models", study(tmp_path))
    assert found.verdict == OPEN and found.study is None and "the table sensitivity" in found.why
    assert "paper-geometry" in first(INSTRUCTIONS, "models").why
    absent = first(WORDING, "rank-bge", study(tmp_path, "published-revised", scores=scores({"a": {"d": 1, "p": 2}})))
    assert absent.verdict == OPEN and "no run has" in absent.why


def test_an_old_table_without_the_column_is_no_error(tmp_path):
    rows = [{"model": m, "task": "T", "task_type": "STS"} for m in "ab"]
    assert "column 'cv'" in first(WORDING, "cv-tail", study(tmp_path, sensitivity=rows)).why


@pytest.mark.parametrize(("worst", "first_ones"), [(0.1, 6), (0.85, 1)])
def test_every_model_is_first_only_where_the_others_have_bad_prompts(tmp_path, worst, first_ones):
    board = {f"m{k}": {"d": 0.5 + k / 100, "p": 0.9 + k / 100, "q": worst + k / 100} for k in range(6)}
    board |= {m: {**prompts, "d": prompts["p"]} for m, prompts in board.items()}
    if first_ones == 1:
        board = {m: {"d": p["d"], "p": p["d"], "q": p["d"]} for m, p in board.items()}
    found = first(WORDING, "all-first", study(tmp_path, scores=scores(board)))
    assert found.ours == f"{first_ones} of 6 models" and found.reproduced is (first_ones == 6)


def test_where_a_default_stands_decides_of_tails(tmp_path):
    prompts = {f"p{k}": k / 10 for k in range(10)}
    board = {"low": {"d": -0.1, **prompts}, "high": {"d": 2.0, **prompts}, "mid": {"d": 0.45, **prompts}}
    mine = study(tmp_path, scores=scores(board))
    assert first(WORDING, "misrepresent", mine).ours == "2 of 3 cells"
    assert first(WORDING, "deflation-far", mine).ours == "1 of 3 cells"
    assert "not at hand" in first(WORDING, "deflation-far-reported", mine).why


def test_the_revision_is_shown_beside_and_asked_only_where_it_has_what_is_claimed(tmp_path):
    rows = [{"model": f"m{k}", "task": "T", "task_type": "STS", "cv": 0.1} for k in range(6)]
    prompts = [{"task": "T", "text": "a b", "level": "task", "generator": "g"}] * 15
    both = [study(tmp_path, n, sensitivity=rows[:k], published_prompts=prompts)
            for n, k in (("published", 6), ("published-revised", 5))]  # fmt: skip
    found = dict(zip([c.id for c in WORDING.claims], outcomes(WORDING, both), strict=True))
    assert [(o.study.name, o.verdict) for o in found["models"]] == [("published", YES), ("published-revised", NO)]
    assert [o.study.name for o in found["per-task"]] == ["published"]
    said = claims_page.sentences(list(found.values()))
    assert "In published-revised the verdict is not reproduced: Embedding models measured (6; ours 5)." in said


def correlations(rho):
    return [{"model": "a", "task": t, "subset": "s", "metric": "displacement", "rho": r} for t, r in rho.items()]


def geometry(tasks):
    return [{"model": "a", "task": t, "subset": "s", "metric": "ndcg_at_10"} for t in tasks]


@pytest.mark.parametrize(
    ("rho", "verdict"), [({"T": -0.9, "U": -0.2}, "holds in other data"), ({"T": 0.3}, "does not hold in other data")]
)
def test_other_data_say_whether_a_sentence_holds_there_but_reproduce_no_number(tmp_path, rho, verdict):
    demo = study(tmp_path, "demo", correlations=correlations(rho), geometry=geometry(rho))
    assert first(INSTRUCTIONS, "displacement-negative", demo).verdict == verdict
    assert first(INSTRUCTIONS, "rho-arc-displacement", demo).verdict == OPEN
    published = study(tmp_path, scores=scores({"a": {"d": 1, "p": 2}}))
    page = claims_page.page_body([published, demo])
    assert page is not None and "from demo (demo data only)" in page and verdict in page
    assert claims_page.page_body([demo]) is None


def test_numbers_of_several_models_are_compared_one_by_one(tmp_path):
    rows = [{"model": m, "task": "ARCChallenge", "subset": "s", "top_k": v}
            for m, v in (("bge-m3", 0.286), ("F2LLM-v2-4B", 0.1))]  # fmt: skip
    found = first(INSTRUCTIONS, "top-k-arc", study(tmp_path, "paper-geometry", relevance=rows))
    assert found.verdict == NO and "1 of 2 numbers within" in found.ours and "embeddinggemma-300m" in found.why


def tuned(task, gain, preset="distractor"):
    return [{"preset": preset, "seed": s, "task": task, "language": "", "pool": "paraphrase", "metric": "recall_at_1",
             "value": 0.5, "difference": gain, "n": 40} for s in (1, 2)]  # fmt: skip


@pytest.mark.parametrize(("gain", "holds"), [(0.3, True), (0.05, False)])
def test_training_repairs_where_recall_rises_by_a_tenth(tmp_path, gain, holds):
    mine = study(tmp_path, "squad", finetuning=tuned("SQuAD", gain))
    found = first(INSTRUCTIONS, "training-repairs", mine)
    assert found.reproduced is holds and "2 trainings and test sets" in found.ours
    assert first(INSTRUCTIONS, "ablation", mine).verdict == claims.OPEN


@pytest.mark.parametrize(("low", "high", "verdict"), [(-0.005, 0.004, YES), (-0.052, 0.001, claims.UNSURE), (-0.05, -0.02, NO),
                                                      (-0.05, 0.05, claims.UNSURE)])  # fmt: skip
def test_an_interval_across_the_tolerance_is_undecided(tmp_path, low, high, verdict):
    row = {"kind": "source", "first": "llm", "second": "unlisted", "task": "all tasks", "models": 2, "tasks": 11,
           "difference": (low + high) / 2, "low": low, "high": high, "verdict": "undecided"}  # fmt: skip
    revised = study(tmp_path, "published-revised", prompt_comparison=[row])
    found = first(WORDING, "human-difference", revised)
    assert found.verdict == verdict and "2 models, 11 tasks" in found.ours
