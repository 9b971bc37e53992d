"""Where the examples of a fine-tuning come from: the demo, SQuAD, any search task of mteb, or a file of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.base.errors import StudyError
from helpers.base.files import project_path, project_root
from helpers.geometry.sets import InstructedSet, read_paraphrases
from helpers.study.spec import Study, TaskSpec
from helpers.study.tuning import TASKS, FinetuningSpec
from helpers.tasks.files import read_file
from helpers.tasks.load import load_task, subset_data
from helpers.tasks.search import SearchSet, search_set
from helpers.tuning.data import (
    EXAMPLE_COLUMNS,
    clean_examples,
    fingerprint,
    groups,
    remove_near_duplicates,
    split_by_target,
)  # fmt: skip
from helpers.tuning.trained import finetuning_of


@dataclass
class TuningData:
    """Everything a fine-tuning is trained and judged on.

    examples: id, query, paraphrase, target, language, group, split. report: what was left out and why. targets: the
    texts that are searched, per language (of the dev part at most `dev_pool`, drawn with `seed`, its own targets
    included). kind: retrieval or bitext-mining.
    """

    name: str
    kind: str
    examples: pd.DataFrame
    report: pd.DataFrame
    targets: dict[str, list[str]]
    dev_pool: int = 1000
    seed: int = 42

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.examples)

    def part(self, split: str) -> pd.DataFrame:
        """The examples of a part: train, dev or test."""
        return self.examples[self.examples["split"] == split].reset_index(drop=True)

    def sets(self, split: str) -> list[InstructedSet]:
        """The part dev or test as search sets, one per language: pools and statistics are those of the geometry's sets.

        Random distractors come from the training part's queries, which are foreign there.
        """
        return [self._set(split, str(k), rows) for k, rows in self.part(split).groupby("language", sort=True)]

    def _set(self, split: str, language: str, rows: pd.DataFrame) -> InstructedSet:
        pool = self.targets.get(language, [])
        if split == "dev":  # measured again and again while training
            others = sorted(set(pool) - set(rows["target"]))
            left = max(self.dev_pool - rows["target"].nunique(), 0)
            pool = [others[i] for i in np.random.default_rng(self.seed).permutation(len(others))[:left]]
        number = {text: str(n) for n, text in enumerate(dict.fromkeys([*rows["target"], *pool]))}
        search = SearchSet(
            *(self.name, language or "default", split, language),
            queries=dict(zip(rows["id"], rows["query"], strict=True)),
            targets={n: text for text, n in number.items()},
            qrels={i: {number[t]: 1} for i, t in zip(rows["id"], rows["target"], strict=True)},
            paraphrases=dict(zip(rows["id"], rows["paraphrase"], strict=True)),
        )
        train = self.part("train")
        same = train.loc[train["language"] == language, "query"].tolist()
        foreign = [("the training part", same), ("other languages", train["query"].tolist())]
        bank: Any = self.kind
        kind = "bitext-mining" if bank == "bitext-mining" else "question-answering"
        return InstructedSet(search, bank, kind, foreign, "the examples")


def tuning_data(study: Study) -> TuningData:
    """Load, clean, split and check the examples of a study; `StudyError` names what is missing.

    The split, the draws of `max_examples` and of `dev_pool` depend on the study's seed and on no other, so that
    trainings with several seeds share their test part.
    """
    spec = finetuning_of(study)
    name, kind, examples, targets = _load(spec, study)
    examples, report = clean_examples(examples)
    if spec.max_examples and len(examples) > spec.max_examples:
        keep = np.random.default_rng(study.seed).permutation(len(examples))[: spec.max_examples]
        examples = examples.iloc[np.sort(keep)].reset_index(drop=True)
    test = examples["part"] == "test"
    given = test if test.any() else None
    split = split_by_target(examples, spec.dev_fraction, spec.test_fraction, study.seed, given)
    split, near = remove_near_duplicates(split, spec.near_duplicate)
    split = split.loc[split["split"] != "dropped", [*EXAMPLE_COLUMNS, "group", "split"]].reset_index(drop=True)
    report = pd.concat([report, near], ignore_index=True) if len(near) else report
    pool = targets if spec.searches_all else {}
    return TuningData(name, kind, split, report, pool, spec.dev_pool, study.seed)


def held_out_sets(study: Study, data: TuningData) -> list[InstructedSet]:
    """Search sets with paraphrases of another source, `finetuning.held_out`; none where the key is not given.

    A file with targets gives examples of its own, without those that share a text with the training or dev part; one
    without gives further paraphrases of the test part's queries. The set is named after the file.
    """
    spec = finetuning_of(study)
    if spec.held_out is None:
        return []
    path = _find(spec.held_out, study, "finetuning.held_out")
    table = _read_table(path).rename(columns={"question": "query", "answer_paragraph": "target"})
    if "target" in table:
        language = str(data.part("test")["language"].iloc[0])
        examples = clean_examples(_checked(table, path).assign(language=language))[0].assign(split="test")
        both = pd.concat([data.examples[data.examples["split"] != "test"], examples], ignore_index=True)
        both["group"] = groups(both)
        trained = both.loc[both["split"] != "test", "group"]
        examples = both[(both["split"] == "test") & ~both["group"].isin(trained)]
    else:
        examples = data.part("test")
        known = read_paraphrases(path, dict(zip(examples["id"], examples["query"], strict=True)))
        examples = examples.assign(paraphrase=examples["id"].map(known)).dropna(subset=["paraphrase"])
    kept = pd.concat([data.part("train"), examples], ignore_index=True)
    return replace(data, name=f"{data.name}, {path.stem}", examples=kept).sets("test")


Loaded = tuple[str, str, pd.DataFrame, dict[str, list[str]]]  # name, kind, examples, targets by language


def _load(spec: FinetuningSpec, study: Study) -> Loaded:
    source, _, name = spec.data.partition(":")
    if source == "jsonl":
        examples = read_examples(_find(name, study, "finetuning.data"))
        return Path(name).stem, "retrieval", examples, _targets(examples)
    if source == "squad":
        return _squad(spec, study)
    return _task_examples(TASKS.get(source, name), spec, study)


def read_examples(path: Path) -> pd.DataFrame:
    """Examples of a JSON Lines or Parquet file: query, paraphrase, target; id, language and split may be missing.

    `split: test` marks a test part of one's own; without it the test part is drawn.
    """
    return _checked(_read_table(path), path)


def _read_table(path: Path) -> pd.DataFrame:
    try:
        if path.suffix == ".parquet":
            return read_file(path.parent, path).rows
        lines = enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        return pd.DataFrame([_line(path, number, line) for number, line in lines if line.strip()])
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{path.name}: not readable ({error})") from error


def _checked(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The table's columns as examples have them; an error names the column and row that is wrong."""

    def check(column: str, good: Callable[[Any], bool], wrong: str) -> None:
        for row, value in enumerate(table[column]):
            if not good(value):
                raise StudyError(f"{path.name}, column '{column}', row {row}: {wrong.format(value)}")

    for column in ("query", "paraphrase", "target"):
        if column not in table:
            there = ", ".join(map(str, table.columns)) or "no columns"
            raise StudyError(f"{path.name}: needs the column '{column}'; it has {there}")
        check(column, lambda v: isinstance(v, str) or _is_missing(v), "{!r} is not a text")
    if "split" in table:
        wrong = "{!r} is neither train nor test; leave the column out to have the test part drawn"
        check("split", lambda v: _is_missing(v) or v in ("", "train", "test"), wrong)
    if "id" not in table:
        table["id"] = [f"e{n}" for n in range(len(table))]
    check("id", lambda v: not _is_missing(v), "the id is missing")
    table["id"] = table["id"].astype(str)
    if len(twice := table.loc[table["id"].duplicated(), "id"]):
        raise StudyError(f"{path.name}: the id '{twice.iloc[0]}' stands there twice")
    table["language"] = table["language"].fillna("") if "language" in table else ""
    table["part"] = table.get("split", "")
    return table[[*EXAMPLE_COLUMNS, "part"]]


def _is_missing(value: Any) -> bool:
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def _line(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StudyError(f"{path.name}, line {number}: not JSON ({error})") from error
    if not isinstance(row, dict):
        raise StudyError(f"{path.name}, line {number}: an object with query, paraphrase, target is needed")
    return row


def _task_examples(name: str, spec: FinetuningSpec, study: Study) -> Loaded:
    """Examples of a retrieval or bitext mining task; the parts train and test where the task has both."""
    task = load_task(TaskSpec(name=name, subsets=spec.subsets), study)
    kind = "bitext-mining" if task.metadata.type == "BitextMining" else "retrieval"
    frames, targets = [], {}
    for subset in spec.subsets or list(task.hf_subsets):
        splits = [s for s in ("train", "test") if s in subset_data(task, subset)]
        for split in splits if len(splits) == 2 else [None]:
            one = search_set(task, subset, split)
            several = len(task.hf_subsets) > 1
            language = one.language if several or kind == "bitext-mining" else ""
            texts = {f"{subset}/{q}" if several else q: t for q, t in one.queries.items()}
            paraphrases, rows = _paraphrases(spec, study, texts) or one.paraphrases, []
            for example, (query, text) in zip(texts, one.queries.items(), strict=True):
                relevance = one.qrels[query]
                paraphrase = paraphrases.get(example) or paraphrases.get(query) or ""
                target = one.targets[max(relevance, key=relevance.__getitem__)]
                rows.append((example, text, paraphrase, target, language, split or ""))
            frames.append(pd.DataFrame(rows, columns=[*EXAMPLE_COLUMNS, "part"]))
            targets[language] = list(dict.fromkeys(one.targets.values()))
    examples = pd.concat(frames, ignore_index=True)
    if not examples["paraphrase"].ne("").any():
        raise StudyError(
            f"finetuning.data {spec.data}: {name} has no paraphrases; name a file with id or question, and paraphrase, "
            "as finetuning.paraphrases"
        )
    return name, kind, examples, targets


def _squad(spec: FinetuningSpec, study: Study) -> Loaded:
    """SQuAD v1.1 from the local task data (`SQuAD/examples.parquet`) or its training part from the Hub."""
    root = study.task_data_root()
    local = root / "SQuAD" / "examples.parquet" if root else None
    if local is not None and local.is_file():
        names = {"question": "query", "answer_paragraph": "target"}
        rows = read_file(local.parent, local).rows.rename(columns=names)
    else:
        rows = _hub_squad()
    rows = rows.assign(id=rows["id"].astype(str), language="", part="")
    known = _paraphrases(spec, study, dict(zip(rows["id"], rows["query"], strict=True)))
    if known:
        rows["paraphrase"] = rows["id"].map(known)
    if "paraphrase" not in rows:
        raise StudyError(
            "finetuning.data squad: the Hub's SQuAD has no paraphrases; let `helpers.prompts.llm.paraphrase` write them and name "
            "the file as finetuning.paraphrases, or name a folder with SQuAD/examples.parquet as data_root"
        )
    rows["paraphrase"] = rows["paraphrase"].fillna("")
    examples = rows[[*EXAMPLE_COLUMNS, "part"]].reset_index(drop=True)
    return "SQuAD", "retrieval", examples, _targets(examples)


def _hub_squad() -> pd.DataFrame:
    from datasets import load_dataset

    try:
        rows = load_dataset("rajpurkar/squad", split="train").to_pandas()
    except Exception as error:
        raise StudyError(
            f"finetuning.data squad: the Hub is out of reach ({type(error).__name__}) and the local task data have no "
            "SQuAD/examples.parquet; name their folder as data_root or EMBEDDING_TASK_DATA"
        ) from error
    return rows.rename(columns={"question": "query", "context": "target"})[["id", "query", "target"]]


def _paraphrases(spec: FinetuningSpec, study: Study, queries: dict[str, str]) -> dict[str, str]:
    if spec.paraphrases is None:
        return {}
    return read_paraphrases(_find(spec.paraphrases, study, "finetuning.paraphrases"), queries)


def _find(name: str, study: Study, key: str) -> Path:
    for root in (project_root(), study.task_data_root()):
        if root is not None and (file := project_path(name, root)).is_file():
            return file
    raise StudyError(f"{key}: there is no file '{name}' in the project or the local task data")


def _targets(examples: pd.DataFrame) -> dict[str, list[str]]:
    return {str(k): list(dict.fromkeys(v)) for k, v in examples.groupby("language")["target"]}
