"""Low-rank adapters: added before a training, merged into the weights after it."""

from __future__ import annotations

from typing import Any

import torch
from sentence_transformers import SentenceTransformer

from helpers.base.errors import StudyError
from helpers.study.tuning import LoraSpec


def add_adapters(model: SentenceTransformer, lora: LoraSpec) -> None:
    """Freeze the model and put trainable low-rank adapters into its linear layers (peft)."""
    from peft import LoraConfig, inject_adapter_in_model

    sizes: dict[str, Any] = {"r": lora.rank, "lora_alpha": lora.alpha, "lora_dropout": lora.dropout}
    backbone = backbone_of(model)
    model.requires_grad_(False)
    try:
        inject_adapter_in_model(LoraConfig(**sizes, target_modules=lora.target_modules), backbone)
    except (AttributeError, ValueError) as error:
        raise StudyError(f"LoRA does not fit this model ({error}); change lora.target_modules") from error


def merge_adapters(model: SentenceTransformer) -> None:
    """Add the adapters to the weights they stand beside: afterwards the model is an ordinary one again."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    backbone = backbone_of(model)
    for name, module in list(backbone.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge()
            parent, _, child = name.rpartition(".")
            setattr(backbone.get_submodule(parent), child, module.get_base_layer())
    model.requires_grad_(True)


def backbone_of(model: SentenceTransformer) -> torch.nn.Module:
    """The transformers model inside; a `StudyError` where there is none."""
    backbone = getattr(model[0], "auto_model", None)
    if backbone is None:
        raise StudyError("LoRA needs a transformer; this model has none")
    return backbone
