"""A prompt's keys and values are computed once for a causal decoder's texts, and no vector changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_models import plain

from helpers.models import embed as embeddings
from helpers.models import prefix as prefix_reuse
from helpers.models.load import LoadedModel

TEXTS = ["a cat", "the long way home in the rain", "bread", "a cat", "fresh bread and a warm stove", "42"]
PROMPT = "Represent this text for a search: "


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return plain(tmp_path_factory.mktemp("decoder"), "qwen3")


def by_hand(model: LoadedModel, prompt: str, texts: list[str]) -> np.ndarray:
    return np.asarray(model.st.encode([prompt + t for t in texts], prompt="", show_progress_bar=False))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("budget", [16, 4096])
def test_vectors_are_those_of_the_plain_path(
    side: str, budget: int, decoder: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder.st.tokenizer, "padding_side", side)
    monkeypatch.setattr(decoder, "batch_tokens", budget)
    used: list[int] = []
    real = prefix_reuse.encode_suffixes
    monkeypatch.setattr(embeddings, "encode_suffixes", lambda st, c, k, s: (used.append(len(s)), real(st, c, k, s))[1])
    assert decoder.reuses_prefix
    ours = embeddings.embed_many(decoder, [(TEXTS, PROMPT, None), (TEXTS[:2], PROMPT + "x ", None)])
    assert sum(used) == 5  # one pass per distinct text; two texts are too few to pay for the prompt's own pass
    np.testing.assert_allclose(ours[0], by_hand(decoder, PROMPT, TEXTS), atol=1e-5)
    np.testing.assert_allclose(ours[1], by_hand(decoder, PROMPT + "x ", TEXTS[:2]), atol=1e-5)


def test_a_text_that_fuses_with_the_prompt_goes_the_plain_way(decoder: LoadedModel) -> None:
    texts = [" one", " two", " three", " four", "ly five"]  # "warm" + "ly" is one word for this tokenizer
    parts = prefix_reuse.split(decoder.st, "keep it warm", texts)
    assert [suffix is None for suffix in parts.suffixes] == [False] * 4 + [True]
    ours = embeddings.embed_many(decoder, [(texts, "keep it warm", None)])[0]
    np.testing.assert_allclose(ours, by_hand(decoder, "keep it warm", texts), atol=1e-5)


def test_a_text_cut_at_the_maximum_length_is_cut_at_the_same_token(decoder: LoadedModel) -> None:
    texts = ["word " * n for n in (1, 60, 300, 400)]
    ours = embeddings.embed_many(decoder, [(texts, PROMPT, None)])[0]
    np.testing.assert_allclose(ours, by_hand(decoder, PROMPT, texts), atol=1e-5)


def test_a_bidirectional_encoder_never_reuses_a_prompt(tmp_path: Path) -> None:
    assert not plain(tmp_path, "bert").reuses_prefix


def test_a_decoder_that_fails_the_check_keeps_the_plain_path(
    decoder: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = prefix_reuse.encode_suffixes
    monkeypatch.setattr(prefix_reuse, "encode_suffixes", lambda *given: real(*given) + 1e-4)
    assert not prefix_reuse.reuses_prefix(decoder.st)
