"""One pass of the transformer serves both poolings of the prompt."""

import numpy as np
import pytest
from tiny_models import plain

from helpers.models.embed import embed_in_stock_batches, embed_many, stock_vectors
from helpers.models.load import LoadedModel
from helpers.models.pooling import encode_both
from helpers.models.shape import is_pooled_transformer
from helpers.study.spec import ModelSpec, Study

TEXTS = ["a cat sleeps", "the train to the coast leaves every hour", "bread"]


def test_both_poolings_equal_those_of_sentence_transformers(tmp_path):
    st = plain(tmp_path).st
    prefixes = ["find the passage: ", "", "query: "]
    pooled, apart = encode_both(st, prefixes, TEXTS)
    for row, (prefix, text) in enumerate(zip(prefixes, TEXTS, strict=True)):
        for include, vectors in ((True, pooled), (False, apart)):
            st.set_pooling_include_prompt(include)
            assert vectors[row] == pytest.approx(st.encode(text, prompt=prefix), abs=1e-6)
    assert np.abs(pooled - apart).max(axis=1)[[0, 2]].min() > 1e-3  # the poolings differ where there is a prompt
    assert (pooled[1] == apart[1]).all()  # and only there


def twins(tmp_path):
    one, other = plain(tmp_path / "1"), plain(tmp_path / "2")
    first = LoadedModel(one.spec, one.wrapper, tmp_path / "cache")
    apart = one.spec.model_copy(update={"include_prompt": False})
    second = LoadedModel(apart, other.wrapper, tmp_path / "cache")
    first.has_twin = second.has_twin = True
    return first, second


def test_the_twin_of_an_embedded_model_encodes_nothing(tmp_path, monkeypatch):
    first, second = twins(tmp_path)
    assert first.twin_key == second.key and second.twin_key == first.key
    request = (TEXTS, "query: ", "query")
    embed_many(first, [request])
    monkeypatch.setattr("helpers.models.embed.encode_both", None)  # a further pass would fail
    found = embed_many(second, [request])[0]
    assert found == pytest.approx(second.st.encode(TEXTS, prompt="query: "), abs=1e-6)


def test_without_a_prompt_stock_batches_serve_the_twin_too(tmp_path, monkeypatch):
    first, second = twins(tmp_path)
    plain_ones = embed_in_stock_batches(first, (TEXTS, "", None))
    prompted = embed_in_stock_batches(first, (TEXTS, "query: ", None))
    assert np.abs(embed_in_stock_batches(second, (TEXTS, "query: ", None)) - prompted).max() > 1e-3
    monkeypatch.setattr("helpers.models.embed.stock_vectors", None)  # a further pass would fail
    assert (embed_in_stock_batches(second, (TEXTS, "", None)) == plain_ones).all()
    assert plain_ones == pytest.approx(first.st.encode(TEXTS), abs=1e-6)


def test_a_maximum_length_of_one_role_keeps_a_model_off_the_shared_pass(tmp_path):
    st = plain(tmp_path).st
    assert is_pooled_transformer(st)
    st[0].query_length = 8  # the modules alone would not cut queries at it
    assert not is_pooled_transformer(st)


def test_vectors_of_stock_batches_are_checked_like_all_others(tmp_path):
    st = plain(tmp_path).st
    st.encode = lambda texts, **_: np.full((len(texts), 4), np.nan)
    with pytest.raises(FloatingPointError, match="3 embeddings are not finite"):
        stock_vectors(st, TEXTS, "", None)


def test_a_twin_differs_in_nothing_but_the_pooling_of_the_prompt():
    def model(label, **settings):
        return ModelSpec(name="dleemiller/WordLlama", label=label, weights="package:wordllama", **settings)

    study = Study.model_construct(
        models=[model("a"), model("b", include_prompt=False), model("c", include_prompt=False, max_length=8)]
    )
    assert study.twin(study.models[0]).label == "b"
    assert study.twin(study.models[2]) is None
