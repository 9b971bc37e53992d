"""The sweep against the loop of the published repository, and its own costs, on the same work in one run.

    python benchmarks/sweep.py                              # everything; the comparisons take an hour on two cores
    python benchmarks/sweep.py --only retrieval sts --prompts 15
    python benchmarks/sweep.py --only overhead resume memory
    python benchmarks/sweep.py --small                      # a look at whether it runs, in minutes

The loop: the model is loaded once, `mteb.evaluate` runs once per prompt, the prompt set through the wrapper's own
mechanism. Models and prompts are the same on both sides. Texts (seeded): those of the tasks in `EMBEDDING_TASK_DATA`
where SQuAD, SciFact, STS15, Tatoeba and TweetSentimentClassification lie there, else drawn from the demo's passages,
which differ less in length per token and so flatter the loop. Prints seconds, their ratio with its floor, and the
largest difference of the main score. Times are wall-clock.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from sweep_data import PROMPTS, TASKS, FreeWrapper, Table, write_data  # noqa: E402

FLOORS = {"retrieval": 19.0, "classification": 2.6, "large-classification": 50.0, "sts": 1.7, "pair": 1.7,
          "bitext": 1.5, "clustering": 1.5}  # fmt: skip
COMPARED = list(FLOORS)
# Of the main score; k-means and ten classifiers move as far between two batch sizes of stock mteb.
TOLERANCES = dict.fromkeys(FLOORS, 1e-5) | {"classification": 2e-3, "clustering": 5e-3}


def study_of(kind: str, folder: Path, share: float, model: dict[str, Any]) -> Any:
    from tiny import tiny_study

    task = write_data(kind, folder / "data", share, real_data())
    settings = {"data_root": str(folder / "data"), "baselines": [], "sweep": {"bitext_side": "both"}}
    return tiny_study(folder, [model], [task], **settings)


def real_data() -> Path | None:
    """The folder of real task data, if it holds every task whose texts are used."""
    named = os.environ.get("EMBEDDING_TASK_DATA")
    needed = ("SQuAD", "SciFact", "STS15", "Tatoeba", "TweetSentimentClassification")
    return Path(named) if named and all((Path(named) / task).is_dir() for task in needed) else None


@contextmanager
def at_no_cost(table: Table) -> Iterator[None]:
    """Vectors from a table in place of the model's; the probe would notice, so it is left out."""
    with patch("helpers.models.embed.encode", table.encode), patch("helpers.sweep.group._probe"):
        yield


def loop(study: Any, wrapper: Any, prompts: list[str]) -> dict[str, float]:
    """One `mteb.evaluate` per prompt on a task that is loaded again, as the published repository does it."""
    import mteb

    from helpers.tasks.load import load_task

    scores = {}
    for prompt in prompts:
        task = load_task(study.tasks[0], study)
        name = task.metadata.name
        if isinstance(wrapper, FreeWrapper):
            wrapper.prompt = prompt + " "
        else:
            key = f"{name}-query" if task.metadata.type == "Retrieval" else name
            wrapper.model_prompts = {key: prompt + " "}
        found = mteb.evaluate(wrapper, task, cache=None, co2_tracker=False, encode_kwargs={"batch_size": 32})
        scores[prompt] = float(found.task_results[0].scores[task.eval_splits[0]][0]["main_score"])
    return scores


def compare(kind: str, n_prompts: int, share: float, n_loop: int | None = None) -> bool:
    """Sweep and loop on one task; whether the floor holds. The loop may take fewer prompts: each costs it the same."""
    from tiny import MINILM, STATIC, prompt_rows

    from helpers.models.load import load_model
    from helpers.sweep.results import scores_table
    from helpers.sweep.run import sweep_study

    free = kind == "large-classification"
    prompts = PROMPTS[: min(n_prompts, 2) if free else n_prompts]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        study = study_of(kind, folder, share, STATIC if free else MINILM)
        rows = prompt_rows(TASKS[kind], *prompts)
        model = load_model(study.models[0])  # imports and weights are read before either side is timed
        table = Table()
        wrapper = FreeWrapper(table, model.wrapper.mteb_model_meta) if free else model.wrapper
        with at_no_cost(table) if free else nullcontext():
            ours, _ = timed(sweep_study, study, folder / "run", rows, progress=None)
        scores = scores_table(study, folder / "run", rows).set_index("prompt")["main_score"]
        looped = prompts[:n_loop]
        theirs, stock = timed(loop, study, wrapper, looped)
        theirs *= len(prompts) / len(looped)
    apart = max(abs(scores[p] - s) for p, s in stock.items())
    scaled = f" (scaled from {len(looped)} prompts)" if len(looped) < len(prompts) else ""
    print(
        f"{kind:<21} {len(prompts):>2} prompts: loop {theirs:7.1f} s{scaled}, sweep {ours:7.1f} s, ratio {theirs / ours:5.2f}, "
        f"largest score difference {apart:.1e}",
        end="",
    )
    good = theirs / ours >= FLOORS[kind] and apart <= TOLERANCES[kind]
    return verdict(good, f"at least {FLOORS[kind]}, at most {TOLERANCES[kind]:.0e} apart", share)


def one_more_prompt(n_prompts: int, share: float) -> bool:
    """A further prompt on a finished retrieval task against the first one."""
    from tiny import MINILM, prompt_rows

    from helpers.models.load import load_model
    from helpers.sweep.run import sweep_study

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        study = study_of("retrieval", folder, share, MINILM)
        load_model(study.models[0])
        seconds = [
            timed(sweep_study, study, folder / "run", prompt_rows("SciFact", *PROMPTS[:n]), progress=None)[0]
            for n in (1, 2)
        ]
    print(
        f"one-more-prompt: first {seconds[0]:.1f} s, one more {seconds[1]:.1f} s, 1/{seconds[0] / seconds[1]:.0f}",
        end="",
    )
    return verdict(seconds[0] / seconds[1] >= 15, "at most 1/15", share)


def finished_cells(folder: Path, share: float) -> tuple[Any, Any, int, float]:
    """A sweep in which model and scores cost nothing: (study, prompts, number of cells, seconds)."""
    import pandas as pd
    from tiny import STATIC, prompt_rows, tiny_study

    from helpers.models.load import load_model
    from helpers.sweep.run import sweep_study
    from helpers.tasks.demo import read_jsonl

    columns = [[row[key] for row in read_jsonl("sts")] for key in ("sentence1", "sentence2")]
    tasks, wanted = ["DemoSTS", "DemoRetrieval"], int(10_000 * share)
    each = wanted // len(tasks)
    study = tiny_study(folder, [STATIC], tasks, baselines=[])
    load_model(study.models[0])  # imports are not the engine's own cost
    rows = pd.concat([prompt_rows(t, *(f"Prompt {k}:" for k in range(each))) for t in tasks], ignore_index=True)

    def evaluate(encoder: Any, task: Any, cell: Any) -> dict[str, Any]:
        encoder.prefixes, encoder.calls = cell.prefixes, []
        sides = ("query", "document") if task.metadata.type == "Retrieval" else ("both", "both")
        for side, texts in zip(sides, columns, strict=True):
            encoder.vectors(side, texts)
        return {"main_score": 0.5, "cosine_spearman": 0.5}

    with (
        at_no_cost(Table()),
        patch("helpers.sweep.score.evaluate", evaluate),
    ):
        seconds, reports = timed(sweep_study, study, folder / "run", rows, progress=None)
    assert sum(r.done for r in reports) == each * len(tasks), reports[0].reasons[:1]
    return study, rows, each * len(tasks), seconds


def overhead(share: float) -> bool:
    with tempfile.TemporaryDirectory() as scratch:
        _, _, cells, seconds = finished_cells(Path(scratch), share)
    print(f"overhead: {cells} cells in {seconds:.1f} s, {1000 * seconds / cells:.1f} ms per cell", end="")
    return verdict(1000 * seconds / cells <= 20, "at most 20 ms", share)


def resume(share: float) -> bool:
    from helpers.sweep.results import scores_table
    from helpers.sweep.run import sweep_study

    with tempfile.TemporaryDirectory() as scratch:
        study, rows, cells, _ = finished_cells(Path(scratch), share)
        seconds, reports = timed(sweep_study, study, Path(scratch) / "run", rows, progress=None)
        assert sum(r.reused for r in reports) == cells, "not every cell was reused"
        table, _ = timed(scores_table, study, Path(scratch) / "run", rows)
    print(
        f"resume: {cells} finished cells in {seconds:.1f} s (and {table:.1f} s for the table of scores)",
        end="",
    )
    return verdict(seconds <= 10, "at most 10 s", share)


def memory(share: float) -> bool:
    """Peak memory of a process that embeds and searches 300,000 documents of 1,024 dimensions."""
    number = str(int(300_000 * share))
    done = subprocess.run([sys.executable, __file__, "--documents", number], capture_output=True, text=True, check=True)
    seconds, peak = map(float, done.stdout.split()[-2:])
    print(f"memory: {number} x 1,024 in {seconds:.0f} s, peak {peak:.2f} GB", end="")
    return verdict(peak <= 3, "at most 3 GB", share)


def search_documents(number: int) -> None:
    """Embed a corpus with random vectors through the whole path, search it with two prompts, print seconds and peak."""
    import torch
    from datasets import Dataset
    from tiny import STATIC

    from helpers.models.application import Prefixes
    from helpers.models.cache import EmbeddingCache
    from helpers.models.load import load_model
    from helpers.study.spec import ModelSpec
    from helpers.sweep.encoder import SweepEncoder
    from helpers.tasks.demo import DemoRetrieval

    started = time.monotonic()
    model = load_model(ModelSpec(**STATIC))
    generator = torch.Generator().manual_seed(0)

    def encode(some: list[str], **kwargs: Any) -> Any:
        return torch.randn(len(some), 1024, generator=generator)

    corpus = Dataset.from_dict({"id": [f"d{k}" for k in range(number)], "title": [""] * number,
                                "text": [f"document {k} of the corpus" for k in range(number)]})  # fmt: skip
    queries = Dataset.from_dict({"id": [f"q{k}" for k in range(1000)], "text": [f"query {k}" for k in range(1000)]})
    with tempfile.TemporaryDirectory() as scratch:
        model.cache = EmbeddingCache(Path(scratch))
        with patch.multiple(model.st, encode=encode, encode_query=encode, encode_document=encode):
            encoder = SweepEncoder(model)
            for prompt in ("a ", "b "):
                encoder.prefixes = Prefixes(prompt, "", prompt, "raw", "")
                encoder.index(corpus, task_metadata=DemoRetrieval.metadata)
                found = encoder.search(queries, task_metadata=DemoRetrieval.metadata, top_k=1000)
                assert len(found) == 1000 and all(len(row) == 1000 for row in found.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform != "darwin" else 2**30)
    print(time.monotonic() - started, peak)


def prefix_reuse(share: float) -> bool:
    """A random causal decoder of 8 layers, a prompt of 22 tokens, texts of 8 to 40: with its states reused or not."""
    from sweep_data import texts
    from tiny_models import random_decoder

    from helpers.models import embed as embeddings
    from helpers.models.load import load_model
    from helpers.study.spec import ModelSpec

    with tempfile.TemporaryDirectory() as scratch:
        path = random_decoder(Path(scratch), layers=8, hidden=512)
        model = load_model(ModelSpec(name="decoder", weights=f"path:{path}"))
        some = texts(int(400 * share) or 20, 15, 1)
        prompt = " ".join(["find"] * 21) + " "
        request = (some, prompt, None)
        assert model.reuses_prefix
        found: dict[bool, Any] = {}
        seconds = {True: float("inf"), False: float("inf")}
        for reused in (True, False) * 2:
            model.__dict__["reuses_prefix"] = reused
            took, found[reused] = timed(embeddings.embed_many, model, [request])
            seconds[reused] = min(seconds[reused], took)
    apart = float(np.abs(found[True][0] - found[False][0]).max())
    print(
        f"prefix-reuse: plain {seconds[False]:.1f} s, reused {seconds[True]:.1f} s, "
        f"ratio {seconds[False] / seconds[True]:.2f}, largest difference {apart:.1e}",
        end="",
    )
    return verdict(apart <= 1e-5, "difference at most 1e-5", share)


def timed(run: Callable[..., Any], *given: Any, **named: Any) -> tuple[float, Any]:
    started = time.monotonic()
    result = run(*given, **named)
    return time.monotonic() - started, result


def verdict(good: bool, floor: str, share: float) -> bool:
    """Say whether a floor holds; it means nothing for a smaller size."""
    print(
        f" ({floor}: {'holds' if good else 'MISSED'})" if share == 1 else f" ({floor} at full size)",
        flush=True,
    )
    return good or share != 1


def main() -> int:
    cases: dict[str, Callable[[int, float], bool]] = {
        kind: lambda prompts, share, kind=kind: compare(kind, prompts, share, options.loop_prompts) for kind in COMPARED
    }
    cases |= {
        "one-more-prompt": one_more_prompt,
        "overhead": lambda _, share: overhead(share),
        "resume": lambda _, share: resume(share),
        "memory": lambda _, share: memory(share),
        "prefix-reuse": lambda _, share: prefix_reuse(share),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=list(cases), default=list(cases), metavar="CASE", help=", ".join(cases)
    )
    parser.add_argument("--prompts", type=int, default=15, help="prompts per task (at most 18)")
    parser.add_argument(
        "--loop-prompts",
        type=int,
        help="prompts that the loop runs; its time is scaled to all of them, and says so",
    )
    parser.add_argument("--small", action="store_true", help="a fiftieth of the size: does it run?")
    parser.add_argument("--documents", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.documents is not None:
        search_documents(options.documents)
        return 0
    share = 0.02 if options.small else 1.0
    print(f"texts: {'of real tasks' if real_data() else 'drawn from the demo'}", flush=True)
    good = [cases[name](min(options.prompts, len(PROMPTS)), share) for name in options.only]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
