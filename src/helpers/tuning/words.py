"""What chapter 06 says: title and findings of each figure, computed from the table that the figure draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from helpers.base.phrases import choose, count, is_farthest, is_highest, is_lowest, listed, out_of, signed
from helpers.base.proportions import FEWEST
from helpers.base.ties import compare, levelled
from helpers.display.figure import Said
from helpers.geometry.relevance import statistics_rows, top_k_share
from helpers.tuning.trained import name_of


def dev(log: pd.DataFrame) -> Said:
    """Recall@1 among paraphrases on the dev part, at the first and at the last check of each training."""
    return _course(log, "dev_recall_at_1_paraphrase", "recall@1 among paraphrases (dev)")


def loss(log: pd.DataFrame) -> Said:
    """The training loss at the first and at the last logged step."""
    return _course(log, "loss", "the training loss")


def recall(changes: pd.DataFrame, contrast: pd.DataFrame | None = None) -> Said:
    """Title: the preset with the largest difference of recall@1 among paraphrases, mean over its training seeds.

    Findings: per preset the recall before and after, with the price without distractors; what query-side negatives
    bring: the paired difference to the ablation. changes: `seeds_table` against the base model; contrast: against the
    ablation.
    """
    rows = _over_languages(changes[changes["metric"].eq("recall_at_1")]).dropna(subset=["difference"])
    hits = rows[rows["pool"].eq("paraphrase")]
    against = _against_the_ablation(contrast) if contrast is not None else []
    if hits.empty:
        return Said("No training was measured among paraphrases", tuple(against))
    plain = {r.preset: r for r in rows[rows["pool"].eq("normal")].itertuples()}
    sentences = [_before_and_after(hit, plain.get(hit.preset)) for hit in hits.itertuples()]
    largest = listed(
        (
            f"{signed(hit.difference)} ({hit.preset}; {_range(hit)})"
            for hit in hits[is_farthest(hits["difference"])].itertuples()
        ),
        1,
    )
    title = f"Largest change of recall@1 among paraphrases: {largest}"
    return Said(title, (*sentences, *against))


def dose(doses: pd.DataFrame) -> Said:
    """Title: recall@1 among paraphrases at the lowest and the highest share of query-side negatives.

    Findings: the paired difference of every share to the lowest, among paraphrases and with the targets alone.
    doses: `dose_table`.
    """
    rows = _over_languages(doses[doses["metric"].eq("recall_at_1")], ["share"]).sort_values(["share", "preset"])
    hits = rows[rows["pool"].eq("paraphrase")]
    if len(hits) < 2:
        return Said("No two shares of query-side negatives were measured among paraphrases")
    first, last = hits.iloc[0], hits.iloc[-1]
    title = (
        f"Recall@1 among paraphrases: {first['value']:.3f} with query-side negatives in {first['share']:.0%} of the "
        f"examples, {last['value']:.3f} with them in {last['share']:.0%}"
    )
    plain = {r.share: r for r in rows[rows["pool"].eq("normal")].itertuples()}
    said = []
    for row in hits.iloc[1:].itertuples():
        cost = f"; with the targets alone {_interval(plain[row.share])}" if row.share in plain else ""
        said.append(
            f"Query-side negatives in {row.share:.0%} instead of {first['share']:.0%} of the examples: recall@1 among "
            f"paraphrases {_interval(row)} ({_units(row)}){cost}."
        )
    return Said(title, tuple(said))


def held_out(elsewhere: pd.DataFrame, data: str) -> list[dict[str, str]]:
    """Whether the gain needs the source of paraphrases that was trained on.

    elsewhere: `seeds_table` of other data; data: the name of what was trained on. Sets named "<data>, <file>" have
    paraphrases of another source.
    """
    rows = elsewhere[elsewhere["metric"].eq("recall_at_1") & elsewhere["pool"].eq("paraphrase")]
    said = [
        f"{row.preset} among paraphrases of a source that nothing was trained on ({row.task}): recall@1 "
        f"{row.before:.3f} became {row.value:.3f} ({_interval(row)}; {_units(row)})."
        for row in _over_languages(rows[rows["task"].str.startswith(f"{data}, ")], ["task", "preset"]).itertuples()
    ]
    only = (
        "The paraphrases of the test part are of the source that was trained on, and finetuning.held_out names no other: "
        "how much of a gain among them is that source's is unknown."
    )
    return [{"text": text, "figure": "tbl-elsewhere"} for text in said or [only]]


def instruction_gains(gains: pd.DataFrame, top: int = 10) -> Said:
    """Title: how many instructions gained; a case is one instruction under one training where there are several.

    Findings: how many of the instructions that gained most describe the task (Table 10: all but one in study 2). At
    most `top` instructions, and only those that gained. Where several tie for the last places, the number is the one
    expected in a random order of them.
    """
    rows = statistics_rows(gains)
    change = compare(rows["gain"], 0)
    up, down = int((change > 0).sum()), int((change < 0).sum())
    trainings = rows.groupby(["preset", "seed"], sort=False)
    title = f"Recall@1 among paraphrases rose for {out_of(up, len(rows), 'instruction')} and fell for {down}"
    if trainings.ngroups > 1:
        about = f"{count(rows['instruction_id'].nunique(), 'instruction')}, {count(trainings.ngroups, 'training')}"
        title = f"Recall@1 among paraphrases rose in {out_of(up, len(rows), 'case')} and fell in {down} ({about})"
    if len(rows):
        title = f"{title}, with {count(int(rows['n'].min()), 'query', 'queries')} per instruction"
    return Said(title, tuple(f"{name_of(*key)}: {_gained(part, top)}" for key, part in trainings))


def side_effects(effects: pd.DataFrame) -> Said:
    """Title: in how many cases, a tuned model on another task, the main score changed beyond its interval.

    Findings: per model the mean change, the largest loss and gain. effects: `side_effect_table`.
    """
    known = effects.dropna(subset=["low", "high"])
    down, up = int((known["high"] < 0).sum()), int((known["low"] > 0).sum())
    title = (
        f"The main score of other tasks fell beyond its interval in {down} and rose in "
        f"{out_of(up, len(known), 'pair of model and task', 'pairs of model and task')}"
    )
    if known.empty:
        top = effects[is_farthest(effects["difference"])]
        said = listed(f"{signed(row.difference)} on {row.task}" for row in top.itertuples())
        title = f"Largest side effect: {said} (no interval)"
    by_model = effects.dropna(subset=["difference"]).groupby("model", sort=False)
    return Said(title, tuple(f"{model}: {_changed(part)}" for model, part in by_model))


def sensitivity(spread: pd.DataFrame, ranks: pd.DataFrame, base: str) -> list[dict[str, str]]:
    """Whether the tuned models depend less on their prompt than the base model: findings about two tables.

    spread, ranks: `sensitivity_change`; base: the label of the base model.
    """
    said = []
    spread = spread.dropna(subset=["cv"]) if len(spread) else spread
    before = {row.task: row for row in spread.itertuples() if row.model == base}
    for row in spread.itertuples():
        if row.model != base and row.task in before:
            said.append({"text": _spread(row, before[row.task]), "figure": "tbl-sensitivity"})
    old: Any = next((row for row in ranks.itertuples() if row.model == base), None)
    for row in ranks.itertuples():
        if old and row.model != base:
            text = (
                f"{row.model} in the base model's place: with prompts drawn at random its rank among "
                f"{count(row.n_models, 'model')} lies in {row.rank_low}-{row.rank_high} (95 %), that of the base model "
                f"in {old.rank_low}-{old.rank_high}."
            )
            said.append({"text": text, "figure": "tbl-ranks"})
    return said


def failures(failed: dict[str, str]) -> list[dict[str, str]]:
    """What is missing above, and why. failed: {model: reason}.

    >>> failures({"lora, seed 1": "the loss is not finite"})
    [{'text': 'lora, seed 1 is missing: the loss is not finite.'}]
    """
    return [{"text": f"{model} is missing: {reason.rstrip('.')}."} for model, reason in failed.items()]


def _course(log: pd.DataFrame, column: str, what: str) -> Said:
    rows = log.dropna(subset=[column]).sort_values("step") if column in log else log.iloc[:0]
    if rows.empty:
        return Said(f"{what.capitalize()}: not logged")
    ends = rows.groupby(["preset", "seed"])[column].agg(["first", "last"])
    said = [f"{name_of(*key)} {first:.2f} to {last:.2f}" for key, first, last in ends.itertuples()]
    more = f" and {len(said) - 3} more" if len(said) > 3 else ""
    return Said(f"{what[0].upper()}{what[1:]} from first to last: {'; '.join(said[:3])}{more}")


def _over_languages(rows: pd.DataFrame, by: Sequence[str] = ("preset",)) -> pd.DataFrame:
    """The rows of the only language, or those of the mean over several."""
    several = rows.groupby(list(by))["language"].transform("nunique") > 1
    return rows[rows["language"].eq("mean") | ~several]


def _direction(row: Any) -> str:
    """ "up" or "down" where the interval leaves 0 out, "open" where it does not, "unknown" without an interval."""
    if pd.isna(row.low) or pd.isna(row.high):
        return "unknown"
    return "up" if row.low > 0 else "down" if row.high < 0 else "open"


def _range(row: Any) -> str:
    if pd.isna(row.low):
        return f"no interval for so few: {count(row.n, 'query', 'queries')}" if row.n < FEWEST else "no interval"
    return f"95 % interval {signed(row.low)} to {signed(row.high)}"


def _interval(row: Any) -> str:
    return f"{signed(row.difference)}, {_range(row)}"


def _units(row: Any) -> str:
    """How many queries and trainings stand behind a row of `seeds_table`, and what its interval leaves out."""
    queries = f"n = {count(row.n, 'query', 'queries')}"
    if row.n_seeds < 2:
        return f"{queries}, one training seed: how much another seed would change is unknown"
    return f"{queries}, mean of {row.n_seeds} training seeds, standard deviation over seeds {row.seed_sd:.3f}"


def _before_and_after(hit: Any, plain: Any) -> str:
    """One preset among paraphrases (`hit`) and without distractors (`plain`, None where that was not measured)."""
    went = {"up": "rose", "down": "fell", "open": "went (not distinguishable from no change)"}
    cost, asked = "", ""
    if plain is not None:
        cost = f". Without distractors {plain.before:.3f} became {plain.value:.3f} ({_interval(plain)})"
        asked = f"; of {plain.n} queries, the others have no usable paraphrase" if plain.n > hit.n else ""
    return (
        f"{hit.preset}: recall@1 with a paraphrase of every query in the pool "
        f"{went.get(_direction(hit), 'went')} from {hit.before:.3f} to {hit.value:.3f} "
        f"({_interval(hit)}; {_units(hit)}{asked}){cost}."
    )


def _against_the_ablation(contrast: pd.DataFrame) -> list[str]:
    """What the query-side negatives alone bring: each preset against the ablation, paired by seed and query."""
    words = {
        "up": "more than the ablation, as in study 2",
        "down": "less than the ablation, unlike in study 2",
        "open": "not distinguishable from the ablation; study 2 found a large gain",
    }
    rows = contrast[contrast["metric"].eq("recall_at_1") & contrast["pool"].eq("paraphrase")]
    return [
        f"{row.preset} against the ablation with the same seeds, recall@1 among paraphrases: {row.value:.3f} against "
        f"{row.before:.3f} ({_interval(row)}; {_units(row)}), {words.get(_direction(row), 'which is not shown to differ')}."
        for row in _over_languages(rows).itertuples()
    ]


def _gained(rows: pd.DataFrame, top: int) -> str:
    """The instructions that gained most under one training."""
    gain, relevant = pd.Series(levelled(rows["gain"])), rows["relevant"].astype(bool)
    k = min(top, int((compare(gain, 0) > 0).sum()))
    if not k:
        return f"none of the {count(len(rows), 'instruction')} gained among paraphrases."
    expected = k * top_k_share(gain.to_numpy(float), relevant.to_numpy(), k)
    border = gain.nlargest(k).min()
    tied, left = int((gain == border).sum()), k - int((gain > border).sum())
    ties = f" ({tied} tie for {count(left, 'place')}, so this is their share)" if tied > left else ""
    return (
        f"of the {count(k, 'instruction')} that gained most among paraphrases {expected:.3g} "
        f"{'describes' if round(expected, 2) == 1 else 'describe'} the task{ties}; of all {len(rows)} it is "
        f"{relevant.mean():.0%}. The largest gain is {signed(gain.max())}, the mean over all {signed(gain.mean())}."
    )


def _changed(rows: pd.DataFrame) -> str:
    """What one training changed on other tasks."""
    change = rows["difference"]
    ends = [
        f"the largest {word} is {signed(change[at].iloc[0], 4)} ({listed(rows.loc[at, 'task'])})"
        if at.any()
        else f"no task shows a {word}"
        for word, at in (
            ("loss", is_lowest(change) & (compare(change, 0) < 0)),
            ("gain", is_highest(change) & (compare(change, 0) > 0)),
        )
    ]
    known = rows.dropna(subset=["low", "high"])
    clear = int(((known["low"] > 0) | (known["high"] < 0)).sum())
    return (
        f"over {count(len(rows), 'task')} the main score changed by {signed(change.mean(), 4)} on average; "
        f"{ends[0]}, {ends[1]}; {clear} of the {len(known)} with an interval {choose(clear, 'leaves', 'leave')} 0 out."
    )


def _spread(row: Any, old: Any) -> str:
    """The spread over prompts of a tuned model over that of the base model (`old`), with the same prompts."""
    text = (
        f"{row.model} on {row.task}: the coefficient of variation over {count(row.n_prompts, 'prompt')} is {row.cv:.2%}, "
        f"of the base model {old.cv:.2%}"
    )
    if pd.isna([row.cv_ratio, row.cv_ratio_low, row.cv_ratio_high]).any():
        return f"{text}; so few prompts, or scores so equal, give no interval of their ratio."
    ratio = f"the ratio is {row.cv_ratio:.2f} [{row.cv_ratio_low:.2f}, {row.cv_ratio_high:.2f}] with the same prompts"
    change = "a larger spread" if row.cv_ratio_low > 1 else "a smaller spread"
    end = "a change is not shown" if row.cv_ratio_low <= 1 <= row.cv_ratio_high else change
    return f"{text}; {ratio} (one task and its texts, one training): {end}."
