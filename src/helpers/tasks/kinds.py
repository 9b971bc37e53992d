"""Kinds of task: what the prompt meets in them, what they read, and the words that name them."""

from __future__ import annotations

from typing import NamedTuple

# Tasks with queries and documents, whose prompt can meet one side alone.
SIDED_TYPES = ("Retrieval", "Reranking", "InstructionRetrieval", "InstructionReranking")

# Tasks that train on vectors before they score: classifiers, and regressions.
CLASSIFIED = ("Classification", "MultilabelClassification")
TRAINED = (*CLASSIFIED, "Regression")


class Words(NamedTuple):
    """Regular expressions for the words of a task type.

    naming: a prompt with one of them names the task (stems, anywhere in a word). family: a prompt with one of them is
    about this type and none other (whole words). verbs: a prompt about another type that has one of them has drifted;
    narrower than the family, because "same group" is no drift of clustering towards similarity.
    """

    naming: str
    family: str
    verbs: str


TASK_WORDS = {
    "Retrieval": Words(
        r"retriev|search|quer|passage|document|relevan",
        r"retriev\w*|search\w*|find\w*|quer(?:y|ies)|look(?:ing)? up|answer\w*|relevant|evidence|question\w*",
        r"retriev\w*|search(?:ing)?",
    ),
    "Classification": Words(
        r"classif|categor|label|sentiment|predict",
        r"classif\w*|categor\w*|label\w*|class(?:es)?|sentiment|polarity|kind|detect\w*|which|decide",
        r"classif\w*|categori[sz]\w*",
    ),
    "Clustering": Words(
        r"cluster|group|topic",
        r"cluster\w*|group\w*|theme\w*|together|topic\w*|partition\w*|like goes with like",
        r"cluster\w*",
    ),
    "STS": Words(
        r"similar|semantic|paraphras|compar",
        r"similar\w*|compar\w*|mean(?:s|ing)?|paraphras\w*|equivalen\w*|semantic\w*|same|close\w*|grad(?:e|ed|ing)|agree\w*",
        r"similarity|paraphras\w*",
    ),
    "BitextMining": Words(
        r"bitext|parallel|translat|align",
        r"translat\w*|parallel|bitext|counterpart|other language|another language|cross-?lingual\w*|aligned",
        r"translat\w*|bitext",
    ),
}
