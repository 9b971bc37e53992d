"""What a study says about instruction geometry and query-side distractors: one validated object, no heavy
imports.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from helpers.base.errors import StudyError
from helpers.base.paths import PlainName
from helpers.study.strict import TEMPLATE, Template


class GeometryTask(BaseModel):
    """A retrieval or bitext mining task whose queries are instructed.

    `name` is a task of mteb or of the demo, or a folder of the local task data with `corpus`, `queries` and
    `qrels` Parquet files (SQuAD). `kind` is what the instructions are relevant for; null takes it from the
    task's mteb type.
    """

    model_config = ConfigDict(extra="forbid")

    name: PlainName
    subsets: list[PlainName] | None = None
    split: PlainName | None = None
    kind: str | None = Field(None, description="question-answering, bitext-mining, or any word used in relevant_for")
    n_queries: int | None = Field(None, ge=2, description="overrides the study's limit for this task")
    paraphrases: str | None = Field(
        None, description="Parquet or JSON Lines file with id and paraphrase; relative to project or task data"
    )


class GeometrySpec(BaseModel):
    """The part `geometry` of a study: tasks, models, instructions and the budgets of every measurement."""

    model_config = ConfigDict(extra="forbid")

    tasks: list[GeometryTask] = Field(min_length=1)
    models: list[str] | None = Field(None, description="labels of the study's models; null: all of them")
    instructions: str = Field("data/instructions.yml", description="instruction bank, relative to the project")
    groups: list[str] | None = Field(None, description="only these groups of the bank; null: all")
    controls: bool = Field(True, description="measure the suite's own controls too (outside all statistics)")
    extra: list[Instruction] = Field(default=[], description="instructions of your own")
    template: Template = Field(TEMPLATE, description="text before a query; {instruction} is replaced")
    n_queries: int | None = Field(None, ge=2, description="queries per task and subset, drawn with the seed; null: all")
    n_distractors: int | None = Field(None, ge=0, description="random distractors; null: as many as there are queries")
    block_mb: int = Field(64, ge=1, description="largest block of similarities in memory, MiB")
    embedding_mb: int = Field(1024, ge=1, description="instructed query vectors held at once, MiB")
    folds: int = Field(5, ge=2, description="cross-validation folds of the ROC-AUC")
    repeats: int = Field(20, ge=1, description="repetitions of the cross-validation with other folds")
    permutations: int = Field(500, ge=0, description="label permutations behind the ROC-AUC's chance level")
    n_boot: int = Field(500, ge=0, description="bootstrap draws over queries for a gain's interval")
    confidence: float = Field(0.95, gt=0, lt=1)
    map_model: str | None = Field(None, description="model of the UMAP picture; null: the first")
    map_task: str | None = Field(None, description="task of the UMAP picture; null: the first")
    map_queries: int = Field(40, ge=2, description="queries in the UMAP picture")
    map_targets: int = Field(200, ge=2, description="targets in the UMAP picture")
    map_instructions: int = Field(12, ge=1, description="instructions that can be chosen in the UMAP picture")

    @field_validator("tasks")
    @classmethod
    def _tasks_are_named_once(cls, tasks: list[GeometryTask]) -> list[GeometryTask]:
        names = [task.name for task in tasks]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"the task '{name}' stands there twice; list its subsets in one entry")
        return tasks

    def prefix(self, instruction: str) -> str:
        """The text put before a query: the template with the instruction's exact text in its place."""
        return self.template.replace("{instruction}", instruction)


Bank = Literal["retrieval", "bitext-mining"]

BANKS: tuple[Bank, ...] = ("retrieval", "bitext-mining")

GROUPS = ("task-specific", "mteb-category", "unrelated-task", "vague", "llm-written", "nonsense", "control", "own")

LANGUAGE = "{lang}"

NONE_ID = "none"


class InstructionError(StudyError):
    """An instruction bank or an instruction that cannot be used; the message names the entry and the
    remedy.
    """


class Instruction(BaseModel):
    """One instruction; `text` is used exactly as it stands, but for `{lang}` (English name of the target's
    language).

    `banks`: kinds of task that it is used in. `relevant_for`: kinds of task (question-answering,
    bitext-mining) or task names that it describes. `mteb`: `module:class` of mteb whose default prompt this
    is. `control`: measured, but outside every statistic.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    text: str
    group: str = "own"
    source: str = "study file"
    motivation: str = ""
    relevant_for: tuple[str, ...] = ()
    banks: tuple[Bank, ...] = BANKS
    mteb: str | None = None
    control: bool = False

    @field_validator("id")
    @classmethod
    def _id_is_free(cls, value: str) -> str:
        if value == NONE_ID:
            raise ValueError(f"the id '{NONE_ID}' is kept for queries without an instruction")
        return value

    @field_validator("group")
    @classmethod
    def _group_is_known(cls, value: str) -> str:
        if value not in GROUPS:
            raise ValueError(f"unknown group '{value}'; known are {', '.join(GROUPS)}")
        return value

    def render(self, language: str = "") -> str:
        """The text with the language's English name; an `InstructionError` where it needs one and none is
        known.
        """
        if LANGUAGE in self.text and not language:
            raise InstructionError(f"instruction '{self.id}' needs {LANGUAGE}, but the task names no language")
        return self.text.replace(LANGUAGE, language)

    def is_relevant(self, kind: str, task: str = "") -> bool:
        """Whether it describes this kind of task, or this very task."""
        return kind in self.relevant_for or task in self.relevant_for
