"""What a study says about its sweep."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from helpers.study.strict import Strict


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
    score_on_cpu: bool = Field(False, description="a task with a GPU only embeds, a second one without GPU scores")

    @model_validator(mode="after")
    def _vectors_are_shared(self) -> RaySpec:
        if self.score_on_cpu and self.results == "fetch":
            raise ValueError("score_on_cpu reads vectors from the run folder: it needs results: shared")
        return self


class SweepSpec(Strict):
    """How the sweep computes; nothing here may change a score without becoming part of a cell's identity."""

    exact: bool = Field(False, description="keep stock mteb's batches so that scores agree to 1e-9 (slower)")
    bitext_side: Literal["query", "both"] = Field(
        "query", description="bitext mining: the prompt meets the side that is searched with, or both as in stock mteb"
    )
    batch_tokens: int | None = Field(None, gt=0, description="padded tokens per batch; null: chosen for the device")
    stale: Literal["redo", "refuse"] = Field("redo", description="what to do with results made from other inputs")
    retries: int = Field(1, ge=0, description="further attempts of a cell that failed for a passing reason")
    offline: bool = False
    device: str | None = None
    workers: int = Field(1, ge=1, description="processes; 1 computes in this one")
    executor: Literal["auto", "process", "ray"] = Field(
        "auto", description="auto: worker processes where workers > 1, else this process"
    )
    ray: RaySpec = Field(default_factory=lambda: RaySpec.model_validate({}))
