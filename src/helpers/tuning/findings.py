"""What notebook 06 found, as sentences that follow from its tables; uncertain things are said as uncertain."""

from __future__ import annotations

import pandas as pd

from helpers.base.phrases import choose, count, is_highest, is_lowest, listed, signed
from helpers.base.ties import compare, levelled
from helpers.geometry.relevance import top_k_share
from helpers.tuning.charts import name_of
from helpers.tuning.train import BASELINE

Finding = dict[str, str]


def findings(
    recalls: pd.DataFrame,
    gains: pd.DataFrame | None = None,
    effects: pd.DataFrame | None = None,
    spread: pd.DataFrame | None = None,
    ranks: pd.DataFrame | None = None,
    base: str = "",
    contrast: pd.DataFrame | None = None,
) -> list[Finding]:
    """Sentences about the tables of `tuning_evaluation.recall_table` and `tuning_study`; absent tables give none."""
    found = [*recall_findings(recalls)]
    found += contrast_findings(contrast) if contrast is not None else []
    found += gain_findings(gains) if gains is not None else []
    found += effect_findings(effects) if effects is not None else []
    if spread is not None:
        found += sensitivity_findings(spread, ranks if ranks is not None else pd.DataFrame(), base)
    return found


def recall_findings(recalls: pd.DataFrame) -> list[Finding]:
    """Recall@1 among paraphrases before and after, what it cost without distractors; then the contrast."""
    rows = recalls[(recalls["metric"] == "recall_at_1")] if len(recalls) else recalls
    if rows.empty:
        return []
    found, change = [], {}
    for (preset, seed), own in rows[rows["preset"] != BASELINE].groupby(["preset", "seed"], sort=False):
        several = own["language"].nunique() > 1
        at = {r.pool: r for r in own.itertuples(index=False) if r.language == "mean" or not several}
        if "paraphrase" not in at or pd.isna(at["paraphrase"].difference):
            continue
        hit, plain = at["paraphrase"], at.get("normal")
        change[(preset, seed)] = direction(hit.difference, hit.low, hit.high)
        cost, asked = "", ""
        if plain is not None and not pd.isna(plain.difference):
            cost = f"; without distractors {plain.before:.3f} became {plain.value:.3f} ({interval(plain)})"
            asked = f" of {plain.n} queries, the others have no usable paraphrase" if plain.n > hit.n else ""
        name = name_of(preset, seed, BASELINE)
        text = (
            f"{name}: recall@1 with a paraphrase of every query in the pool {_verb(change[(preset, seed)])} from "
            f"{hit.before:.3f} to {hit.value:.3f} ({interval(hit)}, n = {hit.n}{asked}){cost}."
        )
        found.append({"text": text, "figure": "fig-recall"})
    with_side = [v for (p, _), v in change.items() if "ablation" not in p.split("+")]
    without = [v for (p, _), v in change.items() if "ablation" in p.split("+")]
    if with_side and without:
        found.append({"text": _contrast(with_side, without), "figure": "fig-recall"})
    return found


def contrast_findings(contrast: pd.DataFrame) -> list[Finding]:
    """What the query-side negatives alone bring: each training against the ablation of the same seed."""
    found = []
    rows = contrast[(contrast["metric"] == "recall_at_1") & (contrast["pool"] == "paraphrase")]
    for (preset, seed), own in rows.groupby(["preset", "seed"], sort=False):
        several = own["language"].nunique() > 1
        row = next(r for r in own.itertuples(index=False) if r.language == "mean" or not several)
        said = {"up": "more than", "down": "less than", "open": "not distinguishable from"}
        text = (
            f"{name_of(preset, seed, BASELINE)} against the ablation of the same seed, recall@1 among paraphrases: "
            f"{row.value:.3f} against {row.before:.3f} ({interval(row)}), "
            f"{said.get(direction(row.difference, row.low, row.high), 'without an interval, against')} the ablation."
        )
        found.append({"text": text, "figure": "fig-recall"})
    return found


def direction(difference: float, low: float, high: float) -> str:
    """ "up" or "down" where the interval leaves 0 out, "open" where it does not, "unknown" without an interval."""
    if pd.isna(low) or pd.isna(high):
        return "unknown"
    return "up" if low > 0 else "down" if high < 0 else "open"


def interval(row: object) -> str:
    """The difference with its interval, or that there is none."""
    difference, low, high = (float(getattr(row, k)) for k in ("difference", "low", "high"))
    if pd.isna(low):
        return f"{signed(difference)}, no interval"
    return f"{signed(difference)}, 95 % interval {signed(low)} to {signed(high)}"


def _verb(change: str) -> str:
    return {"up": "rose", "down": "fell", "open": "went (not distinguishable from no change)"}.get(
        change, "went"
    )


def _contrast(with_side: list[str], without: list[str]) -> str:
    if set(with_side) == {"up"} and "up" not in without:
        return "Gains among paraphrases appear with query-side negatives and are not shown without them, as in study 2."
    if "up" in with_side and "up" in without:
        return "Trainings with and without query-side negatives both gained among paraphrases, unlike in study 2."
    if "up" not in with_side:
        return (
            "No training with query-side negatives shows a gain among paraphrases; study 2 found a large one."
        )
    return "Only some trainings with query-side negatives show a gain among paraphrases: the seeds disagree."


def gain_findings(gains: pd.DataFrame, top: int = 10) -> list[Finding]:
    """How many of the instructions that gained most describe the task (Table 10: all but one in study 2).

    At most `top` instructions, and only those that gained. Where several tie for the last places, the number is the one
    expected in a random order of them.
    """
    found: list[Finding] = []
    if gains.empty:
        return found
    rows = gains[~gains["control"].astype(bool) & gains["group"].ne("none")]
    for (preset, seed), own in rows.groupby(["preset", "seed"], sort=False):
        found.append(
            {
                "text": f"{name_of(preset, seed, BASELINE)}: {_gained(own, top)}",
                "figure": "fig-instruction-gains",
            }
        )
    return found


def _gained(own: pd.DataFrame, top: int) -> str:
    """The sentence of `gain_findings` about one training."""
    gain, relevant = pd.Series(levelled(own["gain"])), own["relevant"].astype(bool)
    k = min(top, int((compare(gain, 0) > 0).sum()))
    if not k:
        return f"none of the {count(len(own), 'instruction')} gained among paraphrases."
    expected = k * top_k_share(gain.to_numpy(float), relevant.to_numpy(), k)
    border = gain.nlargest(k).min()
    tied, left = int((gain == border).sum()), k - int((gain > border).sum())
    ties = f" ({tied} tie for {count(left, 'place')}, so this is their share)" if tied > left else ""
    return (
        f"of the {count(k, 'instruction')} that gained most among paraphrases {expected:.3g} "
        f"{'describes' if round(expected, 2) == 1 else 'describe'} the task{ties}; of all {len(own)} it is "
        f"{relevant.mean():.0%}. The largest gain is {signed(gain.max())}, the mean over all {signed(gain.mean())}."
    )


def effect_findings(effects: pd.DataFrame) -> list[Finding]:
    """The largest loss and gain on other tasks, and how many changes are distinguishable from none."""
    found = []
    for model, own in effects.dropna(subset=["difference"]).groupby("model", sort=False):
        change = own["difference"]
        ends = [
            f"the largest {word} is {signed(change[at].iloc[0], 4)} ({listed(own.loc[at, 'task'])})"
            if at.any()
            else f"no task shows a {word}"
            for word, at in (
                ("loss", is_lowest(change) & (compare(change, 0) < 0)),
                ("gain", is_highest(change) & (compare(change, 0) > 0)),
            )
        ]
        known = own.dropna(subset=["low", "high"])
        clear = int(((known["low"] > 0) | (known["high"] < 0)).sum())
        text = (
            f"{model}: over {count(len(own), 'task')} the main score changed by {signed(change.mean(), 4)} on average; "
            f"{ends[0]}, {ends[1]}; {clear} of the {len(known)} with an interval {choose(clear, 'leaves', 'leave')} 0 "
            "out."
        )
        found.append({"text": text, "figure": "fig-side-effects"})
    return found


def sensitivity_findings(spread: pd.DataFrame, ranks: pd.DataFrame, base: str) -> list[Finding]:
    """Whether the tuned models depend less on their prompt than the base model."""
    if spread.empty or "cv" not in spread or base not in set(spread["model"]):
        return []
    before = spread[spread["model"] == base].set_index("task")
    found = []
    for model, own in spread[spread["model"] != base].groupby("model", sort=False):
        for row in own.itertuples(index=False):
            if row.task not in before.index or pd.isna(row.cv) or pd.isna(before.loc[row.task, "cv"]):
                continue
            old = before.loc[row.task]
            text = f"{model} on {row.task}: the coefficient of variation over prompts is {row.cv:.2%}"
            if pd.isna([row.cv_low, row.cv_high, old["cv_low"], old["cv_high"]]).any():
                text += f", of the base model {old['cv']:.2%}; so few prompts, or scores so equal, give no interval."
            else:
                apart = row.cv_high < old["cv_low"] or row.cv_low > old["cv_high"]
                text += (
                    f" [{row.cv_low:.2%}, {row.cv_high:.2%}], of the base model {old['cv']:.2%} "
                    f"[{old['cv_low']:.2%}, {old['cv_high']:.2%}]; "
                    + (
                        "the intervals are apart."
                        if apart
                        else "the intervals overlap, so a change is not shown."
                    )
                )
            found.append({"text": text, "figure": "tbl-sensitivity"})
    if len(ranks) and base in set(ranks["model"]):
        old = ranks[ranks["model"] == base].iloc[0]
        for row in ranks[ranks["model"] != base].itertuples(index=False):
            text = (
                f"{row.model} in the base model's place: with prompts drawn at random its rank among "
                f"{count(row.n_models, 'model')} lies in {row.rank_low}-{row.rank_high} (95 %), that of the base model in {old['rank_low']}-"
                f"{old['rank_high']}."
            )
            found.append({"text": text, "figure": "tbl-ranks"})
    return found
