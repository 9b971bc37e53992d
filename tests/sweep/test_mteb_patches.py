"""Each patch of mteb is still needed: stock mteb shows what it works around. A test that fails here names a patch to drop."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from datasets.arrow_dataset import Column
from mteb._create_dataloaders import create_dataloader
from studies import STATIC

import helpers
from helpers.models.application import Prefixes
from helpers.models.load import load_model
from helpers.study.spec import ModelSpec, TaskSpec
from helpers.sweep import mteb_patches
from helpers.sweep.encoder import SweepEncoder
from helpers.sweep.mteb_patches import (
    batch_texts,
    columns_read_at_once,
    drawn_rows,
    prepare,
    restart_random_state,
    retrieval_texts,
    searched_with,
)
from helpers.tasks.demo import DemoTopicClassification
from helpers.tasks.load import load_task


def encoder() -> SweepEncoder:
    made = SweepEncoder(load_model(ModelSpec(**STATIC)))
    made.prefixes = Prefixes("", "", "", "none", None)
    return made


def test_labels_are_read_once_and_not_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[Any] = []
    get, walk = Column.__getitem__, Column.__iter__
    monkeypatch.setattr(Column, "__getitem__", lambda s, key: (decoded.append(key), get(s, key))[1])
    monkeypatch.setattr(Column, "__iter__", lambda s: (decoded.append(row) or row for row in walk(s)))

    def rows_decoded(task: Any) -> int:
        task.load_data()
        model = encoder()
        decoded.clear()
        task.evaluate(model, split="test", encode_kwargs={"batch_size": 32})
        return len(decoded)

    assert rows_decoded(DemoTopicClassification()) > 10_000
    assert rows_decoded(prepare(DemoTopicClassification())) < 1_000  # the small training sets


def test_texts_are_copied_at_once_and_not_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[Any] = []
    get = Column.__getitem__
    monkeypatch.setattr(Column, "__getitem__", lambda s, key: (decoded.append(key), get(s, key))[1])
    texts = [f"text {n}" for n in range(100)]

    def given() -> Any:
        decoded.clear()
        rows = Dataset.from_dict({"text": texts})
        return create_dataloader(rows, task_metadata=DemoTopicClassification.metadata, input_column="text").dataset

    assert given()["text"][:] == texts and len(decoded) > 100
    with columns_read_at_once():
        found = given()
        assert decoded == [slice(None)] and found["text"][:] == texts
    assert given() and len(decoded) > 100


def test_a_clustering_task_goes_on_in_its_random_state() -> None:
    task, model = load_task(TaskSpec(name="DemoTopicClustering")), encoder()
    fresh = task.rng_state.getstate()
    task.evaluate(model, split="test", encode_kwargs={"batch_size": 32})
    assert task.rng_state.getstate() != fresh
    restart_random_state(task, task.seed)
    assert task.rng_state.getstate() == fresh


def test_the_rows_that_a_classifier_is_trained_on_are_said_by_no_public_function() -> None:
    task = load_task(TaskSpec(name="DemoTopicClassification"))
    train = task.dataset[task.train_split]
    assert 0 < len(drawn_rows(task, train)) <= len(train)
    assert not [n for n in dir(task) if "undersample" in n and not n.startswith("_")]


def test_a_model_that_searches_is_given_raw_columns() -> None:
    """Titles and instructions are joined to texts by mteb's own search only."""
    task, seen = load_task(TaskSpec(name="DemoRetrieval", split="test")), {}

    class Searches(SweepEncoder):
        def index(self, corpus: Any, **kwargs: Any) -> None:
            seen["corpus"] = corpus
            super().index(corpus, **kwargs)

    model = Searches(load_model(ModelSpec(**STATIC)))
    model.prefixes = Prefixes("", "", "", "none", None)
    task.evaluate(model, split="test", encode_kwargs={"batch_size": 32})
    row = seen["corpus"][0]
    assert row["title"] and not row["text"].startswith(row["title"])
    assert retrieval_texts(seen["corpus"], "document")[0] == f"{row['title']} {row['text']}"
    queries = Dataset.from_dict({"id": ["q"], "text": ["who sleeps"], "instruction": ["no dogs"]})
    assert retrieval_texts(queries, "query") == ["who sleeps no dogs"]


def test_a_model_is_handed_a_loader_of_small_batches() -> None:
    rows = Dataset.from_dict({"text": [f"text {n}" for n in range(70)]})
    loader = create_dataloader(rows, task_metadata=DemoTopicClassification.metadata, input_column="text", batch_size=32)
    assert [len(batch["text"]) for batch in loader] == [32, 32, 6]
    assert batch_texts(loader) == rows["text"][:]


def test_bitext_mining_embeds_both_sides_without_a_role(monkeypatch: pytest.MonkeyPatch) -> None:
    task, roles, model = load_task(TaskSpec(name="DemoBitextMining", subsets=["eng-deu"])), [], encoder()
    real = model.encode
    monkeypatch.setattr(model, "encode", lambda *a, **k: (roles.append(k.get("prompt_type")), real(*a, **k))[1])
    task.evaluate(model, split="test", subsets_to_run=["eng-deu"], encode_kwargs={"batch_size": 32})
    assert roles == [None, None]
    assert searched_with(task, "eng-deu", "test") == model.calls[0][1] != model.calls[1][1]
    assert searched_with(load_task(TaskSpec(name="DemoSTS")), "default", "test") is None


def test_no_other_module_uses_a_private_name_of_mteb() -> None:
    root, used = Path(helpers.__file__).parent, {}
    for path in root.rglob("*.py"):
        module = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "mteb":
                parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                private = {part for part in parts if part.startswith("_")}
                if private and module != mteb_patches.__name__:
                    used[module] = used.get(module, set()) | private
    assert used == mteb_patches.BELOW
