"""One place decides how an instruction meets a text; every wrapper gives stock mteb's score for the same prompt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import mteb
import numpy as np
import pytest
from studies import write_study
from tiny_models import instruct, plain

from helpers.base.errors import StudyError
from helpers.models.application import prefixes
from helpers.models.load import LoadedModel
from helpers.prompts.prompt import Prompt
from helpers.study.spec import ModelSpec
from helpers.sweep import results
from helpers.sweep.group import run_group
from helpers.sweep.probe import probe
from helpers.sweep.quick import given_prompts
from helpers.tasks.demo import DemoRetrieval, DemoSTS

RETRIEVAL, STS = DemoRetrieval.metadata, DemoSTS.metadata


def swept(model: LoadedModel, task: str, prompt: str, folder: Path, application: str, kind: str) -> float:
    """The score of one prompt or baseline through the sweep, with stock batches."""
    specs = [model.spec.model_dump()]
    prompts = {"source": "file", "file": "data/demo/prompts.yml", "application": application, "separator": ""}
    study = write_study(folder, specs, [task], prompts=prompts, sweep={"exact": True})
    rows = given_prompts([prompt], [task])
    report = run_group(study, folder, rows, study.models[0], study.tasks[0], model=model)
    assert report.failed == 0, report.reasons
    scores = results.scores_table(study, folder, rows)
    return float(scores.loc[scores["kind"] == kind, "main_score"].item())


def stock(wrapper: Any, task: Any) -> float:
    found = mteb.evaluate(wrapper, task, cache=None, co2_tracker=False)
    return float(found.task_results[0].scores["test"][0]["main_score"])


def test_raw_puts_the_separator_between_prompt_and_text(tmp_path: Path) -> None:
    found = prefixes(plain(tmp_path), RETRIEVAL, Prompt(text="Find"), "raw", " | ")
    assert (found.query, found.document, found.separator) == ("Find | ", "", " | ")


def test_a_prompt_is_never_stripped(tmp_path: Path) -> None:
    assert prefixes(plain(tmp_path), STS, Prompt(text="  Query:\n"), "raw", "").both == "  Query:\n"


def test_template_wraps_a_prompt_once(tmp_path: Path) -> None:
    found = prefixes(instruct(tmp_path), RETRIEVAL, Prompt(text="Find"), "template", " ")
    assert (found.query, found.document, found.separator) == ("Instruct: Find\nQuery:", "", None)


def test_a_template_that_the_model_lacks_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"no instruction template; set prompts.application to raw"):
        prefixes(plain(tmp_path), STS, Prompt(text="x"), "template")


def test_none_is_nothing_on_every_side_even_where_the_model_has_prompts(tmp_path: Path) -> None:
    model = plain(tmp_path, prompts={"query": "query: ", "document": "passage: "})
    found = prefixes(model, RETRIEVAL, Prompt(kind="none"))
    assert (found.query, found.document, found.both) == ("", "", "")


def test_a_prompt_leaves_the_document_prefix_that_the_model_owns(tmp_path: Path) -> None:
    model = plain(tmp_path, prompts={"query": "query: ", "document": "passage: "})
    assert prefixes(model, RETRIEVAL, Prompt(text="Find")).document == "passage: "
    assert prefixes(model, RETRIEVAL, Prompt(kind="default")).query == "query: "


def test_the_instruct_default_is_mtebs_fall_back_in_the_template(tmp_path: Path) -> None:
    found = prefixes(instruct(tmp_path), STS, Prompt(kind="default"))
    assert found.both == "Instruct: Retrieve semantically similar text.\nQuery:"


@pytest.mark.parametrize("task", [DemoRetrieval, DemoSTS])
@pytest.mark.parametrize("make", ["no prompts", "own prompts", "decoder", "instruct"])
def test_defaults_and_prompts_score_as_in_stock_mteb(task: Any, make: str, tmp_path: Path) -> None:
    own = {"prompts": {"query": "query: ", "document": "passage: "}} if make == "own prompts" else {}
    kind = "qwen3" if make == "decoder" else "bert"
    model = instruct(tmp_path) if make == "instruct" else plain(tmp_path, kind, **own)
    application = "template" if make == "instruct" else "raw"
    name = task.metadata.name
    ours = [swept(model, name, "Find this. ", tmp_path / kind, application, kind) for kind in ("default", "prompt")]
    default = stock(model.wrapper, task())
    if make == "instruct":
        model.wrapper.prompts_dict = {name: "Find this. "}
    else:
        key = f"{name}-query" if task is DemoRetrieval else name
        model.wrapper.model_prompts = {**(own.get("prompts") or {}), key: "Find this. "}
    assert ours == pytest.approx([default, stock(model.wrapper, task())], abs=1e-9)


def test_the_probe_refuses_a_model_that_ignores_its_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = plain(tmp_path)
    first, second = (prefixes(model, RETRIEVAL, Prompt(text=t)) for t in ("a", "b"))
    probe(model, first, second)
    import helpers.sweep.probe as probing

    deaf = np.ones((3, 32), dtype=np.float32)
    monkeypatch.setattr(probing, "embed_many", lambda m, requests: [deaf for _ in requests])
    monkeypatch.setattr(probing, "joins_prompt", lambda st: False)
    with pytest.raises(StudyError, match="the prompt does not arrive"):
        probe(model, first, second)


def test_the_probe_refuses_an_adapter_that_changes_the_text_and_a_prompt_that_reaches_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = plain(tmp_path)
    first, second = (prefixes(model, RETRIEVAL, Prompt(text=t)) for t in ("a", "b"))
    with pytest.raises(StudyError, match="document prefix changes with the prompt"):
        probe(model, first, replace(second, document="b "))
    import helpers.sweep.probe as probing

    embed = probing.embed_many
    monkeypatch.setattr(probing, "embed_many", lambda m, requests: [v + 1e-3 for v in embed(m, requests)])
    with pytest.raises(StudyError, match=r"adapter and by hand differ by 1\.0e-03"):
        probe(model, first, second)


def test_a_model_without_pooling_cannot_exclude_its_prompt() -> None:
    from helpers.models.load import load_model

    with pytest.raises(StudyError, match="include_prompt: false needs a pooling layer"):
        load_model(ModelSpec(name="dleemiller/WordLlama", weights="package:wordllama", include_prompt=False))
