"""Named rules for prompts: each looks at one prompt in its context and says in words what is wrong, or nothing.

A rule marks, it never changes a prompt. `helpers.prompts.checks` applies them to a table and decides what stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

from helpers.prompts.context import TaskContext, data_set_names
from helpers.prompts.lexicon import CODES, COMMON, LANGUAGES
from helpers.tasks.kinds import TASK_WORDS

_LIKE = {
    "Reranking": "Retrieval", "InstructionRetrieval": "Retrieval", "InstructionReranking": "Retrieval",
    "MultilabelClassification": "Classification", "PairClassification": "STS", "Summarization": "STS",
}  # fmt: skip

# "Generate a representation" is what an embedding model does.
_VECTOR = r"(?:\w+ ){0,3}(?:representation|embedding|vector|encoding)"

FOREIGN = (
    rf"summari[sz]\w*|extract\w*\b(?! {_VECTOR})|generat\w*\b(?! {_VECTOR})|rewrit\w*|explain\w*|complete the|"
    r"continue the|correct the"
)

CHATTY = (
    r"(?:here (?:is|are)|sure\b|certainly\b|of course|below (?:is|are)|as an ai\b|"
    r"i (?:can|will|would)\b|please note)"
)

SLOTS = (
    r"[\[{<](?:your |the |insert )?"
    r"(?:text|input|query|sentence|document|passage|question|tweet|here)(?: here)?[\]}>]"
)


@dataclass(frozen=True)
class Case:
    """One prompt with what a rule may need: its task's context, the names around it, the data's texts."""

    text: str
    level: str | None = None
    context: TaskContext | None = None
    other_tasks: tuple[str, ...] = ()
    max_characters: int = 200
    spans: Spans | None = None


@dataclass
class Spans:
    """The texts of a data set, prepared to be looked for in prompts.

    A prompt leaks when it contains a whole text of at least `whole` words, or `part` words in a row of a text.
    """

    whole: int = 3
    part: int = 6
    texts: set[str] = field(default_factory=set)
    runs: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, texts: Iterable[str], whole: int = 3, part: int = 6) -> Spans:
        found = cls(whole, part)
        for text in texts:
            words = _words(text)
            if whole <= len(words) <= 60:
                found.texts.add(" ".join(words))
            found.runs.update(" ".join(words[i : i + part]) for i in range(len(words) - part + 1))
        return found

    def leak(self, prompt: str) -> str | None:
        """The longest stretch of the prompt that comes from the data, or None."""
        words = _words(prompt)
        for length in range(len(words), self.whole - 1, -1):
            for start in range(len(words) - length + 1):
                span = " ".join(words[start : start + length])
                if span in self.texts or (length == self.part and span in self.runs):
                    return span
        return None


def empty(case: Case) -> str | None:
    return "has no visible character" if not case.text.strip() else None


def too_long(case: Case) -> str | None:
    count = len(case.text)
    return f"{count} characters, more than {case.max_characters}" if count > case.max_characters else None


def not_a_prefix(case: Case) -> str | None:
    """Talk about prompts, list marks, places to fill in, several lines or sentences: not what stands before a text."""
    text = case.text.strip()
    if re.match(CHATTY, text, re.I):
        return "talks to the reader instead of standing before a text"
    if re.match(r"(?:\d+[.)]|[-*•])\s", text):
        return f"begins with a list mark '{text.split()[0]}'"
    slot = re.search(SLOTS, text, re.I)
    if slot:
        return f"has a place to fill in: '{slot.group()}'"
    if len(text.splitlines()) > 1:
        return "has several lines"
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        return "stands in quotation marks as a whole"
    if len(re.findall(r"[.!?](?=\s+[A-Z])", text)) > 1:
        return "has more than two sentences"
    return None


def task_drift(case: Case) -> str | None:
    """The verb of another task, without a word of the own one; or a verb that no embedding task has."""
    foreign = re.search(rf"\b(?:{FOREIGN})", case.text, re.I)
    if foreign:
        return f"'{foreign.group()}' is no task of an embedding"
    if case.context is None:
        return None
    own = _LIKE.get(case.context.type, case.context.type)
    if own not in TASK_WORDS or re.search(rf"\b(?:{TASK_WORDS[own].family})\b", case.text, re.I):
        return None
    for family, (_, _, verbs) in TASK_WORDS.items():
        found = re.search(rf"\b(?:{verbs})\b", case.text, re.I) if family != own else None
        if found:
            return f"'{found.group()}' belongs to {family}, the task is {case.context.type}"
    return None


def names_the_data_set(case: Case) -> str | None:
    """A data set's name, or at the first level a telling word of its description, that the level does not give."""
    if case.context is None:
        return None
    own = case.context.task
    for task in case.other_tasks if case.level != "task" else (own, *case.other_tasks):
        mine = {n.casefold() for n in data_set_names(own)} if task != own else set()
        for name in data_set_names(task):
            if name.casefold() not in mine and _mentions(case.text, name) and not _is_described(case, name):
                return f"'{name}' names {'the data set' if task == own else task}, which the level does not give"
    if case.level == "task":
        for word in re.findall(r"[A-Za-z][\w-]{3,}", case.text):
            if word.casefold() in _telling_words(case.context):
                return f"'{word}' is from the description of the data set, which the level does not give"
    return None


def names_a_language(case: Case) -> str | None:
    """A language, by name or ISO 639-3 code, that the level does not give or the task does not have."""
    given = set(case.context.languages) if case.context and case.level == "task+dataset+language" else set()
    codes = set(case.context.codes) if case.context and case.level == "task+dataset+language" else set()
    if case.context and case.level == "task+dataset":  # a description may speak of its language itself
        given |= {n for n in LANGUAGES if _mentions(case.context.description, n)}
    for name in dict.fromkeys([*LANGUAGES, *(case.context.languages if case.context else ())]):
        if name not in given and len(name) > 2 and re.search(rf"\b{re.escape(name)}\b", case.text):
            return f"'{name}' is a language that the level does not give"
    for code in CODES:
        if code not in codes and re.search(rf"(?<!-)\b{code}\b", case.text):
            return f"'{code}' is the code of a language that the level does not give"
    return None


def leak(case: Case) -> str | None:
    found = case.spans.leak(case.text) if case.spans else None
    return f"contains a text of the data set: '{found}'" if found else None


# In this order; "duplicate" and "near-duplicate" look at several prompts and stand in helpers.prompts.checks.
SINGLE: dict[str, Callable[[Case], str | None]] = {
    "empty": empty,
    "too long": too_long,
    "not a prefix": not_a_prefix,
    "task drift": task_drift,
    "names the data set": names_the_data_set,
    "names a language": names_a_language,
    "leak": leak,
}


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.I) is not None


def _is_described(case: Case, name: str) -> bool:
    """Whether the level gives the name by way of the description: "tweets" at the second level."""
    return case.level != "task" and case.context is not None and _mentions(case.context.description, name)


@cache
def _telling_words(context: TaskContext) -> frozenset[str]:
    """Words of a description that tell the data set: longer ones, without what any data set is described with."""
    own_kind = set(_words(context.kind))
    words = set(re.findall(r"[a-z][\w-]{3,}", context.description.casefold()))
    singular = {w.removesuffix("s") for w in words if w.endswith("s")}
    return frozenset(w for w in words | singular if w not in COMMON and w not in own_kind)
