"""Coverage of the intervals of a chosen prompt, simulated: `python -m benchmarks.choice [repetitions]`.

Scores of queries like nDCG@10: what all prompts share, noise in four queries of ten, effects of prompts of some points;
`coarse` ones take five values. Printed per number of queries and prompts: the share of gains within their 95 % interval,
of data sets in which all gains lie above their bounds (nominal 95 %), and of chosen prompts whose true gain lies within the
interval of the honest gain; then the mean gain of the best prompt where it was chosen, on other queries, and in truth.
"""

from __future__ import annotations

import sys

import numpy as np

from helpers.sensitivity.choice import _errors, _intervals, honest_gain


def scores(n: int, effects: np.ndarray, is_coarse: bool, rng: np.random.Generator) -> np.ndarray:
    """Scores of n queries under every prompt, in [0, 1]: (n, prompts)."""
    shared, k = np.clip(1.3 * rng.random((n, 1)), 0, 1), len(effects)
    noise = rng.normal(0, 0.15, (n, k)) * (rng.random((n, k)) < 0.4)
    values = np.clip(shared + noise + effects, 0, 1)
    return np.round(values * 4) / 4 if is_coarse else values


def main(repetitions: int = 300) -> None:
    """Print one row of Markdown per setting."""
    rng = np.random.default_rng(1)
    print("| scores | queries | prompts | intervals | bounds | honest | gain where chosen | on others | true |")
    print("|---|---|---|---|---|---|---|---|---|")
    for is_coarse in (False, True):
        for n in (20, 50, 100, 300):
            for k in (5, 15, 54):
                effects = np.r_[rng.normal(0, 0.01, k), 0.0]
                true = scores(100_000, effects, is_coarse, rng).mean(axis=0)
                true = true - true[-1]
                candidate = np.r_[np.ones(k, bool), False]
                rows = []
                for seed in range(repetitions):
                    units = [(scores(n, effects, is_coarse, rng), None)]
                    gain = units[0][0].mean(axis=0) - units[0][0].mean(axis=0)[-1]
                    low, high, bound = _intervals(gain, _errors(units, k, 300, seed), n, k, 0.95)
                    best = int(np.argmax(np.where(candidate, gain, -np.inf)))
                    mean, honest_low, honest_high = honest_gain(units, k, candidate, repeats=4, seed=seed)
                    rows.append([
                        ((low <= true) & (true <= high))[:k].mean(), (bound <= true)[:k].all(),
                        honest_low <= true[best] <= honest_high, gain[best], mean, true[best],
                    ])  # fmt: skip
                means = np.mean(rows, axis=0)
                numbers = " | ".join([*(f"{v:.3f}" for v in means[:3]), *(f"{v:+.4f}" for v in means[3:])])
                print(f"| {'coarse' if is_coarse else 'continuous'} | {n} | {k} | {numbers} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
