"""Two speed floors of the leaderboard analyses; `python benchmarks/leaderboard.py` measures them and says whether they hold.

1. 10,000 random leaderboards over 100 models x 100 tasks x 50 prompts in under 20 s and 2 GB.
2. 10,000 bootstrap draws over 1,000 cells in under 10 s (15 prompts per cell, as in the published study; 50 beside it).

Times are wall-clock and, in brackets, processor time; memory is the peak of the whole process.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.leaderboard.random_ranks import pairwise_wins, random_boards, rank_table
from helpers.sensitivity.spread import bootstrap_spread


def leaderboards(ties: bool) -> None:
    """Draw the boards and summarise them: rank table and pairwise probabilities."""
    rng = np.random.default_rng(0)
    scores = rng.random((100, 100, 50)) + rng.random((100, 1, 1)) / 3
    models = [f"model {k}" for k in range(100)]
    boards = random_boards(scores.round(2) if ties else scores, 10_000)
    rank_table(boards, models)
    pairwise_wins(boards, models)


def bootstrap(prompts: int) -> None:
    """Intervals of all six measures of spread for 1,000 cells."""
    bootstrap_spread(np.random.default_rng(0).normal(0.6, 0.03, (1_000, prompts)), 10_000)


CASES: list[tuple[str, float | None, Callable[..., None], tuple[Any, ...]]] = [
    ("10,000 boards, 100 models x 100 tasks x 50 prompts", 20.0, leaderboards, (False,)),
    ("the same with many ties", 20.0, leaderboards, (True,)),
    ("10,000 bootstrap draws, 1,000 cells of 15 prompts", 10.0, bootstrap, (15,)),
    ("10,000 bootstrap draws, 1,000 cells of 50 prompts", None, bootstrap, (50,)),
]


def main(arguments: list[str] | None = None) -> int:
    """Run the cases; the exit status is 1 where a floor does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=1, help="take the fastest of so many runs")
    options = parser.parse_args(arguments)
    failed = False
    for name, limit, run, values in CASES:
        wall, cpu = min(_timed(run, values) for _ in range(options.repeat))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform != "darwin" else 2**30)
        good = (limit is None or wall < limit) and memory < 2
        failed |= not good
        floor = f"under {limit:.0f} s" if limit else "no limit"
        print(
            f"{name}: {wall:.1f} s ({cpu:.1f} s), {floor}, peak {memory:.2f} GB: {'holds' if good else 'DOES NOT HOLD'}"
        )
    return int(failed)


def _timed(run: Callable[..., None], values: tuple[Any, ...]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    run(*values)
    return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    sys.exit(main())
