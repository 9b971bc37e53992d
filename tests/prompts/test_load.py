"""Notebook 01's steps on a study, and the notebook itself with a language model behind a real HTTP server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import llm_server
import pandas as pd
import pytest
from llm_server import KEY

from helpers.prompts.checks import decide
from helpers.prompts.load import leak_texts, load_prompts
from helpers.prompts.statistics import set_column
from helpers.study.spec import Study, TaskSpec

ROOT = Path(__file__).resolve().parents[2]


def study(path: Path, **settings) -> Study:
    spec = {"source": "file", "file": str(path), **settings}
    return Study(name="toy-step", title="T", steps=["01"], tasks=[TaskSpec(name="DemoSTS")], prompts=spec)


@pytest.fixture
def prompt_file(tmp_path):
    path = tmp_path / "p.yml"
    leak = "Same meaning as: the kitten was asleep on top of the wardrobe"
    path.write_text(
        json.dumps({"DemoSTS": {"task": ["Sentence:", leak], "task+dataset": ["Everyday sentence:", "Pair:"]}})
    )
    return path


def test_ready_prompts_have_their_file_as_provenance(prompt_file, tmp_path):
    candidates, provenance = load_prompts(study(prompt_file), tmp_path)

    assert provenance["text"].tolist() == candidates["text"].tolist()
    assert set(provenance["backend"]) == {"file"}


def test_a_text_of_the_data_in_a_prompt_is_marked(prompt_file, tmp_path):
    wanted = study(prompt_file)
    texts, unread = leak_texts(wanted)
    decided = decide(load_prompts(wanted, tmp_path)[0], wanted, texts=texts)

    assert unread == {}
    assert decided["rules"].tolist() == ["", "leak", "", ""]
    assert decided["kept"].all()


def test_data_that_cannot_be_read_are_named(prompt_file):
    wanted = study(prompt_file).model_copy(update={"tasks": [TaskSpec(name="STS15")], "data_root": None})
    texts, unread = leak_texts(wanted)

    assert texts == {}
    assert "could not be loaded" in unread["STS15"]


def test_levels_are_the_sets_where_there_is_one_generator(prompt_file, tmp_path):
    assert set_column(load_prompts(study(prompt_file), tmp_path)[0]) == "level"


@pytest.mark.slow
def test_the_notebook_asks_a_server_and_keeps_the_key_out_of_everything(tmp_path):
    (tmp_path / "data" / "studies").mkdir(parents=True)
    (tmp_path / "data" / "demo").symlink_to(ROOT / "data" / "demo")
    (tmp_path / "data" / "studies" / "toy.yml").write_text(
        "name: toy\ntitle: Toy\nsteps: ['01']\ntasks: [{name: DemoSTS}]\n"
        "prompts: {source: generate, per_level: 2, generator: {concurrency: 1}}\n"
    )
    notebook = str(ROOT / "notebooks" / "01_prompt_generation.ipynb")
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", notebook, str(tmp_path / "out.ipynb")]
    with llm_server.running() as (server, address):
        own = {
            "HELPERS_ROOT": str(tmp_path),
            "OPENAI_BASE_URL": address,
            "OPENAI_API_KEY": KEY,
            "OPENAI_MODEL": "toy-model",
        }
        done = subprocess.run(
            [*command, "-p", "study", "toy"],
            env=os.environ | own,
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(server.requests) == 3
    tables = tmp_path / "data" / "runs" / "toy" / "tables"
    assert len(pd.read_parquet(tables / "prompts.parquet")) == 6 + 2
    assert set(pd.read_parquet(tables / "prompt_provenance.parquet")["generator"]) == {"toy-model"}
    written = [p for p in tmp_path.rglob("*") if p.is_file() and not p.is_symlink()]
    assert not [p.name for p in written if KEY.encode() in p.read_bytes()]
    assert KEY not in done.stdout + done.stderr
