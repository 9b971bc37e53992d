"""A study: which models, tasks and prompts are compared, as one validated object read from a YAML file."""

from __future__ import annotations

import difflib
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from helpers.errors import StudyError as StudyError
from helpers.finetuning_spec import FinetuningSpec
from helpers.geometry_spec import GeometrySpec
from helpers.prompts_spec import PromptsSpec
from helpers.published_spec import ResultsSource
from helpers.safe_paths import PlainName, same_for_a_file_system
from helpers.study_errors import kind_of, misread, readable, shown
from helpers.yaml_files import read_yaml

Step = Literal["01", "02", "03", "04", "05", "06"]
STEPS: tuple[Step, ...] = ("01", "02", "03", "04", "05", "06")
TASK_DATA_VARIABLE = "EMBEDDING_TASK_DATA"


class Strict(BaseModel):
    """Base of every part of a study: unknown keys are errors, values are checked again on assignment."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True)


class ModelSpec(Strict):
    """One row of the leaderboard: an embedding model and everything that changes its vectors.

    `weights` says where they come from: `hub` (the name is looked up in mteb's registry), `hub:<org>/<name>` (any
    sentence-transformers model of the Hub), `package:<module>` (weights inside an installed Python package) or
    `path:<folder>` (an ordinary sentence-transformers folder, relative to the project).
    """

    name: str = Field(min_length=1, max_length=200)
    label: str = Field("", max_length=200)
    revision: str | None = None
    weights: str = "hub"
    include_prompt: bool = Field(True, description="whether the prompt's tokens enter the pooling")
    application: Literal["raw", "template"] | None = Field(None, description="overrides prompts.application")
    template: str | None = Field(None, description="overrides the model's own instruction template")
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    attention: Literal["sdpa", "eager", "flash_attention_2"] | None = Field(
        None, description="attention implementation; null: the model's own, which is sdpa where it has one"
    )
    compile: bool = Field(False, description="compile the transformer with torch.compile")
    backend: Literal["torch", "onnx", "openvino"] = Field("torch", description="of sentence-transformers")
    max_length: int | None = Field(None, gt=0, description="tokens; null keeps the model's own limit")
    truncate_dim: int | None = Field(None, gt=0, description="keep the first dimensions of each vector only")
    trust_remote_code: bool = Field(False, description="run code that comes with the weights")
    parameters: int | None = Field(None, description="number of parameters, for the cost estimate only")

    @model_validator(mode="after")
    def _complete(self) -> ModelSpec:
        if not self.label:
            object.__setattr__(self, "label", self.name.rsplit("/", 1)[-1])
        if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in self.label):
            raise ValueError(
                f"the label {self.label[:60]!a} holds a line break or a control character; remove it"
            )
        kind = self.weights.split(":", 1)[0]
        if kind not in ("hub", "package", "path"):
            raise ValueError(
                f"weights '{self.weights}' must be hub, hub:<org>/<name>, package:<module> or path:<folder>"
            )
        if self.backend != "torch" and (self.dtype != "float32" or self.attention or self.compile):
            raise ValueError(
                f"dtype, attention and compile are settings of torch, not of backend {self.backend}"
            )
        if self.template is not None and "{instruction}" not in self.template:
            raise ValueError("template must contain '{instruction}'")
        return self

    @property
    def moves_scores(self) -> bool:
        """Whether it computes otherwise than in float32 with torch and the model's own attention."""
        return self.dtype != "float32" or bool(self.attention) or self.compile or self.backend != "torch"

    def reference(self) -> ModelSpec:
        """The same weights, computed in float32 with torch and the model's own attention."""
        plain = {"dtype": "float32", "attention": None, "compile": False, "backend": "torch"}
        return self.model_copy(update=plain)


class TaskSpec(Strict):
    """A task of the installed mteb or of this suite's demo, with the subsets and the split that are scored."""

    name: PlainName
    subsets: list[PlainName] | None = Field(default=None, min_length=1)
    split: PlainName | None = None


class RaySpec(Strict):
    """How groups become Ray tasks where `sweep.executor` is `ray`."""

    address: str | None = Field(
        None, description="of a running cluster, or auto; null: RAY_ADDRESS, else a cluster is started here"
    )
    num_gpus: float | None = Field(
        None, ge=0, description="GPUs per task; null: 1 where the cluster has any; 0.5: two groups share one"
    )
    num_cpus: float = Field(1.0, gt=0, description="CPU cores per task, which are its threads too")
    max_retries: int = Field(3, ge=0, description="further attempts of a group whose worker or node died")
    results: Literal["shared", "fetch"] = Field(
        "shared", description="shared: every node sees the run folder; fetch: result files are sent back"
    )
    score_on_cpu: bool = Field(
        False, description="a task with a GPU only embeds, a second one without GPU scores"
    )

    @model_validator(mode="after")
    def _vectors_are_shared(self) -> RaySpec:
        if self.score_on_cpu and self.results == "fetch":
            raise ValueError("score_on_cpu reads vectors from the run folder: it needs results: shared")
        return self


class SweepSpec(Strict):
    """How the sweep computes; nothing here may change a score without becoming part of a cell's identity."""

    exact: bool = Field(False, description="keep stock mteb's batches so that scores agree to 1e-9 (slower)")
    bitext_side: Literal["query", "both"] = Field(
        "query",
        description="bitext mining: the prompt meets the side that is searched with, or both as in stock mteb",
    )
    batch_tokens: int | None = Field(
        None, gt=0, description="padded tokens per batch; null: chosen for the device"
    )
    stale: Literal["redo", "refuse"] = Field(
        "redo", description="what to do with results made from other inputs"
    )
    retries: int = Field(1, ge=0, description="further attempts of a cell that failed for a passing reason")
    offline: bool = False
    device: str | None = None
    workers: int = Field(1, ge=1, description="processes; 1 computes in this one")
    executor: Literal["auto", "process", "ray"] = Field(
        "auto", description="auto: worker processes where workers > 1, else this process"
    )
    ray: RaySpec = Field(default_factory=lambda: RaySpec.model_validate({}))


def repeated(names: Iterable[str]) -> str | None:
    """The first name that occurs more than once, None where all differ."""
    counts = Counter(names)
    return next((name for name, count in counts.items() if count > 1), None)


class Study(Strict):
    """One study. Read it with `load_study`; every notebook takes its name as the parameter `study`."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)
    title: str
    description: str = ""
    steps: list[Step] = Field(["01", "02", "03", "04", "05", "06"], min_length=1)
    models: list[ModelSpec] = []
    tasks: list[TaskSpec] = []
    prompts: PromptsSpec | None = None
    baselines: list[Literal["none", "default"]] = ["none", "default"]
    sweep: SweepSpec = Field(default_factory=lambda: SweepSpec.model_validate({}))
    geometry: GeometrySpec | None = None
    finetuning: FinetuningSpec | None = None
    results_from: ResultsSource | None = None
    data_root: str | None = Field(
        None, description="folder of local task data; see README, 'Local task data'"
    )
    seed: int = Field(42, ge=0, lt=2**32, description="of every random choice; what numpy's generators take")

    @field_validator("models", "tasks")
    @classmethod
    def _names_are_unique(cls, entries: list[Any], info: ValidationInfo) -> list[Any]:
        twice = repeated(entry.label if info.field_name == "models" else entry.name for entry in entries)
        if twice and info.field_name == "models":
            raise ValueError(f"the label '{twice}' names two models; give each its own 'label'")
        if twice:
            raise ValueError(f"the task '{twice}' is listed twice; list it once, with all its subsets")
        if info.field_name == "models" and (same := same_for_a_file_system([m.label for m in entries])):
            raise ValueError(
                f"the labels '{same[0]}' and '{same[1]}' differ in too little; some systems see one"
            )
        return entries

    @field_validator("steps", "baselines")
    @classmethod
    def _entries_are_distinct(cls, entries: list[str]) -> list[str]:
        if twice := repeated(entries):
            raise ValueError(f"'{twice}' is listed twice; list it once")
        return entries

    @model_validator(mode="after")
    def _has_what_its_steps_need(self) -> Study:
        missing = [
            key
            for key, step in (("models", "02"), ("tasks", "02"), ("geometry", "05"), ("finetuning", "06"))
            if step in self.steps and not getattr(self, key)
        ]
        if "02" in self.steps and self.prompts is None:
            missing.append("prompts")
        if missing:
            raise ValueError(f"step(s) {', '.join(self.steps)} need the key '{missing[0]}'")
        return self

    def model_spec(self, label: str) -> ModelSpec:
        """The model of this label; a `StudyError` with a suggestion where there is none."""
        for spec in self.models:
            if spec.label == label:
                return spec
        raise StudyError(unknown("model label", label, [m.label for m in self.models]))

    def twin(self, spec: ModelSpec) -> ModelSpec | None:
        """The model of the study that differs from `spec` only in whether the prompt is pooled; None where none does."""
        free = {"include_prompt": True, "label": ""}
        for other in self.models:
            same = other.model_copy(update=free) == spec.model_copy(update=free)
            if same and other.include_prompt != spec.include_prompt:
                return other
        return None

    def task_data_root(self) -> Path | None:
        """The folder of local task data: `data_root` of the study, else the environment variable, else None."""
        given = self.data_root or os.environ.get(TASK_DATA_VARIABLE)
        if not given:
            return None
        folder = project_path(given)
        if not os.path.isdir(folder):
            named = "data_root" if self.data_root else TASK_DATA_VARIABLE
            raise StudyError(
                f"{named} names {shown(given)} as the folder of task data, which does not exist (seen from the project's folder); "
                f"correct the path, or leave {named} out to read from the Hub"
            )
        return folder.resolve()


def project_root() -> Path:
    """The checkout that this package lies in, from whatever folder a notebook runs.

    `HELPERS_ROOT` names another one (for tests and for an installed, not editable package).
    """
    given = os.environ.get("HELPERS_ROOT")
    if not given:
        return Path(__file__).resolve().parents[2]
    if not (Path(given) / "data" / "studies").is_dir():
        raise StudyError(
            f"HELPERS_ROOT is '{given}', where there is no folder data/studies; name a checkout of the suite"
        )
    return Path(given).resolve()


def project_path(given: str | Path, root: Path | None = None) -> Path:
    """A path as a study names it: `~` is the home folder, a relative one begins in `root` (else the project)."""
    try:
        return (root or project_root()) / Path(given).expanduser()
    except RuntimeError as error:  # ~somebody, who has no home here
        raise StudyError(f"the path '{given}' names a home folder that does not exist") from error


def study_names(root: Path | None = None) -> list[str]:
    """Names of the studies in `data/studies`, sorted."""
    return sorted(p.stem for p in ((root or project_root()) / "data" / "studies").glob("*.yml"))


def load_study(study: str | Path | Study, **overrides: Any) -> Study:
    """Read a study by name (`data/studies/<name>.yml`) or by path; overrides of None leave the file's value.

    Raises `StudyError` for an unknown name, unreadable YAML, unknown keys, or values of the wrong type.
    """
    if isinstance(study, Study):
        raw, where = study.model_dump(), f"study {study.name}"
    else:
        path = study_path(study)
        where = _short(path)
        raw = read_yaml(path, where)
        if not isinstance(raw, dict):
            raise StudyError(f"{where}: a study file holds a mapping of keys, not {kind_of(raw)}")
    for key, value in overrides.items():
        if value is not None:
            _set_dotted(raw, key, value)
    try:
        found = Study.model_validate(raw)
        lines = list(misread(raw, found))[:3]
    except ValidationError as error:
        lines = readable(error, Study, unknown)
    if lines:
        raise StudyError("\n".join(f"{where}: {line}" for line in lines))
    return found


def study_path(study: str | Path) -> Path:
    """The file of a study named by its name or by a path."""
    text = str(study)
    if text.endswith((".yml", ".yaml")) or os.sep in text:
        for path in (Path(text), project_path(text)):
            if os.path.isfile(path):  # False, too, for a name that no file system takes
                return path.resolve()
            if os.path.isdir(path):
                raise StudyError(f"{shown(text)} is a folder; name a study file")
        raise StudyError(f"there is no study file {shown(text)}")
    path = project_root() / "data" / "studies" / f"{text}.yml"
    if not os.path.isfile(path):
        raise StudyError(unknown("study", text, study_names()))
    return path


def check_names(study: Study) -> None:
    """Raise `StudyError` where a model, a task or a subset is not known to the installed mteb or to this suite."""
    from helpers.model_source import check_device, check_model
    from helpers.tasks import check_task

    application = study.prompts.application if study.prompts and "02" in study.steps else None
    for model in study.models:
        check_model(model, application)
    check_device(study)
    for task in study.tasks:
        check_task(task)
    for place in study.geometry.tasks if study.geometry else []:
        check_task(TaskSpec(name=place.name, subsets=place.subsets, split=place.split))


def unknown(kind: str, name: str, known: list[str]) -> str:
    """The message for a name that nobody knows: "unknown task 'STS51'; did you mean STS15?"."""
    name = name if len(name) <= 80 else f"{name[:60]}…"
    lower = {k.lower(): k for k in known}
    close = [lower[k] for k in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.6)]
    if close:
        return f"unknown {kind} '{name}'; did you mean {' or '.join(close)}?"
    listed = ", ".join(known[:8]) + (" …" if len(known) > 8 else "")
    return f"unknown {kind} '{name}'; known: {listed or 'none'}"


def _set_dotted(raw: dict[str, Any], key: str, value: Any) -> None:
    """`prompts.per_level` reaches into the mapping; `per_level` sets a top-level key."""
    *parents, last = key.split(".")
    for parent in parents:
        if raw.get(parent) is None:  # absent, or a key without a value
            raw[parent] = {}
        raw = raw[parent]
        if not isinstance(raw, dict):
            raise StudyError(f"'{key}' cannot be set: the study's '{parent}' holds no keys")
    raw[last] = value


def _short(path: Path) -> str:
    """A path as a message may show it: relative to the project where it lies inside."""
    try:
        return str(path.relative_to(project_root()))
    except ValueError:
        return path.name
