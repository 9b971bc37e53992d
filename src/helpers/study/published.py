"""Where the scores of an already published study come from: one validated part of a study file."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

HEX = r"^[0-9a-f]+$"


class ReportedDefaults(BaseModel):
    """Default scores that somebody else reported (a public leaderboard), to be audited against the prompt runs.

    They are never mixed into the scores: the audit compares them with the defaults that were measured beside the
    prompts. `path` is a result cache (folder or archive) or a Parquet table with the columns model, task, split,
    subset, languages, main_score, mteb_version, dataset_revision.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    path: str | None = None
    repository: str | None = Field(None, pattern=r"^[\w.-]+/[\w.-]+$")
    commit: str | None = Field(None, pattern=HEX, min_length=40, max_length=40)


class ResultsSource(BaseModel):
    """The results of a study that others ran: a pinned commit of a public repository, or files that lie here.

    The environment variable `PUBLISHED_RESULTS` (a folder or an archive) goes before `path`, and `path` before a
    copy that `helpers fetch-published` fetched from `repository` at `commit`.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    repository: str | None = Field(None, pattern=r"^[\w.-]+/[\w.-]+$", description="owner/name on GitHub")
    commit: str | None = Field(None, pattern=HEX, min_length=40, max_length=40)
    path: str | None = Field(None, description="folder or archive, absolute or relative to the project")
    sha256: str | None = Field(
        None, pattern=HEX, min_length=64, max_length=64, description="content digest, see published.content_digest"
    )
    models: list[str] | None = Field(None, description="model names to keep; null keeps all")
    exclude_models: list[str] = []
    exclude_tasks: list[str] = []
    records: dict[str, str] = Field(
        default_factory=dict, description="task -> 'first', 'mean' or '<split>/<subset>'; the rest: mean over records"
    )
    sources: list[Literal["llm", "human", "unlisted"]] | None = Field(
        None, description="origins of prompts to keep; null keeps all"
    )
    generators: list[str] | None = Field(None, description="generators of prompts to keep; null keeps all")
    reported: ReportedDefaults | None = None
