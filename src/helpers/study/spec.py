"""A study: which models, tasks and prompts are compared, as one validated object read from a YAML file."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, ValidationInfo, field_validator, model_validator

from helpers.base.errors import StudyError
from helpers.base.files import project_path
from helpers.base.names import repeated, unknown
from helpers.base.paths import PlainName, same_for_a_file_system
from helpers.study.budget import Budget
from helpers.study.errors import shown
from helpers.study.geometry import GeometrySpec
from helpers.study.prompts import PromptsSpec
from helpers.study.published import ResultsSource
from helpers.study.served import ServerSpec
from helpers.study.strict import Strict, Template
from helpers.study.sweep import SweepSpec
from helpers.study.tuning import FinetuningSpec

Step = Literal["01", "02", "03", "04", "05", "06"]

STEPS: tuple[Step, ...] = get_args(Step)

TASK_DATA_VARIABLE = "EMBEDDING_TASK_DATA"

OF_WEIGHTS_HERE = ("include_prompt", "dtype", "attention", "compile", "backend", "max_length", "trust_remote_code")


class ModelSpec(Strict):
    """One row of the leaderboard: an embedding model and everything that changes its vectors.

    `weights` says where they come from: `hub` (the name is looked up in mteb's registry), `hub:<org>/<name>` (any
    sentence-transformers model of the Hub), `package:<module>` (weights inside an installed Python package),
    `path:<folder>` (an ordinary sentence-transformers folder, relative to the project) or `served` (on the `server`).
    """

    name: str = Field(min_length=1, max_length=200)
    label: str = Field("", max_length=200)
    revision: str | None = None
    weights: str = "hub"
    include_prompt: bool = Field(True, description="whether the prompt's tokens enter the pooling")
    application: Literal["raw", "template"] | None = Field(None, description="overrides prompts.application")
    template: Template | None = Field(None, description="overrides the model's own instruction template")
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
    server: ServerSpec | None = Field(None, description="of weights: served; see docs/served-models.md")

    @model_validator(mode="after")
    def _complete(self) -> ModelSpec:
        if not self.label:
            object.__setattr__(self, "label", self.name.rsplit("/", 1)[-1])
        if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in self.label):
            raise ValueError(f"the label {self.label[:60]!a} holds a line break or a control character; remove it")
        kind = self.weights.split(":", 1)[0]
        if kind not in ("hub", "package", "path", "object", "served"):
            raise ValueError(
                f"weights '{self.weights}' must be hub, hub:<org>/<name>, package:<module>, path:<folder> or served"
            )
        self._check_server()
        if self.backend != "torch" and (self.dtype != "float32" or self.attention or self.compile):
            raise ValueError(f"dtype, attention and compile are settings of torch, not of backend {self.backend}")
        return self

    def _check_server(self) -> None:
        """Raise `ValueError` where weights and server do not belong together, or a setting is of weights that are here."""
        if (self.weights == "served") != (self.server is not None):
            raise ValueError("weights: served and server: belong together; give both or neither")
        if self.server is None:
            return
        fields = type(self).model_fields
        for key in OF_WEIGHTS_HERE:
            if getattr(self, key) != fields[key].default:
                raise ValueError(f"'{key}' is for weights that are loaded here; a served model has none")

    @property
    def moves_scores(self) -> bool:
        """Whether it computes otherwise than in float32 with torch and the model's own attention."""
        return self.dtype != "float32" or bool(self.attention) or self.compile or self.backend != "torch"

    def reference(self) -> ModelSpec:
        """The same weights, computed in float32 with torch and the model's own attention."""
        plain = {"dtype": "float32", "attention": None, "compile": False, "backend": "torch"}
        return self.model_copy(update=plain)


TaskType = Literal[
    "Retrieval", "Reranking", "STS", "PairClassification", "Classification", "Clustering", "BitextMining"
]


class TaskSpec(Strict):
    """A task of the installed mteb or of this suite's demo, with the subsets and the split that are scored.

    With `type` and `data` it is an own task (docs/task-data.md): mteb's class of that type scores a file or folder.
    """

    name: PlainName
    subsets: list[PlainName] | None = Field(default=None, min_length=1)
    split: PlainName | None = None
    type: TaskType | None = Field(default=None, description="of an own task")
    data: str | None = Field(default=None, min_length=1, description="file or folder of an own task")
    columns: dict[str, str] = Field(
        default_factory=dict, description="of an own task: the suite's name of a column -> its name in the files"
    )
    main_score: str | None = Field(default=None, description="of an own task; null: mteb's usual one for its type")
    language: str | list[str] | None = Field(
        default=None, description="of an own task, as eng-Latn; bitext mining has two; null: eng-Latn"
    )
    description: str = Field(default="", max_length=2000, description="of an own task, for prompts that a model writes")

    @model_validator(mode="after")
    def _is_whole(self) -> TaskSpec:
        if (self.type is None) != (self.data is None):
            there, absent = ("type", "data") if self.data is None else ("data", "type")
            raise ValueError(f"has '{there}' but no '{absent}'; an own task needs both, a task of mteb neither")
        if self.type is None:
            for key in ("columns", "main_score", "language", "description"):
                if getattr(self, key):
                    raise ValueError(f"'{key}' is for own tasks, which have 'type' and 'data'; leave it out")
        elif self.subsets or self.split:
            raise ValueError("'subsets' and 'split' are for tasks of mteb; an own task has one of each")
        return self


class Study(Strict):
    """One study. Read it with `load_study`; every notebook takes its name as the parameter `study`."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)
    title: str
    description: str = ""
    steps: list[Step] = Field(list(STEPS), min_length=1)
    models: list[ModelSpec] = Field(default_factory=list)
    tasks: list[TaskSpec] = Field(default_factory=list)
    prompts: PromptsSpec | None = None
    baselines: list[Literal["none", "default"]] = Field(["none", "default"])
    sweep: SweepSpec = Field(default_factory=lambda: SweepSpec.model_validate({}))
    budget: Budget = Field(
        "full",
        description="items per test set. full: all, for every prompt; 0.25: a quarter, for prompts other than the anchor "
        "(default, else the first); {items: 500}: so many",
    )
    geometry: GeometrySpec | None = None
    finetuning: FinetuningSpec | None = None
    results_from: ResultsSource | None = None
    folder: str | None = Field(None, description="where the run is kept; null: data/runs/<name>")
    data_root: str | None = Field(None, description="folder of local task data; see docs/task-data.md")
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
            raise ValueError(f"the labels '{same[0]}' and '{same[1]}' differ in too little; some systems see one")
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

    def task_spec(self, name: str) -> TaskSpec:
        """The study's own entry for a task, else a plain one of that name."""
        return next((task for task in self.tasks if task.name == name), TaskSpec(name=name))

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
