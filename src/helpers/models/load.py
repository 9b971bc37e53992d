"""Models: load what a study names, give it an identity, and embed texts with a literal prefix."""

from __future__ import annotations

import importlib.util
import logging
import warnings
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from helpers.base.errors import StudyError
from helpers.base.files import project_path
from helpers.base.hashes import digest
from helpers.base.network import reason_behind
from helpers.models.cache import EmbeddingCache
from helpers.models.descriptions import fetch_descriptions
from helpers.models.embed import embed_many
from helpers.models.function import recognise
from helpers.models.given import given_object
from helpers.models.identity import identity_of, weights_digest, with_other_pooling
from helpers.models.pooling import gives_both_poolings
from helpers.models.prefix import reuses_prefix
from helpers.models.registry import encodes_as_stock, trusts_by_itself
from helpers.models.role import Role
from helpers.models.served import served_model
from helpers.models.settings import apply_spec
from helpers.models.source import check_descriptions, check_model, check_present, device_is_here, folder_of
from helpers.prompts.llm.quality import Embed
from helpers.study.spec import ModelSpec, Study


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
        self._batches_matter: dict[Role, bool] = {}
        apply_spec(self.st, spec)

    @cached_property
    def dimension(self) -> int:
        """Numbers per vector; of a model whose modules do not say it, as many as a vector has."""
        known = self.st.get_embedding_dimension()
        return int(known or self.st.encode(["a"], prompt="", show_progress_bar=False).shape[1])

    @cached_property
    def weights_digest(self) -> str:
        if self.spec.backend != "torch":  # an exported graph has no state to read; it comes from these weights
            return load_model(self.spec.reference()).weights_digest
        return weights_digest(self.st)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything of the model that changes its vectors (`model_identity`); part of every cell's identity."""
        return identity_of(self.spec, self.wrapper, self.template, self.weights_digest, folder_of(self.spec))

    @cached_property
    def key(self) -> str:
        """16 hexadecimal digits of `identity`."""
        return digest(self.identity)

    @cached_property
    def reuses_prefix(self) -> bool:
        """Whether a prompt's keys and values are computed once for all texts behind it (`prefix_reuse`)."""
        return reuses_prefix(self.st)

    @cached_property
    def gives_both_poolings(self) -> bool:
        """Whether one pass gives the vectors with and without the prompt's tokens (`prompt_pooling`)."""
        return gives_both_poolings(self.st)

    def needs_stock_batches(self, role: Role) -> bool:
        """Whether texts of this role must be encoded in sentence-transformers' own batches; tried once."""
        from helpers.models.embed import batches_matter

        if role not in self._batches_matter:
            self._batches_matter[role] = batches_matter(self.st, role)
        return self._batches_matter[role]

    @cached_property
    def twin_key(self) -> str:
        """The key of the same model with the other `include_prompt`."""
        return digest(with_other_pooling(self.identity))

    def embed(self, texts: Sequence[str], prefix: str = "", role: Role = None, normalize: bool = True) -> np.ndarray:
        """Embed `prefix + text` for every text: an (n, dimension) float32 array, on the unit sphere if `normalize`.

        Each distinct string is encoded once; with a cache folder an identical request is read from the disk.
        """
        vectors = embed_many(self, [(texts, prefix, role)])[0]
        if not normalize:
            return vectors
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(norms == 0, 1, norms), dtype=np.float32)


def load_model(spec: ModelSpec, run_folder: Path | None = None, device: str | None = None) -> LoadedModel:
    """Load a model of a study. Vectors are cached under `run_folder/cache` where that is given.

    Raises `StudyError` with the remedy where the model is unknown, of another kind, not here, runs code that the study
    does not allow, or cannot do what the study sets; the Hub out of reach is one of the reasons.
    """
    cache_folder = run_folder / "cache" if run_folder is not None else None
    wrapper = _load_wrapper(spec, device, cache_folder)
    keeps = getattr(wrapper.model[0], "nonce", None) is None
    return LoadedModel(spec, wrapper, cache_folder if keeps else None)


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
        return {"backend": spec.backend, "model_kwargs": {"ov_config": {"INFERENCE_PRECISION_HINT": "f32"}}}
    return {"backend": spec.backend}


def _load_wrapper(spec: ModelSpec, device: str | None, cache_folder: Path | None) -> Any:
    from sentence_transformers import SentenceTransformer

    check_model(spec)
    check_present(spec)
    if not device_is_here(device):
        raise StudyError(f"model {spec.label}: this machine has no device '{device}'")
    kind, _, place = spec.weights.partition(":")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # e.g. mteb's advice to set query and document prompts
        logging.getLogger("mteb").setLevel(logging.ERROR)
        try:
            if kind == "object":
                given = given_object(place)
                if isinstance(given, SentenceTransformer):
                    recognise(given, cache_folder)
                    return _wrap(spec, given)
                return given
            if kind == "served":
                return _wrap(spec, served_model(spec, cache_folder))
            if kind == "package":
                return _from_package(spec, place, device)
            if kind == "path":
                return _from_folder(spec, project_path(place), device)
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

    meta = mteb.get_model_meta(spec.name, revision=spec.revision)
    given = meta.loader_kwargs or {}
    own = given.get("model_kwargs") or {}
    arguments = loading_arguments(spec)
    arguments["model_kwargs"] = {
        **{k: v for k, v in own.items() if k not in ("dtype", "torch_dtype")},
        **arguments.get("model_kwargs", {}),
    }
    if ("trust_remote_code" in given or spec.trust_remote_code) and not trusts_by_itself(meta.loader):
        arguments["trust_remote_code"] = spec.trust_remote_code
    wrapper = meta.load_model(device=device, **arguments)
    if not encodes_as_stock(type(wrapper)):
        raise StudyError(
            f"model {spec.name}: mteb loads it through {type(wrapper).__name__}, which takes no literal prefix; "
            f"only sentence-transformers models can be swept"
        )
    return wrapper


def _from_package(spec: ModelSpec, module: str, device: str | None) -> Any:
    found = importlib.util.find_spec(module)  # not imported: wordllama configures the root logger when it is
    assert found is not None and found.origin is not None  # check_present
    package = Path(found.origin).parent
    if module == "wordllama":
        return _wrap(spec, static_table(package, device))
    return _from_folder(spec, package / "model", device)


def _from_folder(spec: ModelSpec, folder: Path, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(folder),
        device=device,
        local_files_only=True,
        trust_remote_code=spec.trust_remote_code,
        **loading_arguments(spec),
    )
    return _wrap(spec, model)


def _from_hub(spec: ModelSpec, name: str, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer

    check_descriptions(spec, fetch_descriptions(name, spec.revision))
    model = SentenceTransformer(
        name, revision=spec.revision, device=device, trust_remote_code=spec.trust_remote_code, **loading_arguments(spec)
    )
    return _wrap(spec, model)


def _wrap(spec: ModelSpec, model: Any) -> Any:
    """Stock mteb's wrapper around a loaded model, under the registered name where mteb knows it."""
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


def _wrapper_template(wrapper: Any) -> str | None:
    """The query side of the wrapper's instruction template, which may be a function (e.g. Qwen3-Embedding's)."""
    from mteb.types import PromptType

    template = getattr(wrapper, "instruction_template", None)
    if callable(template):
        template = template("{instruction}", PromptType.query)
    return template if isinstance(template, str) and "{instruction}" in template else None


def text_embedder(study: Study, run_folder: Path, label: str = "") -> Embed | None:
    """Texts -> unit vectors by the model of this label; without one, by the first whose weights need no network.

    The model is loaded when the first text comes: a study without paraphrases does not wait for it.
    """
    local = [m for m in study.models if m.weights.startswith(("package:", "path:"))]
    spec = study.model_spec(label) if label else next(iter(local), None)
    if spec is None:
        return None

    @cache
    def model() -> LoadedModel:
        return load_model(spec, run_folder)

    return lambda texts: model().embed(texts)
