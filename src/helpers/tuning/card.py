"""The model card of a fine-tuned model: what it was made of, what it can do, where its limits are."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from helpers.base.files import replacing
from helpers.study.spec import ModelSpec
from helpers.study.tuning import FinetuningSpec
from helpers.tuning.evaluation import change_text
from helpers.tuning.sets import TuningData
from helpers.tuning.trained import Tuned


def write_card(
    tuned: Tuned, base: ModelSpec, spec: FinetuningSpec, data: TuningData, recalls: pd.DataFrame, study: str
) -> Path:
    """Write `README.md` into the model's folder; recalls: rows of `recall_table`. Returns its path."""
    path = tuned.folder / "README.md"
    with replacing(path) as temporary:
        temporary.write_text(card(tuned, base, spec, data, recalls, study), encoding="utf-8")
    return path


def card(
    tuned: Tuned, base: ModelSpec, spec: FinetuningSpec, data: TuningData, recalls: pd.DataFrame, study: str
) -> str:
    """The card as Markdown with the Hub's metadata in front."""
    measured = recalls[(recalls["preset"] == tuned.preset) & (recalls["seed"] == tuned.seed)]
    rows = {kind: spec.prefix(kind, "{lang}").replace("\n", "\\n") for kind in ("retrieval", "sts")}
    return f"""---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
base_model: {base.name}
tags: [sentence-transformers, query-side-distractors, instruction-following]
---

# {base.name.rsplit("/", 1)[-1]}, {tuned.preset}, seed {tuned.seed}

{base.name} (revision {base.revision or "as installed"}), fine-tuned after study 2 (arXiv 2610.10508) so that it follows \
its instruction when the pool also holds a paraphrase of the query. Made by the suite's study `{study}`.

## Use

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/folder")
prompt = {spec.prefix("retrieval", "German")!r}
queries = model.encode(["..."], prompt=prompt)
targets = model.encode(["..."])  # without instruction
```

In a study of the suite: `weights: path:{_inside(tuned.spec)}`.

## Data

{data.name}: {len(data.part("train"))} examples to train on, {len(data.part("dev"))} to watch, \
{len(data.part("test"))} to test; no target and no query is in two parts. {len(data.report)} examples were left out \
(empty, repeated, or too close to a held-out text). Fingerprint {data.fingerprint}.

- retrieval rows: `{rows["retrieval"]}` + query -> target
- STS rows: `{rows["sts"]}` + query -> paraphrase
- {tuned.settings.n_negatives} explicit negatives per row; with probability \
{tuned.settings.hard_negative_probability:g} the first is query-side (the paraphrase in retrieval rows, the target in \
STS rows)

## Settings

{_settings(tuned)}

## Results on the test part

{_results(measured)}

Difference to the base model with a 95 % interval (Newcombe's of paired proportions, over queries). Pools: the targets alone; with \
foreign questions; with a paraphrase of every query.

## Limits

- Trained and tested on {data.name} alone, in one instruction template; elsewhere nothing is promised.
- The paraphrases of the test pool are of the same making as those of training.
- One training of one seed; the intervals do not hold the spread between seeds.
- It has the biases of its base model and of its training texts, and their licences.
"""


def _settings(tuned: Tuned) -> str:
    base = tuned.identity["base"]
    given = {k: v for k, v in tuned.effective.items() if v is not None}
    versions = {k: base[k] for k in ("sentence_transformers", "transformers", "torch") if k in base}
    shown = {**given, "optimiser steps": tuned.steps, **versions}
    return "\n".join(f"- {key}: {value}" for key, value in shown.items())


def _results(rows: pd.DataFrame) -> str:
    if rows.empty:
        return "Not measured."
    lines = ["| language | pool | metric | before | after | difference |", "|---|---|---|---|---|---|"]
    for r in rows.itertuples():
        cells = ["" if r.language == "default" else r.language, r.pool, r.metric, f"{r.before:.3f}", f"{r.value:.3f}"]
        lines.append(f"| {' | '.join([*cells, change_text(r)])} |")
    return "\n".join(lines)


def _inside(spec: ModelSpec) -> str:
    """The folder as a study would name it; of a folder outside the project only its last part."""
    folder = spec.weights.removeprefix("path:")
    return Path(folder).name if Path(folder).is_absolute() else folder
