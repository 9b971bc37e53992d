"""The landing page says what the tables say, and its words change when they do."""

from __future__ import annotations

import pandas as pd
import pytest
from board_cells import cells_of
from chart_checks import fields_exist, rows_drawn

from helpers.geometry.pools import POOLS
from helpers.report import answers, charts, explorer, landing, words
from helpers.report.answers import Evidence


def study(folder, name="mine", **tables):
    (folder / name / "tables").mkdir(parents=True)
    for table, rows in tables.items():
        pd.DataFrame(rows).to_parquet(folder / name / "tables" / f"{table}.parquet")
    return Evidence(name, name.title(), folder / name)


def cell(model, task, gap, task_type="STS", **more):
    return {"model": model, "task": task, "task_type": task_type, "n_prompts": 5, "range": gap, "default": 0.5,
            "at_or_above_best": False, "variant_of": None} | more  # fmt: skip


def test_the_title_is_the_median_gap_between_best_and_worst_prompt(tmp_path):
    cells = [cell("a", "T", 0.02), cell("a", "U", 0.06), cell("b", "T", 0.3, "Retrieval")]
    mine = study(tmp_path, sensitivity=cells)
    assert landing.landing_title([mine]).endswith("moves by 6 points in 100")
    said = answers.answers([mine])[0].meaning
    assert "5 prompts, over 3 cells" in said and "30 in Retrieval, 4 in STS" in said
    assert landing.landing_title([study(tmp_path, "none")]) == landing.QUESTION


def test_the_same_weights_twice_count_once(tmp_path):
    cells = [cell("a", "T", 0.02), cell("a-float16", "T", 0.4, variant_of="a")]
    assert answers.answers([study(tmp_path, sensitivity=cells)])[0].number == "2 points"


def test_a_question_that_no_study_answers_names_the_study_that_would(tmp_path):
    answer = answers.answers([study(tmp_path)])[2]
    assert answer.study is None and "make report STUDY=paper-geometry" in answer.meaning


def test_the_demo_answers_only_what_no_other_study_does(tmp_path):
    demo = study(tmp_path, "demo", sensitivity=[cell("a", "T", 0.5)], finetuning=trained())
    mine = study(tmp_path, sensitivity=[cell("a", "T", 0.1)])
    asked = answers.answers([mine, demo])
    assert [a.study and a.study.name for a in asked] == ["mine", None, None, "demo"]
    page = landing.landing_html([mine, demo])
    assert page.count("demo data only") == 2  # the card and the section of fine-tuning


def trained(gain=0.2, ablation=0.05):
    return [
        {"preset": preset, "seed": 1, "task": "T", "language": "", "pool": pool, "metric": "recall_at_1", "before": 0.5,
         "value": 0.5 + d, "difference": d, "low": d - 0.1, "high": d + 0.1, "n": 40}
        for preset, d in (("distractor", gain), ("ablation", ablation)) for pool in POOLS
    ]  # fmt: skip


def test_repair_is_the_change_among_paraphrases_with_its_interval(tmp_path):
    answer = answers.answers([study(tmp_path, finetuning=trained())])[3]
    assert answer.number == "+0.20" and "[+0.10, +0.30]" in answer.meaning and "+0.05 after the same" in answer.meaning


@pytest.mark.parametrize(("gain", "said"), [(0.2, "adds 0.20"), (0.02, "no change"), (-0.3, "worse in 1 of 1 case")])
def test_what_is_said_of_training_hangs_on_its_interval(gain, said):
    assert said in words.changes(pd.DataFrame(trained(gain)))


@pytest.mark.parametrize(
    ("defaults", "said"),
    [([0.9, 0.9], "Every reported score lies above"), ([0.5, 0.5], "Every reported score lies within"),
     ([0.9, 0.1], "Of 2 reported scores, 1 above and 1 below")],
)  # fmt: skip
def test_where_the_reported_scores_lie(defaults, said):
    assert words.reported(pd.DataFrame({"default": defaults, "low": 0.4, "high": 0.6})).startswith(said)


def test_models_whose_rank_intervals_overlap_have_no_order():
    table = pd.DataFrame({"model": list("abcde"), "mean_rank": [1, 2.4, 2.6, 4.5, 4.6], "rank_low": [1, 2, 2, 4, 4],
                          "rank_high": [1, 3, 3, 5, 5]})  # fmt: skip
    assert words.ranks(table) == "Ranks 2–3 and 4–5 are not an order"
    assert "stands" in words.ranks(table.head(1))


def test_defaults_that_put_nothing_before_the_text_are_counted_apart(tmp_path):
    cells = [cell("a", "T", 0.1), cell("b", "T", 0.1, at_or_above_best=True)]
    audit = [{"model": m, "task": "T", "check": "prompt applied", "status": "caution", "default": put, "prompts": "raw",
              "defaults": "measured"} for m, put in (("a", "nothing"), ("b", "raw"))]  # fmt: skip
    assert answers.without_prompt(study(tmp_path, sensitivity=cells, audit=audit)) == (1, 2, 1, 1)


def test_the_figures_of_the_landing_page_draw_every_row():
    headline = pd.DataFrame({"model": ["a", "b"], "default": 0.7, "prompt_mean": 0.5, "low": 0.4, "high": 0.6})
    pools = pd.DataFrame({"model": ["a", "b"], "task": "T", "normal": 0.9, "random": 0.8, "paraphrase": 0.5})
    chances = pd.DataFrame({"model": ["a", "a", "b", "b"], "rank": [1, 2, 1, 2], "probability": [0.7, 0.3, 0.3, 0.7]})
    today = pd.DataFrame({"model": ["a", "b"], "rank": [1.0, 2.0]})
    drawn = {
        "reported": (charts.reported(headline), 2 * 4),  # interval, mean, default, distance
        "tiles": (charts.rank_tiles(chances, today), 4 + 4 + 2),  # tiles, numbers, ranks by default
        "slopes": (charts.slopes(pools), 6 + 6),  # ends of lines, points
        "changes": (charts.changes(pd.DataFrame(trained()), landing.TRAININGS), 1 + 6 + 6),
    }
    for name, (chart, marks) in drawn.items():
        fields_exist(chart)
        assert sum(rows_drawn(chart).values()) == marks, name


def test_the_board_holds_every_score_best_first_and_the_place_of_the_default():
    cells = cells_of({"a": {"T": [0.1, 0.3, 0.2]}, "b": {"T": [0.4], "U": [0.5]}}, {"a": {"T": 0.25}})
    data = explorer.board_data(cells)
    assert data["models"] == ["a", "b"] and data["tasks"] == ["T", "U"]
    assert [score for _, score in data["scores"][0][0]] == [0.3, 0.25, 0.2, 0.1]
    assert data["prompts"][data["scores"][0][0][0][0]] == "Prompt 1:" and data["defaults"] == [[1, -1], [-1, -1]]
    assert data["scores"][0][1] == []


def test_a_prompt_cannot_end_the_script_of_the_board():
    cells = cells_of({"a": {"T": [0.1]}}).assign(prompt="</script>{{< x >}} $1")
    assert explorer.explorer_html(cells).count("</script>") == 2 and "{{" not in explorer.explorer_html(cells)
