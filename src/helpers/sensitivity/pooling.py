"""Pooling of effects: every task gives one estimate, and the tasks are a sample of those that could have been chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats


@dataclass(frozen=True)
class Estimate:
    """An effect with its standard error and degrees of freedom, from one task's texts or from several tasks.

    parts: what each text adds to the estimate's deviation from the truth, by prompt id; their sum is 0. Its squares add
    up to the squared error, its products with another task's to their covariance. Empty for several tasks.
    """

    value: float
    error: float
    df: float
    parts: pd.Series
    tasks: int = 1

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Both ends of the t interval."""
        reach = float(stats.t.ppf((1 + level) / 2, self.df)) * self.error
        return self.value - reach, self.value + reach

    def p_value(self, truth: float = 0.0, alternative: str = "two-sided") -> float:
        """p-value of "the effect is `truth`" ("greater": not above it, "less": not below it); NaN without an error."""
        if not self.error > 0:
            return float("nan")
        t = (self.value - truth) / self.error
        if alternative == "two-sided":
            return float(2 * stats.t.sf(abs(t), self.df))
        return float((stats.t.sf if alternative == "greater" else stats.t.cdf)(t, self.df))


def difference(scores: pd.Series, first: pd.Series | np.ndarray) -> Estimate:
    """Mean score of the texts where `first` is True less that of the others, with Welch's error and degrees of freedom.

    At least two texts on either side; the scores have the prompt ids as index, `first` has their order.

    >>> round(difference(pd.Series([1.0, 2.0, 3.0, 5.0]), pd.Series([True, True, False, False])).value, 3)
    -2.5
    """
    a, b = scores[first], scores[~first]
    found = stats.ttest_ind(a, b, equal_var=False)
    value = float(a.mean() - b.mean())
    error = float(np.sqrt(a.var() / len(a) + b.var() / len(b)))
    parts = pd.concat([(a - a.mean()) / len(a), -(b - b.mean()) / len(b)])
    return Estimate(value, error, float(found.df) if error > 0 else 1.0, parts)


def slope(scores: pd.Series, amounts: pd.Series) -> Estimate:
    """Slope of the scores over the amounts by least squares (statsmodels), with the HC3 error, good for few texts.

    Long & Ervin (2000), Using heteroscedasticity consistent standard errors in the linear regression model, The
    American Statistician 54. At least three texts and two different amounts.
    """
    from statsmodels.regression.linear_model import OLS
    from statsmodels.tools import add_constant

    fit = OLS(scores.to_numpy(), add_constant(amounts.to_numpy(float))).fit(cov_type="HC3")
    centred = amounts - amounts.mean()
    parts = centred * fit.resid / (centred**2).sum()
    return Estimate(float(fit.params[1]), float(fit.bse[1]), len(scores) - 2.0, parts)


def over_tasks(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of one estimate per task, as an estimate for tasks like these; of a single task it is that task's own.

    The error is that of the mean of T tasks with t(T - 1): effects that differ by task are part of it, and so is the
    noise of each. Texts that several tasks share make these estimates alike, so twice the products of the `parts` of
    the same text are added where their sum is positive (clustering by task and by text: Cameron, Gelbach & Miller
    2011, doi:10.1198/jbes.2010.07136). Every task counts alike. At least one estimate.
    """
    n = len(estimates)
    if n == 1:
        return estimates[0]
    values = np.array([e.value for e in estimates])
    parts = pd.concat([e.parts for e in estimates])
    shared = parts.groupby(parts.index).sum()
    together = float((shared**2).sum() - (parts**2).sum()) / n**2
    variance = values.var(ddof=1) / n + max(together, 0.0) * n / (n - 1)
    return Estimate(float(values.mean()), float(np.sqrt(variance)), n - 1.0, pd.Series(dtype=float), n)
