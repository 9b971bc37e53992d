"""Server: texts go to an address and vectors come back, patiently, within limits, every failure with its remedy.

The key is read from the environment when a request is sent; it is in no object that is stored or shown, and is taken
out of every text that the server sends back.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter
from tenacity.nap import sleep_using_event

from helpers.base.bounded import TooLarge, read_answer
from helpers.base.errors import StudyError
from helpers.models.budget import Budget, estimated_tokens
from helpers.models.protocols import NoVectors, address, read_vectors, reported_tokens, request_body
from helpers.study.served import ServerSpec

LONGEST_WAIT = 600.0  # seconds that a server may ask for with Retry-After
PASSING = (408, 425, 429)
TOO_LONG = (400, 413, 422)  # a server's word for a text or a batch that is too large
KIB_PER_TEXT = 256  # of an answer; a vector of 4,096 numbers has 80 in JSON


class Unreachable(StudyError):
    """The server gives no answer, or none but that it is busy; later it may."""


class Refused(StudyError):
    """The server answers that it will not do what it is asked for."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Server:
    """A server and the model on it. Threads may ask side by side; `stop` ends their waiting."""

    def __init__(self, label: str, model: str, spec: ServerSpec, budget: Budget) -> None:
        self.label, self.model, self.spec, self.budget = label, model, spec, budget
        self.stop = threading.Event()
        self._largest = spec.batch_texts
        self._is_patient = True  # not after a request was given up, until one is answered
        self._fatal: str | None = None
        self._client = httpx.Client(timeout=spec.timeout, follow_redirects=False)
        self._backoff = wait_exponential_jitter(initial=0.5, max=30, jitter=0.5)

    @property
    def place(self) -> str:
        return f"the server at {self.spec.url}"

    def ask(self, texts: Sequence[str], patient: bool = True) -> np.ndarray:
        """The vectors of texts, (n, dimension) float32, in one request; where that is too large, in several.

        Raises `Refused`, `Unreachable`, `LimitReached` or, for an answer without a vector per text, `StudyError`.
        """
        some = list(texts)
        if len(some) > self._largest:
            return self._in_halves(some, patient)
        try:
            answer = self._answer(address(self.spec), request_body(self.spec, self.model, some), some, patient)
            return read_vectors(self.spec, answer, len(some))
        except NoVectors as error:
            raise StudyError(f"model {self.label}: {self.place}: {error}") from None
        except Refused as error:
            if error.status not in TOO_LONG or len(some) == 1:
                raise
        halves = self._in_halves(some, patient)
        self._largest = min(self._largest, max(1, (len(some) + 1) // 2))  # so many go through
        return halves

    def _in_halves(self, texts: list[str], patient: bool) -> np.ndarray:
        middle = (len(texts) + 1) // 2
        return np.concatenate([self.ask(texts[:middle], patient), self.ask(texts[middle:], patient)])

    def post(self, url: str, body: dict[str, Any]) -> Any:
        """The JSON that comes back from another route of the server, asked for once."""
        return self._answer(url, body, [], patient=False)

    def _answer(self, url: str, body: dict[str, Any], texts: list[str], patient: bool) -> Any:
        if self._fatal is not None:
            raise StudyError(self._fatal)
        tokens = estimated_tokens(texts)
        attempts = 1 + (self.spec.retries if patient and self._is_patient else 0)

        def send(number: int) -> httpx.Response:
            if self.stop.is_set():
                raise Unreachable(f"model {self.label}: stopped while {self.place} was asked")
            self.budget.take(1, tokens if number == 1 else 0)
            with self._client.stream("POST", url, json=body, headers=self._headers()) as stream:
                most = 2**20 + KIB_PER_TEXT * 2**10 * len(texts)
                answer: httpx.Response = read_answer(stream, most, self.spec.timeout)
            return answer.raise_for_status()

        try:
            for attempt in Retrying(
                stop=stop_after_attempt(attempts), wait=self._wait, retry=retry_if_exception(_passes),
                sleep=sleep_using_event(self.stop), reraise=True,
            ):  # fmt: skip
                with attempt:
                    answer = send(attempt.retry_state.attempt_number)
        except httpx.HTTPStatusError as error:
            told = self._told(error.response)
            if texts and not isinstance(told, Unreachable | Refused):
                self._fatal = str(told)  # every further request would meet it too: none is sent
            raise told from None
        except TooLarge as error:
            raise StudyError(f"model {self.label}: {self.place}: {error}") from None
        except (httpx.HTTPError, TimeoutError, OSError) as error:
            self._is_patient = False
            raise Unreachable(
                f"model {self.label}: {self.place} gives no answer ({self._clean(type(error).__name__ + ': ' + str(error))}); "
                f"is it running? (tried {attempts} times, {self.spec.timeout:g} s each)"
            ) from None
        self._is_patient = True
        try:
            content = answer.json()
        except ValueError:
            raise StudyError(
                f"model {self.label}: {self.place} sends no JSON ({self._clean(answer.text)[:80]!r}); check the address"
            ) from None
        if (counted := reported_tokens(content)) is not None and texts:
            self.budget.correct(counted - tokens)
        return content

    def _told(self, answer: httpx.Response) -> StudyError:
        """A refusal as an error in one line that names the remedy."""
        status, said = answer.status_code, self._said(answer)
        about = f"model {self.label}: {status}: {self.place}"
        key = self.spec.key_variable or "(none: server.key_env names its variable)"
        if status == 429 and "insufficient_quota" in answer.text:
            return StudyError(f"{about} says that the quota of the key in {key} is used up: {said}")
        if status in PASSING or status >= 500:
            self._is_patient = False
            asked = retry_after(answer.headers) or 0
            waited = f"still after {self.spec.retries} further tries"
            if asked > LONGEST_WAIT:
                waited = f"and asks to wait for {asked:,.0f} s"
            advice = "lower server.concurrency or run again later" if status == 429 else "run again later"
            return Unreachable(f"{about} cannot answer, {waited}; {advice}: {said}")
        if status == 401:
            given = "refused the key in" if os.environ.get(key) else "wants a key, and there is none in"
            return StudyError(f"{about} {given} {key}; set it to a key of this server")
        if status == 403:
            return StudyError(f"{about} does not let the key in {key} use '{self.model}': {said}")
        if status in (404, 405):
            end = "ends with /v1" if self.spec.protocol == "openai" else "has no path, or protocol: openai is meant"
            return StudyError(
                f"{about} does not know '{self.model}' or the route; check server.model and that server.url {end}: {said}"
            )
        if 300 <= status < 400:
            return StudyError(f"{about} sends to another address; give that one as server.url")
        cut = " or set server.truncate: true" if self.spec.protocol == "tei" else ""
        remedy = f"if a text is too long, shorten it{cut}" if status in TOO_LONG else "see what it says"
        return Refused(f"{about} refuses what it was asked for ({remedy}): {said}", status)

    def _said(self, answer: httpx.Response) -> str:
        """The message in a refusal, on one line, without the key."""
        try:
            content = answer.json()
            inner = content.get("error", content) if isinstance(content, dict) else content
            text = inner.get("message", inner) if isinstance(inner, dict) else inner
        except ValueError:
            text = answer.text
        return self._clean(str(text))

    def _clean(self, text: str) -> str:
        key = os.environ.get(self.spec.key_variable) or ""
        for form in {key, quote(key, safe="")} if len(key) >= 4 else ():
            text = text.replace(form, "[key]")
        return " ".join(text.encode("utf-8", "replace").decode().split())[:300]

    def _headers(self) -> dict[str, str]:
        key = (os.environ.get(self.spec.key_variable) or "").strip()
        if not key.isascii() or not key.isprintable():
            raise StudyError(f"model {self.label}: {self.spec.key_env} holds characters that no key has")
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _wait(self, state: RetryCallState) -> float:
        """Seconds before the next try: what the server asks for with Retry-After, else longer each time."""
        error = state.outcome.exception() if state.outcome is not None else None
        asked = retry_after(error.response.headers) if isinstance(error, httpx.HTTPStatusError) else None
        return self._backoff(state) if asked is None else asked


def retry_after(headers: Any) -> float | None:
    """Seconds that an answer asks to wait, given in seconds or as a date; None without such a wish.

    >>> retry_after({"retry-after": "2"})
    2.0
    """
    given = headers.get("retry-after", "")
    try:
        seconds = float(given)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    return seconds if 0 <= seconds < float("inf") else (0.0 if seconds < 0 else None)


def _passes(error: BaseException) -> bool:
    """Whether asking again can help: a broken connection, a busy server that does not ask to wait for long."""
    if isinstance(error, httpx.HTTPStatusError):
        answer = error.response
        if answer.status_code not in PASSING and answer.status_code < 500:
            return False
        return (retry_after(answer.headers) or 0) <= LONGEST_WAIT and "insufficient_quota" not in answer.text
    return isinstance(error, httpx.TransportError | TimeoutError)
