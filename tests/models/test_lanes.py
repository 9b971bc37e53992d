"""Several batches at once on a CPU give the vectors of one after the other, and leave torch and the model as they were."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from tiny_models import plain

from helpers.models.embed import encode
from helpers.models.lanes import side_by_side
from helpers.models.load import LoadedModel


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return plain(tmp_path_factory.mktemp("model"))


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_two_batches_are_at_work_at_once_each_with_half_of_the_threads(model: LoadedModel) -> None:
    both = threading.Barrier(2, timeout=20)  # breaks unless two lanes meet

    def batch(number: int) -> tuple[int, int]:
        both.wait()
        return number, torch.get_num_threads()

    with side_by_side(model.st) as in_lanes:
        assert list(in_lanes(batch, range(4))) == [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert torch.get_num_threads() == 2 and "preprocess" not in vars(model.st)
    seen: list[int] = []
    later = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert seen == [2]


@pytest.mark.usefixtures("two_threads")
def test_vectors_are_those_of_one_batch_after_the_other(model: LoadedModel) -> None:
    texts = [" ".join(["word"] * (1 + n % 17)) + f" {n}" for n in range(400)]
    model.batch_tokens = 64
    found = encode(model, texts)
    torch.set_num_threads(1)
    assert np.abs(found - encode(model, texts)).max() < 1e-6


@pytest.mark.usefixtures("two_threads")
def test_an_error_in_one_lane_ends_the_work(model: LoadedModel) -> None:
    done: list[int] = []

    def batch(number: int) -> None:
        if number == 0:
            raise FloatingPointError("not finite")
        done.append(number)
        threading.Event().wait(0.01)

    with pytest.raises(FloatingPointError), side_by_side(model.st) as in_lanes:
        list(in_lanes(batch, range(1000)))
    assert len(done) < 1000 and torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_a_compiled_model_keeps_to_one_lane(model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model.st[0].model, "_compiled_call_impl", print)
    with side_by_side(model.st) as in_lanes:
        assert in_lanes is map


def test_one_thread_is_one_lane(model: LoadedModel) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with side_by_side(model.st) as in_lanes:
        assert in_lanes is map
    torch.set_num_threads(before)
