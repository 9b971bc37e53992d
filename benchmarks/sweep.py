"""The sweep against the loop of the published repository, on the same work in one run.

    python benchmarks/sweep.py retrieval --prompts 15
    python benchmarks/sweep.py sts classification --prompts 5

The loop: the model is loaded once, `mteb.evaluate` runs once per prompt, the prompt set through the wrapper's own
mechanism. Texts are drawn from the words of the demo (seeded); models and prompts are the same on both sides. Prints
seconds, their ratio and the largest difference of the main score.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

PROMPTS = [f"{verb} the {noun} {end}" for verb in ("Find", "Describe", "Match") for noun in ("text", "passage", "topic")
           for end in ("below:", "that fits best:")]  # fmt: skip


def words() -> list[str]:
    from helpers.demo import read_jsonl

    return " ".join(p["text"] for p in read_jsonl("passages")).split()


def texts(n: int, low: int, high: int, seed: int) -> list[str]:
    draw, pool = random.Random(seed), words()
    return [" ".join(draw.choices(pool, k=draw.randint(low, high))) for _ in range(n)]


def write_data(kind: str, folder: Path) -> tuple[str, list[str] | None]:
    """Local data of one stock task; its name and subsets."""
    name = {"retrieval": "SciFact", "sts": "STS15", "classification": "ImdbClassification",
            "clustering": "TwentyNewsgroupsClustering.v2", "bitext": "Tatoeba"}[kind]  # fmt: skip
    place = folder / name
    place.mkdir(parents=True)
    if kind == "retrieval":
        documents, queries = texts(3000, 60, 180, 1), texts(150, 8, 16, 2)
        ids = [f"d{n}" for n in range(len(documents))]
        pd.DataFrame({"_id": ids, "title": "", "text": documents}).to_parquet(place / "corpus.parquet")
        pd.DataFrame({"_id": [f"q{n}" for n in range(150)], "text": queries}).to_parquet(
            place / "queries.parquet"
        )
        qrels = {"query-id": [f"q{n}" for n in range(150)], "corpus-id": ids[:150], "score": 1}
        pd.DataFrame(qrels).to_parquet(place / "qrels.parquet")
    elif kind in ("sts", "bitext"):
        frame = pd.DataFrame({"sentence1": texts(1000, 8, 24, 3), "sentence2": texts(1000, 8, 24, 4)})
        frame["score"] = [random.Random(n).uniform(0, 5) for n in range(1000)]
        frame.to_parquet(place / ("test.parquet" if kind == "sts" else "deu-eng.parquet"))
    elif kind == "classification":
        for split, seed in (("train", 5), ("test", 6)):
            frame = pd.DataFrame({"text": texts(2000, 8, 40, seed), "label": [n % 6 for n in range(2000)]})
            frame.to_parquet(place / f"{split}.parquet")
    else:
        frame = pd.DataFrame({"sentences": texts(2000, 8, 40, 7), "labels": [n % 20 for n in range(2000)]})
        frame.to_parquet(place / "test.parquet")
    return name, ["deu-eng"] if kind == "bitext" else None


def loop(study: Any, name: str, prompts: list[str]) -> dict[str, float]:
    """One `mteb.evaluate` per prompt, as the published repository does it."""
    import mteb

    from helpers.models import load_model
    from helpers.tasks import load_task

    wrapper = load_model(study.models[0]).wrapper
    scores = {}
    for prompt in prompts:
        task = load_task(study.tasks[0], study)
        key = f"{name}-query" if task.metadata.type == "Retrieval" else name
        wrapper.model_prompts = {key: prompt + " "}
        found = mteb.evaluate(wrapper, task, cache=None, co2_tracker=False, encode_kwargs={"batch_size": 32})
        split = task.eval_splits[0]
        scores[prompt] = float(found.task_results[0].scores[split][0]["main_score"])
    return scores


def compare(kind: str, n_prompts: int) -> None:
    from tiny import MINILM, prompt_rows, tiny_study

    from helpers.results import scores_table
    from helpers.sweep import run_sweep

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        name, subsets = write_data(kind, folder / "data")
        task = {"name": name, "subsets": subsets}
        study = tiny_study(folder, [MINILM], [task], data_root=str(folder / "data"), baselines=[])
        prompts = prompt_rows(name, *PROMPTS[:n_prompts])
        started = time.monotonic()
        run_sweep(study, folder / "run", prompts, progress=None)
        ours = time.monotonic() - started
        scores = scores_table(study, folder / "run", prompts).set_index("prompt")["main_score"]
        started = time.monotonic()
        stock = loop(study, name, PROMPTS[:n_prompts])
        theirs = time.monotonic() - started
        apart = max(abs(scores[p] - s) for p, s in stock.items())
        print(
            f"{kind:<15} {n_prompts:>2} prompts: loop {theirs:7.1f} s, sweep {ours:7.1f} s, "
            f"ratio {theirs / ours:5.2f}, largest score difference {apart:.1e}",
            flush=True,
        )


def main() -> None:
    kinds = ["retrieval", "sts", "classification", "clustering", "bitext"]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", default=kinds, help=f"of {', '.join(kinds)}; all by default")
    parser.add_argument("--prompts", type=int, default=15, help="prompts per task (at most 18)")
    options = parser.parse_args()
    for kind in options.kinds:
        if kind not in kinds:
            parser.error(f"unknown task kind '{kind}'; known: {', '.join(kinds)}")
        compare(kind, min(options.prompts, len(PROMPTS)))


if __name__ == "__main__":
    main()
