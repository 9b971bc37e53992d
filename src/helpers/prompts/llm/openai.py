"""A language model behind a server that speaks the protocol of OpenAI."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from helpers.prompts.llm.chat import (
    Answer,
    Failure,
    Request,
    chat_body,
    explain,
    make_client,
    model_name,
    named,
    read_completion,
)
from helpers.study.prompts import GeneratorSpec


class OpenAIBackend:
    """Chat completions of an OpenAI-compatible server, several at once.

    The client itself tries again after 408, 409, 429 (it waits as long as Retry-After says), 5xx, lost connections and
    time-outs, `retries` times. After a failure that every request would have, or `patience` failures in a row, nothing
    more is sent; answers that are under way are still handed over.
    """

    name = "openai"

    def __init__(self, spec: GeneratorSpec, patience: int = 3) -> None:
        from helpers.base.errors import StudyError

        self.spec, self.patience = spec, patience
        model = model_name(spec)
        if model is None:
            raise StudyError(f"no model: set {spec.model_env} or prompts.generator.model")
        self.model = model
        self.client = make_client(spec)

    def ask(self, requests: Sequence[Request]) -> Iterator[tuple[str, Answer | Failure]]:
        failed_in_a_row = 0
        self.stopped: Failure | None = None
        pool = ThreadPoolExecutor(max_workers=self.spec.concurrency)
        try:
            waiting = {pool.submit(self._one, request): request.id for request in requests}
            for done in as_completed(waiting):
                found = done.result()
                failed_in_a_row = failed_in_a_row + 1 if isinstance(found, Failure) else 0
                if isinstance(found, Failure) and failed_in_a_row >= self.patience:
                    found.fatal = True
                    self.stopped = self.stopped or found
                yield waiting[done], found
        finally:  # when the caller stops early, no further request is sent
            pool.shutdown(wait=True, cancel_futures=True)

    def _one(self, request: Request) -> Answer | Failure:
        if self.stopped is None:
            found = self._send(request)
            if isinstance(found, Failure) and found.fatal:
                self.stopped = self.stopped or found
            return found
        return self.stopped

    def _send(self, request: Request) -> Answer | Failure:
        import openai

        try:
            raw = self.client.chat.completions.with_raw_response.create(
                **named(chat_body(self.spec, self.model, request))
            )
            return read_completion(json.loads(raw.text), self.spec)
        except openai.OpenAIError as error:
            return explain(error, self.spec, self.model)
        except (ValueError, RecursionError):
            return Failure(
                reason=f"the server's answer is not JSON, or nested too deeply; does {self.spec.base_url_env} end with /v1?",
                fatal=True,
            )
