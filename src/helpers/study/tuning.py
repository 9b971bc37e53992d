"""What a study says about fine-tuning: one validated object, free of heavy imports.

Three layers decide a training, later ones win: a `configuration` (`paper`: study 2's submitted run; `cpu`: what a
laptop trains in a minute), the study's own `training` settings, and each of its `presets` (what is compared).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from helpers.base.paths import PlainName
from helpers.study.strict import TEMPLATE, Template

LANGUAGE = "{lang}"

EQUIVALENT_QUESTION = "Given a question, retrieve questions that are semantically equivalent to the given question."

# (retrieval, STS) by data. Those of SQuAD and Tatoeba are study 2's code, that of ARCChallenge is mteb's default.
INSTRUCTIONS = {
    "squad": ("Given a question, retrieve Wikipedia passages that answer the question.", EQUIVALENT_QUESTION),
    "tatoeba": ("Retrieve a {lang} translation.", "Retrieve texts that are semantically equivalent."),
    "arc-challenge": ("Retrieve the answer to the question.", EQUIVALENT_QUESTION),
}

# The tasks behind the short names; any other is named as `task:<name>`.
TASKS = {"demo": "DemoRetrieval", "squad": "SQuAD", "tatoeba": "Tatoeba", "arc-challenge": "ARCChallenge"}

# "paper" is the default of every key below, the settings of that run as far as the paper tells them.
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "paper": {},
    "cpu": {  # small batches and large steps: on few examples it is the number of steps that teaches
        "n_negatives": 2,
        "learning_rate": 1e-4,
        "batch_size": 8,
        "epochs": 2.0,
        "dtype": "float32",
        "max_length": 128,
        "eval_steps": 28,
        "checkpoint_steps": 14,
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
    """Settings of the sampled-ranking objective (`helpers.tuning.reler`)."""

    model_config = ConfigDict(extra="forbid")

    kappa: float = Field(400.0, gt=0, description="concentration of the von Mises-Fisher distributions")
    kappa_at: int | None = Field(
        384,
        ge=2,
        description="dimensions at which kappa holds, elsewhere the noise is scaled alike; null: kappa as it is",
    )
    samples: int = Field(16, ge=2, description="sampled rankings per query; at least 2, each is another's baseline")
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
    in_batch_negatives: bool = Field(False, description="texts of the other rows of a batch are negatives too")
    mask_false_negatives: bool = Field(False, description="ignore a negative whose text is the row's positive")
    temperature: float = Field(0.05, gt=0, description="of InfoNCE")
    learning_rate: float = Field(1e-6, gt=0)
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    warmup_ratio: float = Field(0.05, ge=0, lt=1)
    weight_decay: float = Field(0.01, ge=0)
    max_grad_norm: float = Field(1.0, gt=0)
    batch_size: int = Field(8, ge=1, description="rows of one forward pass")
    gradient_accumulation: int = Field(1, ge=1, description="forward passes per optimiser step")
    cached_batch: int | None = Field(None, ge=1, description="gradient caching: texts held at a time; null: off")
    epochs: float = Field(1.0, gt=0)
    max_steps: int | None = Field(None, ge=1, description="stops earlier than the epochs would")
    dtype: Literal["float32", "bfloat16", "float16"] = Field("bfloat16", description="float32 where no GPU is there")
    max_length: int = Field(1024, ge=8, description="tokens; a longer text is cut at its end while training")
    eval_steps: int = Field(1000, ge=1, description="optimiser steps between two measurements on the dev part")
    checkpoint_steps: int = Field(1000, ge=1, description="optimiser steps between two checkpoints")
    early_stopping: int | None = Field(None, ge=1, description="measurements without a better dev recall; null: off")
    lora: LoraSpec | None = None
    reler: RelerSpec = Field(default_factory=lambda: RelerSpec.model_validate({}))


class OtherData(BaseModel):
    """A retrieval or bitext mining task, as in `geometry.tasks`, that is searched before and after."""

    model_config = ConfigDict(extra="forbid")

    name: PlainName
    subsets: list[PlainName] | None = None
    split: PlainName | None = None
    n_queries: int | None = Field(None, ge=2)
    paraphrases: str | None = None


class FinetuningSpec(BaseModel):
    """The part `finetuning` of a study: base model, data, the presets to compare and the settings they share."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(description="label of the base model in the study")
    data: str = Field(
        "demo", description="demo, squad, tatoeba, arc-challenge, task:<retrieval or bitext task>, or jsonl:<file>"
    )
    subsets: list[str] | None = Field(None, description="of the task, pooled; null: all of them")
    paraphrases: str | None = Field(None, description="Parquet or JSON Lines file with id or question, and paraphrase")
    pool: Literal["all", "test"] | None = Field(
        None, description="targets searched: all of the data or of the test part; null: test for squad and jsonl"
    )
    configuration: Literal["paper", "cpu"] = "paper"
    training: dict[str, Any] = Field(default={}, description="settings that all presets share, by name")
    presets: list[str] = Field(["distractor", "ablation"], min_length=1)
    variants: dict[PlainName, dict[str, Any]] = Field(
        default={}, description="presets of the study's own: settings by name"
    )
    seeds: list[Annotated[int, Field(ge=0, lt=2**32)]] = Field(
        [42], min_length=1, description="of the trainings; at least 3 to know how much a seed changes"
    )
    shares: list[Annotated[float, Field(ge=0, le=1)]] = Field(
        default=[],
        description="dose-response: shares of examples with a query-side negative, the lowest is compared with",
    )
    template: Template = TEMPLATE
    retrieval_instruction: str | None = Field(None, description="null: that of study 2 for the data")
    sts_instruction: str | None = Field(None, description="null: that of study 2 for the data")
    dev_fraction: float = Field(0.15, ge=0, lt=1, description="of the training part's targets")
    test_fraction: float = Field(
        0.3, gt=0, lt=1, description="of all targets, where the data has no test part of its own"
    )
    max_examples: int | None = Field(None, ge=2, description="drawn with the seed; null: all")
    near_duplicate: float = Field(
        0.9, gt=0, le=1, description="TF-IDF cosine to a held-out text that removes a training example"
    )
    dev_pool: int = Field(1000, ge=1, description="targets per language searched while training")
    n_boot: int = Field(2000, ge=0, description="bootstrap draws over pairs for the intervals of STS")
    held_out: str | None = Field(
        None,
        description="file with paraphrases of a source that nothing is trained on: id or question, and paraphrase, or "
        "examples of their own with query, paraphrase, target",
    )
    instruction_queries: int = Field(
        0, ge=0, description="test queries per instruction of the bank, before and after; 0: not measured"
    )
    out_of_domain: list[OtherData] = Field(default=[], description="data that nothing was trained on")
    side_effects: list[str] = Field(default=[], description="tasks scored with the baselines, before and after")
    sensitivity: list[str] = Field(default=[], description="tasks swept with all prompts, before and after")
    swept_presets: list[str] | None = Field(
        None, description="presets whose models go into these two sweeps; null: all"
    )

    @field_validator("presets", "seeds", mode="before")
    @classmethod
    def _one_or_a_line(cls, value: Any) -> Any:
        """A notebook's parameter may be one value or, from a command line, several with commas between."""
        if isinstance(value, str):
            return [part.strip() for part in value.split(",")]
        return [value] if isinstance(value, int) else value

    @field_validator("data")
    @classmethod
    def _data_is_known(cls, data: str) -> str:
        if data not in TASKS and data.partition(":")[0] not in ("task", "jsonl"):
            raise ValueError(f"unknown data '{data}'; use {', '.join(TASKS)}, task:<name> or jsonl:<file>")
        return data

    @model_validator(mode="after")
    def _presets_are_known(self) -> FinetuningSpec:
        for settings in (self.training, *self.variants.values()):
            for key in settings:
                if key not in TrainingSettings.model_fields:
                    raise ValueError(_unknown("setting", key, TrainingSettings.model_fields))
        for name in (*self.presets, *(self.swept_presets or [])):
            for part in name.split("+"):
                if part not in {**PRESETS, **self.variants}:
                    raise ValueError(_unknown("preset", part, {**PRESETS, **self.variants}))
            self.settings(name)
        for values in (self.presets, self.seeds, self.shares):
            if len(set(values)) < len(values):
                raise ValueError("name every preset, every seed and every share once")
        if len(self.shares) == 1:
            raise ValueError("shares: a dose-response needs at least two")
        return self

    @property
    def searches_all(self) -> bool:
        """Whether the pool of the evaluation holds all targets of the data."""
        return self.pool == "all" if self.pool else not self.data.startswith(("squad", "jsonl:"))

    def settings(self, preset: str) -> TrainingSettings:
        """Settings of one preset; `a+b` applies both, in this order; `share-0.25` those of a dose-response."""
        values = {**CONFIGURATIONS[self.configuration], **self.training}
        for part in preset.split("+"):
            known = {**PRESETS, **self.variants, **{_dose(x): {"hard_negative_probability": x} for x in self.shares}}
            values.update(known[part])
        return TrainingSettings(**values)

    @property
    def doses(self) -> dict[float, str]:
        """Of every share, lowest first, the preset that trains with it: one of the study's own where its settings agree."""
        own = {preset: self.settings(preset) for preset in self.presets}
        return {
            share: next((p for p, settings in own.items() if settings == self.settings(_dose(share))), _dose(share))
            for share in sorted(self.shares)
        }

    @property
    def trained(self) -> list[str]:
        """Every preset that is trained: those that are compared, then those of further shares."""
        return list(dict.fromkeys([*self.presets, *self.doses.values()]))

    def instruction(self, kind: str) -> str:
        """The instruction of retrieval rows ("retrieval") or of STS rows ("sts"), `{lang}` still in it."""
        given = self.retrieval_instruction if kind == "retrieval" else self.sts_instruction
        return given if given is not None else INSTRUCTIONS.get(self.data, INSTRUCTIONS["squad"])[kind == "sts"]

    def prefix(self, kind: str, language: str = "") -> str:
        """The text put before a query of this kind, in training and in evaluation alike.

        `{lang}` in an instruction becomes the English name of the target's language.
        """
        return self.template.replace("{instruction}", self.instruction(kind).replace(LANGUAGE, language))


def _dose(share: float) -> str:
    return f"share-{share:g}"


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(sorted(known)[:8])} …"
    return f"unknown {kind} '{name}'; {hint}"
