"""Rules, near-duplicates and the review of prompts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.base.errors import StudyError
from helpers.prompts.checks import check, decide, removal_report
from helpers.prompts.context import TaskContext, data_set_names
from helpers.prompts.files import row
from helpers.prompts.near_duplicates import clusters, medoid, representatives
from helpers.prompts.prompt import prompt_id
from helpers.prompts.review import guarded, read_review, unguarded, write_review
from helpers.prompts.rules import SINGLE, Case, Spans
from helpers.study.spec import Study, TaskSpec

TWEETS = TaskContext(
    task="TweetSentimentClassification", type="Classification", kind="classification",
    description="Sentiment of tweets in many languages.", languages=("English",), codes=("eng",),
)  # fmt: skip
FULL = "task+dataset+language"


def table(*texts: str, task="DemoSTS", level="task") -> pd.DataFrame:
    return pd.DataFrame([row(task, t, level) for t in texts])


def study(path=None, **settings) -> Study:
    spec = {"source": "file", "file": "x.yml", "review_file": path, **settings}
    return Study(name="toy-checks", title="T", steps=["01"], tasks=[TaskSpec(name="DemoSTS")], prompts=spec)


@pytest.mark.parametrize(
    ("rule", "text", "level", "reason"),
    [
        ("empty", " \n", "task", "no visible character"),
        ("too long", "x" * 201, "task", "201 characters"),
        ("not a prefix", "Here are five prompts:", "task", "talks to the reader"),
        ("not a prefix", "1. Classify:", "task", "list mark '1.'"),
        ("not a prefix", "Classify {text}:", "task", "'{text}'"),
        ("not a prefix", "Classify\nthis:", "task", "several lines"),
        ("not a prefix", '"Classify:"', "task", "quotation marks"),
        ("task drift", "Retrieve passages:", "task", "'Retrieve' belongs to Retrieval"),
        ("task drift", "Cluster the tweets:", FULL, "'Cluster' belongs to Clustering"),
        ("task drift", "Summarize and classify:", "task", "'Summarize' is no task"),
        ("names the data set", "TweetSentiment:", "task", "'TweetSentiment' names the data set"),
        ("names the data set", "Classify this tweet:", "task", "'tweet' is from the description"),
        ("names the data set", "Classify for SciFact:", FULL, "'SciFact' names SciFact"),
        ("names a language", "Classify English text:", "task+dataset", "'English' is a language"),
        ("names a language", "Classify German text:", FULL, "'German' is a language"),
        ("names a language", "Classify (deu):", FULL, "'deu' is the code"),
        ("leak", "Classify: what a lovely sunny morning", "task", "'what a lovely sunny morning'"),
    ],
)
def test_a_rule_says_what_is_wrong(rule, text, level, reason):
    spans = Spans.of(["What a lovely, sunny morning!"])
    case = Case(text, level, TWEETS, ("SciFact",), 200, spans)
    assert reason in str(SINGLE[rule](case))


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Classify this text:", "task"), ("Class:", "task"), ("Which category?", "task"),
        ("Find the sentiment:", "task+dataset"), ("Classify this tweet:", "task+dataset"),
        ("Generate an embedding for classification:", "task"), ("[classification | English]", FULL),
        ("Classify a lovely morning:", "task"), ("Label (eng):", FULL),
    ],
)  # fmt: skip
def test_good_prompts_pass_every_rule(text, level):
    case = Case(text, level, TWEETS, ("SciFact",), 200, Spans.of(["A lovely sunny morning"]))
    assert {name: rule(case) for name, rule in SINGLE.items() if rule(case)} == {}


def test_a_long_stretch_of_a_long_text_is_a_leak_a_common_phrase_is_none():
    spans = Spans.of(["one two three four five six seven eight nine"])
    assert spans.leak("prompt three four five six seven eight:") == "three four five six seven eight"
    assert spans.leak("prompt three four five six seven:") is None


def test_names_of_data_sets():
    assert "FEVER" in data_set_names("FEVERHardNegatives")
    assert "Touche" in data_set_names("Touche2020Retrieval.v3")
    assert "STS15" in data_set_names("STS15") and "STS" not in data_set_names("STS15")


def test_the_medoid_of_a_cluster_stays():
    texts = ["Measure similarity:", "Measure similarity", "Measure similarity.", "Cluster:"]
    kept = representatives(texts, 0.1)
    assert kept.tolist() == [0, 0, 0, 3]


def test_clusters_and_medoid_by_hand():
    # 0 and 1 are 0.05 apart, both 0.2 from 2: average linkage at 0.1 joins only the first two.
    between = np.array([[0, 0.05, 0.2], [0.05, 0, 0.2], [0.2, 0.2, 0]])
    assert clusters(between, 0.1).tolist() == [0, 0, 1]
    assert clusters(between, 0.25).tolist() == [0, 0, 0]
    assert medoid(between, np.array([0, 1, 2])) == 0


@pytest.mark.parametrize("texts", [[], ["one"]])
def test_fewer_than_two_texts_have_no_duplicates(texts):
    assert representatives(texts, 0.1).tolist() == list(range(len(texts)))


def test_duplicates_are_removed_with_the_text_that_stays():
    found = table("Measure similarity:", "Measure similarity:", "Measure similarity", "Sentence:")
    decided = decide(found, study())
    report = removal_report(decided)

    assert decided["kept"].tolist() == [True, False, False, True]
    assert report["rule"].tolist() == ["duplicate", "near-duplicate"]
    assert report["kept_text"].tolist() == ["Measure similarity:"] * 2
    assert report["distance"].round(4).tolist() == [0.0, round(1 / 19, 4)]


def test_without_threshold_only_exact_duplicates_go():
    found = table("Measure similarity:", "Measure similarity:", "Measure similarity")
    assert decide(found, study(near_duplicate_threshold=None))["kept"].tolist() == [True, False, True]


def test_equal_texts_of_two_tasks_are_no_duplicates():
    found = pd.concat([table("Query:"), table("Query:", task="DemoRetrieval")], ignore_index=True)
    assert decide(found, study())["kept"].all()


def test_other_rules_mark_and_remove_only_when_told():
    found = table("x" * 300, "Sentence:")
    assert decide(found, study())[["kept", "rules"]].values.tolist() == [[True, "too long"], [True, ""]]
    assert decide(found, study(remove=["too long"]))["kept"].tolist() == [False, True]


def test_more_prompts_than_the_study_wants_are_reported():
    decided = decide(table("One:", "Another sentence:", "Third kind of:"), study(per_level=2))
    assert removal_report(decided)[["text", "rule", "by"]].values.tolist() == [
        ["Third kind of:", "beyond per_level", "study"]
    ]


def test_no_prompts_and_no_marks_are_fine():
    assert check(table().reindex(columns=["task", "text"])).empty


def test_a_reviewers_word_goes_before_the_rules(tmp_path):
    path = tmp_path / "review.csv"
    found = table("Measure similarity:", "Measure similarity", "Sentence:", "=SUM(A1)")
    write_review(path, decide(found, study(str(path))))
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert rows["text"].tolist()[-1] == "'=SUM(A1)"
    rows.loc[1, ["decision", "comment"]] = ["Keep", "both, please"]
    rows.loc[2, "decision"] = "drop"
    rows.to_csv(path, index=False)

    decided = decide(found, study(str(path)))
    assert decided["kept"].tolist() == [True, True, False, True]
    assert decided["comment"].tolist()[1] == "both, please"
    assert removal_report(decided)["by"].tolist() == ["reviewer"]
    write_review(path, decided)
    assert read_review(path).decision("DemoSTS", prompt_id("Sentence:")) == "drop"


def test_a_dropped_prompt_does_not_stand_for_others(tmp_path):
    path = tmp_path / "review.csv"
    path.write_text(f"task,prompt_id,decision\nDemoSTS,{prompt_id('Measure similarity:')},drop\n")
    decided = decide(table("Measure similarity:", "Measure similarity"), study(str(path)))
    assert decided["kept"].tolist() == [False, True]


def test_a_review_saved_by_a_spreadsheet_is_read(tmp_path):
    path = tmp_path / "review.csv"
    path.write_bytes("task;prompt_id;decision;comment\r\nDemoSTS;abc;DROP ;zu ähnlich\r\n".encode("utf-8-sig"))
    assert read_review(path).comment("DemoSTS", "abc") == "zu ähnlich"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("task,prompt_id,decision\nDemoSTS,abc,maybe\n", "line 2: decision 'maybe' must be keep, drop"),
        ("task,decision\nDemoSTS,keep\n", "column 'prompt_id' is missing"),
        (f"task,prompt_id,text,decision\nDemoSTS,{prompt_id('a')},b,keep\n", "the text was changed"),
    ],
)
def test_a_faulty_review_is_refused(tmp_path, content, message):
    path = tmp_path / "review.csv"
    path.write_text(content)
    with pytest.raises(StudyError, match=message):
        read_review(path, {("DemoSTS", prompt_id("a"))})


def test_decisions_for_absent_prompts_are_kept(tmp_path):
    path = tmp_path / "review.csv"
    path.write_text("task,prompt_id,decision\nDemoSTS,gone,drop\n")
    write_review(path, decide(table("a"), study(str(path))))
    assert read_review(path).decision("DemoSTS", "gone") == "drop"


@pytest.mark.parametrize("text", ["=1+1", "'quoted'", "-x", "plain", "", "@a"])
def test_the_guard_against_formulas_can_be_taken_off(text):
    assert unguarded(guarded(text)) == text


def test_the_published_removal_of_near_duplicates_is_reproduced(shared_data):
    """Study 1's revision: 540 prompts of three generators and 12 tasks, 481 of them stay."""
    published = pd.read_parquet(shared_data / "published" / "prompts.parquet")
    order = ["openai-gpt-oss-120b", "google-gemma-4-26B-A4B-it", "Qwen-Qwen3.6-35B-A3B"]
    published = published.sort_values("generator", key=lambda g: g.map(order.index), kind="stable")
    kept_here, kept_there = set(), set()
    total = 0
    for task, group in published.groupby("task"):
        texts = group["prompt"].tolist()
        stays = [t for n, (t, k) in enumerate(zip(texts, representatives(texts, 0.1), strict=True)) if k == n]
        total += len(stays)
        kept_here |= {(task, t) for t in stays}
        kept_there |= {(task, t) for t in group.loc[group["in_dedup_list"], "prompt"]}

    assert total == 481
    # One cluster of two has no middle: they kept the other one.
    assert {t for _, t in kept_here ^ kept_there} == {
        "Cluster the medrxiv title and abstract:", "Cluster these medrxiv titles and abstracts:",
    }  # fmt: skip
