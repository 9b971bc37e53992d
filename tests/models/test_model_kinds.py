"""Every way in which we embed gives the vectors of sentence-transformers' `encode`, whatever the kind of model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from model_kinds import KINDS

from helpers.models.application import Prefixes
from helpers.models.embed import embed_in_stock_batches, embed_many, encode_method, stock_vectors
from helpers.models.load import LoadedModel, _wrap
from helpers.models.role import Role
from helpers.models.shape import poolings
from helpers.study.spec import ModelSpec
from helpers.sweep.encoder import SweepEncoder
from helpers.sweep.inputs import describe_inputs
from helpers.sweep.probe import probe

TEXTS = [
    "a cat",
    "the train to the coast leaves every hour and the long way home leads through the rain " * 3,
    "bread",
    "a cat",
    "find the passage home",
    "the cat sleeps",
    "every train to the coast",
]
PREFIXES = ["", "find the passage: ", "a long "]
ROLES: list[Role] = [None, "query", "document"]


@pytest.fixture(scope="module", params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def loaded(kind: str, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    torch.manual_seed(0)
    spec = ModelSpec(name="local/kind", label="kind", weights="path:unused")
    return LoadedModel(spec, _wrap(spec, KINDS[kind](tmp_path_factory.mktemp("kind"))))


@pytest.fixture
def two_threads() -> Iterator[None]:
    """As many lanes as a CPU with two cores has."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def by_encode(model: LoadedModel, texts: list[str], prefix: str, role: Role) -> np.ndarray:
    return np.asarray(encode_method(model.st, role)(texts, prompt=prefix, show_progress_bar=False))


def check(model: LoadedModel) -> None:
    """All roles and prefixes in one request each, embedded together, against `encode` of each alone."""
    requests = [(TEXTS, prefix, role) for role in ROLES for prefix in PREFIXES]
    for (texts, prefix, role), ours in zip(requests, embed_many(model, requests), strict=True):
        expected = by_encode(model, texts, prefix, role)
        assert ours.shape == expected.shape == (len(texts), model.dimension)
        np.testing.assert_allclose(ours, expected, atol=2e-6, rtol=1e-6, err_msg=f"prefix {prefix!r}, role {role}")


def test_small_batches_in_lanes(loaded: LoadedModel, two_threads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded, "batch_tokens", 64)
    check(loaded)


def test_one_large_batch(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded, "batch_tokens", 4096)
    check(loaded)


def test_stock_batches(loaded: LoadedModel) -> None:
    for role in ROLES:
        ours = embed_in_stock_batches(loaded, (TEXTS, "find ", role))
        assert (ours == stock_vectors(loaded.st, TEXTS, "find ", role)).all()
        np.testing.assert_allclose(ours, by_encode(loaded, TEXTS, "find ", role), atol=1e-6)


def test_the_prompt_not_pooled_and_the_twin_of_one_pass(
    loaded: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model pools without its prompt; the cache of the same pass serves the model that pools with it."""
    layers = poolings(loaded.st)
    if not layers:
        pytest.skip("has no pooling layer")
    before = layers[0].include_prompt
    try:
        found = {}
        for include in (False, True):
            for layer in layers:
                layer.include_prompt = include
            model = LoadedModel(loaded.spec, loaded.wrapper, tmp_path / "cache")
            model.has_twin = True
            check(model)
            found[include] = model
        assert len({model.key for model in found.values()}) == 2
    finally:
        for layer in layers:
            layer.include_prompt = before


def test_the_cache_returns_what_was_embedded(loaded: LoadedModel, tmp_path: Path) -> None:
    model = LoadedModel(loaded.spec, loaded.wrapper, tmp_path / "cache")
    check(model)
    model.only_cached = True
    check(model)


@pytest.mark.parametrize("role", ROLES)
def test_the_probe_accepts_it_and_its_inputs_are_described(loaded: LoadedModel, role: Role) -> None:
    first, second = (Prefixes(p, "", p, "raw", " ") for p in ("find the ", "a long way: "))
    probe(loaded, first, second, role)
    encoder = SweepEncoder(loaded)
    encoder.prefixes = first
    rows = describe_inputs(loaded, [("query", TEXTS), ("document", TEXTS), ("plain", TEXTS)], encoder)
    assert [row["side"] for row in rows] == ["query"] * 3 + ["document"] * 3 + ["plain"] * 3
    assert rows[0]["string"] == "find the a cat" and rows[0]["token_digest"] != rows[1]["token_digest"]
