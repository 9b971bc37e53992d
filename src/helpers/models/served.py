"""Served model: a model behind an address, as a function whose every vector is kept and whose changes are noticed.

What it computes cannot be looked into, so it is known by address, name and settings, and by its vectors of fixed texts.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from helpers.base.errors import StudyError
from helpers.base.files import read_json, write_json
from helpers.base.hashes import digest
from helpers.models.budget import Budget, estimated_tokens
from helpers.models.function import FINGERPRINT_TEXTS, function_model
from helpers.models.server import Server, Unreachable
from helpers.models.server_probe import apart, probed
from helpers.models.vector_log import VectorLog
from helpers.study.spec import ModelSpec

logger = logging.getLogger(__name__)
CHECKED_FOR = 600.0  # seconds for which a server that gave its vectors is believed to be the same
LEAST_TOLERANCE = 1e-3  # of a vector's length, within which a server's vectors are the same as before
NOISY = 1e-5


def served_model(spec: ModelSpec, cache: Path | None = None) -> Any:
    """The model of an entry with `weights: served` as a SentenceTransformer that can be swept.

    cache: folder of the run where vectors, counts and what is known of the server are kept. Raises `StudyError` with
    the remedy where the server does not answer, and never answered in this run.
    """
    assert spec.server is not None
    settings = spec.server.settings(spec.name)
    folder = _folder(spec, cache)
    server = Server(spec.label, str(settings["model"]), spec.server, _budget(spec, folder))
    known, is_checked = recognised(server, folder)
    vectors = np.array(known["vectors"], dtype=np.float32)
    path = folder / f"{digest(known['vectors'])}.vectors" if folder is not None else None
    function = ServedFunction(server, VectorLog(path, vectors.shape[1]), known, is_checked)
    model = function_model(spec.label, function, json.dumps(settings, sort_keys=True), vectors)
    model.prompts |= _prompts(spec)
    return model


def _prompts(spec: ModelSpec) -> dict[str, str]:
    """What stands before queries and documents by the model's own rules: the study's, else mteb's for its name."""
    from mteb.models.model_implementations import MODEL_REGISTRY

    if spec.server is not None and spec.server.prompts is not None:
        return {str(side): prompt for side, prompt in spec.server.prompts.items()}
    meta = MODEL_REGISTRY.get(spec.name)
    return dict((meta.loader_kwargs or {}).get("model_prompts") or {}) if meta is not None else {}


def sent_so_far(spec: ModelSpec, cache: Path) -> dict[str, int]:
    """Requests and tokens that a run has sent to the server of an entry."""
    return _budget(spec, _folder(spec, cache)).sent


def _folder(spec: ModelSpec, cache: Path | None) -> Path | None:
    assert spec.server is not None
    return None if cache is None else cache / "served" / digest(spec.server.settings(spec.name))


def _budget(spec: ModelSpec, folder: Path | None) -> Budget:
    assert spec.server is not None
    path = None if folder is None else folder / "sent.json"
    return Budget(path, spec.server.max_requests, spec.server.max_tokens)


class ServedFunction:
    """Texts -> vectors; each text is asked for once, in batches side by side, and kept as soon as its vector is here."""

    def __init__(self, server: Server, log: VectorLog, known: dict[str, Any], is_checked: bool) -> None:
        self.server, self.log, self.known = server, log, known
        self.checked_at = time.monotonic() if is_checked else float("-inf")

    def __call__(self, texts: list[str]) -> np.ndarray:
        distinct = list(dict.fromkeys(texts))
        found = self.log.known(distinct)
        if missing := [text for text in distinct if text not in found]:
            self._check()
            found |= self._asked(missing)
        return np.stack([found[text] for text in texts])

    def _check(self) -> None:
        """Raise `StudyError` where the server has become another one while it was used."""
        if time.monotonic() - self.checked_at < CHECKED_FOR:
            return
        if not is_same(self.server.ask(FINGERPRINT_TEXTS), self.known):
            raise StudyError(
                f"model {self.server.label}: {changed(self.server)}; run again to compute with the new ones"
            )
        self.checked_at = time.monotonic()

    def _asked(self, texts: list[str]) -> dict[str, np.ndarray]:
        """The vectors of texts; where a batch fails, those that came are kept and no more are asked for."""
        server, found, failure = self.server, dict[str, np.ndarray](), None
        server.stop.clear()
        left = batches(texts, server.spec.batch_texts, server.spec.batch_tokens)
        under_way: set[Future[dict[str, np.ndarray]]] = set()
        pool = ThreadPoolExecutor(server.spec.concurrency, thread_name_prefix="served")
        try:
            while True:
                while failure is None and len(under_way) < server.spec.concurrency:
                    if (batch := next(left, None)) is None:
                        break
                    under_way.add(pool.submit(self._kept, batch))
                if not under_way:
                    break
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    try:
                        found |= future.result()
                    except Exception as error:
                        failure = failure or error
                        server.stop.set()  # answers under way still come, but nobody waits to ask again
        finally:
            server.stop.set()
            pool.shutdown(cancel_futures=True)
            server.stop.clear()
        if failure is not None:
            raise failure
        return found

    def _kept(self, batch: list[str]) -> dict[str, np.ndarray]:
        """The vectors of one batch, kept before anything else happens to them."""
        vectors = self.server.ask(batch)
        if vectors.shape[1] != self.log.dimension:
            raise StudyError(
                f"model {self.server.label}: {self.server.place} sends vectors of {vectors.shape[1]} numbers; they had "
                f"{self.log.dimension} before"
            )
        new = dict(zip(batch, vectors, strict=True))
        self.log.add(new)
        return new


def batches(texts: Sequence[str], most_texts: int, most_tokens: int) -> Iterator[list[str]]:
    """Texts in their order, in lists of at most so many texts and estimated tokens (at least one text).

    >>> list(batches(["a", "b", "c" * 40], 2, 10))
    [['a', 'b'], ['cccccccccccccccccccccccccccccccccccccccc']]
    """
    batch: list[str] = []
    tokens = 0
    for text in texts:
        more = estimated_tokens([text])
        if batch and (len(batch) == most_texts or tokens + more > most_tokens):
            yield batch
            batch, tokens = [], 0
        batch.append(text)
        tokens += more
    if batch:
        yield batch


def recognised(server: Server, folder: Path | None) -> tuple[dict[str, Any], bool]:
    """What is known of the server as it is now, and whether it was asked: its vectors of the fixed texts, its probes.

    Vectors that are those of an earlier time, within what the server itself moves from request to request, are taken as
    they were then. A server that does not answer is taken as it was last: its vectors may all be here already.
    """
    with _locked(folder):
        path = folder / "server.json" if folder is not None else None
        seen = list(((read_json(path) if path is not None else None) or {}).get("seen", []))
        try:
            now = server.ask(FINGERPRINT_TEXTS, patient=not seen)
        except Unreachable as error:
            if not seen:
                raise
            logger.warning("%s; what it sent before is used", error)
            return seen[-1], False
        for known in reversed(seen):
            if is_same(now, known):
                return known, True
        if seen:
            logger.warning("model %s: %s: results made before are kept apart", server.label, changed(server))
        probes = probed(server, now)
        known = {"vectors": np.round(now.astype(float), 6).tolist(), **probes}
        if known["noise"] > NOISY:
            logger.warning(
                "model %s: %s moves a vector by up to %.1e of its length from request to request; the first one that "
                "came is kept", server.label, server.place, known["noise"],
            )  # fmt: skip
        if path is not None:
            write_json(path, {"server": server.spec.settings(server.model), "seen": [*seen, known]})
        return known, True


def is_same(vectors: np.ndarray, known: dict[str, Any]) -> bool:
    """Whether vectors of the fixed texts are those known, within 1e-3 of their length or three times the server's noise."""
    before = np.array(known["vectors"], dtype=np.float32)
    return apart(vectors, before) <= max(LEAST_TOLERANCE, 3 * float(known["noise"]))


def changed(server: Server) -> str:
    return f"{server.place} gives other vectors than before"


def _locked(folder: Path | None) -> AbstractContextManager[object]:
    if folder is None:
        return nullcontext()
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / ".lock")
