"""Kinds of sentence-transformers models, random and tiny: everything that `encode` treats in a way of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    CNN,
    LSTM,
    BoW,
    Dense,
    Normalize,
    Pooling,
    Router,
    StaticEmbedding,
    Transformer,
    WeightedLayerPooling,
    WordEmbeddings,
    WordWeights,
)
from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer
from tiny_models import random_sentence_transformer, tokenizer_folder

VOCABULARY = [
    "a",
    "the",
    "cat",
    "sleeps",
    "bread",
    "find",
    "passage",
    "train",
    "to",
    "coast",
    "leaves",
    "every",
    "hour",
    "long",
    "way",
    "home",
    "rain",
]
Make = Callable[[Path], SentenceTransformer]


def body(folder: Path, kind: str = "bert", **settings: Any) -> Transformer:
    """The transformer of a random model; `settings` are those of `Transformer`."""
    random_sentence_transformer(folder, kind, layers=settings.pop("layers", 1))
    return Transformer(str(folder / "backbone"), **({"max_seq_length": 32} | settings))


def model(*modules: Any, **settings: Any) -> SentenceTransformer:
    return SentenceTransformer(modules=list(modules), device="cpu", **settings)


def truncated(folder: Path, *behind: Any) -> SentenceTransformer:
    """Saved with its truncation, as a model of the Hub is, and loaded again."""
    model(body(folder), Pooling(32), *behind, truncate_dim=16).save(str(folder / "saved"))
    return SentenceTransformer(str(folder / "saved"), device="cpu", truncate_dim=16)


def router(folder: Path) -> SentenceTransformer:
    """A transformer for queries and another one for documents, which reads fewer tokens; queries are the default."""
    query, document = body(folder / "q"), body(folder / "d", max_seq_length=8)
    with torch.no_grad():
        document.model.embeddings.word_embeddings.weight.mul_(-3)
    routes = {"query": [query, Pooling(32)], "document": [document, Pooling(32, "cls")]}
    return model(Router(routes, default_route="query"), Normalize())


def static_router(folder: Path) -> SentenceTransformer:
    """A table of tokens for queries and a transformer for documents."""
    routes = {"query": [static()], "document": [body(folder), Pooling(32)]}
    return model(Router(routes, default_route="document"), Normalize())


def static() -> StaticEmbedding:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(tokenizer_folder()) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return StaticEmbedding(tokenizer, embedding_dim=32)


def adapter(folder: Path) -> SentenceTransformer:
    from peft import LoraConfig, inject_adapter_in_model

    made = model(body(folder), Pooling(32), Normalize())
    config = LoraConfig(r=2, target_modules=["query", "value"], init_lora_weights=False)
    inject_adapter_in_model(config, made[0].model)
    return made


class ByPrompt(torch.nn.Module):
    """A module of a model's own: it pools with a sign that depends on whether a prompt was given."""

    def forward(self, features: dict[str, Any]) -> dict[str, Any]:
        sign = -1.0 if "prompt_length" in features else 1.0
        return features | {"sentence_embedding": sign * features["token_embeddings"][:, 0]}


class Letters(torch.nn.Module):
    """An input module of a model's own without tokenizer, weights and a known dimension: it counts letters."""

    def preprocess(self, inputs: list[str], prompt: str | None = None, **_: Any) -> dict[str, Any]:
        texts = [(prompt or "").upper() + t for t in inputs]
        counts = [[t.count(letter) for letter in "abcdeABCDE "] for t in texts]
        return {"counts": torch.tensor(counts, dtype=torch.float32)}

    def forward(self, features: dict[str, Any]) -> dict[str, Any]:
        return features | {"sentence_embedding": features["counts"]}


def words() -> WordEmbeddings:
    table = np.random.default_rng(0).standard_normal((len(VOCABULARY), 16)).astype(np.float32)
    return WordEmbeddings(WhitespaceTokenizer(VOCABULARY, stop_words=set()), table)


def layers(folder: Path) -> SentenceTransformer:
    some = body(folder, layers=3, config_kwargs={"output_hidden_states": True})
    return model(some, WeightedLayerPooling(32, num_hidden_layers=3, layer_start=1), Pooling(32))


PROMPTS = {"query": "query: ", "document": "passage: ", "other": "other: "}
KINDS: dict[str, Make] = {
    "mean": lambda f: model(body(f), Pooling(32)),
    "cls, normalised": lambda f: model(body(f), Pooling(32, "cls"), Normalize()),
    "cls and mean": lambda f: model(body(f), Pooling(32, ("cls", "mean"))),
    "truncated": lambda f: truncated(f),
    "truncated behind normalising": lambda f: truncated(f, Normalize()),
    "dense": lambda f: model(body(f), Pooling(32), Dense(32, 24), Normalize()),
    "dense, truncated": lambda f: model(body(f), Pooling(32), Dense(32, 24), truncate_dim=8),
    "router": router,
    "router with a table": static_router,
    "decoder": lambda f: model(body(f, "qwen3"), Pooling(32, "lasttoken"), Normalize()),
    "decoder, truncated": lambda f: model(body(f, "qwen3"), Pooling(32, "lasttoken"), Normalize(), truncate_dim=16),
    "decoder, mean": lambda f: model(body(f, "qwen3"), Pooling(32, "mean")),
    "static": lambda f: model(static(), Normalize()),
    "static, truncated": lambda f: model(static(), truncate_dim=16),
    "adapter": adapter,
    "own pooling": lambda f: model(body(f), ByPrompt()),
    "own input": lambda f: model(Letters()),
    "weighted layers": layers,
    "bag of words": lambda f: model(BoW(VOCABULARY)),
    "weighted words": lambda f: model(words(), WordWeights(VOCABULARY, {"cat": 3.0}), Pooling(16)),
    "lstm": lambda f: model(words(), LSTM(16, 8), Pooling(16)),
    "convolution": lambda f: model(words(), CNN(16, 4, [1, 3]), Pooling(8)),
    "own prompts": lambda f: model(body(f), Pooling(32), prompts=PROMPTS, default_prompt_name="other"),
    "prompt not pooled": lambda f: model(body(f), Pooling(32, include_prompt=False), Normalize()),
    "lengths by role": lambda f: model(body(f, query_length=8, document_length=12), Pooling(32)),
}
