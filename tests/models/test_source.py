"""What a model is and where it lies decides before anything is loaded; what cannot be swept is one line with a remedy."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from studies import MINILM, STATIC, write_study

from helpers.base.errors import StudyError
from helpers.models import descriptions as models_descriptions
from helpers.models import settings as models_settings
from helpers.models import source as model_source
from helpers.models.descriptions import kind_of
from helpers.models.load import LoadedModel, load_model
from helpers.models.source import check_model, check_present, missing_here
from helpers.runner.checks import check_names
from helpers.runner.plan import plan_text
from helpers.study.load import load_study
from helpers.study.spec import ModelSpec
from helpers.sweep.group import model_or_error
from helpers.sweep.quick import given_prompts
from helpers.sweep.run import sweep_study

NOTHING: dict[str, Any] = dict.fromkeys(models_descriptions.DESCRIPTIONS)
DENSE = "sentence_transformers.sentence_transformer.modules.Pooling"
SPLADE = "sentence_transformers.sparse_encoder.modules.SpladePooling"


def at(folder: Path, **settings: Any) -> ModelSpec:
    return ModelSpec(name="tiny", weights=f"path:{folder}", **settings)


def edit(file: Path, **values: Any) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    content = [*content, values] if isinstance(content, list) else content | values
    file.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, "SentenceTransformer"),
        ({"config_sentence_transformers.json": {"model_type": "SparseEncoder"}}, "SparseEncoder"),
        ({"config_sentence_transformers.json": {"model_type": "ColBERT"}}, "MultiVectorEncoder"),
        ({"modules.json": [{"type": DENSE}]}, "SentenceTransformer"),
        ({"modules.json": [{"type": SPLADE}]}, "SparseEncoder"),
        ({"config.json": {"architectures": ["BertForSequenceClassification"]}}, "CrossEncoder"),
        (
            {
                "config.json": {"architectures": ["BertForSequenceClassification"]},
                "modules.json": [{"type": DENSE}],
            },
            "SentenceTransformer",
        ),
        ({"config.json": {"architectures": ["BertModel"]}}, "SentenceTransformer"),
    ],
)
def test_the_configuration_says_what_a_model_is(files: dict[str, Any], kind: str) -> None:
    assert kind_of(NOTHING | files) == kind


def test_a_folder_of_another_kind_is_refused_before_and_while_loading(folder: Path) -> None:
    edit(folder / "config_sentence_transformers.json", model_type="SparseEncoder")
    for refuse in (check_model, load_model):
        with pytest.raises(StudyError, match="model tiny is a SparseEncoder by its configuration; only dense"):
            refuse(at(folder))


def test_a_model_of_the_hub_of_another_kind_is_refused_while_loading(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(folder / "config_sentence_transformers.json", model_type="CrossEncoder")
    monkeypatch.setattr("sentence_transformers.util.load_file_path", lambda name, file, **where: str(folder / file))
    with pytest.raises(StudyError, match="model b is a CrossEncoder"):
        load_model(ModelSpec(name="a/b", weights="hub:a/b"))


@pytest.mark.parametrize(("file", "text"), [("modules.json", "{}"), ("modules.json", "[1]"), ("config.json", "[")])
def test_a_damaged_description_names_its_file(file: str, text: str, folder: Path) -> None:
    (folder / file).write_text(text)
    with pytest.raises(StudyError, match=f"copy/{file}: not "):
        check_model(at(folder))


def test_a_model_without_texts_is_refused(folder: Path) -> None:
    edit(folder / "sentence_bert_config.json", modality_config={"image": {}})
    with pytest.raises(StudyError, match="model tiny reads image and no texts"):
        check_model(at(folder))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("openai/text-embedding-3-small", "called through an API.*open weights"),
        ("mongodb/voyage-3", "called through an API"),
        ("Cohere/Cohere-embed-english-v3.0", "called through an API"),
        ("facebook/dinov2-base", "reads image and no texts"),
        ("openai/whisper-base", "reads audio and no texts"),
        ("cross-encoder/ms-marco-MiniLM-L2-v2", "scores pairs"),
        ("naver/splade-code-06B", "sparse"),
        ("lightonai/GTE-ModernColBERT-v1", "a vector per token"),
        ("openai/clip-vit-base-patch16", "through CLIPModel"),
        # its wrapper leaves the instruction away on some tasks: its default is not what `encode` gives
        ("HIT-TMG/KaLM-embedding-multilingual-mini-instruct-v1", "through KALMWrapper.*weights: hub:HIT"),
        ("Alibaba-NLP/gte-Qwen2-7B-instruct", "runs code from its repository; set trust_remote_code: true"),
    ],
)
def test_registered_models_that_cannot_be_swept_are_refused_by_name(name: str, reason: str) -> None:
    with pytest.raises(StudyError, match=reason):
        check_model(ModelSpec(name=name))


@pytest.mark.parametrize("study", ["demo", "paper-sensitivity", "paper-geometry", "small"])
def test_the_models_of_the_studies_can_be_swept(study: str) -> None:
    for spec in load_study(study).models:
        check_model(spec)


class Recorder:
    """A registered model's stock wrapper that only notes what it was called with."""

    def __new__(cls, *given: Any, **named: Any) -> Any:
        raise RuntimeError(f"called with trust_remote_code={named.get('trust_remote_code')}")


@pytest.mark.parametrize("allowed", [True, False])
def test_code_of_a_registered_model_runs_only_where_the_study_allows_it(
    allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mteb

    name = "Alibaba-NLP/gte-Qwen2-7B-instruct"
    meta = mteb.get_model_meta(name).model_copy(update={"loader": Recorder})
    monkeypatch.setattr("mteb.get_model_meta", lambda *a, **k: meta)
    expected = "called with trust_remote_code=True" if allowed else "runs code from its repository"
    with pytest.raises(StudyError, match=expected):
        load_model(ModelSpec(name=name, trust_remote_code=allowed))


def test_code_in_a_folder_runs_only_where_the_study_allows_it(folder: Path) -> None:
    edit(folder / "modules.json", idx=3, name="3", path="", type="mine.Own")
    with pytest.raises(StudyError, match=r"code of its own \(mine.Own\); set trust_remote_code: true"):
        check_model(at(folder))
    check_model(at(folder, trust_remote_code=True))


def test_an_architecture_that_only_its_own_code_knows_needs_permission(folder: Path) -> None:
    edit(folder / "config.json", auto_map={"AutoModel": "mine.Model"})
    check_model(at(folder))  # a BERT, which transformers knows
    edit(folder / "config.json", model_type="mine")
    with pytest.raises(StudyError, match=r"code of its own \(auto_map of config.json\)"):
        check_model(at(folder))


def test_absent_weights_are_named(folder: Path) -> None:
    with pytest.raises(StudyError, match=r"there is no folder '.*nowhere'"):
        check_present(at(folder / "nowhere"))
    (folder / "model.safetensors").unlink()
    with pytest.raises(StudyError, match=r"there are no weights in '.*copy'"):
        check_present(at(folder))
    (folder / "modules.json").unlink()
    with pytest.raises(StudyError, match=r"no modules.json"):
        check_present(at(folder))


def test_the_plan_finds_absent_weights_and_device(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = write_study(tmp_path, [{"name": "tiny", "weights": "path:nowhere"}], ["DemoSTS"])
    with pytest.raises(StudyError, match="there is no folder 'nowhere'"):
        plan_text(absent)
    bad = write_study(tmp_path, [STATIC], ["DemoSTS"], sweep={"device": "gpu"})
    with pytest.raises(StudyError, match=r"sweep\.device is 'gpu', which names no device"):
        check_names(bad)
    elsewhere = write_study(tmp_path, [STATIC], ["DemoSTS"], sweep={"device": "cuda:99"})
    assert missing_here(elsewhere) == ["there is no device cuda:99 here"]
    assert "cannot run here: there is no device cuda:99 here" in plan_text(elsewhere)


def test_the_plan_names_what_is_not_in_the_cache_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path / "cache"))
    row = {"name": "a/b", "weights": "hub:a/b"}
    offline = write_study(tmp_path, [row], ["DemoSTS"], sweep={"offline": True})
    assert "model b: not in the Hugging Face cache" in missing_here(offline)[0]
    place = tmp_path / "cache" / "models--a--b"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("c0")
    (place / "snapshots" / "c0").mkdir(parents=True)
    (place / "snapshots" / "c0" / "config.json").write_text("{}")
    assert missing_here(offline) == []


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_no_generator_takes_is_refused(seed: int, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="seed"):
        write_study(tmp_path, [STATIC], ["DemoSTS"], seed=seed)


def test_a_template_that_no_model_has_is_found_before_the_run(tmp_path: Path) -> None:
    prompts = {"source": "file", "file": "data/demo/prompts.yml", "application": "template"}
    study = write_study(tmp_path, [STATIC], ["DemoSTS"], prompts=prompts)
    with pytest.raises(StudyError, match="model static has no instruction template"):
        check_names(study)
    check_model(ModelSpec(**STATIC, template="Instruct: {instruction}"), "template")
    check_model(ModelSpec(name="Qwen/Qwen3-Embedding-0.6B"), "template")
    with pytest.raises(StudyError, match="no instruction template"):
        check_model(ModelSpec(name="BAAI/bge-small-en-v1.5"), "template")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"max_length": 64}, "no limit of tokens, so 'max_length' says nothing"),
        ({"attention": "eager"}, "no transformer"),
        ({"include_prompt": False}, "needs a pooling layer"),
    ],
)
def test_settings_that_a_static_table_has_no_use_for_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(StudyError, match=reason):
        check_model(ModelSpec(**STATIC, **settings))


def test_a_dimension_beyond_the_model_is_refused(original: Path) -> None:
    with pytest.raises(StudyError, match="truncate_dim is 64, but its vectors have 32 dimensions"):
        load_model(at(original, truncate_dim=64))


def test_a_length_beyond_the_learned_positions_is_refused(original: Path) -> None:
    assert load_model(at(original, max_length=512)).st.max_seq_length == 512
    with pytest.raises(StudyError, match="max_length is 513, but it has positions for 512 tokens"):
        load_model(at(original, max_length=513))


def test_the_folder_of_a_model_may_lie_below_the_home_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    assert model_source.folder_of(ModelSpec(name="tiny", weights="path:~/copy")) == folder
    assert load_model(ModelSpec(name="tiny", weights="path:~/copy")).dimension == 32


def test_whatever_one_model_does_the_others_go_on(
    tmp_path: Path, original: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from helpers.models import load as models

    caplog.set_level(logging.CRITICAL)
    apply = models_settings.apply_spec

    def fails(st: Any, spec: ModelSpec) -> None:
        if spec.label == "broken":
            raise ZeroDivisionError("a model\nof surprises")
        apply(st, spec)

    monkeypatch.setattr(models, "apply_spec", fails)
    rows = [
        STATIC | {"label": "limited", "max_length": 64},
        {"name": "tiny", "label": "broken", "weights": f"path:{original}"},
        STATIC,
    ]
    study = write_study(tmp_path, rows, ["DemoSTS"], baselines=[])
    reports = sweep_study(study, tmp_path / "run", given_prompts(["Q:"], ["DemoSTS"]), None)
    assert {r.model: (r.done, *r.reasons) for r in reports} == {
        "limited": (0, "model limited: it has no limit of tokens, so 'max_length' says nothing"),
        "broken": (0, "model broken: ZeroDivisionError: a model"),
        "static": (1,),
    }


def test_a_failed_comparison_of_number_types_costs_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any) -> None:
        raise FloatingPointError("3 embeddings are not finite")

    monkeypatch.setattr("helpers.models.number_types.record", fails)
    study = write_study(tmp_path, [STATIC], ["DemoSTS"])
    assert isinstance(model_or_error(study.models[0], tmp_path, study), LoadedModel)


def test_the_packaged_models_are_here() -> None:
    for row in (STATIC, MINILM):
        check_present(ModelSpec(**row))
    assert model_source.folder_of(ModelSpec(**STATIC)) is None
