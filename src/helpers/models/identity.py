"""Model identity: everything that a model's vectors and scores depend on, taken from the loaded model and its folder."""

from __future__ import annotations

import hashlib
import json
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from helpers.base.hashes import digest
from helpers.models.code import own_code
from helpers.study.spec import ModelSpec

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".ot", ".onnx", ".onnx_data", ".xml")

EXPORTED = ("onnx", "openvino")  # folders of exported graphs
FOR_READERS = (".md", ".png", ".jpg", ".svg")
SAMPLED = 2**16  # elements of a tensor that are read from its beginning, its end and all over it

# What says where a model was loaded from, or is covered elsewhere in the identity.
NOT_SETTINGS = {
    "_name_or_path", "name_or_path", "base_model_name_or_path", "transformers_version", "peft_version", "dtype",
    "torch_dtype", "is_local", "local_files_only", "_commit_hash",
}  # fmt: skip

LAST_CALL = ("truncation", "padding")  # of a fast tokenizer: what its last call set
LONGEST = 2000  # characters of a module's settings in an identity; longer ones (a vocabulary) are digested


def identity_of(
    spec: ModelSpec, wrapper: Any, template: str | None, weights: str, folder: Path | None
) -> dict[str, Any]:
    """Everything of a model that changes its vectors, as plain values; part of every cell's identity.

    Effective values of the loaded object: weights, tokenizer (vocabulary, normalisation, special tokens, sides of
    padding and truncation), configuration of every transformer, class and settings of every module (pooling, layers,
    routes), adapters and which of them are active, length limit, truncated dimension, similarity, code of classes that
    come with the model. Besides, of a model in a `folder`: all its files but weights and texts for readers, and those
    too where it has code of its own, which may read any of them. Prompts are not here: each cell's identity has the
    literal prefixes.

    `not_covered` names what could not be read: a tokenizer that cannot be saved, a class without a source file, and
    what code of the model's own does at run time (it may read other files, or the network).
    """
    import sentence_transformers
    import torch
    import transformers

    st = wrapper.model
    tokenizers, unsaved = _tokenizers(st)
    code, hidden = own_code(st)
    return {
        "name": spec.name,
        "revision": spec.revision or getattr(wrapper.mteb_model_meta, "revision", None),
        "weights": weights,
        "dtype": spec.dtype,
        "max_length": finite(st.max_seq_length),
        "truncate_dim": st.truncate_dim,
        "similarity": str(st.similarity_fn_name),
        "modules": module_settings(st),
        "module_arguments": dict(st.module_kwargs or {}),
        "config": digest(_configurations(st)),
        "tokenizer": digest(tokenizers),
        "adapters": digest(adapters) if (adapters := _adapters(st)) else None,
        "code": digest(code) if code else None,
        "commit": _commit(st) if code else None,
        "files": digest(folder_files(folder, spec.backend, bool(code))) if folder is not None else None,
        "not_covered": [*unsaved, *hidden],
        "template": template,
        "backend": spec.backend,
        "attention": attention(st),
        "compile": spec.compile,
        "runtime": _runtime_versions(spec.backend),
        "device": str(st.device).split(":")[0],
        "torch": torch.__version__.split("+")[0],
        "transformers": transformers.__version__,
        "sentence_transformers": sentence_transformers.__version__,
    }


def with_other_pooling(identity: dict[str, Any]) -> dict[str, Any]:
    """The identity of the same model with the other `include_prompt`, which belongs to its first pooling layer."""
    modules = [[name, kind, dict(settings)] for name, kind, settings in identity["modules"]]
    for name, _, settings in modules:
        if "." not in name and "include_prompt" in settings:
            settings["include_prompt"] = not settings["include_prompt"]
            break
    return identity | {"modules": modules}


def weights_digest(model: Any, whole_up_to: int = 4 * 2**30) -> str:
    """sha256 over names, shapes, types and bytes of all weights.

    Of models above `whole_up_to` bytes each tensor counts with its two ends and a regular sample of the rest.
    """
    import torch

    state = {k: v for k, v in model.state_dict().items() if isinstance(v, torch.Tensor)}
    whole = sum(v.numel() * v.element_size() for v in state.values()) <= whole_up_to
    result = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name].detach()
        result.update(f"{name}|{tuple(tensor.shape)}|{tensor.dtype}".encode())
        flat = tensor.reshape(-1)
        if not whole and flat.numel() > 3 * SAMPLED:
            flat = torch.cat([flat[:SAMPLED], flat[:: flat.numel() // SAMPLED], flat[-SAMPLED:]])
        result.update(flat.contiguous().view(torch.uint8).cpu().numpy().tobytes())
    return result.hexdigest()


def module_settings(st: Any) -> list[list[Any]]:
    """Place, class and configuration of every module, those inside routers too: pooling, projections, routes."""
    found = []
    for name, module in st.named_modules():
        if name and (hasattr(module, "get_config_dict") or "." not in name):
            settings = plain(getattr(module, "get_config_dict", dict)())
            if len(json.dumps(settings)) > LONGEST:
                settings = {"digest": digest(settings)}
            found.append([name, type(module).__name__, settings])
    return found


def folder_files(folder: Path, backend: str = "torch", has_code: bool = False) -> list[list[str]]:
    """Relative name and sha256 of every file of a model's folder that is neither weights nor written for readers.

    With another backend than torch the exported graphs, which are what computes, count too. Of a model with code of its
    own (`has_code`) every file counts: it may keep tensors that are not among the model's weights.
    """
    found = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if any(part.startswith((".", "__pycache__")) for part in parts) or not path.is_file():
            continue
        exported = parts[0] in EXPORTED or path.suffix in (".onnx", ".onnx_data", ".xml")
        counts = backend != "torch" if exported else path.suffix not in (*WEIGHTS, *FOR_READERS)
        if counts or has_code:
            with path.open("rb") as file:
                found.append(["/".join(parts), hashlib.file_digest(file, "sha256").hexdigest()])
    return found


def finite(limit: float | None) -> int | None:
    """A maximum length in tokens, or None where there is none."""
    return int(limit) if limit is not None and np.isfinite(limit) else None


def attention(st: Any) -> str | None:
    """The attention implementation that the transformer really uses; None without one."""
    config = getattr(st[0], "config", None)
    return getattr(config, "_attn_implementation", None)


def plain(value: Any) -> Any:
    """A value of a configuration as plain JSON: sets sorted, keys as text, what says only where it was loaded left out."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items() if k not in NOT_SETTINGS}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    text = str(value)
    return type(value).__name__ if " at 0x" in text else text  # an address differs from run to run


def _configurations(st: Any) -> list[Any]:
    """The configuration of every transformer in the model, each once."""
    found: dict[int, Any] = {}
    for _, module in st.named_modules():
        for owner in (module, getattr(module, "model", None)):
            config: Any = getattr(owner, "config", None)
            if hasattr(config, "to_dict"):
                found.setdefault(id(config), plain(config.to_dict()))
    return list(found.values())


def _tokenizers(st: Any) -> tuple[list[Any], list[str]]:
    """Every tokenizer or processor as it would be saved, and the names of those that cannot be."""
    found, unsaved = [], []
    for name, module in st.named_modules():
        if not name:
            continue
        owned = vars(module)
        tokenizer = owned.get("tokenizer") if owned.get("processor") is None else owned["processor"]
        if tokenizer is None:
            continue
        try:
            found.append([name, type(tokenizer).__name__, _saved(tokenizer)])
        except Exception as error:
            unsaved.append(
                f"tokenizer {type(tokenizer).__name__} of module {name} ({type(error).__name__} on saving it)"
            )
    return found, unsaved


def _saved(tokenizer: Any) -> Any:
    """The files that a tokenizer saves, JSON without the limits of the last call, others as digests."""
    if hasattr(tokenizer, "to_str"):  # of the package tokenizers
        return _lasting(json.loads(tokenizer.to_str()))
    save = tokenizer.save_pretrained if hasattr(tokenizer, "save_pretrained") else tokenizer.save
    with tempfile.TemporaryDirectory() as folder:
        save(folder)
        files = [path for path in sorted(Path(folder).rglob("*")) if path.is_file()]
        return [[path.relative_to(folder).as_posix(), _content(path)] for path in files]


def _content(path: Path) -> Any:
    if path.suffix != ".json":
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return _lasting(json.loads(path.read_text(encoding="utf-8")))


def _lasting(content: Any) -> Any:
    """What a tokenizer saved, without the traces of its last call and of the order in which a set was written."""
    content = plain(content)
    if not isinstance(content, dict):
        return content
    if isinstance(content.get("stop_words"), list):
        content["stop_words"].sort()
    return {key: value for key, value in content.items() if key not in LAST_CALL}


def _adapters(st: Any) -> list[Any]:
    """Settings of the adapters of each part of the model that has some, and which of them are active."""
    found: list[Any] = []
    places: list[str] = []
    for name, module in st.named_modules():
        settings = getattr(module, "peft_config", None)
        if not isinstance(settings, dict) or any(name.startswith(f"{place}.") for place in places):
            continue
        places.append(name)
        active = getattr(module, "active_adapters", None)
        if callable(active):
            try:
                active = active()
            except ValueError:  # transformers does not say with a peft older than it knows
                active = None
        off = sorted({str(m._disable_adapters) for m in module.modules() if hasattr(m, "_disable_adapters")})
        known = {key: plain(value.to_dict()) for key, value in settings.items()}
        found.append([name, known, plain(active), off])
    return found


def _commit(st: Any) -> str | None:
    """The commit of the Hub that the transformer came from; None for other models."""
    return getattr(getattr(st[0], "config", None), "_commit_hash", None)


def _runtime_versions(backend: str) -> dict[str, str]:
    found = {}
    for name in {"onnx": ("onnxruntime",), "openvino": ("openvino",)}.get(backend, ()):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # e.g. onnxruntime-gpu, which brings the same module
            found[name] = "unknown"
    return found
