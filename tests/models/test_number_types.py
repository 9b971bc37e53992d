"""Another number type, attention or backend is a condition of its own, and the run says how far it moves scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from studies import write_study
from tiny_models import random_sentence_transformer

from helpers.base.errors import StudyError
from helpers.models.load import load_model
from helpers.models.number_types import ProbeTexts, compare, number_type_table, probe_scores
from helpers.study.spec import ModelSpec
from helpers.sweep.quick import given_prompts
from helpers.sweep.results import scores_table
from helpers.sweep.run import sweep_study


def spec(folder: Path, **settings: object) -> ModelSpec:
    return ModelSpec(name="tiny", weights=f"path:{folder / 'model'}", **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model")
    random_sentence_transformer(place, "qwen3")
    return place


def test_a_checkpoint_saved_in_bfloat16_is_computed_in_float32(folder: Path, tmp_path: Path) -> None:
    load_model(spec(folder, dtype="bfloat16")).st.save(str(tmp_path / "model"))
    assert {p.dtype for p in load_model(spec(tmp_path)).st.parameters()} == {torch.float32}


def test_bfloat16_keeps_the_rotary_frequencies_in_float32(folder: Path) -> None:
    st = load_model(spec(folder, dtype="bfloat16")).st
    assert {p.dtype for p in st.parameters()} == {torch.bfloat16}
    assert {b.dtype for name, b in st.named_buffers() if "inv_freq" in name} == {torch.float32}


@pytest.mark.parametrize(("settings", "most"), [({"attention": "eager"}, 1e-5), ({"dtype": "bfloat16"}, 0.05)])
def test_the_probe_measures_the_distance_to_float32(settings: dict[str, str], most: float, folder: Path) -> None:
    model, reference = load_model(spec(folder, **settings)), load_model(spec(folder))
    found = compare(model, reference)
    assert model.key != reference.key
    assert 0 < found["max_similarity_difference"] < most
    assert 1 - most < found["min_cosine"] < 1
    assert 0 < abs(found["spearman_difference"]) < most or settings == {"attention": "eager"}
    same = compare(reference, reference)
    assert (same["ndcg_difference"], same["spearman_difference"]) == (0, 0)
    assert (same["min_cosine"], same["max_similarity_difference"]) == (pytest.approx(1), 0)


def test_the_scores_of_the_probe_by_hand() -> None:
    """The first question finds its passage first, the second its own second: (1 + 1 / log2(3)) / 2."""
    texts = ProbeTexts(["q", "r"], ["x", "y"], np.array([0, 0]), (["a", "b"], ["c", "d"]), np.array([5.0, 1.0]))
    one, two = np.eye(2)
    ndcg, spearman = probe_scores(np.array([one, two, one, two, one, one, one, two]), texts)
    assert ndcg == pytest.approx((1 + 1 / np.log2(3)) / 2) and spearman == pytest.approx(1)


def test_a_run_records_the_probe_of_the_models_that_need_one(folder: Path, tmp_path: Path) -> None:
    models = [spec(folder).model_dump(), spec(folder, dtype="bfloat16", label="half").model_dump()]
    study = write_study(tmp_path, models, ["DemoSTS"], baselines=["none"])
    rows = given_prompts(["a:"], ["DemoSTS"])
    sweep_study(study, tmp_path / "run", rows, progress=None)
    table = number_type_table(study, tmp_path / "run")
    assert table["model"].tolist() == ["half"] and table["dtype"].tolist() == ["bfloat16"]
    scores = scores_table(study, tmp_path / "run", rows)
    assert scores.groupby("model")["dtype"].first().to_dict() == {"tiny": "float32", "half": "bfloat16"}
    assert not np.isclose(*scores[scores["kind"] == "prompt"]["main_score"], atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        ({"backend": "onnx"}, r"pip install 'sentence-transformers\[onnx\]'"),
        ({"backend": "openvino"}, r"pip install 'sentence-transformers\[openvino\]'"),
        ({"attention": "flash_attention_2"}, "pip install flash-attn"),
    ],
)
def test_a_missing_package_is_an_error_with_the_command(
    settings: dict[str, str], command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    found = importlib.util.find_spec
    absent = ("optimum", "onnxruntime", "openvino", "flash_attn")
    monkeypatch.setattr(importlib.util, "find_spec", lambda n, *a: None if n in absent else found(n, *a))
    with pytest.raises(StudyError, match=command):
        load_model(spec(folder, **settings))


def test_settings_of_torch_are_refused_for_another_backend(folder: Path) -> None:
    with pytest.raises(ValueError, match="settings of torch, not of backend onnx"):
        spec(folder, backend="onnx", dtype="bfloat16")
