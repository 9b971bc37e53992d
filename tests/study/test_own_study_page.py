"""What docs/own-study.md shows works as it stands there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from helpers.prompts.files import read_prompts
from helpers.prompts.near_duplicates import representatives
from helpers.study.load import load_study
from helpers.tuning.sets import read_examples

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own-study.md"
STUDY, PROMPTS, GEOMETRY = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
LINES = re.findall(r"^\{.*\}$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "study.yml").write_text(STUDY.replace("my/prompts.yml", str(tmp_path / "prompts.yml")))
    (tmp_path / "prompts.yml").write_text(PROMPTS)
    (tmp_path / "examples.jsonl").write_text("\n".join(LINES))
    return tmp_path


def test_the_study_and_its_prompt_file_are_read(folder: Path) -> None:
    study = load_study(folder / "study.yml")
    assert [m.label for m in study.models] == ["multilingual-e5-small", "my-model", "mine, 256 dimensions"]
    prompts = read_prompts(folder / "prompts.yml")
    assert prompts.groupby("task")["text"].agg(list)["Tatoeba"] == ["Sentence: ", "Find the translation: "]


def test_the_geometry_part_is_accepted(folder: Path) -> None:
    whole = yaml.safe_load(STUDY) | yaml.safe_load(GEOMETRY) | {"steps": ["05"]}
    (folder / "study.yml").write_text(json.dumps(whole))
    assert load_study(folder / "study.yml").geometry.extra[0].id == "mine-faq"


def test_the_training_lines_are_examples(folder: Path) -> None:
    examples = read_examples(folder / "examples.jsonl")
    assert examples["part"].tolist()[1] == "test" and len(examples) == 2


@pytest.mark.parametrize(("text", "kept"), [("Query:", [0, 1]), ("Question:", [0, 1]), ("Questions:", [0, 0])])
def test_a_blank_makes_a_near_duplicate_from_ten_characters_on(text: str, kept: list[int]) -> None:
    assert representatives([text, f"{text} "], 0.1).tolist() == kept
