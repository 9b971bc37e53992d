"""vLLM in this process: the model is loaded here, answers are constrained by the JSON schema. Needs a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from helpers.prompts.llm.chat import Answer, Failure, Request, model_name
from helpers.study.prompts import GeneratorSpec

MAX_MODEL_LEN = 40_000  # context of study 1


class VllmBackend:
    """All requests of a round in one call of `LLM.chat`.

    `prompts.generator.extra` goes to `vllm.LLM`, e.g. `tensor_parallel_size: 2`, or for a model that reasons first
    `structured_outputs_config: {reasoning_parser: openai_gptoss}`, so that only its final answer is constrained.
    """

    name = "vllm"

    def __init__(self, spec: GeneratorSpec) -> None:
        from helpers.base.errors import StudyError

        model = model_name(spec)
        if model is None:
            raise StudyError(f"no model: set {spec.model_env} or prompts.generator.model, e.g. openai/gpt-oss-120b")
        try:
            import vllm
        except ImportError:
            raise StudyError(
                "backend 'vllm' needs vLLM and a GPU: pip install vllm (0.12 or newer); without, start 'vllm serve' on "
                f"another machine and set backend: openai with {spec.base_url_env}"
            ) from None
        self.spec, self.model, self.vllm = spec, model, vllm
        self.engine: Any = None

    def ask(self, requests: Sequence[Request]) -> Iterator[tuple[str, Answer | Failure]]:
        if not requests:
            return
        if self.engine is None:
            settings = {"max_model_len": MAX_MODEL_LEN, **self.spec.extra}
            self.engine = self.vllm.LLM(model=self.model, revision=self.spec.revision, **settings)
        try:
            outputs = self.engine.chat(
                [list(r.messages) for r in requests], [self._sampling(r) for r in requests], use_tqdm=False
            )
        except (ValueError, RuntimeError) as error:
            reason = f"vLLM: {type(error).__name__}: {str(error)[:300]}"
            yield from ((r.id, Failure(reason=reason, fatal=True)) for r in requests)
            return
        for request, output in zip(requests, outputs, strict=True):
            first = output.outputs[0]
            yield (
                request.id,
                Answer(
                    text=first.text,
                    finish_reason=first.finish_reason,
                    model=self.model,
                    prompt_tokens=len(output.prompt_token_ids or []),
                    answer_tokens=len(first.token_ids or []),
                ),
            )

    def _sampling(self, request: Request) -> Any:
        settings: dict[str, Any] = {"max_tokens": self.spec.max_tokens, "seed": request.seed}
        if self.spec.temperature is not None:
            settings["temperature"] = self.spec.temperature
        if request.answer_schema is not None and self.spec.structured != "none":
            from vllm.sampling_params import StructuredOutputsParams

            settings["structured_outputs"] = StructuredOutputsParams(json=request.answer_schema)
        return self.vllm.SamplingParams(**settings)
