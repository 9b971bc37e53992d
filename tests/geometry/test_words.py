"""The sentences of chapter 05 on tables that a person can work out by hand."""

import pandas as pd

from helpers.geometry import words

SETS = {"model": "a", "task": "T", "subset": "default"}


def geometry(*rows):
    """Rows of id, relevant, score, displacement, similarity improvement; the plain query scores 0.2."""
    columns = ["instruction_id", "relevant", "score", "displacement", "similarity_improvement"]
    table = pd.DataFrame(rows, columns=columns).assign(**SETS, group="vague", control=False)
    table["gain"] = table["score"] - 0.2
    return table.assign(gain_low=table["gain"] - 0.05, angulation=0.5, selectivity=0.5)


FOUR = geometry(
    ("i1", True, 0.1, 0.4, 0.1),
    ("i2", False, 0.2, 0.1, 0.2),
    ("i3", False, 0.3, 0.3, 0.3),
    ("i4", False, 0.4, 0.2, 0.4),
)
CONTROL = geometry(("c", True, 0.9, 0.9, 0.0)).assign(control=True, group="control")


def test_the_measure_that_goes_most_with_the_score():
    """Similarity improvement rises with the score (Spearman 1), displacement falls (ranks 4 1 3 2: -0.4)."""
    said = words.structure(pd.concat([FOUR, CONTROL]))
    assert said.title == "The score goes most with similarity improvement (Spearman +1.00)"
    assert len(said.findings) == 2 and "rho from -0.40 to -0.40" in said.findings[0]
    assert "in 0 and with a higher one in 1 of 1 pair" in said.findings[1]
    assert words.structure(FOUR.assign(score=0.5)).title.startswith("All instructions score alike")
    assert words.structure(FOUR.assign(score=0.5)).findings == ()


def test_a_nonsense_instruction_among_the_best():
    """k = 1 relevant instruction, so only the very best counts."""
    for best, number in ((3, 1), (0, 0)):
        group = ["nonsense" if n == best else "vague" for n in range(4)]
        first = words.structure(FOUR.assign(group=group)).findings[0]
        assert f"nonsense instruction is among the best k in {number} of 1 pair" in first


def test_big_shifts_without_gain():
    """The median displacement is 0.25: i1 (loses 0.1) and i3 (gains 0.1) lie beyond it; i4 gains beyond its interval."""
    said = words.shift(pd.concat([FOUR, CONTROL]))
    assert said.title == "1 of 2 big shifts of the queries bring no gain"
    assert "In 1 of 1 pair" in said.findings[0] and "in 2 of 4 cases" in said.findings[0]
    assert said.findings[1].startswith("Of 2 shifts") and "1 brings no gain" in said.findings[1]
    without = words.shift(FOUR.drop(columns=["gain_low"]))
    assert len(without.findings) == 1


def test_where_relevant_instructions_score_better():
    """Four pairs, of which one is not tested, one is better, one worse, one undecided."""
    table = pd.DataFrame(
        [(0.01, 0.8, 1.0), (0.01, -0.8, 0.0), (0.4, 0.3, 0.5), (None, 0.9, 1.0)],
        columns=["p", "rank_biserial", "top_k"],
    ).assign(**SETS, k=7, n_relevant=7, n_other=40)
    said = words.relevance(table)
    assert said.title.startswith("Relevant instructions score better in 1 of 3 pairs")
    (finding,) = said.findings
    assert "worse in 1; on average 50% of the best k" in finding and "by chance it would be 15%" in finding
    assert words.relevance(table[3:]).findings == ()


def pools(*rows):
    """Rows of id, recall@1 among targets, with random distractors, with paraphrases; i1 describes the task."""
    parts = [(i, pool, v) for i, *values in rows for pool, v in zip(("normal", "random", "paraphrase"), values, strict=True)]  # fmt: skip
    table = pd.DataFrame(parts, columns=["instruction_id", "pool", "recall_at_1"]).assign(**SETS, control=False)
    plain = table["instruction_id"] == "none"
    return table.assign(
        group=plain.map({True: "none", False: "vague"}), relevant=table["instruction_id"] == "i1", own_first=0.25,
        text=table["instruction_id"], n_queries=8, n_missing=(table["pool"] == "paraphrase") * 1,
    )  # fmt: skip


def test_the_best_instruction_of_each_pool():
    table = pools(("i1", 0.8, 0.7, 0.3), ("i2", 0.6, 0.6, 0.4), ("none", 0.9, 0.9, 0.9))
    said = words.distractors(table)
    assert said.title.startswith("The best instruction's recall@1 is 0.80 among targets and 0.40 with paraphrases")
    assert "from 0.800 to 0.400 for a (random distractors: 0.700; for 25% of the queries" in said.findings[0]
    assert said.findings[0].endswith("queries left out there: 1 without a paraphrase.")
    assert "describes the task in 0 of 1 pair of model and task and does not in 1; 0 tie" in said.findings[1]
    none = words.distractors(table[table["pool"] == "normal"])
    assert none.title == "No task has paraphrases of its queries" and none.findings == ()


def test_tests_beyond_chance_are_counted_per_measure():
    table = pd.DataFrame(
        [("displacement", 0.9, 0.01), ("selectivity", 0.6, 0.3), ("angulation", None, None)],
        columns=["metric", "auc", "auc_p"],
    ).assign(**SETS)
    (said,) = words.separability(table)
    assert "beyond chance in 1 of 2 tests (2 metrics in 1 pair" in said["text"]
    assert "displ 1, sim 0, angl 0, selectivity 0" in said["text"] and said["figure"] == "tbl-separability"
    assert words.separability(table[2:]) == []


def test_queries_that_find_their_own_paraphrase():
    rows = pd.DataFrame({"paraphrase_rank": [1, 2, 2, 3], "paraphrase_own_first": [0, 1, 0, 0], "normal_rank": 1})
    rows = rows.assign(**SETS, relevant=True, text="i", query_id="q", w_query=1, w_distractor=0, w_target=0)
    assert words.triangle(rows).title == "25% of the instructed queries find their own paraphrase first"
