"""A model that cannot be loaded or trained is noted with its reason, and the others go on."""

from __future__ import annotations

import pytest
from studies import STATIC, write_study

from helpers.base.errors import StudyError
from helpers.study.spec import ModelSpec
from helpers.tuning.trained import Tuned, compared, name_of, noting


def quiet(_: str) -> None:
    return None


def study_of(tmp_path):
    return write_study(tmp_path, [STATIC], [], steps=["06"], finetuning={"model": "static"}, prompts=None)


def tuned_at(folder, preset: str) -> Tuned:
    spec = ModelSpec(name=f"local/{preset}", label=name_of(preset, 1), weights=f"path:{folder}")
    return Tuned(preset, 1, folder, None, spec, None, 1.0, False, {})


def test_what_cannot_be_loaded_is_left_out_and_the_others_are_measured(tmp_path):
    failed: dict[str, str] = {}
    tuned = [tuned_at(tmp_path / "absent", "lora")]
    seen = [(preset, seed) for preset, seed, _ in compared(study_of(tmp_path), tmp_path, tuned, failed, quiet)]
    assert seen == [("baseline", -1)]
    assert list(failed) == ["lora, seed 1"] and "absent" in failed["lora, seed 1"]


def test_only_what_a_study_can_mend_is_noted():
    failed: dict[str, str] = {}
    with noting(failed, "x", quiet):
        raise StudyError("no bfloat16")
    with pytest.raises(KeyError), noting(failed, "y", quiet):
        raise KeyError("a mistake of ours")
    assert failed == {"x": "no bfloat16"}
