"""What a study says about fine-tuning: one validated object, free of heavy imports.

Three layers decide a training, later ones win: a `configuration` (`paper`: study 2's submitted run; `cpu`: what a
laptop trains in a minute), the keys that the study sets itself, and each of its `presets` (what is compared).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

TEMPLATE = "Instruct: {instruction}\nQuery: "
RETRIEVAL_INSTRUCTION = "Given a question, retrieve Wikipedia passages that answer the question."
STS_INSTRUCTION = (
    "Given a question, retrieve questions that are semantically equivalent to the given question."
)

# "paper" is the default of every key below; see PAPERS.md of the source documents for what is known of that run.
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "paper": {},
    "cpu": {
        "learning_rate": 1e-4,
        "batch_size": 16,
        "epochs": 2.0,
        "dtype": "float32",
        "max_length": 128,
        "eval_steps": 8,
        "checkpoint_steps": 8,
    },
}

PRESETS: dict[str, dict[str, Any]] = {
    "distractor": {"hard_negative_probability": 0.5},
    "ablation": {"hard_negative_probability": 0.0},
    "lora": {"lora": {}},
    "in-batch": {"in_batch_negatives": True, "mask_false_negatives": True},
    "reler": {"objective": "reler"},
}


class LoraSpec(BaseModel):
    """Low-rank adapters (peft) that are trained instead of all weights and merged into them when saved."""

    model_config = ConfigDict(extra="forbid")

    rank: int = Field(16, gt=0)
    alpha: int = Field(32, gt=0)
    dropout: float = Field(0.0, ge=0, lt=1)
    target_modules: str | list[str] = Field("all-linear", description="names as peft understands them")


class RelerSpec(BaseModel):
    """Settings of the sampled-ranking objective (`helpers.reler`)."""

    model_config = ConfigDict(extra="forbid")

    kappa: float = Field(400.0, gt=0, description="concentration of the von Mises-Fisher distributions")
    samples: int = Field(
        16, ge=2, description="sampled rankings per query; at least 2, each is another's baseline"
    )
    reward: Literal["recall@1", "ndcg@10"] = "recall@1"
    projection: bool = Field(True, description="conditional-mean projection (less gradient noise)")


class TrainingSettings(BaseModel):
    """Everything that changes what one training does to a model, except its data, its base and its seed.

    The defaults are the configuration of study 2: InfoNCE over one positive and eight explicit negatives, no in-batch
    negatives, no masking, all weights, one epoch.
    """

    model_config = ConfigDict(extra="forbid")

    objective: Literal["infonce", "reler"] = "infonce"
    hard_negative_probability: float = Field(0.5, ge=0, le=1, description="chance of the query-side negative")
    n_negatives: int = Field(8, ge=1, description="explicit negatives per row")
    in_batch_negatives: bool = Field(
        False, description="texts of the other rows of a batch are negatives too"
    )
    mask_false_negatives: bool = Field(
        False, description="ignore a negative whose text is the row's positive"
    )
    temperature: float = Field(0.05, gt=0, description="of InfoNCE")
    learning_rate: float = Field(1e-6, gt=0)
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    warmup_ratio: float = Field(0.05, ge=0, lt=1)
    weight_decay: float = Field(0.01, ge=0)
    max_grad_norm: float = Field(1.0, gt=0)
    batch_size: int = Field(8, ge=1, description="rows of one forward pass")
    gradient_accumulation: int = Field(1, ge=1, description="forward passes per optimiser step")
    cached_batch: int | None = Field(
        None, ge=1, description="gradient caching: texts held at a time; null: off"
    )
    epochs: float = Field(1.0, gt=0)
    max_steps: int | None = Field(None, ge=1, description="stops earlier than the epochs would")
    dtype: Literal["float32", "bfloat16", "float16"] = Field(
        "bfloat16", description="float32 where no GPU is there"
    )
    max_length: int = Field(1024, ge=8, description="tokens; a longer text is cut at its end while training")
    eval_steps: int = Field(
        1000, ge=1, description="optimiser steps between two measurements on the dev part"
    )
    checkpoint_steps: int = Field(1000, ge=1, description="optimiser steps between two checkpoints")
    early_stopping: int | None = Field(
        None, ge=1, description="measurements without a better dev recall; null: off"
    )
    lora: LoraSpec | None = None
    reler: RelerSpec = RelerSpec()


class FinetuningSpec(TrainingSettings):
    """The part `finetuning` of a study: base model, data, the presets to compare and the settings they share."""

    model: str = Field(description="label of the base model in the study")
    data: str = Field(
        "demo",
        description="training examples: demo, squad, tatoeba, arc-challenge, or jsonl:<file> relative to the project",
    )
    task: str | None = Field(
        None, description="name in tables and on the model card; null: the name of the data"
    )
    languages: list[str] | None = Field(
        None, description="Tatoeba subsets; null: those of study 2 that are there"
    )
    paraphrases: str | None = Field(None, description="parquet or JSONL with id or question, and paraphrase")
    configuration: Literal["paper", "cpu"] = "paper"
    presets: list[str] = ["distractor", "ablation"]
    variants: dict[str, dict[str, Any]] = Field(
        default={}, description="presets of the study's own: settings by name"
    )
    seeds: list[int] = [42]
    template: str = TEMPLATE
    retrieval_instruction: str = RETRIEVAL_INSTRUCTION
    sts_instruction: str = STS_INSTRUCTION
    dev_fraction: float = Field(0.15, ge=0, lt=1, description="of the training part's targets")
    test_fraction: float = Field(
        0.3, gt=0, lt=1, description="of all targets, where the data has no split of its own"
    )
    max_examples: int | None = Field(None, ge=2)
    near_duplicate: float = Field(
        0.9, gt=0, le=1, description="TF-IDF cosine to a test text that removes an example"
    )
    side_effects: list[str] = Field(
        default=[], description="labels of sweep tasks; empty: every task of the sweep"
    )
    n_boot: int = Field(2000, ge=0, description="bootstrap draws over queries for every interval")

    @field_validator("template")
    @classmethod
    def _template_has_a_place(cls, template: str) -> str:
        if "{instruction}" not in template:
            raise ValueError("template must contain '{instruction}'")
        return template

    @field_validator("data")
    @classmethod
    def _data_is_known(cls, data: str) -> str:
        if data not in ("demo", "squad", "tatoeba", "arc-challenge") and not data.startswith("jsonl:"):
            raise ValueError(
                f"unknown data '{data}'; use demo, squad, tatoeba, arc-challenge or jsonl:<file>"
            )
        return data

    @model_validator(mode="after")
    def _presets_are_known(self) -> FinetuningSpec:
        known = {**PRESETS, **self.variants}
        for name in self.presets:
            for part in name.split("+"):
                if part not in known:
                    raise ValueError(f"unknown preset '{part}'; known are {', '.join(sorted(known))}")
            self.settings(name)
        if len(set(self.presets)) < len(self.presets) or len(set(self.seeds)) < len(self.seeds):
            raise ValueError("presets and seeds must be named once each")
        return self

    def settings(self, preset: str) -> TrainingSettings:
        """Settings of one preset; `a+b` applies both, in this order."""
        keys = set(TrainingSettings.model_fields)
        own = {key: value for key, value in self.model_dump(include=self.model_fields_set & keys).items()}
        values = {**CONFIGURATIONS[self.configuration], **own}
        for part in preset.split("+"):
            values.update({**PRESETS, **self.variants}[part])
        return TrainingSettings(**values)

    def prefix(self, kind: Literal["retrieval", "sts"], language: str = "") -> str:
        """The text put before a query of this kind, in training and in evaluation alike.

        `{language}` in an instruction becomes the English name of the target's language ("Retrieve a {language}
        translation.").
        """
        instruction = self.retrieval_instruction if kind == "retrieval" else self.sts_instruction
        return self.template.replace("{instruction}", instruction.replace("{language}", language))
