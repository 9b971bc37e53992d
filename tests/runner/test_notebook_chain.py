"""The six notebooks, run by plain papermill from a foreign folder, leave what docs/tables.md says."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pandas as pd
import pytest
import yaml
from studies import STATIC

from helpers.runner.notebooks import notebook_paths
from helpers.study.spec import STEPS
from helpers.study.tables import check_table, declared_tables

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
PROMPTS = {
    "task": ["Sentence:"],
    "task+dataset": ["Everyday sentence:"],
    "task+dataset+language": ["An English sentence:"],
}
# What so small a study cannot show.
ABSENT = {
    "tbl-estimates": "every prompt is scored on all items",
    "tbl-number-types": "both models compute in float32",
    "fig-dose": "no shares of query-side negatives are trained",
    "fig-enough": "fewer than five prompts give no curve",
    "fig-reliability": "one task says nothing of the differences between tasks",
    "fig-sets": "no level has two prompts",
    "fig-traits": "three prompts are too few for the effect of a trait",
}
EMPTY = {
    "estimates": "every prompt is scored on all items",
    "prompt_removals": "nothing is removed",
    "prompt_comparison": "no level has two prompts",
    "paraphrase_quality": "no task of the sweep has paraphrases",
    "precision_probe": "both models compute in float32",
    "precision": "fewer than five prompts give no curve",
    "plan_steps": "no choice of prompts makes the random model first, and the other one is",
    "reliability": "one task says nothing of the differences between tasks",
    "tuning_dose": "no shares of query-side negatives are trained",
    "tuning_removed": "no training text is near a held-out one",
}


def study_of(folder: Path) -> dict:
    """Two models, one task, three prompts; six instructions and four queries; two steps of training."""
    bank = yaml.safe_load((ROOT / "data" / "instructions.yml").read_text(encoding="utf-8"))["instructions"]
    describing = [i for i in bank if "question-answering" in i.get("relevant_for", [])]
    others = [i for i in bank if not i.get("relevant_for")]
    (folder / "bank.yml").write_text(yaml.safe_dump({"instructions": [*describing[:3], *others[:3]]}))
    (folder / "prompts.yml").write_text(yaml.safe_dump({"DemoSTS": PROMPTS}))
    return {
        "name": "chain",
        "title": "Chain",
        "models": [STATIC, {"name": "local/random", "label": "random", "weights": f"path:{folder / 'model'}"}],
        "tasks": [{"name": "DemoSTS"}],
        "prompts": {"source": "file", "file": str(folder / "prompts.yml"), "per_level": 1},
        "geometry": {
            "models": ["static"],
            "tasks": [{"name": "DemoRetrieval", "split": "test"}],
            "instructions": str(folder / "bank.yml"),
            **{"n_queries": 4, "folds": 2, "repeats": 1, "permutations": 5, "n_boot": 20},
            **{"map_queries": 2, "map_targets": 10, "map_instructions": 2},
        },
        "finetuning": {
            "model": "random",
            "configuration": "cpu",
            "training": {"max_steps": 2, "learning_rate": 0.01, "n_negatives": 1, "eval_steps": 2, "max_length": 32},
            **{"max_examples": 24, "dev_pool": 10, "n_boot": 20, "instruction_queries": 2},
            "out_of_domain": [{"name": "DemoBitextMining", "subsets": ["eng-deu"], "n_queries": 4}],
            **{"side_effects": ["DemoSTS"], "sensitivity": ["DemoSTS"], "swept_presets": ["distractor"]},
        },
    }  # fmt: skip


@dataclass
class Chain:
    run: Path
    notebooks: dict[str, nbformat.NotebookNode]

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_parquet(self.run / "tables" / f"{name}.parquet")

    def findings(self, step: str) -> str:
        return " ".join(f["text"] for f in json.loads((self.run / "findings" / f"{step}.json").read_text()))

    def outputs(self, step: str) -> list[nbformat.NotebookNode]:
        return [o for cell in self.notebooks[step].cells for o in cell.get("outputs", [])]

    def html(self, step: str) -> str:
        return "\n".join(o.get("data", {}).get("text/html", "") for o in self.outputs(step))


def every_cell_twice(step: str, folder: Path) -> Path:
    """The notebook of a step in which each code cell but that of the parameters stands twice."""
    notebook = nbformat.read(notebook_paths(ROOT)[step], 4)
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", []):
            cells.append(nbformat.v4.new_code_cell(cell.source, metadata={"again": True}))
    notebook.cells = cells
    path = folder / notebook_paths(ROOT)[step].name
    nbformat.write(notebook, path)
    return path


def start(step: str, folder: Path) -> subprocess.Popen[str]:
    """Papermill on one notebook, as in the README, from a folder that holds nothing."""
    (folder / "elsewhere").mkdir(exist_ok=True)
    path = every_cell_twice(step, folder)
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", path, folder / f"{step}.ipynb"]
    return subprocess.Popen(
        [*command, "-p", "study", folder / "tiny.yml"],
        cwd=folder / "elsewhere",
        env=os.environ | {"HELPERS_RUNS": str(folder / "runs"), "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(*running: subprocess.Popen[str]) -> None:
    for process in running:
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0, said[-3000:]


@pytest.fixture(scope="module")
def chain(tmp_path_factory) -> Chain:
    """The six notebooks on a tiny study, every cell run twice, in their order; 05 reads no table, so it runs beside 02 to 04."""
    from tiny_models import random_sentence_transformer

    folder = tmp_path_factory.mktemp("chain")
    (folder / "tiny.yml").write_text(yaml.safe_dump(study_of(folder)))
    first = start("01", folder)
    random_sentence_transformer(folder, "bert")
    finish(first)
    beside = start("05", folder)
    for step in ("02", "03", "04"):
        finish(start(step, folder))
    finish(beside)
    finish(start("06", folder))
    assert not list((folder / "elsewhere").iterdir()), "a notebook wrote beside the run folder"
    return Chain(folder / "runs" / "chain", {s: nbformat.read(folder / f"{s}.ipynb", 4) for s in STEPS})


def test_every_notebook_runs_to_its_end_and_says_what_it_found(chain):
    assert tuple(chain.notebooks) == STEPS
    for step in STEPS:
        kinds = {o.output_type if o.output_type != "stream" else o.name for o in chain.outputs(step)}
        assert not kinds & {"error", "stderr"}, step
        assert "nan" not in re.findall(r"\w+", chain.findings(step)) and chain.findings(step), step


def test_the_tables_are_those_that_the_rooms_declare(chain):
    tables = {path.stem: chain.table(path.stem) for path in (chain.run / "tables").glob("*.parquet")}
    assert set(tables) == set(declared_tables()) - {"problems", "published_prompts"}  # of published results
    for name, table in tables.items():
        check_table(name, table)
    assert {name for name, table in tables.items() if table.empty} == set(EMPTY)


def test_the_figures_and_tables_of_the_docs_stand_on_their_pages(chain):
    for table in declared_tables().values():
        anchors = set(table.page.split(", ")) - {"", "tbl-problems", *ABSENT}
        assert {a for a in anchors if f'id="{a}"' not in chain.html(table.step)} == set(), table.name


@pytest.mark.parametrize("step", STEPS)
def test_the_charts_are_drawn(chain, step):
    """Each chart holds its data and a picture with marks in it, and not only axes."""
    charts = re.findall(r'<figure class="hp-chart.*?</figure>', chain.html(step), re.S)
    assert charts
    for chart in charts:
        name, picture = re.search(r'id="([\w-]+)".*src="data:image/svg\+xml,([^"]*)"', chart, re.S).groups()
        marks = re.findall(r'aria-roledescription="([^"]+)"', unquote(picture))
        assert [m for m in marks if m not in ("axis", "legend", "title") and "container" not in m], name


def test_the_findings_hold_the_numbers_of_this_study(chain):
    """Prompts of one, two and three words: two on average; two models with three prompts and two baselines: ten cells."""
    assert "3 of 3 prompts stay" in chain.findings("01") and "have 2.00 words" in chain.findings("01")
    assert "10 of 10 cells are complete" in chain.findings("02")
    scores = chain.table("scores").query("kind == 'prompt' and model == 'random'")["main_score"]
    assert f"random on DemoSTS (default) from {min(scores):.3f} to {max(scores):.3f}" in chain.findings("02")
    assert "By default static leads" in chain.findings("04")
    board = chain.table("leaderboard").query("board == 'default'").sort_values("rank")
    assert list(board["model"]) == ["static", "random"]
    log = chain.table("tuning_log")
    assert set(log["preset"]) == {"distractor", "ablation"} and log["step"].max() == 2


def test_other_scores_give_other_sentences(chain, tmp_path):
    """The two models' names are exchanged in the scores; notebook 04, run again on them alone, names the other leader."""
    shutil.copy(chain.run.parents[1] / "tiny.yml", tmp_path)
    tables = tmp_path / "runs" / "chain" / "tables"
    tables.mkdir(parents=True)
    scores = chain.table("scores")
    other = scores["model"].map({"static": "random", "random": "static"})
    scores.assign(model=other).to_parquet(tables / "scores.parquet")
    finish(start("04", tmp_path))
    assert "By default random leads" in Chain(tmp_path / "runs" / "chain", {}).findings("04")


@pytest.mark.parametrize("step", STEPS)
def test_running_a_cell_again_shows_the_same(chain, step):
    """What a cell shows the second time, and the list of findings, which no second run may lengthen."""
    cells = chain.notebooks[step].cells
    pairs = [(one, two) for one, two in itertools.pairwise(cells) if two.metadata.get("again")]
    assert len(pairs) >= 8
    for one, two in pairs:
        assert shown(one) == shown(two), one.source
    texts = [f["text"] for f in json.loads((chain.run / "findings" / f"{step}.json").read_text())]
    assert texts and len(texts) == len(set(texts))


def shown(cell: nbformat.NotebookNode) -> list[str]:
    """A cell's displays as text, without what says that a second run found the work done: progress, trainings reused."""
    data = [o.get("data", {}) for o in cell.outputs if o.output_type != "stream"]
    return [re.sub(r"\n\s*reused .*", "", d.get("text/plain", "")) for d in data]
