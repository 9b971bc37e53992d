"""What chapter 06 says: title and findings of each figure, computed from the table that the figure draws."""

from __future__ import annotations

from typing import Any

import pandas as pd

from helpers.base.phrases import choose, count, is_farthest, is_highest, is_lowest, listed, out_of, signed
from helpers.base.ties import compare, levelled
from helpers.display.figure import Said
from helpers.geometry.relevance import statistics_rows, top_k_share
from helpers.tuning.trained import BASELINE, name_of


def dev(log: pd.DataFrame) -> Said:
    """Recall@1 among paraphrases on the dev part, at the first and at the last check of each training."""
    return _course(log, "dev_recall_at_1_paraphrase", "recall@1 among paraphrases (dev)")


def loss(log: pd.DataFrame) -> Said:
    """The training loss at the first and at the last logged step."""
    return _course(log, "loss", "the training loss")


def recall(recalls: pd.DataFrame, contrast: pd.DataFrame | None = None) -> Said:
    """Title: the training with the largest difference of recall@1 among paraphrases.

    Findings: per training the recall before and after, with the price without distractors; what query-side negatives
    bring. recalls: `recall_table`; contrast: `contrast_table`.
    """
    rows = _over_languages(recalls[recalls["metric"].eq("recall_at_1") & recalls["preset"].ne(BASELINE)])
    rows = rows.dropna(subset=["difference"])
    hits = rows[rows["pool"].eq("paraphrase")]
    against = _against_the_ablation(contrast) if contrast is not None else []
    if hits.empty:
        return Said("No training was measured among paraphrases", tuple(against))
    plain = {(r.preset, r.seed): r for r in rows[rows["pool"].eq("normal")].itertuples()}
    sentences = [_before_and_after(hit, plain.get((hit.preset, hit.seed))) for hit in hits.itertuples()]
    largest = listed(
        (
            f"{signed(hit.difference)} ({name_of(hit.preset, hit.seed)}; {_range(hit)})"
            for hit in hits[is_farthest(hits["difference"])].itertuples()
        ),
        1,
    )
    title = f"Largest change of recall@1 among paraphrases: {largest}"
    return Said(title, (*sentences, *_both_kinds(hits, contrast), *against))


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
    return Said(title, tuple(f"{name_of(*key)}: {_gained(part, top)}" for key, part in trainings))


def side_effects(effects: pd.DataFrame) -> Said:
    """Title: in how many cases, a tuned model on another task, the main score changed beyond its interval.

    Findings: per model the mean change, the largest loss and gain. effects: `side_effect_table`.
    """
    known = effects.dropna(subset=["low", "high"])
    down, up = int((known["high"] < 0).sum()), int((known["low"] > 0).sum())
    title = f"The main score of other tasks fell in {down} and rose in {out_of(up, len(known), 'case')}"
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


def _over_languages(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the only language, or those of the mean over several."""
    several = rows.groupby(["preset", "seed"])["language"].transform("nunique") > 1
    return rows[rows["language"].eq("mean") | ~several]


def _direction(row: Any) -> str:
    """ "up" or "down" where the interval leaves 0 out, "open" where it does not, "unknown" without an interval."""
    if pd.isna(row.low) or pd.isna(row.high):
        return "unknown"
    return "up" if row.low > 0 else "down" if row.high < 0 else "open"


def _range(row: Any) -> str:
    if pd.isna(row.low):
        return "no interval"
    return f"95 % interval {signed(row.low)} to {signed(row.high)}"


def _interval(row: Any) -> str:
    return f"{signed(row.difference)}, {_range(row)}"


def _before_and_after(hit: Any, plain: Any) -> str:
    """One training among paraphrases (`hit`) and without distractors (`plain`, None where that was not measured)."""
    went = {"up": "rose", "down": "fell", "open": "went (not distinguishable from no change)"}
    cost, asked = "", ""
    if plain is not None:
        cost = f"; without distractors {plain.before:.3f} became {plain.value:.3f} ({_interval(plain)})"
        asked = f" of {plain.n} queries, the others have no usable paraphrase" if plain.n > hit.n else ""
    return (
        f"{name_of(hit.preset, hit.seed)}: recall@1 with a paraphrase of every query in the pool "
        f"{went.get(_direction(hit), 'went')} from {hit.before:.3f} to {hit.value:.3f} "
        f"({_interval(hit)}, n = {hit.n}{asked}){cost}."
    )


def _both_kinds(hits: pd.DataFrame, contrast: pd.DataFrame | None) -> list[str]:
    """What query-side negatives bring, from the difference of the two kinds of training; nothing where one is absent."""
    if len({"ablation" in preset.split("+") for preset in hits["preset"]}) < 2:
        return []
    rows = _among_paraphrases(contrast).dropna(subset=["low", "high"]) if contrast is not None else hits.iloc[:0]
    if rows.empty:
        return ["What query-side negatives bring cannot be said: no seed has an interval against its ablation."]
    up, down = (sum(_direction(row) == way for row in rows.itertuples()) for way in ("up", "down"))
    return [
        f"Query-side negatives raise recall@1 among paraphrases beyond chance in {out_of(up, len(rows), 'training')} and "
        f"lower it in {down}, each against the ablation of its seed; study 2 found a large gain."
    ]


def _among_paraphrases(contrast: pd.DataFrame) -> pd.DataFrame:
    return _over_languages(contrast[contrast["metric"].eq("recall_at_1") & contrast["pool"].eq("paraphrase")])


def _against_the_ablation(contrast: pd.DataFrame) -> list[str]:
    """What the query-side negatives alone bring: each training against the ablation of the same seed."""
    words = {"up": "more than", "down": "less than", "open": "not distinguishable from"}
    return [
        f"{name_of(row.preset, row.seed)} against the ablation of the same seed, recall@1 among paraphrases: "
        f"{row.value:.3f} against {row.before:.3f} ({_interval(row)}), "
        f"{words.get(_direction(row), 'without an interval, against')} the ablation."
        for row in _among_paraphrases(contrast).itertuples()
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
    """The spread over prompts of a tuned model beside that of the base model (`old`)."""
    text = f"{row.model} on {row.task}: the coefficient of variation over prompts is {row.cv:.2%}"
    if pd.isna([row.cv_low, row.cv_high, old.cv_low, old.cv_high]).any():
        return f"{text}, of the base model {old.cv:.2%}; so few prompts, or scores so equal, give no interval."
    apart = row.cv_high < old.cv_low or row.cv_low > old.cv_high
    end = "the intervals are apart." if apart else "the intervals overlap, so a change is not shown."
    return (
        f"{text} [{row.cv_low:.2%}, {row.cv_high:.2%}], of the base model {old.cv:.2%} "
        f"[{old.cv_low:.2%}, {old.cv_high:.2%}]; {end}"
    )
