"""Claims: the sentence above each figure, computed from the table that the figure draws.

One function per figure, named like its anchor (`cv` for fig-cv). Where the data cannot tell, the claim says so. A
superlative names everything that ties for it; one over signed numbers goes by size and shows the sign.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from helpers.charts_finetuning import name_of
from helpers.charts_geometry import METRIC_NAMES, triangle_rows
from helpers.charts_leaderboard import SCENARIOS
from helpers.extremes import extreme_scores, numbers_of_prompts
from helpers.finetuning import BASELINE
from helpers.hacking import largest_choice
from helpers.headline import outside
from helpers.instructions import NONE_ID
from helpers.noise import share_of_pairs
from helpers.phrases import (
    cells_named,
    choose,
    count,
    extent,
    is_farthest,
    is_highest,
    is_lowest,
    listed,
    out_of,
    out_of_sets,
    signed,
    units_of,
)
from helpers.prompt_statistics import style, words
from helpers.prompts_spec import LEVELS
from helpers.relevance import SET, quadrants, statistics_rows
from helpers.task_scores import task_scores
from helpers.ties import compare
from helpers.variants import distinct

LEVEL = 0.05
NO_PROMPT = "There is no prompt"

# -- 01: prompts -----------------------------------------------------------------------------------------------------


def prompt_lengths(prompts: pd.DataFrame) -> str:
    """Mean number of words at the level with least context and at the one with most."""
    known = prompts.dropna(subset=["text"])
    if known.empty:
        return NO_PROMPT
    counts = known["text"].map(lambda text: len(words(text)))
    means = counts.groupby(known["level"]).mean().reindex(list(LEVELS)).dropna()
    if len(means) < 2:
        return f"A prompt has {counts.mean():.1f} words on average"
    first, last = means.iloc[0], means.iloc[-1]
    return f"Prompts have {first:.1f} words with the least context and {last:.1f} with the most"


def prompt_styles(prompts: pd.DataFrame) -> str:
    """The most frequent style and its share."""
    shares = prompts["text"].dropna().map(style).value_counts(normalize=True)
    if shares.empty:
        return NO_PROMPT
    first = shares[is_highest(shares)]
    if len(first) > 1:
        return f"The styles {listed(first.index, len(first))} are equally frequent: {first.max():.0%} each"
    return f"{first.max():.0%} of the prompts have the style '{first.index.item()}'"


def prompt_similarity(pairs: pd.DataFrame, task: str) -> str:
    """The highest similarity of two different prompts of a task."""
    others = pairs.loc[pairs["row"] != pairs["column"], "similarity"]
    if others.empty:
        return f"{task} has one prompt: nothing to compare"
    return f"The two most alike prompts of {task} have a similarity of {others.max():.2f}"


# -- 02: scores ------------------------------------------------------------------------------------------------------


def scores(table: pd.DataFrame) -> str:
    """The cell whose score moves most between prompts, and how far (`task_scores.task_scores`)."""
    return _widest(task_scores(table))


# -- 03: inflation and deflation -------------------------------------------------------------------------------------


def distribution(cells: pd.DataFrame) -> str:
    """How many defaults lie outside the range of all their prompts."""
    known = cells[cells["score"].notna()]
    prompts = known[known["kind"] == "prompt"].groupby(["model", "task"], observed=True)["score"]
    own = prompts.agg(["min", "max"])
    default = known[known["kind"] == "default"].groupby(["model", "task"], observed=True)["score"].mean()
    both = own.join(default, how="inner")
    if both.empty:
        return _widest(cells)
    above = int((compare(both["score"], both["max"]) > 0).sum())
    below = int((compare(both["score"], both["min"]) < 0).sum())
    verb = choose(len(both), "scores", "score")
    return f"{out_of(above, len(both), 'default')} {verb} above every prompt, {below} below every prompt"


def percentiles(table: pd.DataFrame) -> str:
    """How many defaults of models (`variants` apart) are inflated, deflated or cannot be placed."""
    placed = distinct(table[table["percentile"].notna()]) if "percentile" in table else table.iloc[:0]
    if placed.empty:
        return "No default score to place among the prompts"
    counts = placed["label"].value_counts()
    up, down, open_cells = (int(counts.get(label, 0)) for label in ("inflated", "deflated", "undecided"))
    return f"Of {count(len(placed), 'default')} {up} inflated, {down} deflated, {open_cells} undecided"


def cv(table: pd.DataFrame) -> str:
    """The cell with the largest coefficient of variation."""
    known = table[table["cv"].notna() & (table["n_prompts"] > 1)] if "cv" in table else table.iloc[:0]
    if known.empty:
        return "Too few prompts for a coefficient of variation"
    top = known[is_highest(known["cv"])]
    largest = top["cv"].max()
    if largest == 0:
        return "Wording moves no score: every coefficient of variation is 0"
    unsure = "" if top["cv_reliable"].astype(bool).all() else ", with a mean near 0"
    return f"Wording moves {cells_named(top)} most: coefficient of variation {largest:.1%}{unsure}"


def variance(components: pd.DataFrame) -> str:
    """The share of the variance on one task that is wording common to all models."""
    part = components.set_index("source")
    if "prompt" not in part.index or not np.isfinite(part.loc["prompt", "share_on_task"]):
        return "These data cannot tell wording from the other sources of variance"
    share = part.loc["prompt", "share_on_task"]
    unsure = "" if np.isfinite(part.loc["prompt"].get("share_on_task_low", np.nan)) else " (no interval)"
    return f"{share:.0%} of the variance on one task is wording that moves all models together{unsure}"


def noise(single: pd.DataFrame) -> str:
    """The share of differences between two prompts that exceed the noise of the test set."""
    beyond = share_of_pairs(single, "beyond_fdr")
    return f"{beyond:.0%} of the differences between two prompts are beyond the noise of the test set"


def agreement(agreed: pd.DataFrame, fdr: float = LEVEL) -> str:
    """In how many tasks the models agree on the better prompts."""
    known = agreed[agreed["kendall_w"].notna()] if len(agreed) else agreed
    if known.empty:
        return "Too few models or prompts to tell whether models agree on the better ones"
    sure = int((known["q_value"] <= fdr).sum())
    return f"Models agree on the better prompts beyond chance in {out_of(sure, len(known), 'task')}"


def traits(effects: pd.DataFrame, fdr: float = LEVEL) -> str:
    """How many traits of wording go with the score."""
    known = effects[effects["effect"].notna()]
    sure = int((known["q_value"] <= fdr).sum())
    said, verb = out_of(sure, len(known), "trait"), choose(len(known), "goes", "go")
    return f"{said} of wording {verb} with the score beyond chance"


def precision(advice: pd.DataFrame) -> str:
    """How many prompts the mean score needs."""
    row = advice[(advice["measure"] == "mean") & advice["k"].notna()]
    if row.empty:
        return "The error falls with the number of prompts; how many are enough cannot be said"
    first = row.iloc[0]
    beyond = " (extrapolated)" if bool(first["extrapolated"]) else ""
    k = int(first["k"])
    verb = choose(k, "gives", "give")
    return (
        f"About {count(k, 'prompt')}{beyond} {verb} the mean score to within {first['wanted']:.0%} of itself"
    )


# -- 04: leaderboards ------------------------------------------------------------------------------------------------


def scenarios(ranks: pd.DataFrame) -> str:
    """How many models their own best prompts make first (columns model, board, rank: the drawn ranks)."""
    wide = ranks.pivot(index="model", columns="board", values="rank")
    easy, hard = SCENARIOS["best_vs_default"], SCENARIOS["best_vs_worst"]
    default = SCENARIOS["default"]
    if easy not in wide or default not in wide or wide[default].isna().all():
        return "No default ranks to compare with"
    first = [int((wide[board] == 1).sum()) for board in (easy, hard)]
    return f"{out_of(first[0], len(wide), 'model')} can be first against defaults, {first[1]} against worst prompts"


def boards(agreed: pd.DataFrame) -> str:
    """How many boards order the models otherwise than the defaults (`leaderboard.board_agreement`)."""
    others = agreed[(agreed["board"] != "default") & agreed["kendall_tau"].notna()]
    if others.empty:
        return "The order of the models on the default board cannot be compared with another"
    said = out_of(int((others["moved"] > 0).sum()), len(others), "board")
    return f"{said} {choose(len(others), 'ranks', 'rank')} the models otherwise than the defaults"


def ranks(table: pd.DataFrame) -> str:
    """How many models have more than one probable rank under random prompts."""
    open_ranks = int((table["rank_low"] < table["rank_high"]).sum())
    verb = choose(len(table), "has", "have")
    return (
        f"Under random prompts {out_of(open_ranks, len(table), 'model')} {verb} more than one probable rank"
    )


def wins(table: pd.DataFrame) -> str:
    """The pair of models whose order is least certain; table: `rank_distribution.pairwise_wins`."""
    pairs = {
        (one, other): (table.loc[one, other], table.loc[other, one])
        for one, other in combinations(sorted(table.index), 2)
    }
    certain = pd.Series({pair: abs(wins[0] - 0.5) for pair, wins in pairs.items()}, dtype=float).dropna()
    if certain.empty:
        return "One model alone beats nobody"
    if certain.min() == 0.5:
        return "Every order of two models is the same under all random prompts drawn"
    least = certain[is_lowest(certain)]
    if compare(least.min(), 0) == 0:
        said = listed(f"{one} and {other}" for one, other in least.index)
        return f"Least certain: {said} are even (ties count half)"
    orders = [pair if pairs[pair][0] >= pairs[pair][1] else pair[::-1] for pair in least.index]
    said = listed(f"{winner} beats {loser}" for winner, loser in orders)
    return f"Least certain: {said} with probability {0.5 + least.min():.0%}"


def hacking(curve: pd.DataFrame) -> str:
    """What reporting the best of all prompts adds at most."""
    k = int(curve.groupby("model")["k"].max().min())
    if k < 2:
        return "One prompt: there is no best to choose"
    at_k = curve[curve["k"] == k]
    top = at_k[is_highest(at_k["gain"])]
    return (
        f"Reporting the best of {k} prompts adds up to {signed(top['gain'].max())} ({listed(top['model'])})"
    )


def honest(halves: pd.DataFrame) -> str:
    """What is left of the best prompt's gain on other queries."""
    last = largest_choice(halves)
    reported, kept = last["reported"].mean(), last["honest"].mean()
    return f"The best prompt gains {signed(reported)} on the queries that chose it and {signed(kept)} on the others"


# -- 05: instruction geometry ----------------------------------------------------------------------------------------


def structure(geometry: pd.DataFrame) -> str:
    """The measure that goes most with the score: median of Spearman's correlation over models and tasks."""
    rows = statistics_rows(geometry)
    names = [name for name in METRIC_NAMES if name in rows]
    known = rows[rows.groupby(SET)["score"].transform("nunique") > 1]
    found = pd.DataFrame(
        [part[names].corrwith(part["score"], method="spearman") for _, part in known.groupby(SET)]
    )
    medians = found.median().dropna() if len(found) else found
    if not len(medians):
        return "All instructions score alike: nothing goes with the score"
    top = medians[is_farthest(medians)]
    said = listed(f"{METRIC_NAMES[name]} (Spearman {signed(value, 2)})" for name, value in top.items())
    over = f", median over {count(len(found), *units_of(known))}" if len(found) > 1 else ""
    return f"The score goes most with {said}{over}"


def relevance(table: pd.DataFrame) -> str:
    """Where relevant instructions score better than others (`relevance.relevance_table`)."""
    tested = table[table["p"].notna()] if len(table) else table
    if tested.empty:
        return "Too few instructions to compare relevant with other ones"
    up = int(((tested["p"] < LEVEL) & (tested["rank_biserial"] > 0)).sum())
    return f"Relevant instructions score better in {out_of_sets(up, tested)}, p < 0.05"


def shift(geometry: pd.DataFrame) -> str:
    """How many of the big shifts bring nothing; a shift is what one instruction does to one set of queries."""
    rows = quadrants(geometry)
    far = int(rows["quadrant"].str.startswith("big shift").sum())
    nothing = int((rows["quadrant"] == "big shift, no gain").sum())
    said = f"{out_of(nothing, far, 'big shift')} of the queries {choose(far, 'brings', 'bring')} no gain"
    return said + (f" ({extent(rows)})" if len(rows[SET].drop_duplicates()) > 1 else "")


def distractors(table: pd.DataFrame) -> str:
    """Mean over models and tasks of the best recall@1 with targets alone and with paraphrases."""
    own = table[(table["instruction_id"] != NONE_ID) & ~table["control"].astype(bool)]
    best = own.groupby([*SET, "pool"], observed=True)["recall_at_1"].max().unstack("pool")
    if "paraphrase" not in best:
        return "No task has paraphrases of its queries"
    both = best.dropna(subset=["normal", "paraphrase"])
    before, after = both["normal"].mean(), both["paraphrase"].mean()
    return f"The best instruction's recall@1 is {before:.2f} among targets and {after:.2f} with paraphrases, on average"


def triangle(per_query: pd.DataFrame) -> str:
    """Share of the queries under a relevant instruction whose top hit is their own paraphrase."""
    rows = triangle_rows(per_query)
    if rows.empty:
        return "No task has paraphrases of its queries"
    share = (rows["paraphrase_top"] == "own paraphrase").mean()
    return f"{share:.0%} of the instructed queries find their own paraphrase first"


# -- 06: distractor fine-tuning --------------------------------------------------------------------------------------


def dev(log: pd.DataFrame) -> str:
    """Recall@1 among paraphrases on the dev part, at the first and at the last check of each training."""
    return _course(log, "dev_recall_at_1_paraphrase", "recall@1 among paraphrases (dev)")


def loss(log: pd.DataFrame) -> str:
    """The training loss at the first and at the last logged step."""
    return _course(log, "loss", "the training loss")


def recall(recalls: pd.DataFrame) -> str:
    """The training with the largest difference of recall@1 among paraphrases, with its interval."""
    rows = recalls[
        (recalls["metric"] == "recall_at_1")
        & (recalls["pool"] == "paraphrase")
        & (recalls["preset"] != BASELINE)
    ]
    if rows["language"].nunique() > 1:
        rows = rows[rows["language"] == "mean"]
    rows = rows.dropna(subset=["difference"])
    if rows.empty:
        return "No training was measured among paraphrases"
    top = rows[is_farthest(rows["difference"])]
    said = listed(
        (
            f"{signed(row.difference)} ({name_of(row.preset, row.seed, BASELINE)}; "
            + ("no interval" if pd.isna(row.low) else f"95 % interval {row.low:+.3f} to {row.high:+.3f}")
            + ")"
            for row in top.itertuples()
        ),
        1,
    )
    return f"Largest change of recall@1 among paraphrases: {said}"


def instruction_gains(gains: pd.DataFrame) -> str:
    """How many instructions gained; a case is one instruction under one training where there are several."""
    rows = gains[~gains["control"].astype(bool) & gains["group"].ne("none")]
    gain = compare(rows["gain"], 0)
    up, down = int((gain > 0).sum()), int((gain < 0).sum())
    trainings = len(rows[["preset", "seed"]].drop_duplicates())
    if trainings < 2:
        return (
            f"Recall@1 among paraphrases rose for {out_of(up, len(rows), 'instruction')} and fell for {down}"
        )
    about = f"{count(rows['instruction_id'].nunique(), 'instruction')}, {count(trainings, 'training')}"
    return f"Recall@1 among paraphrases rose in {out_of(up, len(rows), 'case')} and fell in {down} ({about})"


def side_effects(effects: pd.DataFrame) -> str:
    """In how many cases, a tuned model on another task, the main score changed beyond its interval."""
    known = effects.dropna(subset=["low", "high"])
    if known.empty:
        top = effects[is_farthest(effects["difference"])]
        said = listed(f"{signed(row.difference)} on {row.task}" for row in top.itertuples())
        return f"Largest side effect: {said} (no interval)"
    down, up = int((known["high"] < 0).sum()), int((known["low"] > 0).sum())
    return f"The main score of other tasks fell in {down} and rose in {out_of(up, len(known), 'case')}"


# -- the page that compares studies ----------------------------------------------------------------------------------


def intervals(models: pd.DataFrame) -> str:
    """How many defaults lie outside the interval of random prompts (`comparison.model_rows`)."""
    known = models.dropna(subset=["default", "low", "high"])
    if known.empty:
        return "No default to compare with random prompts"
    few = known["verdict"].str.startswith("too few")
    n, unsure = (int((outside(known[part]) != 0).sum()) for part in (~few, few))
    said, verb = out_of(n, len(known), "mean default"), choose(len(known), "lies", "lie")
    more = f", {unsure} with too few prompts to tell" if unsure else ""
    return f"{said} {verb} outside what random prompts give{more}"


def pools(geometry: pd.DataFrame) -> str:
    """In how many rows paraphrases lower the best recall@1 (`comparison.geometry_rows`)."""
    known = geometry.dropna(subset=["normal", "paraphrase"])
    if known.empty:
        return "No task has paraphrases of its queries"
    lower = int((compare(known["paraphrase"], known["normal"]) < 0).sum())
    return f"Paraphrases in the pool lower the best recall@1 in {out_of(lower, len(known), 'case')}"


def _widest(cells: pd.DataFrame) -> str:
    """The widest range of scores between prompts of a `task_scores` table, over equal numbers of prompts per task."""
    known = cells[(cells["kind"] == "prompt") & cells["score"].notna()]
    known = known[known.groupby(["model", "task"], observed=True)["score"].transform("size") > 1]
    ranges = extreme_scores(known, "best") - extreme_scores(known, "worst")
    if ranges.empty:
        return "No two prompts have scores to compare"
    if compare(ranges.max(), 0) == 0:
        return "Wording moves no score: all prompts of a model and task score alike"
    top = ranges[is_highest(ranges)].reset_index()
    most = " most" if len(ranges) > 1 else ""
    its = choose(len(top), "its", "their")
    numbers = numbers_of_prompts(known).loc[top["task"].unique()]
    drawn = (
        ", equal numbers of them drawn for every model" if (numbers["fewest"] < numbers["most"]).any() else ""
    )
    return f"Wording moves {cells_named(top)}{most}: by {ranges.max():.3f} between {its} prompts{drawn}"


def _course(log: pd.DataFrame, column: str, what: str) -> str:
    rows = log.dropna(subset=[column]).sort_values("step") if column in log else log.iloc[:0]
    if rows.empty:
        return f"{what.capitalize()}: not logged"
    ends = rows.groupby(["preset", "seed"])[column].agg(["first", "last"])
    said = [
        f"{name_of(preset, seed, BASELINE)} {first:.2f} to {last:.2f}"
        for (preset, seed), first, last in zip(ends.index, ends["first"], ends["last"], strict=True)
    ]
    more = f" and {len(said) - 3} more" if len(said) > 3 else ""
    return f"{what[0].upper()}{what[1:]} from first to last: {'; '.join(said[:3])}{more}"
