"""Lanes: batches encoded side by side on a CPU, each with its share of the threads.

One batch on all threads leaves them idle wherever torch works on one: between operators, in small ones, in Python.
Measured on two cores with all-MiniLM-L6-v2: two lanes of one thread embed 1.14 (sentences) to 1.20 times (paragraphs)
as many tokens a second as one lane of two.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from helpers.models.shape import is_stock

A = TypeVar("A")
B = TypeVar("B")
MOST_LANES = 8  # more would wait for Python's lock


class Map(Protocol):
    """What `map` does: results in the order of the arguments."""

    def __call__(self, run: Callable[[A], B], items: Iterable[A], /) -> Iterator[B]: ...


@contextmanager
def side_by_side(st: Any) -> Iterator[Map]:
    """A `map` for batches of this sentence-transformers model; plain `map` where lanes do not help or are not safe.

    An interruption waits for the batches at work only. torch's number of threads is as before at the end.
    """
    import torch

    threads = torch.get_num_threads()
    count = min(threads, MOST_LANES)
    if count < 2 or not _may_share(st):
        yield map
        return

    def start() -> None:
        torch.set_num_threads(threads // count)

    pool = ThreadPoolExecutor(count, thread_name_prefix="lane", initializer=start)
    try:
        with _locked_tokenizer(st):
            yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # the lanes' number also became that of threads still to come


def _may_share(st: Any) -> bool:
    """Whether several threads may run the model: a torch transformer without code of its own, on a CPU, not compiled."""
    from sentence_transformers.sentence_transformer.modules import Transformer

    body = st[0]
    return (
        st.device.type == "cpu"
        and type(body) is Transformer
        and is_stock(st)
        and body.backend == "torch"
        and type(body.model).__module__.startswith(("transformers.", "peft."))
        and all(module._compiled_call_impl is None for module in (st, body, body.model))
    )


@contextmanager
def _locked_tokenizer(st: Any) -> Iterator[None]:
    """One thread at a time tokenises: a fast tokenizer cannot be set to two lengths at once."""
    lock, tokenise = threading.Lock(), st.preprocess

    def preprocess(*given: Any, **named: Any) -> Any:
        with lock:
            return tokenise(*given, **named)

    st.preprocess = preprocess
    try:
        yield
    finally:
        del st.preprocess
