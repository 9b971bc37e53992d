"""Search in blocks finds what one matrix of all similarities holds, and a pass stays small enough to lose."""

from __future__ import annotations

import numpy as np
import pytest
from studies import STATIC

from helpers.models.load import load_model
from helpers.study.spec import ModelSpec
from helpers.sweep import encoder
from helpers.sweep.encoder import SweepEncoder


@pytest.mark.parametrize("top_k", [1, 5, 100])
def test_blocks_give_the_best_of_the_whole(top_k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "DOCUMENT_BLOCK", 7)
    monkeypatch.setattr(encoder, "QUERY_BLOCK", 3)
    draw = np.random.default_rng(0)
    queries, documents = (draw.standard_normal((n, 8)).astype(np.float32) for n in (10, 24))
    scores, places = SweepEncoder(load_model(ModelSpec(**STATIC)))._top(queries, documents, top_k)
    unit_queries, unit_documents = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (queries, documents))
    whole = unit_queries @ unit_documents.T
    best = np.argsort(-whole, axis=1)[:, :top_k]
    assert places.tolist() == best.tolist()
    assert np.abs(scores - np.take_along_axis(whole, best, 1)).max() < 1e-6


def test_a_pass_holds_the_prompts_that_fit_and_documents_do_not_count() -> None:
    """On a CPU 20,000 texts: three prompts for two columns of 3,000, one where a prompt alone has more."""
    found = SweepEncoder(load_model(ModelSpec(**STATIC)))
    found.calls = [("both", ["a"] * 3000), ("both", ["b"] * 3000), ("document", ["c"] * 90_000)]
    assert found.prompts_ahead() == 3
    found.calls = [("both", ["a"] * 50_000)]
    assert found.prompts_ahead() == 1
