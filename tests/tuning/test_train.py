"""Fine-tuning: finished models are reused, a killed training goes on, adapters are merged, presets fit their models."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from studies import write_study
from tiny_encoders import tiny_encoder

from helpers.base.errors import StudyError
from helpers.models.load import load_model
from helpers.study.load import load_study
from helpers.study.spec import Study
from helpers.study.tuning import FinetuningSpec
from helpers.tuning.sets import tuning_data
from helpers.tuning.train import fine_tune, log_table, rows_for, settings_table
from helpers.tuning.trained import Tuned, finetuning_of

SHARED = {"n_negatives": 2, "max_steps": 4, "batch_size": 4, "eval_steps": 2, "checkpoint_steps": 2}
QUICK = {
    "model": "tiny",
    "configuration": "cpu",
    "max_examples": 40,
    "dev_fraction": 0.3,
    "presets": ["distractor"],
}


def examples_file(folder: Path, n: int = 60) -> Path:
    words = [f"{a}{b}" for a in ("am", "bir", "ce", "du") for b in ("ber", "ch", "dar", "ne")]
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        a, b, c = rng.choice(words, 3, replace=False)
        rows.append(
            {
                "query": f"where does the {a} {b} number {i} end",
                "paraphrase": f"at which place is the end of {a} {b} {i}",
                "target": f"the {b} of {a} {i} ends beside the {c}",
            }
        )
    path = folder / "examples.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def study_of(tmp_path: Path, family: str = "bert", training: dict | None = None, **keys) -> Study:
    model = {"name": "tiny", "label": "tiny", "weights": f"path:{tiny_encoder(tmp_path, family)}"}
    data = {"data": f"jsonl:{examples_file(tmp_path)}", "near_duplicate": 1.0}
    data["training"] = {**SHARED, **(training or {})}
    return write_study(tmp_path, [model], [], steps=["06"], finetuning={**QUICK, **data, **keys}, prompts=None)


def quiet(_: str) -> None:
    return None


def train(study: Study, run: Path, say=quiet) -> list[Tuned]:
    """Every preset with every seed, as notebook 06 trains them."""
    spec, data = finetuning_of(study), tuning_data(study)
    return [
        fine_tune(study, run, data, rows_for(spec, data, preset, seed), preset, seed, say)
        for preset in spec.presets
        for seed in spec.seeds
    ]


def weights(folder: Path) -> torch.Tensor:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    return torch.cat([p.detach().flatten() for _, p in sorted(model.named_parameters())])


def test_trained_once_saved_as_a_model_and_reused(tmp_path):
    study = study_of(tmp_path)
    first = train(study, tmp_path / "run")[0]
    assert not first.reused and first.folder.name == "distractor-seed42"
    assert not (tmp_path / "run" / "training" / "distractor-seed42").exists()
    log = first.log.set_index("step")
    assert log.index[log["loss"].notna()].tolist() == [1, 2, 3, 4]
    assert log.index[log["dev_recall_at_1_paraphrase"].notna()].tolist() == [0, 2, 4]
    assert not torch.equal(weights(first.folder), weights(Path(study.models[0].weights.removeprefix("path:"))))
    vectors = load_model(first.spec).embed(["a text"], prefix="Instruct: x\nQuery: ")
    assert vectors.shape == (1, 32) and load_model(first.spec).st.max_seq_length == 64

    again = train(study, tmp_path / "run")[0]
    assert again.reused and again.seconds == first.seconds
    pd.testing.assert_frame_equal(again.log, first.log)
    table = settings_table([first])
    assert table.set_index("setting").loc["n_negatives", "distractor, seed 42"] == "2"
    assert log_table([first])["preset"].unique().tolist() == ["distractor"]

    other = load_study(study, **{"finetuning.training.learning_rate": 1e-3})
    assert not train(other, tmp_path / "run")[0].reused


KILLED = """
import os, signal, sys
from pathlib import Path
from helpers.tuning import trainer
from helpers.tuning.train import fine_tune, rows_for
from helpers.study.load import load_study
from helpers.tuning.sets import tuning_data

class Kill(trainer.ProgressLine):
    def on_step_end(self, args, state, control, **_):
        if state.global_step == 3:
            os.kill(os.getpid(), signal.SIGKILL)

trainer.ProgressLine = Kill
study = load_study(Path(sys.argv[1]))
data = tuning_data(study)
rows = rows_for(study.finetuning, data, "distractor", 42)
fine_tune(study, Path(sys.argv[2]), data, rows, "distractor", 42)
"""


def test_killed_training_goes_on_and_ends_like_an_undisturbed_one(tmp_path):
    study = study_of(tmp_path)
    whole = train(study, tmp_path / "whole")[0]
    command = [
        sys.executable,
        "-c",
        textwrap.dedent(KILLED),
        str(tmp_path / "study.yml"),
        str(tmp_path / "killed"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    work = tmp_path / "killed" / "training" / "distractor-seed42"
    assert (work / "checkpoint-2").is_dir() and not (tmp_path / "killed" / "models").exists()
    (work / "checkpoint-3").mkdir()  # as if the kill had hit while a checkpoint was written

    said: list[str] = []
    resumed = train(study, tmp_path / "killed", said.append)[0]
    assert any("resuming from checkpoint-2" in line for line in said)
    assert torch.allclose(weights(resumed.folder), weights(whole.folder), atol=1e-6)
    columns = ["step", "loss", "learning_rate", "dev_recall_at_1_paraphrase"]
    pd.testing.assert_frame_equal(resumed.log[columns], whole.log[columns], atol=1e-4)


@pytest.mark.parametrize("preset", ["lora", "reler", "in-batch"])
def test_other_presets_train_and_save_ordinary_models(tmp_path, preset):
    study = study_of(tmp_path, presets=[f"distractor+{preset}"], training={"max_steps": 2}, dev_fraction=0.0)
    made = train(study, tmp_path / "run")[0]
    base = Path(study.models[0].weights.removeprefix("path:"))
    assert weights(made.folder).shape == weights(base).shape
    assert not torch.equal(weights(made.folder), weights(base))
    assert not list(made.folder.rglob("adapter*"))
    assert made.log["loss"].notna().any()


def test_early_stopping_keeps_the_best_checkpoint(tmp_path):
    study = study_of(tmp_path, training={"max_steps": 20, "learning_rate": 1e-12, "eval_steps": 1, "early_stopping": 2})
    made = train(study, tmp_path / "run")[0]
    assert made.log["step"].max() < 20  # nothing is learnt at this rate, so it stops after two measurements


def test_paper_configuration_takes_steps_on_a_tiny_decoder(tmp_path):
    training = {"n_negatives": 8, "batch_size": 8, "max_steps": 2}
    keys = {"configuration": "paper", "presets": ["distractor", "ablation"], "max_examples": None}
    study = study_of(tmp_path, "qwen3", training, **keys)
    settings = FinetuningSpec(model="m").settings("distractor")
    assert (settings.learning_rate, settings.temperature, settings.n_negatives) == (1e-6, 0.05, 8)
    assert not settings.in_batch_negatives and not settings.mask_false_negatives and settings.epochs == 1
    made = train(study, tmp_path / "run")
    assert [m.settings.hard_negative_probability for m in made] == [0.5, 0.0]
    assert all(m.log["step"].max() == 2 and m.settings.learning_rate == 1e-6 for m in made)


def test_a_model_that_pools_without_its_prompt_is_refused(tmp_path):
    study = study_of(tmp_path)
    model = study.models[0].model_copy(update={"include_prompt": False})
    with pytest.raises(ValueError, match="include_prompt: true"):
        train(study.model_copy(update={"models": [model]}), tmp_path / "run")


def test_texts_that_are_cut_are_told_and_the_limit_is_given_back(tmp_path):
    study = study_of(tmp_path, training={"max_steps": 1, "max_length": 16}, dev_fraction=0.0)
    said: list[str] = []
    made = train(study, tmp_path / "run", said.append)[0]
    assert any("longer than 16 tokens" in line for line in said)
    assert load_model(made.spec).st.max_seq_length == 64


def test_wrong_words_in_a_study_are_named(tmp_path):
    with pytest.raises(StudyError, match=r"unknown preset 'distracter'; did you mean distractor\?"):
        study_of(tmp_path, presets=["distracter"])
    with pytest.raises(StudyError, match=r"unknown preset 'ablatoin'; did you mean ablation\?"):
        study_of(tmp_path, swept_presets=["ablatoin"])
    with pytest.raises(StudyError, match=r"unknown setting 'epoch'; did you mean epochs\?"):
        study_of(tmp_path, training={"epoch": 3})
    with pytest.raises(StudyError, match="unknown data 'squat'"):
        study_of(tmp_path, data="squat")


def test_layers_of_settings_later_ones_win():
    training = {"learning_rate": 3e-5, "hard_negative_probability": 0.8}
    spec = FinetuningSpec(model="m", configuration="cpu", training=training)
    assert spec.settings("ablation").hard_negative_probability == 0.0
    assert spec.settings("distractor+lora").lora is not None
    assert spec.settings("ablation").learning_rate == 3e-5 and spec.settings("ablation").dtype == "float32"
    assert spec.prefix("retrieval").startswith("Instruct: Given a question, retrieve Wikipedia")
    assert FinetuningSpec(model="m", seeds=7).seeds == [7]
    assert FinetuningSpec(model="m", presets="ablation, lora", seeds="1,2").seeds == [1, 2]
    assert FinetuningSpec(model="m", data="tatoeba").prefix("retrieval", "Finnish") == (
        "Instruct: Retrieve a Finnish translation.\nQuery: "
    )


def test_adapters_resume_from_their_checkpoint(tmp_path, monkeypatch):
    from helpers.tuning import trainer

    study = study_of(tmp_path, presets=["distractor+lora"], dev_fraction=0.0)
    whole = train(study, tmp_path / "whole")[0]

    def stop(self, args, state, control, **_):
        if state.global_step == 3:
            raise RuntimeError("stopped")

    with monkeypatch.context() as patched:
        patched.setattr(trainer.ProgressLine, "on_step_end", stop)
        with pytest.raises(RuntimeError, match="stopped"):
            train(study, tmp_path / "stopped")
    resumed = train(study, tmp_path / "stopped")[0]
    assert torch.allclose(weights(resumed.folder), weights(whole.folder), atol=1e-6)
