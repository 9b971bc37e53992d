"""Traits of wording: length, a final colon, what a prompt names; and which of them go with a good score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from helpers.base.names import language_name
from helpers.base.stats import adjusted
from helpers.base.ties import levelled
from helpers.sensitivity.pooling import Estimate, difference, over_tasks, slope
from helpers.tasks.kinds import TASK_WORDS

TRAITS = ("n_words", "n_characters", "ends_in_colon", "names_task", "names_data_set", "names_language")


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
    cells: pd.DataFrame,
    table: pd.DataFrame,
    names: Iterable[str] = TRAITS,
    level: float = 0.95,
    min_texts: int = 8,
    same: float = 0.9,
) -> pd.DataFrame:
    """How each trait of `names` goes with the score, one at a time, in standard deviations of a cell's scores.

    Scores are standardised within (model, task) and averaged over the models, so one text is one value per task. Every
    task gives an estimate: the mean difference of texts with and without a yes-or-no trait (two or more of either), or
    the slope over a count per standard deviation of it (four texts or more). `pooling.over_tasks` makes them one, with
    tasks as a sample; of one task alone (column tasks) the effect says nothing about others. q_value: false-discovery
    control over the traits. Traits whose correlation within tasks is beyond `same` are one: the first of `names` stands
    for the others (column stands_for), which get no row. An association, not a cause: traits go together, and nobody
    assigned them at random. A trait that does not vary, or that fewer than `min_texts` texts have or lack, has NaN: so
    few texts say more about themselves than about the trait. With three tasks a trait whose effects turn from
    task to task is found in 8 to 9 % of simulated studies instead of 5 %, else in 2 to 7 %.
    """
    values = standardised(cells).merge(table.drop(columns="prompt"), on=["task", "prompt_id"])
    rows = []
    for trait, others in _groups(values, list(names), same).items():
        counted = trait.startswith("n_")
        texts = values.drop_duplicates("prompt_id")
        n = len(texts)
        rarer = n if counted or not n else min(values.loc[values[trait] == k, "prompt_id"].nunique() for k in (0, 1))
        found = [e for _, part in values.groupby("task") if (e := _effect(part.set_index("prompt_id"), trait, counted))]
        row = {
            "trait": trait, "stands_for": ", ".join(others), "effect": np.nan, "low": np.nan, "high": np.nan,
            "p_value": np.nan, "tasks": len(found), "texts": n, "rarer_texts": rarer,
            "with_trait": float(values[trait].astype(float).mean()) if n else np.nan,
        }  # fmt: skip
        if found and rarer >= min_texts:
            spread = float(texts[trait].std()) if counted else 1.0
            pooled = over_tasks(found)
            low, high = pooled.interval(level)
            row |= {"effect": pooled.value * spread, "low": low * spread, "high": high * spread}
            row["p_value"] = pooled.p_value()
        rows.append(row)
    out = pd.DataFrame(rows)
    out["q_value"] = adjusted(out["p_value"].to_numpy(float))
    return out


def standardised(cells: pd.DataFrame) -> pd.DataFrame:
    """Scores of written prompts in standard deviations of their cell, mean over models: columns task, prompt_id, z.

    Cells in which all prompts score alike are left out.
    """
    part = cells[(cells["kind"] == "prompt") & cells["score"].notna()]
    grouped = part.groupby(["model", "task"], observed=True)["score"]
    constant = grouped.transform(lambda x: np.ptp(levelled(x))) == 0  # no spread, whatever rounding says
    z = (part["score"] - grouped.transform("mean")) / grouped.transform("std", ddof=0)
    part = part.assign(z=z.mask(constant))
    part = part[np.isfinite(part["z"])]
    return part.groupby(["task", "prompt_id"], observed=True)["z"].mean().reset_index()


def _effect(part: pd.DataFrame, trait: str, counted: bool) -> Estimate | None:
    """A task's own estimate; None where too few texts have or lack the trait."""
    if counted:  # where all texts but one have the same count, that one alone would be the slope
        others = len(part) - part[trait].value_counts().max()
        return slope(part["z"], part[trait]) if len(part) > 3 and others > 1 else None
    has = part[trait].astype(bool)
    return difference(part["z"], has) if min(has.sum(), (~has).sum()) > 1 else None


def _groups(values: pd.DataFrame, names: Sequence[str], same: float) -> dict[str, list[str]]:
    """Every trait that stands for itself, in order, with those that it stands for."""
    amounts = values[list(names)].astype(float)
    within = (amounts - amounts.groupby(values["task"]).transform("mean")).corr().abs()
    groups: dict[str, list[str]] = {}
    for name in names:
        first = next((g for g in groups if within.loc[g, name] > same), None)
        if first is None:
            groups[name] = []
        else:
            groups[first].append(name)
    return groups


def _is_task_word(word: str) -> bool:
    return word in ("task", "hard", "negatives") or any(re.search(words.naming, word) for words in TASK_WORDS.values())
