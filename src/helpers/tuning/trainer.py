"""One training on the sentence-transformers Trainer: data set, loss, arguments, dev measurement, adapters, log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from transformers import EarlyStoppingCallback, PrinterCallback, ProgressCallback, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint

from helpers.base.errors import StudyError
from helpers.base.files import read_json
from helpers.base.progress import in_lab
from helpers.models.batches import token_counts
from helpers.models.shape import prompt_is_text
from helpers.study.tuning import TrainingSettings
from helpers.tuning.adapters import add_adapters, merge_adapters
from helpers.tuning.loss import CachedInfoNCE, InfoNCE
from helpers.tuning.reler import Reler
from helpers.tuning.trained import Progress

log = logging.getLogger(__name__)

LOG_COLUMNS = ["step", "epoch", "loss", "learning_rate", "grad_norm"]
BEST = "recall_at_1_paraphrase"
Measure = Callable[[Any], dict[str, float]]  # from a bare sentence-transformers model to named numbers


def to_dataset(rows: pd.DataFrame) -> Dataset:
    """Training rows as the columns anchor, positive, negative_1.., label; `label` numbers the documents' texts.

    >>> rows = pd.DataFrame({"kind": ["sts"], "anchor": ["q"], "positive": ["a"], "negative_1": ["a"]})
    >>> to_dataset(rows)[0]
    {'anchor': 'q', 'positive': 'a', 'negative_1': 'a', 'label': [0, 0]}
    """
    documents = _documents(rows)
    codes, _ = pd.factorize(rows[documents].to_numpy().ravel())
    columns = {c: rows[c].tolist() for c in ("anchor", *documents)}
    return Dataset.from_dict({**columns, "label": codes.reshape(len(rows), -1).tolist()})


def _documents(rows: pd.DataFrame) -> list[str]:
    return [c for c in rows.columns if c == "positive" or c.startswith("negative_")]


def loss_of(model: SentenceTransformer, settings: TrainingSettings) -> torch.nn.Module:
    """The loss that the settings name."""
    switches = (settings.in_batch_negatives, settings.mask_false_negatives)
    if settings.objective == "reler":
        if settings.cached_batch:
            raise StudyError("reler has no gradient caching; leave cached_batch out and lower batch_size")
        return Reler(model, settings.reler, *switches)
    if settings.cached_batch:
        return CachedInfoNCE(model, settings.temperature, *switches, settings.cached_batch)
    return InfoNCE(model, settings.temperature, *switches)


def mixed_precision(dtype: str, device: torch.device) -> tuple[bool, bool]:
    """(bfloat16, float16) mixed precision where the device has it: weights stay float32, products do not."""
    if dtype != "float32" and device.type != "cuda":
        log.warning("%s needs a GPU; this training computes in float32", dtype)
        return False, False
    if dtype == "bfloat16" and not torch.cuda.is_bf16_supported():
        raise StudyError("this GPU has no bfloat16; set finetuning.dtype: float16 or float32")
    return dtype == "bfloat16", dtype == "float16"


class DevEvaluator(BaseEvaluator):
    """Measures the dev part while training; `measure` takes the model and gives named numbers."""

    def __init__(self, measure: Measure) -> None:
        super().__init__()
        self.measure = measure
        self.primary_metric = BEST

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        was_training = model.training
        model.eval()
        values = self.measure(model)
        model.train(was_training)
        return values


class ProgressLine(TrainerCallback):
    """One line per measurement or checkpoint, so that a long training is seen to go on."""

    def __init__(self, name: str, progress: Progress) -> None:
        self.name, self.progress = name, progress

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        shown = {k.removeprefix("eval_"): v for k, v in (logs or {}).items() if "recall" in k}
        if shown:
            values = ", ".join(f"{k.replace('_', ' ')} {v:.3f}" for k, v in shown.items())
            self.progress(f"{self.name}: step {state.global_step}/{state.max_steps}: dev {values}")


def arguments(
    settings: TrainingSettings, folder: Path, seed: int, device: torch.device, has_dev: bool
) -> SentenceTransformerTrainingArguments:
    """The Trainer's arguments for these settings; with early stopping every measurement keeps a checkpoint."""
    stopping, constant = bool(settings.early_stopping and has_dev), settings.schedule == "constant"
    bf16, fp16 = mixed_precision(settings.dtype, device)
    return SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        max_steps=settings.max_steps or -1,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant_with_warmup" if constant else settings.schedule,
        warmup_steps=settings.warmup_ratio,  # below 1: a share of all steps
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.gradient_accumulation,
        eval_strategy="steps" if has_dev else "no",
        eval_on_start=has_dev,
        eval_steps=settings.eval_steps,
        save_strategy="steps",
        save_steps=settings.eval_steps if stopping else settings.checkpoint_steps,
        save_total_limit=2,
        load_best_model_at_end=stopping,
        metric_for_best_model=f"eval_{BEST}" if stopping else None,
        greater_is_better=True if stopping else None,
        logging_steps=max(1, min(settings.eval_steps // 4, 10)),
        logging_nan_inf_filter=False,
        seed=seed,
        data_seed=seed,
        report_to="none",
        disable_tqdm=not in_lab(),
        use_cpu=device.type == "cpu",
        dataloader_pin_memory=device.type == "cuda",
        bf16=bf16,
        fp16=fp16,
    )


def run_training(
    model: SentenceTransformer,
    rows: pd.DataFrame,
    settings: TrainingSettings,
    seed: int,
    folder: Path,
    measure: Measure | None,
    name: str,
    progress: Progress,
) -> pd.DataFrame:
    """Train `model` in place on the rows; returns the training log (one row per logged step).

    Checkpoints lie in `folder`; where it holds one, the training goes on from the last whole one with the states of
    optimiser, schedule, random numbers and log. Columns: LOG_COLUMNS and the numbers of `measure`, `dev_<number>`.
    """
    if not prompt_is_text(model):
        raise StudyError(
            "this model pools without its prompt or wraps it in a chat message; training joins prompt and text. Use a "
            "base model with include_prompt: true"
        )
    torch.manual_seed(seed)
    length = model.max_seq_length
    if length is None or length > settings.max_length:
        model.max_seq_length = settings.max_length
    if cut := share_cut(model, rows):
        limit = model.max_seq_length
        progress(f"{name}: {cut:.1%} of the texts are longer than {limit} tokens, cut at their end")
    if settings.lora is not None:
        add_adapters(model, settings.lora)
    args = arguments(settings, folder, seed, model.device, measure is not None)
    trainer = (AdapterTrainer if settings.lora else CardlessTrainer)(
        model=model,
        args=args,
        train_dataset=to_dataset(rows),
        loss=loss_of(model, settings),
        evaluator=DevEvaluator(measure) if measure is not None else None,
        callbacks=[ProgressLine(name, progress)],
    )
    for chatty in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(chatty)
    if args.load_best_model_at_end and settings.early_stopping:
        trainer.add_callback(EarlyStoppingCallback(settings.early_stopping))
    trainer.train(resume_from_checkpoint=last_checkpoint(folder, progress))
    table = history_table(trainer.state.log_history)
    if not np.isfinite(table["loss"].dropna()).all():
        raise StudyError(f"{name}: the loss is not finite; lower learning_rate ({settings.learning_rate:g})")
    if settings.lora is not None:
        merge_adapters(model)
    model.max_seq_length = length
    model.eval()
    return table


def share_cut(model: SentenceTransformer, rows: pd.DataFrame) -> float:
    """Share of the distinct texts of the rows that are longer than the model's limit."""
    texts = pd.unique(rows[["anchor", *_documents(rows)]].to_numpy().ravel())
    lengths = token_counts(model, list(texts), truncated=False)
    return float((lengths > (model.max_seq_length or np.inf)).mean())


def last_checkpoint(folder: Path, progress: Progress) -> str | None:
    """The last checkpoint that was written whole (its trainer state is written last), None where there is none."""
    while folder.is_dir() and (last := get_last_checkpoint(str(folder))):
        checkpoint = Path(last)
        if read_json(checkpoint / "trainer_state.json") and (checkpoint / "rng_state.pth").is_file():
            progress(f"resuming from {checkpoint.name}")
            return last
        checkpoint.rename(folder / f"broken-{checkpoint.name}")
    return None


def history_table(history: list[dict[str, Any]]) -> pd.DataFrame:
    """The Trainer's history with one row per step: LOG_COLUMNS, dev numbers as `dev_<name>`.

    >>> history_table([{"step": 2, "loss": 0.5}, {"step": 2, "eval_recall_at_1": 0.7}]).dropna(axis=1).to_dict("records")
    [{'step': 2, 'loss': 0.5, 'dev_recall_at_1': 0.7}]
    """
    rows: dict[int, dict[str, Any]] = {}
    for entry in history:
        row = rows.setdefault(int(entry["step"]), {})
        row |= {key: value for key, value in entry.items() if key in LOG_COLUMNS}
        row |= {"dev_" + key.removeprefix("eval_"): value for key, value in entry.items() if "recall" in key}
    table = pd.DataFrame([rows[step] for step in sorted(rows)])
    return table.reindex(columns=[*LOG_COLUMNS, *sorted(set(table) - set(LOG_COLUMNS))])


class CardlessTrainer(SentenceTransformerTrainer):
    """Does not collect what the stock model card shows: `helpers.tuning.card` writes ours, from the run's tables."""

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        return None


class AdapterTrainer(CardlessTrainer):
    """Keeps and restores only the weights that are trained: the base model's are frozen and known."""

    ADAPTERS = "adapters.pt"

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        folder = Path(output_dir or self.args.output_dir or ".")
        folder.mkdir(parents=True, exist_ok=True)
        trained = {n: p.detach().cpu() for n, p in self.model.named_parameters() if p.requires_grad}
        torch.save(trained, folder / self.ADAPTERS)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        trained = torch.load(Path(resume_from_checkpoint) / self.ADAPTERS, weights_only=True)
        self.model.load_state_dict(trained, strict=False)
