"""Do models agree on which prompts are good, and which traits of wording go with a good score?"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import stats

from helpers.base.names import language_name
from helpers.base.stats import adjusted
from helpers.base.ties import levelled
from helpers.scores.cells import prompt_scores
from helpers.tasks.kinds import TASK_WORDS

TRAITS = ("n_words", "n_characters", "ends_in_colon", "names_task", "names_data_set", "names_language")


def agreement_table(cells: pd.DataFrame, permutations: int = 2_000, seed: int = 42, fdr: float = 0.05) -> pd.DataFrame:
    """Per task: Kendall's W over models, its permutation p-value (and q-value over tasks), mean pairwise Spearman.

    Only prompts that all models have are used (column prompts). W is 1 where all models order the prompts alike and
    about 1/models where they do not agree at all; ties are corrected for. The p-value is the share of random orders
    per model with a W at least as large (1 added), of `permutations` or as many more as the smallest q-value over all
    tasks needs to be a tenth of `fdr`. NaN with one model or fewer than 3 prompts, or where a model's scores are all
    equal.
    """
    data = prompt_scores(cells)
    rng = np.random.default_rng(seed)
    permutations = max(permutations, int(np.ceil(10 * len(data.tasks) / fdr)))
    rows = []
    for t, task in enumerate(data.tasks):
        scores = data.values[:, t, : len(data.ids[t])]
        scores = scores[np.isfinite(scores).any(axis=1)]
        scores = scores[:, np.isfinite(scores).all(axis=0)] if len(scores) else scores
        m, n = scores.shape
        row = {"task": task, "models": m, "prompts": n, "kendall_w": np.nan, "p_value": np.nan, "mean_spearman": np.nan}
        if m > 1 and n > 2:
            ranks = stats.rankdata([levelled(row) for row in scores], axis=1)
            row["kendall_w"] = w = kendall_w(ranks)
            if np.isfinite(w):
                # Shuffling leaves each model's ties as they are, so W grows with the squared rank sums alone.
                sums = rng.permuted(np.broadcast_to(ranks, (permutations, m, n)), axis=2).sum(axis=1)
                own = (ranks.sum(axis=0) ** 2).sum()
                row["p_value"] = float((((sums**2).sum(axis=1) >= own - 1e-9).sum() + 1) / (permutations + 1))
                correlation = np.corrcoef(ranks)
                row["mean_spearman"] = float(correlation[np.triu_indices(m, 1)].mean())
        rows.append(row)
    table = pd.DataFrame(rows)
    if len(table):
        table["q_value"] = adjusted(table["p_value"].to_numpy(float))
    return table


def kendall_w(scores: np.ndarray) -> float:
    """Kendall's coefficient of concordance of a (raters, items) array, corrected for ties.

    W = chi2 / (m (n - 1)) with Friedman's chi2 over n items (Kendall and Babington Smith 1939, 10.1214/aoms/1177732186);
    NaN where one rater's scores are all equal. At least 3 items.

    >>> kendall_w(np.array([[1, 2, 3], [1, 2, 3]])), kendall_w(np.array([[1, 2, 3], [3, 2, 1]]))
    (1.0, 0.0)
    """
    m, n = scores.shape
    if (np.ptp(scores, axis=1) == 0).any():
        return float("nan")
    return float(stats.friedmanchisquare(*scores.T).statistic / (m * (n - 1)))


def traits(cells: pd.DataFrame, languages: Iterable[str] = ("eng",)) -> pd.DataFrame:
    """Traits of every distinct prompt text of every task: one row per (task, prompt_id), columns `TRAITS`.

    names_task: a word of the task's type (`TASK_WORDS`); names_data_set: a word of the task's name of four or more
    letters that is not such a word; names_language: a language's code or English name among `languages`.
    """
    prompts = cells[cells["kind"] == "prompt"].drop_duplicates(["task", "prompt_id"])
    names = [name.lower() for code in languages for name in (code, language_name(code))]
    language = "|".join(rf"\b{re.escape(name)}\b" for name in names)
    rows = []
    for task, kind, key, text in prompts[["task", "task_type", "prompt_id", "prompt"]].to_numpy():
        text = str(text)
        low = text.lower()
        about = TASK_WORDS[kind].naming if kind in TASK_WORDS else r"(?!)"
        name = [w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]{2,}", str(task))]
        own = [w for w in name if len(w) >= 4 and not re.search(about, w) and not _is_task_word(w)]
        rows.append({
            "task": task, "prompt_id": key, "prompt": text,
            "n_words": len(text.split()), "n_characters": len(text), "ends_in_colon": text.rstrip().endswith(":"),
            "names_task": bool(re.search(about, low)), "names_data_set": any(w in low for w in own),
            "names_language": bool(re.search(language, low)) if language else False,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=["task", "prompt_id", "prompt", *TRAITS])


def languages_of(scores: pd.DataFrame) -> list[str]:
    """Codes of the languages in a scores table (`eng-Latn|deu-Latn`), English always among them, sorted."""
    joined = scores["languages"].dropna().astype(str)
    return sorted({code.split("-")[0] for codes in joined for code in codes.split("|") if code} | {"eng"})


def trait_name(trait: str) -> str:
    """A trait in words: `n_words` is "number of words", `ends_in_colon` is "ends in colon"."""
    counted = trait.startswith("n_")
    return ("number of " if counted else "") + trait.removeprefix("n_").replace("_", " ")


def trait_effects(
    cells: pd.DataFrame, table: pd.DataFrame, names: Iterable[str] = TRAITS, level: float = 0.95, min_texts: int = 8
) -> pd.DataFrame:
    """How each trait of `names` goes with the score, one at a time: slope in standard deviations of the cell's scores.

    Scores are standardised within (model, task), the trait is centred within it, so models and tasks do not enter;
    counts are per standard deviation of the trait, yes-or-no traits for yes against no. Least squares (statsmodels)
    with errors clustered by prompt text, because one text serves several models and tasks, and t quantiles whose
    degrees of freedom are the texts less one, for yes-or-no traits those of the rarer answer less one. q_value:
    false-discovery control over the traits. An association, not a cause: traits go together, and nobody assigned them
    at random. A trait that does not vary, or that fewer than `min_texts` texts have or lack, has NaN: so few texts
    say more about themselves than about the trait.
    """
    from statsmodels.regression.linear_model import OLS

    part = cells[(cells["kind"] == "prompt") & cells["score"].notna()].merge(
        table.drop(columns="prompt"), on=["task", "prompt_id"]
    )
    grouped = part.groupby(["model", "task"])["score"]
    constant = grouped.transform(lambda x: np.ptp(levelled(x))) == 0  # no spread, whatever rounding says
    z = (part["score"] - grouped.transform("mean")) / grouped.transform("std", ddof=0)
    part = part.assign(z=z.mask(constant))
    part = part[np.isfinite(part["z"])]
    rows = []
    for trait in names:
        value = part[trait].astype(float)
        spread = value.std() if trait.startswith("n_") else 1.0
        centred = value - value.groupby([part["model"], part["task"]]).transform("mean")
        used = part.assign(x=centred / spread if spread else 0.0)
        texts = used["prompt_id"].nunique()
        if trait.startswith("n_"):
            rarer = texts
        else:
            rarer = min(used.loc[value == k, "prompt_id"].nunique() for k in (0.0, 1.0))
        row = {"trait": trait, "effect": np.nan, "low": np.nan, "high": np.nan, "p_value": np.nan, "texts": texts,
               "rarer_texts": rarer, "with_trait": float(value.mean()) if len(value) else np.nan}  # fmt: skip
        if len(used) and np.ptp(used["x"]) > 1e-12 and rarer >= min_texts:
            groups = pd.factorize(used["prompt_id"])[0]
            fit = OLS(used["z"].to_numpy(), used[["x"]].to_numpy()).fit(cov_type="cluster", cov_kwds={"groups": groups})
            effect, error = float(fit.params[0]), float(fit.bse[0])
            reach = stats.t.ppf((1 + level) / 2, rarer - 1) * error
            p_value = 2 * stats.t.sf(abs(effect) / error, rarer - 1) if error > 0 else np.nan
            row |= {"effect": effect, "low": effect - reach, "high": effect + reach, "p_value": p_value}
        rows.append(row)
    out = pd.DataFrame(rows)
    out["q_value"] = adjusted(out["p_value"].to_numpy(float))
    return out


def _is_task_word(word: str) -> bool:
    return word in ("task", "hard", "negatives") or any(re.search(words.naming, word) for words in TASK_WORDS.values())
