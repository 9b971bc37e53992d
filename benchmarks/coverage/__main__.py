"""Full simulations: `python -m benchmarks.coverage [repeats=2000] [room ...]`, one process per core."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path

import pandas as pd

from benchmarks.coverage.simulation import simulate

ROOMS = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("__init__", "__main__", "simulation")
)


def row(room: str, i: int, repeats: int) -> dict[str, object]:
    """The i-th simulation of a room (by number: functions made in a loop cannot be sent to another process)."""
    simulation = import_module(f"benchmarks.coverage.{room}").SIMULATIONS[i]
    rate = simulate(simulation, repeats)
    verdict = "" if rate.lies_within(simulation.least, simulation.most) else "OUTSIDE what is promised"
    print(f"{simulation.method} | {simulation.case} | {simulation.nominal:g} | {rate.rate:.3f} {verdict}", flush=True)
    return {
        "method": simulation.method, "kind": simulation.kind, "case": simulation.case, "nominal": simulation.nominal,
        "rate": round(rate.rate, 4), "error": round(rate.error, 4), "repeats": rate.repeats,
        "declined": round(rate.declined, 4),
    }  # fmt: skip


def main(repeats: int = 2000, *rooms: str) -> None:
    """Simulate every room, or those named, and write each one's coverage.csv."""
    source = Path(__file__).parents[2] / "src" / "helpers"
    with ProcessPoolExecutor() as pool:
        for room in rooms or ROOMS:
            n = len(import_module(f"benchmarks.coverage.{room}").SIMULATIONS)
            rows = list(pool.map(partial(row, room, repeats=repeats), range(n)))
            pd.DataFrame(rows).to_csv(source / room / "coverage.csv", index=False)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
