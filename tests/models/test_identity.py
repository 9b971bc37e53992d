"""A model's identity covers what its vectors depend on, wherever it is set, and nothing about where it was loaded from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from studies import write_study

from helpers.models.identity import folder_files, module_settings, weights_digest
from helpers.models.load import LoadedModel, load_model
from helpers.study.spec import ModelSpec
from helpers.sweep.quick import given_prompts
from helpers.sweep.run import sweep_study

CUSTOM = """
import torch
from sentence_transformers.base.modules import Module


class Scale(Module):
    config_keys = []

    def __init__(self):
        super().__init__()
        self.weight = 2.0

    def forward(self, features, **kwargs):
        features["sentence_embedding"] = features["sentence_embedding"] * self.weight
        return features

    @classmethod
    def load(cls, model_name_or_path, **kwargs):
        return cls()

    def save(self, output_path, *args, **kwargs):
        pass
"""


def loaded(folder: Path, **settings: Any) -> LoadedModel:
    return load_model(ModelSpec(name="tiny", weights=f"path:{folder}", **settings))


def edit(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def with_case(folder: Path) -> None:
    edit(folder / "tokenizer.json", lambda c: c["normalizer"].update(lowercase=False))
    edit(folder / "tokenizer_config.json", lambda c: c.update(do_lower_case=False))


CHANGES: dict[str, Callable[[Path], None]] = {
    "case of the tokenizer": with_case,
    "side of truncation": lambda f: edit(f / "tokenizer_config.json", lambda c: c.update(truncation_side="left")),
    "truncated dimension": lambda f: edit(f / "config_sentence_transformers.json", lambda c: c.update(truncate_dim=8)),
    "similarity": lambda f: edit(f / "config_sentence_transformers.json", lambda c: c.update(similarity_fn_name="dot")),
    "prompts": lambda f: edit(f / "config_sentence_transformers.json", lambda c: c.update(prompts={"query": "q: "})),
    "epsilon of the norms": lambda f: edit(f / "config.json", lambda c: c.update(layer_norm_eps=0.1)),
    "pooling": lambda f: edit(f / "1_Pooling" / "config.json", lambda c: c.update(pooling_mode="max")),
    "a file that no class of the libraries reads": lambda f: (f / "own.json").write_text("{}") and None,
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_in_a_folder_changes_the_identity(change: str, original: Path, folder: Path) -> None:
    before = loaded(original).key
    CHANGES[change](folder)
    assert loaded(folder).key != before


@pytest.mark.parametrize("change", ["case of the tokenizer", "side of truncation", "truncated dimension"])
def test_effective_values_count_without_the_files(change: str, original: Path, folder: Path) -> None:
    """A model of the Hub has no folder of its own whose files could be compared."""
    CHANGES[change](folder)
    one, two = ({**loaded(f).identity, "files": None} for f in (original, folder))
    assert one != two


def test_place_readme_and_use_do_not_change_the_identity(original: Path, folder: Path) -> None:
    (folder / "README.md").write_text("other words")
    model, other = loaded(original), loaded(folder)
    other.st.encode(["the tokenizer keeps the limits of its last call", "short"])
    assert model.identity == other.identity
    assert str(original) not in json.dumps(model.identity)


def test_a_tokenizer_that_becomes_case_sensitive_is_swept_again(folder: Path, tmp_path: Path) -> None:
    study = write_study(tmp_path, [{"name": "tiny", "weights": f"path:{folder}"}], ["DemoSTS"], baselines=[])
    prompts = given_prompts(["SIMILARITY:"], ["DemoSTS"])
    (first,) = sweep_study(study, tmp_path / "run", prompts, None)
    (again,) = sweep_study(study, tmp_path / "run", prompts, None)
    with_case(folder)
    (changed,) = sweep_study(study, tmp_path / "run", prompts, None)
    assert (first.done, again.reused, changed.done, changed.changed) == (1, 1, 1, ["model"])


def test_two_folders_under_one_name_share_no_vectors(original: Path, folder: Path, tmp_path: Path) -> None:
    CHANGES["truncated dimension"](folder)
    rows = [{"name": "tiny", "label": str(n), "weights": f"path:{place}"} for n, place in enumerate((original, folder))]
    study = write_study(tmp_path, rows, ["DemoSTS"], baselines=["none"])
    none = given_prompts([], ["DemoSTS"])
    scores = []
    for alone in (study, study.model_copy(update={"models": study.models[1:]})):
        place = tmp_path / f"run{len(scores)}"
        assert [r.failed for r in sweep_study(alone, place, none, None)] == [0] * len(alone.models)
        (cell,) = (place / "cells" / "1" / "DemoSTS").glob("*-*.json")
        scores.append(json.loads(cell.read_text())["main_score"])
    assert scores[0] == scores[1]


def test_truncate_dim_is_a_key_of_a_model_and_of_its_identity(original: Path) -> None:
    short = loaded(original, truncate_dim=8)
    assert short.embed(["a text"]).shape == (1, 8) and short.dimension == 8
    assert short.key != loaded(original).key


def test_the_pooling_inside_a_router_counts(original: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Router

    st = SentenceTransformer(str(original), device="cpu")
    router = Router.for_query_document([st[0], st[1]], [st[0], st[1]])
    routed = SentenceTransformer(modules=[router], device="cpu")
    before = module_settings(routed)
    st[1].include_prompt = False
    assert module_settings(routed) != before
    assert [kind for _, kind, _ in before] == ["Router", "Transformer", "Pooling"]


def test_the_active_adapter_and_its_scale_count(original: Path) -> None:
    from peft import LoraConfig, get_peft_model

    found = []
    for alpha, active in ((8, "a"), (16, "a"), (16, "b")):
        model = loaded(original)
        settings = LoraConfig(r=2, lora_alpha=alpha, target_modules=["query"])
        adapted = get_peft_model(model.st[0].model, settings, adapter_name="a")
        adapted.add_adapter("b", settings)
        adapted.set_adapter(active)
        model.st[0].model = adapted
        found.append(model.identity["adapters"])
    assert len({*found, loaded(original).identity["adapters"]}) == 4


def test_code_that_comes_with_a_model_counts_and_what_it_does_besides_is_named(folder: Path) -> None:
    (folder / "scaling.py").write_text(CUSTOM)
    (folder / "2_Scale").mkdir()
    edit(
        folder / "modules.json",
        lambda c: c.append({"idx": 3, "name": "3", "path": "2_Scale", "type": "scaling.Scale"}),
    )
    before = loaded(folder, trust_remote_code=True)
    assert before.identity["code"] and "scaling.Scale" in before.identity["not_covered"][0]
    (folder / "scaling.py").write_text(CUSTOM.replace("2.0", "3.0"))
    after = loaded(folder, trust_remote_code=True)
    assert before.identity["code"] != after.identity["code"]
    (folder / "2_Scale" / "scale.pt").write_bytes(b"tensors that are no weights of the model's")
    assert loaded(folder, trust_remote_code=True).identity["files"] != after.identity["files"]


def test_exported_graphs_count_where_they_compute(folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"graph")
    assert "onnx/model.onnx" not in dict(folder_files(folder))
    assert "onnx/model.onnx" in dict(folder_files(folder, "onnx"))


def test_the_inside_of_a_very_large_tensor_counts() -> None:
    import torch

    layer = torch.nn.Linear(1000, 1000, bias=False)
    before = weights_digest(layer, whole_up_to=0)
    with torch.no_grad():
        layer.weight[400:600] += 1
    assert weights_digest(layer, whole_up_to=0) != before
