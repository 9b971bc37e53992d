"""Batches fit the memory, their size is tuned once per model and device, and counting tokens takes little memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_models import plain

from helpers.models import batches as token_batches
from helpers.models.batches import batches, best_budget, in_batches, token_counts, within_memory
from helpers.models.cache import EmbeddingCache
from helpers.models.load import LoadedModel


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return plain(tmp_path_factory.mktemp("model"))


def test_a_batch_holds_its_budget_of_padded_tokens_and_at_least_one_text() -> None:
    slices = batches(np.array([9, 5, 4, 2, 2]), budget=8)
    assert [(s.start, s.stop) for s in slices] == [(0, 1), (1, 2), (2, 4), (4, 5)]


def test_out_of_memory_halves_the_batch_and_goes_on() -> None:
    sizes: list[int] = []

    def encode_rows(rows: np.ndarray) -> np.ndarray:
        sizes.append(len(rows))
        if len(rows) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return rows[None, :, None].astype(float)

    found = within_memory(encode_rows, np.arange(10))
    assert found[0, :, 0].tolist() == list(range(10))
    assert sizes == [10, 5, 2, 3, 5, 2, 3]


def test_a_single_text_that_does_not_fit_is_an_error() -> None:
    def encode_rows(rows: np.ndarray) -> np.ndarray:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        within_memory(encode_rows, np.arange(2))


@pytest.mark.parametrize(
    ("seconds", "best"),
    [({512: 0.8, 1024: 1.0}, 512), ({512: 0.97, 1024: 1.0}, 1024), ({1024: 1.0, 2048: 3}, 1024)],
)
def test_the_default_budget_stays_unless_another_gains_five_per_cent(seconds: dict[int, float], best: int) -> None:
    assert best_budget(seconds, 1024) == best


def test_the_budget_is_tuned_once_per_model_and_device(
    model: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned: list[list[int]] = []

    def calibrate(lengths: np.ndarray, rows: object, budgets: list[int], sample: int) -> dict[int, float]:
        tuned.append(budgets)
        return {512: 1.0, 1024: 2.0, 2048: 3.0}

    monkeypatch.setattr(token_batches, "calibrate", calibrate)
    lengths = np.full(60_000, 30)
    for expected in (512, 512):
        monkeypatch.setattr(model, "batch_tokens", None)
        monkeypatch.setattr(model, "cache", EmbeddingCache(tmp_path))
        assert token_batches.batch_budget(model, lengths, len) == expected  # type: ignore[arg-type]
    assert tuned == [[512, 1024, 2048]]


def test_small_work_is_not_worth_a_calibration(model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_batches, "calibrate", None)
    assert token_batches.batch_budget(model, np.full(100, 30), len) == 1024  # type: ignore[arg-type]


def test_a_calibration_encodes_the_same_texts_with_every_budget() -> None:
    rows_of: list[list[int]] = []
    lengths = np.arange(1, 101)

    def encode_batches(parts: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
        rows_of.extend(part.tolist() for part in parts)
        return iter(parts)

    seconds = token_batches.calibrate(lengths, encode_batches, [64, 256], 500)
    assert set(seconds) == {64, 256} and all(s < float("inf") for s in seconds.values())
    texts = {n for rows in rows_of for n in rows}
    assert 500 <= lengths[list(texts)].sum() <= 600
    assert sum(map(len, rows_of)) == 4 * len(texts) + 1


def test_vectors_come_back_in_the_order_of_the_texts(model: LoadedModel) -> None:
    lengths = np.array([3, 9, 1, 7])
    found = in_batches(model, lengths, lambda rows: rows[None, :, None].astype(float))
    assert found[0, :, 0].tolist() == [0, 1, 2, 3]


def test_tokens_are_counted_in_blocks_with_the_same_result(model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["one", "two words", "a sentence of six words", ""]
    whole = token_counts(model.st, texts).tolist()
    monkeypatch.setattr(token_batches, "COUNTED", 2)
    assert token_counts(model.st, texts).tolist() == whole == [3, 4, 7, 2]
