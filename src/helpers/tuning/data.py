"""Rows to train on: (query, paraphrase, target) examples, their splits, their negatives, what was left out and why.

Study 2, section 5: every example gives a retrieval row (instruction of the task, query -> target) and an STS row
(instruction of semantic equality, query -> paraphrase). The paraphrase is what a model wrongly finds in the first, the
target what it wrongly finds in the second: as "query-side negatives" they teach it to follow the instruction.

An examples table has the columns id, query, paraphrase, target, language ("" where there is one only) and, after
`split_by_target`, group and split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import TfidfVectorizer

from helpers.base.errors import StudyError

EXAMPLE_COLUMNS = ["id", "query", "paraphrase", "target", "language"]
REPORT_COLUMNS = ["id", "reason", "text", "other", "similarity"]


def normalised(texts: pd.Series) -> pd.Series:
    """Case-folded texts with single blanks: two texts are the same for this module when these are equal.

    >>> normalised(pd.Series(["A  cat", None])).tolist()
    ['a cat', '']
    """
    return texts.fillna("").astype(str).str.split().str.join(" ").str.casefold()


def clean_examples(examples: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Leave out examples that would teach nonsense; returns (kept, report with one line per example left out).

    Reasons: an empty text; a paraphrase equal to its query (as a negative it would push the query from itself); a
    paraphrase or query equal to the target; the same query and target a second time.
    """
    query, paraphrase, target = (normalised(examples[c]) for c in ("query", "paraphrase", "target"))
    reason = pd.Series("", index=examples.index)
    for text, condition in (
        ("repeated query and target", pd.DataFrame({"q": query, "t": target}).duplicated()),
        ("target equals query or paraphrase", (target == query) | (target == paraphrase)),
        ("paraphrase equals query", query == paraphrase),
        ("empty text", (query == "") | (paraphrase == "") | (target == "")),
    ):
        reason = reason.mask(condition, text)
    out = reason != ""
    report = examples.loc[out, ["id"]].assign(
        reason=reason[out], text=examples["query"][out], other=examples["paraphrase"][out], similarity=np.nan
    )
    return examples[~out].reset_index(drop=True), report.reset_index(drop=True)


def groups(examples: pd.DataFrame) -> np.ndarray:
    """Number of each example's group, (n,): examples that share a target, a query or a paraphrase belong together.

    >>> table = {"query": ["a", "b", "c"], "paraphrase": ["d", "e", "a"], "target": ["t", "u", "v"]}
    >>> groups(pd.DataFrame(table)).tolist()
    [0, 1, 0]
    """
    n = len(examples)
    texts = pd.concat([normalised(examples[c]) for c in ("query", "paraphrase", "target")])
    codes, distinct = pd.factorize(texts)
    links = (np.ones(3 * n), (np.tile(np.arange(n), 3), n + codes))  # of examples with their texts
    return connected_components(coo_matrix(links, shape=(n + len(distinct),) * 2), directed=False)[1][:n]


def split_by_target(
    examples: pd.DataFrame, dev_fraction: float, test_fraction: float, seed: int, test: pd.Series | None = None
) -> pd.DataFrame:
    """Give every example a `group` and a `split`; whole groups are drawn, so no target or query is in two parts.

    `test` (bool per example) is used where the data bring their own test part: then only dev is drawn, and training
    examples whose group reaches into the test part go with it as split "dropped". Fractions are of examples, reached
    from below in whole groups. Raises where a part that is asked for stays empty.
    """
    out = examples.assign(group=groups(examples), split="train")
    parts = {"test": test_fraction, "dev": dev_fraction * (1 - test_fraction)}
    if test is not None:
        touched = out["group"].isin(set(out.loc[test.to_numpy(), "group"]))
        out.loc[touched, "split"] = "dropped"
        out.loc[test.to_numpy(), "split"] = "test"
        parts = {"dev": dev_fraction}
    sizes = out[out["split"] == "train"].groupby("group").size()
    left = np.random.default_rng(seed).permutation(sizes.index.to_numpy())
    for part, fraction in parts.items():
        n = int((np.cumsum(sizes.loc[left].to_numpy()) <= fraction * sizes.sum()).sum())
        out.loc[out["group"].isin(left[:n]) & (out["split"] == "train"), "split"] = part
        left = left[n:]
    for part, wanted in (("train", 1.0), ("test", 1.0), ("dev", dev_fraction)):
        if wanted > 0 and not (out["split"] == part).any():
            raise StudyError(
                f"the {part} part is empty: {len(out)} examples in {out['group'].nunique()} groups of shared texts; "
                "give more examples or change dev_fraction and test_fraction"
            )
    return out


def remove_near_duplicates(
    examples: pd.DataFrame, threshold: float, block: int = 2000
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Take training examples out whose texts are too close to a held-out text; returns (kept, report).

    Closeness is the cosine of character 4-gram TF-IDF vectors (within words), fitted on all texts: queries and
    paraphrases against the held-out queries and paraphrases, targets against the held-out targets.
    """
    train, held_out = (examples[examples["split"].isin(s)] for s in (["train"], ["dev", "test"]))
    close = []
    for columns in (["query", "paraphrase"], ["target"]):
        ours = train.melt("id", columns, value_name="text")
        others = held_out.melt("id", columns, value_name="text")["text"].drop_duplicates()
        if ours.empty or others.empty:
            continue
        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(4, 4), sublinear_tf=True)
        vectorizer.fit(pd.concat([ours["text"], others]))
        ours_v, others_v = vectorizer.transform(ours["text"]), vectorizer.transform(others).T.tocsc()
        for start in range(0, len(ours), block):
            similarity = ours_v[start : start + block] @ others_v
            best = np.asarray(similarity.argmax(axis=1)).ravel()
            value = np.asarray(similarity.max(axis=1).todense()).ravel()
            for i in np.flatnonzero(value >= threshold):
                row = ours.iloc[start + i]
                reason = f"{row['variable']} close to a held-out text"
                close.append((row["id"], reason, row["text"], others.iloc[best[i]], value[i]))
    report = pd.DataFrame(close, columns=REPORT_COLUMNS)
    report = report.sort_values("similarity", ascending=False).drop_duplicates("id").reset_index(drop=True)
    kept = examples[~((examples["split"] == "train") & examples["id"].isin(set(report["id"])))]
    if not (kept["split"] == "train").any():
        raise StudyError(f"no training example is left below near_duplicate {threshold}; raise it")
    return kept.reset_index(drop=True), report


def training_rows(
    examples: pd.DataFrame, prefix: Callable[[str, str], str], n_negatives: int, hard_share: float, seed: int
) -> pd.DataFrame:
    """Two rows per example with explicit negatives: id, kind, language, hard, anchor, positive, negative_1..n.

    `prefix(kind, language)` is the text before the query. Negatives are drawn without replacement from the examples
    given, same language, other group, distinct texts: other targets for the retrieval row, other queries for the STS
    row. With probability `hard_share` (one draw per example, for both rows) the first negative is the query-side one.
    The draws do not depend on it, so two trainings that differ in it alone see the same random negatives.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for language, part in examples.groupby("language", sort=True):
        pools = {
            kind: part.drop_duplicates(column)[[column, "group"]].to_numpy()
            for kind, column in (("retrieval", "target"), ("sts", "query"))
        }
        for example in part.itertuples(index=False):
            hard = bool(rng.random() < hard_share)
            for kind, positive, query_side in (
                ("retrieval", example.target, example.paraphrase),
                ("sts", example.paraphrase, example.target),
            ):
                pool = pools[kind]
                candidates = np.flatnonzero(pool[:, 1] != example.group)
                if len(candidates) < n_negatives:
                    raise StudyError(
                        f"example '{example.id}' has {len(candidates)} candidates for its {n_negatives} negatives "
                        f"({kind} row{f', {language}' if language else ''}); lower n_negatives or give more examples"
                    )
                negatives = list(pool[rng.choice(candidates, n_negatives, replace=False), 0])
                if hard:
                    negatives[0] = query_side
                anchor = prefix(kind, str(language)) + example.query
                rows.append((example.id, kind, language, hard, anchor, positive, *negatives))
    names = [f"negative_{i + 1}" for i in range(n_negatives)]
    return pd.DataFrame(rows, columns=["id", "kind", "language", "hard", "anchor", "positive", *names])


def split_report(examples: pd.DataFrame) -> pd.DataFrame:
    """Sizes of the parts: split, language, examples, targets, mean number of words of queries and targets."""
    words = {f"{c}_words": examples[c].str.split().str.len() for c in ("query", "target")}
    table = examples.assign(**words).groupby(["split", "language"], sort=False)
    table = table.agg(
        examples=("id", "size"), targets=("target", "nunique"), **{name: (name, "mean") for name in words}
    )
    return table.reset_index().sort_values(["language", "split"], ignore_index=True)


def fingerprint(table: pd.DataFrame) -> str:
    """16 hexadecimal digits over every cell of a table, in order."""
    content = hashlib.sha256("\0".join(table.columns).encode())
    content.update(pd.util.hash_pandas_object(table.astype(str), index=False).to_numpy().tobytes())
    return content.hexdigest()[:16]
