"""Builders of examples: the demo, SQuAD and Tatoeba from local data, a file of one's own, and what is missing."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from studies import write_study

from helpers.base.errors import StudyError
from helpers.study.spec import Study
from helpers.tuning.sets import read_examples, tuning_data


def study_with(tmp_path, root=None, **finetuning) -> Study:
    model = {"name": "dleemiller/WordLlama", "label": "static", "weights": "package:wordllama"}
    keys = {"model": "static", "presets": ["distractor"], "training": {"n_negatives": 2}, **finetuning}
    return write_study(tmp_path, [model], [], steps=["06"], finetuning=keys, data_root=root and str(root))


def test_the_demo_keeps_its_own_test_part_and_searches_all_passages(tmp_path):
    data = tuning_data(study_with(tmp_path, dev_pool=50))
    assert len(data.part("test")) == 128 and len(data.part("train")) + len(data.part("dev")) == 128
    test, dev = data.sets("test")[0], data.sets("dev")[0]
    assert len(test.search.targets) == 330 and len(dev.search.targets) == 50
    assert test.search.queries and set(test.search.queries) == set(test.search.paraphrases)
    assert set(test.foreign[0][1]) == set(data.part("train")["query"])
    right = {q: test.search.targets[next(iter(r))] for q, r in test.search.qrels.items()}
    assert right == dict(zip(data.part("test")["id"], data.part("test")["target"], strict=True))


def test_languages_of_a_bitext_task_are_pooled_but_searched_apart(tmp_path):
    study = study_with(tmp_path, data="task:DemoBitextMining", subsets=["eng-deu", "eng-fin"])
    data = tuning_data(study)
    assert data.kind == "bitext-mining"
    assert [s.search.language for s in data.sets("test")] == ["Finnish", "German"]
    assert data.examples.groupby("query")["split"].nunique().max() == 1  # one English sentence, two languages
    assert set(data.examples["language"]) == {"German", "Finnish"}


def test_squad_with_the_paraphrases_of_gan_and_ng(tmp_path, task_data):
    data = tuning_data(study_with(tmp_path, task_data, data="squad"))
    assert data.report["reason"].eq("paraphrase equals query").sum() == 1
    assert len(data.examples) == 1061
    assert data.examples.groupby("target")["split"].nunique().max() == 1
    assert len(data.sets("test")[0].search.targets) == data.part("test")["target"].nunique()


def test_tatoeba_takes_its_paraphrases_from_a_file(tmp_path, task_data):
    with pytest.raises(StudyError, match=r"Tatoeba has no paraphrases; name a file"):
        tuning_data(study_with(tmp_path, task_data, data="tatoeba", subsets=["deu-eng"]))
    english = pd.read_parquet(task_data / "Tatoeba" / "deu-eng.parquet")["sentence2"]
    table = pd.DataFrame({"text": english, "paraphrase": "Otherwise: " + english})
    table.to_parquet(tmp_path / "paraphrases.parquet")
    keys = {"data": "tatoeba", "subsets": ["deu-eng"], "paraphrases": str(tmp_path / "paraphrases.parquet")}
    data = tuning_data(study_with(tmp_path, task_data, **keys, near_duplicate=1.0))
    row = data.examples.iloc[0]
    assert row["paraphrase"] == f"Otherwise: {row['query']}" and row["language"] == "German"


def write_lines(path, *rows: dict) -> None:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")


def test_a_file_of_ones_own(tmp_path):
    rows = [
        {"query": f"q {i}", "paraphrase": f"p {i}", "target": f"t {i}", "split": "test" if i > 6 else ""}
        for i in range(10)
    ]
    write_lines(tmp_path / "own.jsonl", *rows)
    data = tuning_data(study_with(tmp_path, data=f"jsonl:{tmp_path / 'own.jsonl'}", near_duplicate=1.0))
    assert data.part("test")["query"].tolist() == ["q 7", "q 8", "q 9"] and data.name == "own"


def test_a_bad_file_is_named_with_its_line_or_column(tmp_path):
    path = tmp_path / "own.jsonl"
    write_lines(path, {"query": "q", "target": "t"})
    with pytest.raises(StudyError, match=r"own.jsonl: needs the column 'paraphrase'"):
        read_examples(path)
    path.write_text('{"query": "q"}\nnonsense\n')
    with pytest.raises(StudyError, match=r"own.jsonl, line 2: not JSON"):
        read_examples(path)
    write_lines(path, *[{"id": "a", "query": "q", "paraphrase": "p", "target": "t"}] * 2)
    with pytest.raises(StudyError, match=r"the id 'a' stands there twice"):
        read_examples(path)
    with pytest.raises(StudyError, match=r"finetuning.data: there is no file 'absent.jsonl'"):
        tuning_data(study_with(tmp_path, data="jsonl:absent.jsonl"))


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"query": ["a", 5]}, "own.jsonl, column 'query', row 1: 5 is not a text"),
        ({"split": ["train", "dev"]}, "own.jsonl, column 'split', row 1: 'dev' is neither train nor test"),
        ({"id": ["x", None]}, "own.jsonl, column 'id', row 1: the id is missing"),
        ({"id": [1, 1]}, "own.jsonl: the id '1' stands there twice"),
    ],
)
def test_examples_of_ones_own_are_refused_by_column_and_row(tmp_path, rows, told) -> None:
    content = {"query": ["a", "b"], "paraphrase": ["c", "d"], "target": ["e", "f"]} | rows
    pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in content.items()}).to_json(
        tmp_path / "own.jsonl", orient="records", lines=True
    )
    with pytest.raises(StudyError) as caught:
        read_examples(tmp_path / "own.jsonl")
    assert told in str(caught.value)
