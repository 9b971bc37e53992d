"""Language models behind one small interface: requests go in, answers or failures come out as they are ready.

Three back ends: any OpenAI-compatible server (`openai`), its batch interface (`batch`, see `helpers.prompts.llm.batch`),
and vLLM in this process (`vllm`, see `helpers.prompts.llm.vllm`). The key is read from the environment when a request is
sent; it is in no object that is stored or shown, and is taken out of every text that a server sends back.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ConfigDict

from helpers.base.bounded import ANSWER, TooLarge, read_answer, within
from helpers.study.prompts import GeneratorSpec

FILE = 512 * 2**20  # bytes of the answers of a whole batch job

HOSTED = "https://api.openai.com/v1"


class Request(BaseModel):
    """One question to the model: its messages, the JSON schema of the answer, the seed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    messages: tuple[dict[str, str], ...]
    answer_schema: dict[str, Any] | None = None
    schema_name: str = "answer"
    seed: int | None = None


class Answer(BaseModel):
    """What came back: the raw text, why it ended, which model says it wrote it, and what it cost in tokens."""

    model_config = ConfigDict(extra="forbid")

    text: str
    finish_reason: str | None = None
    model: str | None = None
    fingerprint: str | None = None
    reasoning: str | None = None
    prompt_tokens: int | None = None
    answer_tokens: int | None = None


class Failure(BaseModel):
    """Why a request has no answer. fatal: every further request would fail for the same reason."""

    model_config = ConfigDict(extra="forbid")

    reason: str
    fatal: bool = False


class Backend(Protocol):
    """Answers requests; `model` is what the user asked for, `name` the kind of back end."""

    name: str
    model: str

    def ask(self, requests: Sequence[Request]) -> Iterator[tuple[str, Answer | Failure]]:
        """Yield (request id, answer or failure) for every request, in any order."""
        ...


def model_name(spec: GeneratorSpec) -> str | None:
    """The model's name from the study or the environment, or None."""
    return spec.model or os.environ.get(spec.model_env) or None


def make_client(spec: GeneratorSpec) -> Any:
    """An `openai` client for the server that the environment names."""
    from helpers.base.errors import StudyError

    try:
        from openai import OpenAI
    except ImportError:
        raise StudyError("asking a language model needs the extra 'llm': pip install -e '.[llm]'") from None
    address = os.environ.get(spec.base_url_env) or HOSTED
    key = os.environ.get(spec.key_env)
    if not urlsplit(address).scheme.startswith("http"):
        raise StudyError(f"{spec.base_url_env}: '{place(address)}' is no address; e.g. http://localhost:11434/v1")
    if not key and address == HOSTED:
        raise StudyError(
            f"no key: set {spec.key_env}, or set {spec.base_url_env} to a server of your own "
            "(Ollama: http://localhost:11434/v1, vllm serve: http://localhost:8000/v1)"
        )
    # Servers of one's own take any key; the client insists on one.
    return OpenAI(
        api_key=key or "none", base_url=address, timeout=spec.timeout, max_retries=spec.retries,
        http_client=_bounded_client(spec.timeout),
    )  # fmt: skip


def _bounded_client(seconds: float) -> Any:
    """The client's own HTTP client, whose answers are bounded in size and in total time; files of a batch job more."""
    import openai

    class BoundedClient(openai.DefaultHttpxClient):
        def send(self, request: Any, **keys: Any) -> Any:
            is_file = re.search(r"/files(/[^/]+/content)?$", request.url.path) is not None
            most, longest = (FILE, 30 * seconds) if is_file else (ANSWER, seconds)

            def answered() -> Any:
                return read_answer(super(BoundedClient, self).send(request, **keys | {"stream": True}), most, longest)

            try:
                return within(longest, answered)
            except TooLarge as error:
                raise openai.OpenAIError(str(error)) from error
            except TimeoutError as error:  # as the HTTP library's own, which the client tries again
                library = importlib.import_module(type(request).__module__.partition(".")[0])
                raise library.ReadTimeout(str(error), request=request) from None

    return BoundedClient()


def place(address: str) -> str:
    """A server's address as a message may show it: without user, password and query."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"


def without_key(text: str, spec: GeneratorSpec) -> str:
    """The text with the key, and the password of the server's address, replaced."""
    address = os.environ.get(spec.base_url_env) or ""
    for secret in (os.environ.get(spec.key_env), urlsplit(address).password if address else None):
        for form in {secret, quote(secret, safe="")} if secret and len(secret) >= 4 else ():
            text = text.replace(form, "[key]")
    return text


def cleaned(found: Answer | Failure, spec: GeneratorSpec) -> Answer | Failure:
    """What a server sent, every text of it without the key and in characters that a file can hold."""

    def clean(text: str) -> str:
        return without_key(text.encode("utf-8", "replace").decode(), spec)

    fields = found.model_dump()
    return type(found).model_validate({k: clean(v) if isinstance(v, str) else v for k, v in fields.items()})


def chat_body(spec: GeneratorSpec, model: str, request: Request) -> dict[str, Any]:
    """The body of one chat completion, as the chat and the batch interface take it."""
    body: dict[str, Any] = {
        "model": model,
        "messages": list(request.messages),
        "max_tokens": spec.max_tokens,
        **({} if spec.temperature is None else {"temperature": spec.temperature}),
        **({} if request.seed is None else {"seed": request.seed}),
    }
    if request.answer_schema is not None and spec.structured == "json_schema":
        shape = {"name": request.schema_name, "schema": request.answer_schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    elif request.answer_schema is not None and spec.structured == "json_object":
        body["response_format"] = {"type": "json_object"}
    body |= spec.extra
    if "max_completion_tokens" in body:  # hosted reasoning models refuse the older name
        body.pop("max_tokens", None)
    return body


def read_completion(content: Any, spec: GeneratorSpec) -> Answer | Failure:
    """A chat completion (as a mapping) as an answer; a failure where a server sent something else."""
    try:
        choice = content["choices"][0]
        message = choice["message"]
        usage = content.get("usage") or {}
        text = message.get("content") or message.get("refusal") or ""
        reasoning = message.get("reasoning_content") or message.get("reasoning")
        answer = Answer(
            text=str(text),
            finish_reason=_short(choice.get("finish_reason")),
            model=_short(content.get("model")),
            fingerprint=_short(content.get("system_fingerprint")),
            reasoning=reasoning if isinstance(reasoning, str) else None,
            prompt_tokens=_count(usage.get("prompt_tokens")),
            answer_tokens=_count(usage.get("completion_tokens")),
        )
        return cleaned(answer, spec)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError):
        shown = without_key(str(content), spec)[:120]
        return Failure(
            reason=f"the server's answer is no chat completion ({shown!r}); does {spec.base_url_env} end with /v1?",
            fatal=True,
        )


def _short(value: Any) -> str | None:
    """A word about an answer, such as why it ended; a server may send anything."""
    return None if value is None else str(value)[:200]


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**53 else None


def named(body: dict[str, Any]) -> dict[str, Any]:
    """Fields that the client does not know go through its `extra_body`."""
    known = {"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "seed", "response_format"}
    extra = {k: v for k, v in body.items() if k not in known}
    return {k: v for k, v in body.items() if k in known} | ({"extra_body": extra} if extra else {})


def explain(error: Exception, spec: GeneratorSpec, model: str) -> Failure:
    """A client's error as a reason that names the remedy, without any secret."""
    import openai

    address = place(os.environ.get(spec.base_url_env) or HOSTED)
    said = without_key(str(error), spec)[:300]
    if isinstance(error, openai.AuthenticationError):
        return Failure(reason=f"401: {address} refused the key; check {spec.key_env}", fatal=True)
    if isinstance(error, openai.PermissionDeniedError):
        return Failure(reason=f"403: the key in {spec.key_env} may not use '{model}' at {address}", fatal=True)
    if isinstance(error, openai.NotFoundError):
        remedy = f"check the model's name ({spec.model_env}) and that {spec.base_url_env} ends with /v1"
        return Failure(reason=f"404: {address} does not know '{model}'; {remedy}: {said}", fatal=True)
    if isinstance(error, (openai.BadRequestError, openai.UnprocessableEntityError)):
        remedy = "a server without JSON schemas needs prompts.generator.structured: json_object or none"
        return Failure(reason=f"{error.status_code}: the server refused the request ({remedy}): {said}", fatal=True)
    if isinstance(error, openai.RateLimitError):
        remedy = "wait or lower prompts.generator.concurrency; finished answers are kept"
        return Failure(reason=f"429: still limited after {spec.retries} further tries; {remedy}: {said}")
    if isinstance(error, openai.APITimeoutError):
        return Failure(reason=f"no answer from {address} within {spec.timeout:g} s; raise prompts.generator.timeout")
    if isinstance(error.__cause__, TooLarge):
        return Failure(reason=f"{address}: {error.__cause__}; check {spec.base_url_env}", fatal=True)
    if isinstance(error, openai.APIConnectionError):
        return Failure(reason=f"no connection to {address}; is the server running? ({spec.base_url_env})")
    if isinstance(error, openai.APIStatusError):
        return Failure(reason=f"{error.status_code} after {spec.retries} further tries: {said}")
    return Failure(reason=f"{type(error).__name__}: {said}")
