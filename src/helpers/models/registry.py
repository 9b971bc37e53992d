"""mteb's registry: which of its models are loaded as stock mteb loads them, and may be swept."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from helpers.base.errors import StudyError
from helpers.base.names import unknown
from helpers.study.spec import ModelSpec

NO_DENSE = {
    "cross-encoder": "it scores pairs of texts",
    "sparse": "its vectors are sparse",
    "late-interaction": "it gives a vector per token",
    "hybrid": "it combines two searches",
}


def registered(name: str) -> Any:
    """mteb's metadata of a model; a `StudyError` with a suggestion where mteb does not know it."""
    from mteb.models.model_implementations import MODEL_REGISTRY

    if name not in MODEL_REGISTRY:
        message = unknown("model", name, sorted(MODEL_REGISTRY))
        raise StudyError(f"{message} (any other model of the Hub: weights: hub:<org>/<name>)")
    return MODEL_REGISTRY[name]


def check_registered(spec: ModelSpec) -> None:
    """Raise `StudyError` where what mteb says of a registered model shows that it cannot be swept."""
    meta = registered(spec.name)
    about = f"model {spec.name} cannot be swept:"
    plain = f"weights: hub:{spec.name} takes it as an ordinary sentence-transformers model"
    kinds = [NO_DENSE[kind] for kind in meta.model_type if kind in NO_DENSE and "dense" not in meta.model_type]
    if kinds:
        raise StudyError(f"{about} {kinds[0]}; take a model with one dense vector per text")
    if "text" not in (meta.modalities or ["text"]):
        raise StudyError(f"{about} it reads {', '.join(meta.modalities)} and no texts; take a text model")
    stock = _is_stock(meta.loader, meta.framework)
    if not stock and ("API" in meta.framework or meta.open_weights is False):
        raise StudyError(
            f"{about} it is called through an API, which takes no literal prefix; take a model with open weights"
        )
    if not stock:
        advice = f"; {plain}" if "Sentence Transformers" in meta.framework else ""
        raise StudyError(
            f"{about} mteb loads it through {_name(meta.loader)}, not as a sentence-transformers model with a "
            f"literal prefix{advice}"
        )
    if not spec.trust_remote_code and (
        (meta.loader_kwargs or {}).get("trust_remote_code") or trusts_by_itself(meta.loader)
    ):
        raise StudyError(f"model {spec.name} runs code from its repository; set trust_remote_code: true to allow it")


def stock_encoders() -> tuple[Any, ...]:
    """The wrappers of mteb whose `encode` is nothing but sentence-transformers' behind a literal prefix."""
    from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
    from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper

    return SentenceTransformerEncoderWrapper, InstructSentenceTransformerModel


def encodes_as_stock(wrapper: type) -> bool:
    """Whether a wrapper of mteb leaves `encode` as the stock wrappers have it; others do more than add a prefix."""
    return any(
        issubclass(wrapper, stock) and wrapper.encode is stock.encode  # type: ignore[attr-defined]
        for stock in stock_encoders()
    )


def trusts_by_itself(loader: Any) -> bool:
    """Whether a loader's own code runs code from the repository, whatever it is asked for."""
    return loader not in stock_encoders() and "trust_remote_code=True" in inspect.getsource(loader)


def _is_stock(loader: Callable[..., Any] | None, frameworks: list[str]) -> bool:
    """Whether a registered loader gives a stock wrapper; of a function only the metadata say what it loads."""
    if inspect.isclass(loader):
        return encodes_as_stock(loader)
    return loader is not None and "Sentence Transformers" in frameworks


def _name(loader: Any) -> str:
    return "nothing" if loader is None else str(getattr(loader, "__name__", loader))
