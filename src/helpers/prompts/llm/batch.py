"""The batch interface of an OpenAI-compatible server: for large jobs at half the price, finished within a day.

A job's requests are written as JSON Lines, uploaded, polled and collected. Every step is noted in a small file, so a
process that was killed picks the same job up again instead of paying for a second one.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from helpers.base.files import replacing, write_json
from helpers.prompts.llm.chat import (
    Answer,
    Failure,
    Request,
    chat_body,
    cleaned,
    explain,
    make_client,
    model_name,
    read_completion,
    without_key,
)
from helpers.study.prompts import GeneratorSpec

LARGEST_JOB = 50_000  # requests of one file that the hosted service accepts

OVER = ("completed", "failed", "expired", "cancelled")


class BatchBackend:
    """Submits the requests as jobs of at most `largest` and yields their answers when the jobs are over."""

    name = "batch"

    def __init__(
        self, spec: GeneratorSpec, folder: Path, largest: int = LARGEST_JOB, report: Callable[[str], None] = print
    ) -> None:
        from helpers.base.errors import StudyError

        model = model_name(spec)
        if model is None:
            raise StudyError(f"no model: set {spec.model_env} or prompts.generator.model")
        self.spec, self.model, self.folder, self.largest, self.report = spec, model, folder, largest, report
        self.client = make_client(spec)

    def ask(self, requests: Sequence[Request]) -> Iterator[tuple[str, Answer | Failure]]:
        import openai

        todo = {r.id: r for r in requests}
        # Jobs of an earlier process first: what they answer is not asked again.
        for state in self._known_jobs(set(todo)):
            for found in self._collect_or_fail(state):
                if todo.pop(found[0], None):
                    yield found
        rest = list(todo.values())
        for start in range(0, len(rest), self.largest):
            part = rest[start : start + self.largest]
            try:
                state = self._submit(part)
            except openai.OpenAIError as error:
                yield from ((r.id, explain(error, self.spec, self.model)) for r in part)
                continue
            answered = set()
            for found in self._collect_or_fail(state):
                answered.add(found[0])
                yield found
            for request in part:
                if request.id not in answered:
                    yield request.id, Failure(reason=f"batch job {state['batch_id']} holds no answer to it")

    def _known_jobs(self, wanted: set[str]) -> Iterator[dict[str, Any]]:
        import openai

        from helpers.base.errors import StudyError

        try:
            yield from self._open_jobs(wanted)
        except openai.OpenAIError as error:
            raise StudyError(
                f"the batch jobs cannot be looked at: {explain(error, self.spec, self.model).reason}"
            ) from None

    def _open_jobs(self, wanted: set[str]) -> Iterator[dict[str, Any]]:
        for path in sorted(self.folder.glob("*.json")):
            try:
                state = dict(json.loads(path.read_text(encoding="utf-8")))
                state["requests"] = list(state["requests"])
            except (ValueError, TypeError, KeyError, RecursionError):
                self._say(f"{path.name}: not the file of a batch job; left alone")
                continue
            state["job"] = path.stem  # it names the file that is written again
            if not state.get("collected") and wanted & set(state["requests"]):
                if state.get("batch_id") is None:
                    state["batch_id"] = self._find(state["job"])
                if state["batch_id"]:
                    self._say(f"batch job {state['batch_id']}: picked up again ({len(state['requests'])} requests)")
                    yield state

    def _find(self, job: str) -> str | None:
        """The job that a process submitted but did not live to note down."""
        for batch in self.client.batches.list(limit=100):
            if (batch.metadata or {}).get("helpers_job") == job:
                return str(batch.id)
        return None

    def _submit(self, requests: Sequence[Request]) -> dict[str, Any]:
        lines = [
            {
                "custom_id": r.id, "method": "POST", "url": "/v1/chat/completions",
                "body": chat_body(self.spec, self.model, r),
            }
            for r in requests
        ]  # fmt: skip
        content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        # The time is part of the name: the same requests after an expired job are another job.
        job = hashlib.sha256(f"{time.time_ns()}\n{content}".encode()).hexdigest()[:16]
        source = self.folder / f"{job}.jsonl"
        with replacing(source) as temporary:
            temporary.write_text(content, encoding="utf-8")
        state: dict[str, Any] = {"job": job, "requests": [r.id for r in requests], "batch_id": None}
        self._note(state)
        with open(source, "rb") as upload:
            file = self.client.files.create(file=upload, purpose="batch")
        batch = self.client.batches.create(
            input_file_id=file.id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={"helpers_job": job},
        )
        state["batch_id"] = batch.id
        self._note(state)
        self._say(f"batch job {batch.id}: {len(requests)} requests submitted")
        return state

    def _note(self, state: dict[str, Any]) -> None:
        """Write a job's file; what a server says of the job goes through the same cleaning as its answers."""
        told = {k: without_key(v, self.spec) if isinstance(v, str) else v for k, v in state.items()}
        write_json(self.folder / f"{state['job']}.json", told)

    def _say(self, line: str) -> None:
        self.report(without_key(line, self.spec))

    def _collect_or_fail(self, state: dict[str, Any]) -> Iterator[tuple[str, Answer | Failure]]:
        import openai

        try:
            yield from self._collect(state)
        except openai.OpenAIError as error:
            failure = explain(error, self.spec, self.model)
            failure.fatal = True  # the job may still be running: asking for it again is free, asking anew is not
            yield from ((i, failure) for i in state["requests"])

    def _collect(self, state: dict[str, Any]) -> Iterator[tuple[str, Answer | Failure]]:
        batch = self._wait(state)
        answered = set()
        for file_id in (batch.output_file_id, batch.error_file_id):
            text = self.client.files.content(file_id).text if file_id else ""
            for line in text.splitlines():
                if line.strip():
                    found = self._read_line(line)
                    if found and found[0] in state["requests"]:
                        answered.add(found[0])
                        yield found
        problems = batch.errors.data if batch.errors and batch.errors.data else []
        why = "; ".join(str(p.message) for p in problems[:3]) or "it is asked again in the next run"
        for request_id in state["requests"]:
            if request_id not in answered:
                reason = f"batch job {batch.id} is {batch.status}: {why[:300]}"
                yield request_id, cleaned(Failure(reason=reason), self.spec)
        # Only now: a process that dies before has not stored everything yet.
        self._note(state | {"collected": True, "status": batch.status})

    def _wait(self, state: dict[str, Any]) -> Any:
        said = ""
        while True:
            batch = self.client.batches.retrieve(state["batch_id"])
            counts = batch.request_counts
            line = f"batch job {batch.id}: {batch.status}"
            line += f", {counts.completed} of {counts.total} done" if counts else ""
            if line != said:
                self._say(line)
                said = line
            if batch.status in OVER:
                return batch
            time.sleep(self.spec.poll_seconds)

    def _read_line(self, line: str) -> tuple[str, Answer | Failure] | None:
        try:
            record = json.loads(line)
            request_id = str(record["custom_id"])
            response = dict(record.get("response") or {})
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if response.get("status_code") == 200:
            answer = read_completion(response.get("body"), self.spec)
            if isinstance(answer, Failure):
                answer.fatal = False
            return request_id, answer
        body = response.get("body")
        error = record.get("error") or (body.get("error") if isinstance(body, dict) else None) or {}
        said = error.get("message") if isinstance(error, dict) else error
        status = response.get("status_code") or ""
        reason = f"batch answer {status}: {str(said or 'no reason given')[:300]}"
        return request_id, cleaned(Failure(reason=reason), self.spec)
