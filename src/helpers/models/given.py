"""Given models: a model named by a text, a spec or an object in Python, as an entry of a study.

An object lives in the process that it was given to: its entry has the weights `object:<label>`, and another process
(a notebook, a worker) can read its scores but not embed with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpers.base.errors import StudyError
from helpers.base.names import unknown
from helpers.models.function import Embedder, function_model
from helpers.models.registry import encodes_as_stock
from helpers.study.spec import ModelSpec

_OBJECTS: dict[str, Any] = {}


def given_model(label: str, model: Any) -> ModelSpec:
    """The entry of a study for one model.

    model: a name of mteb's registry or of the Hub, `package:…`, `path:…` or a folder, a `ModelSpec` or its keys as a
    dict, a SentenceTransformer, a model of `mteb.get_model`, or a function `list[str] -> (n, dimension) array` (with a
    version: `embedder(function, version)`). Raises `StudyError` for anything else.
    """
    if isinstance(model, ModelSpec):
        return model.model_copy(update={"label": label})
    if isinstance(model, Mapping):
        return _spec(label, {"name": label, **model, "label": label})
    if isinstance(model, (str, Path)):
        return _spec(label, _named(label, str(model)))
    return _of_object(label, model)


def given_object(label: str) -> Any:
    """The object behind `object:<label>`; a `StudyError` where it was given to another process."""
    if label not in _OBJECTS:
        raise StudyError(
            f"model {label} was given as an object to run_sweep in another process; its scores are kept, but to embed "
            f"with it here, save it to a folder and give the study weights: path:<folder>"
        )
    return _OBJECTS[label]


def served(url: str, model: str, name: str | None = None, **settings: Any) -> ModelSpec:
    """A model on a server, as `run_sweep` takes it: `run_sweep(models={"mine": served("http://localhost:8080/v1", "m")}, …)`.

    url: of an OpenAI-compatible server (vLLM, Ollama, llama.cpp, Text Embeddings Inference, a hosted service), or with
    protocol="tei" of Text Embeddings Inference. model: as the server calls it; name: as mteb does, whose prompts are then
    the default. settings: the other keys of `server` in a study (docs/served-models.md).
    """
    server = {"url": url, "model": model, **settings}
    return _spec(model.rsplit("/", 1)[-1], {"name": name or model, "weights": "served", "server": server})


def is_away(spec: ModelSpec) -> bool:
    """Whether a model is an object of another process, so that only what it computed there can be read."""
    kind, _, label = spec.weights.partition(":")
    return kind == "object" and label not in _OBJECTS


def _named(label: str, given: str) -> dict[str, Any]:
    from mteb.models.model_implementations import MODEL_REGISTRY

    if given.startswith(("package:", "path:", "hub:")):
        return {"name": given.split(":", 1)[1] or label, "weights": given, "label": label}
    if given in MODEL_REGISTRY:
        return {"name": given, "label": label}
    folder = Path(given).expanduser()
    if folder.is_dir():
        return {"name": f"local/{folder.name}", "weights": f"path:{folder.resolve()}", "label": label}
    if given.count("/") == 1:
        return {"name": given, "weights": f"hub:{given}", "label": label}
    raise StudyError(
        f"model {label}: {unknown('model', given, sorted(MODEL_REGISTRY))} (or a folder, hub:<org>/<name>, package:<module>)"
    )


def _of_object(label: str, model: Any) -> ModelSpec:
    from sentence_transformers import SentenceTransformer

    if not isinstance(model, SentenceTransformer) and (isinstance(model, Embedder) or _is_function(model)):
        function, version = (
            (model.function, model.version) if isinstance(model, Embedder) else (model, getattr(model, "version", None))
        )
        model = function_model(label, function, None if version is None else str(version))
    st = model if isinstance(model, SentenceTransformer) else getattr(model, "model", None)
    if not isinstance(st, SentenceTransformer):
        raise StudyError(
            f"model {label}: {type(model).__name__} cannot be swept; give a name, a folder, a SentenceTransformer, a model "
            "of mteb.get_model, or a function from texts to vectors"
        )
    if st is not model and not encodes_as_stock(type(model)):
        raise StudyError(
            f"model {label}: mteb's {type(model).__name__} does more than put a prompt before a text, which cannot be "
            "swept; give its SentenceTransformer"
        )
    meta = getattr(model, "mteb_model_meta", None)
    name = getattr(meta, "name", None) or getattr(st.model_card_data, "base_model", None) or label
    dtype = str(st.dtype).removeprefix("torch.") if st.dtype is not None else "float32"
    _OBJECTS[label] = model
    return _spec(label, {"name": str(name), "label": label, "weights": f"object:{label}", "dtype": dtype})


def _is_function(model: Any) -> bool:
    return callable(model) and not hasattr(model, "encode") and not isinstance(model, type)


def _spec(label: str, keys: dict[str, Any]) -> ModelSpec:
    from pydantic import ValidationError

    from helpers.study.errors import readable

    try:
        return ModelSpec.model_validate(keys)
    except ValidationError as error:
        lines = readable(error, ModelSpec, unknown)
        raise StudyError("\n".join(f"model {label}: {line}" for line in lines)) from error
