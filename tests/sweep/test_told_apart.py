"""Prompts that a model reads as the same tokens are a finding, and cost no cell; a prompt that fails costs its own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from tiny_models import plain

from helpers.base.errors import StudyError
from helpers.models.application import Prefixes
from helpers.prompts.prompt import Prompt
from helpers.sweep import compute as sweep_compute
from helpers.sweep.inputs import token_digest
from helpers.sweep.probe import probe
from helpers.sweep.received import first_samples
from helpers.sweep.words import told_apart


def test_prompts_of_equal_tokens_pass_the_probe_and_have_one_digest(tmp_path: Path) -> None:
    model = plain(tmp_path)
    one, two = (Prefixes(p, "", p, "raw", " ") for p in ("SIMILARITY: ", "similarity:  "))
    probe(model, one, two)
    digests = [token_digest(model.st, p, "query", "bread") for p in (one.query, two.query, "other: ")]
    assert digests[0] == digests[1] != digests[2]


def sample(prompt: str, prefix: str, digest: str, side: str = "both", number: int = 0) -> dict[str, object]:
    where = {"model": "m", "task": "t", "subset": "s", "split": "x", "application": "raw", "kind": "prompt"}
    shown = {"string": prefix + "a", "tokens": 3, "truncated_share": 0.0}
    return where | shown | {
        "prompt_id": prompt, "prefix": prefix, "token_digest": digest, "side": side, "sample": number,
    }  # fmt: skip


def test_the_finding_names_the_prompts_and_counts_the_groups() -> None:
    rows = [sample("1", "A: ", "x"), sample("2", "a: ", "x"), sample("3", "b: ", "y")]
    assert told_apart(pd.DataFrame(rows)) == [
        "m cannot tell 'A: ' and 'a: ' apart: it reads them as the same tokens, so their scores are equal (1 such group "
        "of prompts)."
    ]
    assert told_apart(pd.DataFrame(rows[1:])) == []


def test_each_side_is_shown() -> None:
    rows = [sample("1", "q: ", "x", "query"), sample("1", "", "y", "document"), sample("1", "", "z", "plain")]
    assert sorted(first_samples(pd.DataFrame(rows))["side"]) == ["document", "plain", "query"]


@pytest.mark.parametrize("broken", ["all", "one"])
def test_the_probe_never_costs_the_baselines(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(model: object, first: Prefixes, second: Prefixes, role: object) -> None:
        if broken == "all" or first.query == "one":
            raise StudyError("cannot be applied")

    monkeypatch.setattr("helpers.sweep.compute.probe", fail)
    kinds = {"none": "", "default": "own: ", "one": "one", "two": "two"}
    cells = [
        SimpleNamespace(
            prompt=Prompt(text=name) if name in ("one", "two") else Prompt(kind=name),
            prefixes=Prefixes(prefix, "", prefix, "raw", " "), slot={"prompt_id": name}, stem=name,
        )
        for name, prefix in kinds.items()
    ]  # fmt: skip
    task = SimpleNamespace(metadata=SimpleNamespace(type="Retrieval"))
    report = SimpleNamespace(failed=0, reasons=[])
    kept = sweep_compute._applicable(tmp_path, SimpleNamespace(label="m", only_cached=False), task, cells, report)
    assert [c.stem for c in kept] == (["none", "default"] if broken == "all" else ["none", "default", "two"])
    assert report.reasons == ["cannot be applied"] * report.failed
    assert sorted(p.name for p in tmp_path.glob("*.error.json"))[0] == "one.error.json"
