"""Cross-validated ROC-AUC: can relevant instructions be told from others by (score, metric)? (Study 2, table 3.)

There are only 7 relevant instructions among 47, so a fold holds one or two of them and the AUC of a fold is coarse.
Hence the spread over folds and repetitions, and the AUC that the same procedure gives for shuffled labels.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata


def separability_of(
    features: np.ndarray, labels: np.ndarray, folds: int = 5, repeats: int = 20, permutations: int = 500, seed: int = 42
) -> dict[str, float]:
    """ROC-AUC of a logistic regression (L2, C = 1, standardised features), mean over the test folds of all repeats.

    features (n, m) and labels (n,; True = relevant). Keys: auc, auc_sd (over folds and repeats), auc_chance and
    auc_chance_high (mean and 95 % quantile over label permutations, each with one repeat), auc_p (share of permutations
    that reach the AUC, with the plus-one correction), n_folds. NaN where fewer than two instructions carry one of the
    labels, or a feature is missing for some: those rows are left out.
    """
    keep = np.isfinite(features).all(axis=1)
    x, y = np.asarray(features[keep], dtype=float), np.asarray(labels[keep], dtype=bool)
    smaller = int(min(y.sum(), (~y).sum()))
    if smaller < 2:
        return {**dict.fromkeys(("auc", "auc_sd", "auc_chance", "auc_chance_high", "auc_p"), np.nan), "n_folds": 0}
    n_folds = min(folds, smaller)
    aucs = fold_aucs(x, np.repeat(y[None], repeats, axis=0), n_folds, seed)
    observed = float(aucs.mean())
    chance = np.array([np.nan])
    if permutations:
        rng = np.random.default_rng(seed)
        shuffled = np.stack([rng.permutation(y) for _ in range(permutations)])
        chance = fold_aucs(x, shuffled, n_folds, seed + 1).mean(axis=1)
    reached = (1 + (chance >= observed).sum()) / (1 + permutations) if permutations else np.nan
    return {
        "auc": observed,
        "auc_sd": float(aucs.std(ddof=1)),
        "auc_chance": float(chance.mean()),
        "auc_chance_high": float(np.quantile(chance, 0.95)),
        "auc_p": float(reached),
        "n_folds": n_folds,
    }


def fold_aucs(x: np.ndarray, labels: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """(r, folds) test AUCs of logistic regressions for r labellings (r, n), each with its own stratified folds."""
    fold = stratified_folds(labels, folds, seed)
    test = (fold[:, None, :] == np.arange(folds)[None, :, None]).reshape(-1, len(x))
    y = np.repeat(labels, folds, axis=0)
    return auc(_logistic_scores(x, y, ~test), y, test).reshape(-1, folds)


def stratified_folds(labels: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """(r, n) fold numbers: within each label of each row, shuffled and dealt out in turn."""
    rng = np.random.default_rng(seed)
    shuffled = np.argsort(rng.random(labels.shape) + labels, axis=1)  # the others first, then the relevant
    place = np.argsort(shuffled, axis=1)
    first_relevant = (~labels).sum(axis=1, keepdims=True)
    return np.asarray(np.where(labels, place - first_relevant, place) % folds)


def auc(scores: np.ndarray, labels: np.ndarray, test: np.ndarray) -> np.ndarray:
    """(b,) areas under the ROC curve over the `test` columns of (b, n) scores; ties between labels count half."""
    ranks = rankdata(np.where(test, scores, np.inf), axis=1)  # rows outside the test rank above all of it
    chosen = labels & test
    positive, negative = chosen.sum(axis=1), (~labels & test).sum(axis=1)
    wins = np.where(chosen, ranks, 0).sum(axis=1) - positive * (positive + 1) / 2
    return np.asarray(wins / (positive * negative))


def _logistic_scores(x: np.ndarray, y: np.ndarray, train: np.ndarray, c: float = 1.0, steps: int = 25) -> np.ndarray:
    """Decision values (b, n) of b logistic regressions, each fitted on its `train` rows by Newton steps.

    All fits at once, because a permutation baseline needs thousands of tiny ones; equal to sklearn's LogisticRegression
    on standardised features (tests). The intercept is not penalised.
    """
    weight = train.astype(float)
    count = weight.sum(axis=1, keepdims=True)
    mean = weight @ x / count
    centred = x[None] - mean[:, None]
    scale = np.sqrt((weight[..., None] * centred**2).sum(axis=1) / count)
    z = centred / np.where(scale > 0, scale, 1.0)[:, None]
    z = np.concatenate([np.ones((*z.shape[:2], 1)), z], axis=2)
    penalty = np.r_[0.0, np.ones(x.shape[1])] / c
    coefficients = np.zeros((len(z), z.shape[2]))
    for _ in range(steps):
        linear = (z @ coefficients[..., None])[..., 0]
        probability = 1 / (1 + np.exp(-np.clip(linear, -30, 30)))
        error = weight * (probability - y)
        gradient = (error[:, None] @ z)[:, 0] + penalty * coefficients
        curvature = weight * probability * (1 - probability)
        hessian = (z * curvature[..., None]).transpose(0, 2, 1) @ z + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        coefficients -= step
        if np.abs(step).max() < 1e-7:
            break
    return np.asarray((z @ coefficients[..., None])[..., 0])
