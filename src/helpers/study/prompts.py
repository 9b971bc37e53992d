"""What a study says about its prompts: one validated object, free of heavy imports."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Level = Literal["task", "task+dataset", "task+dataset+language"]

Source = Literal["file", "llm", "human", "published"]

LEVELS: tuple[Level, ...] = ("task", "task+dataset", "task+dataset+language")

# Rules that remove a prompt without asking anybody; every other rule only marks it for a reader.
REMOVING: tuple[str, ...] = ("empty", "duplicate", "near-duplicate")

RULES: tuple[str, ...] = (
    "empty", "too long", "not a prefix", "task drift", "names the data set", "names a language", "leak", "duplicate",
    "near-duplicate",
)  # fmt: skip


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_assignment=True)


class PromptFile(Strict):
    """One file of ready prompts and whom its prompts are ascribed to, where the file does not say so itself."""

    path: str
    source: Source | None = None
    generator: str | None = None


class GeneratorSpec(Strict):
    """The language model that writes prompts or paraphrases; its key comes from the environment and stays there.

    backend: `openai` asks any OpenAI-compatible server, `batch` the same server's batch interface, `vllm` runs the
    model in this process. model: null takes OPENAI_MODEL. The three names of variables say where the server's address
    and key stand. concurrency, timeout and retries concern requests; `attempts` the answers of one request.
    """

    backend: Literal["openai", "batch", "vllm"] = "openai"
    model: str | None = None
    revision: str | None = Field(default=None, description="revision of the weights, recorded (vllm: loaded)")
    base_url_env: str = "OPENAI_BASE_URL"
    key_env: str = "OPENAI_API_KEY"
    model_env: str = "OPENAI_MODEL"
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    temperature: float | None = Field(default=None, ge=0, le=2, description="null: the server's own, as in study 1")
    max_tokens: int = Field(default=4096, gt=0, description="per answer, reasoning included")
    seed: int | None = Field(default=42, description="sent with every request; null sends none")
    attempts: int = Field(
        default=5, ge=1, le=100, description="answers asked for until one is valid (study 1: up to 100)"
    )
    retries: int = Field(default=4, ge=0, description="further tries of a request that failed for a passing reason")
    timeout: float = Field(default=120.0, gt=0, description="seconds for one answer")
    concurrency: int = Field(default=4, ge=1, description="requests under way at once (paraphrases)")
    poll_seconds: float = Field(default=30.0, gt=0, description="pause between two looks at a batch job")
    extra: dict[str, Any] = Field(default_factory=dict, description="further fields of the request or engine")

    @field_validator("base_url_env", "key_env", "model_env")
    @classmethod
    def _is_a_variable(cls, name: str) -> str:
        if not name.replace("_", "").isalnum():
            # The value is not shown: a key put here by mistake must not reach a log.
            raise ValueError("must be the name of an environment variable, not its value")
        return name

    @field_validator("extra")
    @classmethod
    def _holds_no_secret(cls, extra: dict[str, Any]) -> dict[str, Any]:
        named = [k for k in extra if any(w in k.lower() for w in ("key", "authorization", "secret", "password"))]
        if named:
            raise ValueError(f"'{named[0]}' looks like a secret; secrets come from the environment only")
        return extra


class PromptsSpec(Strict):
    """Where a study's prompts come from and how they are checked and applied.

    source: `file` reads ready prompts, `published` the prompt files of study 1, `generate` asks the generator for what
    is not there yet. file: one or several paths, relative to the project. per_level: prompts per task and level (and
    generator). near_duplicate_threshold: normalised Levenshtein distance below which two prompts of a task are one;
    null keeps them all. review_file: a CSV in which a person marks prompts keep or drop.
    """

    source: Literal["file", "generate", "published"] = "file"
    file: str | PromptFile | list[str | PromptFile] | None = None
    levels: list[Level] = Field(default=list(LEVELS), min_length=1)
    per_level: int = Field(default=5, ge=1)
    generator: GeneratorSpec = GeneratorSpec()
    application: Literal["raw", "template"] = "raw"
    separator: str = " "
    near_duplicate_threshold: float | None = Field(default=0.1, ge=0, le=1)
    max_characters: int = Field(default=200, ge=1, description="longer prompts are marked 'too long'")
    remove: list[str] = Field(default=list(REMOVING), description="rules that remove a prompt by themselves")
    review_file: str | None = None

    @field_validator("remove")
    @classmethod
    def _rules_are_known(cls, rules: list[str]) -> list[str]:
        for rule in rules:
            if rule not in RULES:
                raise ValueError(f"unknown rule '{rule}'; known: {', '.join(RULES)}")
        return rules

    @field_validator("levels")
    @classmethod
    def _levels_are_distinct(cls, levels: list[Level]) -> list[Level]:
        if len(set(levels)) != len(levels):
            raise ValueError("a level is listed twice")
        return levels

    @model_validator(mode="after")
    def _has_its_file(self) -> PromptsSpec:
        if self.source in ("file", "published") and not self.file:
            raise ValueError(f"source '{self.source}' needs the key 'file'")
        return self

    def files(self) -> list[PromptFile]:
        """The files of ready prompts, in their order."""
        given = self.file if isinstance(self.file, list) else [self.file] if self.file else []
        return [PromptFile(path=f) if isinstance(f, str) else f for f in given]

    def expected_count(self, n_tasks: int) -> int:
        """Prompts of n tasks before any is removed: tasks x levels x per_level."""
        return expected_count(n_tasks, len(self.levels), self.per_level)


def expected_count(n_tasks: int, n_levels: int = len(LEVELS), per_level: int = 5) -> int:
    """How many prompts a complete grid has; study 1: 11 tasks x 3 levels x 5 = 165, times 6 models = 990 runs."""
    return n_tasks * n_levels * per_level
