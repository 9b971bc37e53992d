"""Notebook 05's work on the demo and, where they are, on real task data, with a real static model."""

import json

import numpy as np
import pytest

from helpers.base.errors import StudyError
from helpers.geometry import words
from helpers.geometry.measurement import distractor_table, embedder, geometry_table, measure
from helpers.geometry.sets import InstructedSet, instructed_sets
from helpers.geometry.study import (
    bank_table,
    joined,
    kept_queries,
    map_subject,
    measure_set,
    models_on_sets,
    set_table,
)
from helpers.models import embed as embeddings
from helpers.models.load import load_model
from helpers.report.compare import geometry_rows
from helpers.study.geometry import Instruction
from helpers.study.load import load_study
from helpers.study.spec import TaskSpec
from helpers.sweep.variants import distinct
from helpers.tasks.load import load_task
from helpers.tasks.search import search_set

STATIC = {"geometry.models": ["WordLlama-256"], "geometry.n_boot": 20}


def measure_study(study, sets, folder=None, report=print, failed=None):
    """The loop of notebook 05."""
    spec, measured, weights = study.geometry, [], {}
    for model, chosen in models_on_sets(study, sets, folder, {} if failed is None else failed, report):
        rows, pools = measure_set(model, chosen, study)
        table = geometry_table(rows, chosen, spec.n_boot, spec.confidence, study.seed)
        measured.append((table, distractor_table(rows, pools), kept_queries(rows, table)))
        weights[model.label] = model.weights_digest
    names = ("geometry", "distractors", "geometry_queries")
    parts = zip(*measured, strict=True)
    return {name: joined(part, weights) for name, part in zip(names, parts, strict=True)}


@pytest.fixture(scope="module")
def study():
    return load_study("demo", **STATIC, **{"geometry.n_queries": 5})


@pytest.fixture(scope="module")
def sets(study):
    return instructed_sets(study)


@pytest.fixture(scope="module")
def run(study, sets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    lines = []
    return folder, measure_study(study, two_of(sets), folder, lines.append), lines


def two_of(sets):
    return [s for s in sets if s.search.subset in ("default", "eng-fin")]


def test_the_demo_has_the_papers_instruction_counts(study, sets):
    table = set_table(study, sets).set_index("subset")
    assert table.loc["default", ["instructions", "relevant", "controls"]].tolist() == [47, 7, 6]
    for subset in ("eng-deu", "eng-fra", "eng-fin"):
        assert table.loc[subset, ["instructions", "relevant", "controls"]].tolist() == [51, 10, 6]
    assert len(bank_table(study, sets)) == 51 + 9
    assert table["queries"].eq(5).all() and table["paraphrases"].eq(5).all()


def test_every_set_gives_a_row_per_instruction_and_pool(run):
    _, tables, lines = run
    assert len(tables["geometry"]) == 54 + 58
    assert len(tables["distractors"]) == 3 * len(tables["geometry"])
    assert len(lines) == 2 and "s left" in lines[0]
    kept = tables["geometry_queries"].groupby("subset")["instruction_id"].nunique()
    assert kept["default"] in (8, 9) and kept["eng-fin"] in (11, 12)


def test_a_model_with_the_weights_of_another_is_its_variant(study, sets, tmp_path):
    twin = study.model_spec("WordLlama-256").model_copy(update={"label": "again"})
    labels = ["WordLlama-256", "again"]
    geometry = study.geometry.model_copy(update={"models": labels, "n_boot": 0})
    both = study.model_copy(update={"models": [*study.models, twin], "geometry": geometry})
    tables = measure_study(both, two_of(sets)[:1], tmp_path, lambda line: None)
    for table in tables.values():
        assert set(table["model"]) == set(labels) and set(distinct(table)["model"]) == {"WordLlama-256"}
    compared = geometry_rows({"s": tables["geometry"]}, {"s": tables["distractors"]})
    assert compared["model"].tolist() == ["WordLlama-256"]


def test_a_model_that_cannot_be_loaded_is_noted_and_the_others_go_on(study, sets, tmp_path):
    absent = study.model_spec("WordLlama-256").model_copy(update={"label": "absent", "weights": "path:nowhere"})
    geometry = study.geometry.model_copy(update={"models": ["absent", "WordLlama-256"], "n_boot": 0})
    both = study.model_copy(update={"models": [*study.models, absent], "geometry": geometry})
    failed, lines = {}, []
    tables = measure_study(both, two_of(sets)[:1], tmp_path, lines.append, failed)
    assert set(tables["geometry"]["model"]) == {"WordLlama-256"} and list(failed) == ["absent"]
    assert "nowhere" in failed["absent"] and lines[0].startswith("absent is not measured: ")
    assert words.failures(failed)[0]["text"].startswith("absent is not measured: ")
    assert map_subject(both, sets, tmp_path, failed)[0].label == "WordLlama-256"
    alone = both.model_copy(update={"geometry": geometry.model_copy(update={"models": ["absent"]})})
    with pytest.raises(StudyError, match="no model can be measured: absent: "):
        measure_study(alone, two_of(sets)[:1], tmp_path, lambda line: None)


def test_language_names_enter_the_instructions(run):
    texts = set(run[1]["geometry"].query("subset == 'eng-fin'")["text"])
    assert "Retrieve a Finnish translation." in texts and not any("{lang}" in t for t in texts)


def test_a_repeated_run_encodes_nothing_and_gives_the_same(run, study, sets, monkeypatch):
    folder, tables, _ = run

    def refuse(*arguments, **keywords):
        raise AssertionError("encoded something again")

    monkeypatch.setattr(embeddings, "encode", refuse)
    again = measure_study(study, two_of(sets), folder, lambda line: None)
    for name, table in tables.items():
        assert table.equals(again[name]), name


def test_one_more_instruction_costs_only_its_queries(run, study, monkeypatch):
    folder, _, _ = run
    encoded = []
    encode = embeddings.encode

    def spy(model, strings, *arguments, **keywords):
        encoded.extend(strings)
        return encode(model, strings, *arguments, **keywords)

    monkeypatch.setattr(embeddings, "encode", spy)
    more = study.model_copy(deep=True)
    assert more.geometry is not None
    more.geometry.extra = [Instruction(id="mine", text="Find the proof.", banks=("retrieval",))]
    tables = measure_study(more, two_of(instructed_sets(more)), folder, lambda line: None)
    assert len(encoded) == 5 and all(text.startswith("Instruct: Find the proof.\nQuery: ") for text in encoded)
    assert "mine" in set(tables["geometry"]["instruction_id"])


def test_the_plain_querys_ndcg_is_mtebs_main_score():
    import mteb

    study = load_study("demo", **STATIC)
    model = load_model(study.model_spec("WordLlama-256"))
    task = load_task(TaskSpec(name="DemoRetrieval", split="test"), study)
    chosen = InstructedSet(search_set(task, split="test"), "retrieval", "question-answering", [("x", [])], "")
    rows, _ = measure(embedder(model), model.label, chosen, [], study.geometry)
    ours = geometry_table(rows, chosen, n_boot=0)["ndcg_at_10"].iloc[0]
    theirs = mteb.evaluate(model.wrapper, task, cache=None, show_progress_bar=False)
    assert ours == pytest.approx(theirs.task_results[0].get_score(), abs=1e-5)


def test_misspelt_names_for_the_map_get_a_suggestion(study, sets):
    for key, value, message in (
        ("map_model", "WordLlama-265", "did you mean WordLlama-256"),
        ("map_task", "DemoRetrival", "did you mean DemoRetrieval"),
    ):
        wrong = study.model_copy(deep=True)
        setattr(wrong.geometry, key, value)
        with pytest.raises(StudyError, match=message):
            map_subject(wrong, sets)


def test_a_missing_paraphrase_file_says_what_to_do(study):
    wrong = study.model_copy(deep=True)
    wrong.geometry.tasks[0].paraphrases = "data/nothing.parquet"
    with pytest.raises(StudyError, match=r"there is no file 'data/nothing.parquet'"):
        instructed_sets(wrong)


def test_real_tasks_load_with_their_foreign_queries(task_data, monkeypatch):
    monkeypatch.setenv("EMBEDDING_TASK_DATA", str(task_data))
    study = load_study("geometry-local", **{"geometry.n_queries": 6})
    sets = {f"{s.search.task} {s.search.subset}": s for s in instructed_sets(study)}
    assert len(sets) == 6
    squad, tatoeba = sets["SQuAD default"], sets["Tatoeba jpn-eng"]
    assert len(squad.search.paraphrases) == 6 and squad.paraphrase_source == "SQuAD/examples.parquet"
    assert (len(squad.search.targets), len(sets["ARCChallenge default"].search.targets)) == (797, 9350)
    assert tatoeba.search.language == "Japanese" and tatoeba.bank == "bitext-mining"
    sources = [name for name, texts in tatoeba.foreign if texts]
    assert sources == [
        "the task's queries beyond the limit",
        "the task's other subsets",
        "the study's other tasks",
    ]


def test_real_paraphrases_pull_the_static_models_top_hit(task_data, monkeypatch):
    monkeypatch.setenv("EMBEDDING_TASK_DATA", str(task_data))
    study = load_study("geometry-local", **{"geometry.n_queries": 40, "geometry.n_boot": 0})
    static = load_study("demo").model_spec("WordLlama-256")
    study.models = [static]
    study.geometry.groups = ["vague"]
    sets = [s for s in instructed_sets(study) if s.search.task == "SQuAD"]
    table = measure_study(study, sets, report=lambda line: None)["distractors"]
    plain = table[table["instruction_id"] == "none"].set_index("pool")
    assert plain.loc["paraphrase", "recall_at_1"] < plain.loc["normal", "recall_at_1"]
    assert plain.loc["paraphrase", "own_first"] > 0.5
    assert np.isclose(plain.loc["normal", "n_distractors"], 0)


def test_paraphrases_written_by_notebook_01_are_found(tmp_path, monkeypatch, task_data):
    monkeypatch.setenv("EMBEDDING_TASK_DATA", str(task_data))
    monkeypatch.setenv("HELPERS_RUNS", str(tmp_path))
    study = load_study("geometry-local", **{"geometry.n_queries": 3})
    study.geometry.tasks = [t for t in study.geometry.tasks if t.name == "ARCChallenge"]
    (first,) = instructed_sets(study)
    folder = tmp_path / "geometry-local" / "paraphrases" / "ARCChallenge"
    folder.mkdir(parents=True)
    lines = [{"id": q, "text": t, "paraphrase": f"In other words: {t}"} for q, t in first.search.queries.items()]
    (folder / "paraphrases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (again,) = instructed_sets(study)
    assert again.paraphrase_source == "a language model (notebook 01)" and len(again.search.paraphrases) == 3
