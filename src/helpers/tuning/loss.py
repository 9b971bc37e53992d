"""InfoNCE as study 2 needs it, on the losses of sentence-transformers.

`MultipleNegativesRankingLoss` always takes the other rows of a batch as negatives too. Study 2 does not, and masks
nothing; both are switches here. The labels of a batch are numbers of texts, (rows, 1 + negatives): column 0 names the
positive, equal numbers mean equal texts. They serve the masking, and each distinct text of a batch is embedded once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.losses.merged_forward import embed_columns
from sentence_transformers.sentence_transformer.losses import (
    CachedMultipleNegativesRankingLoss,
    MultipleNegativesRankingLoss,
)
from sentence_transformers.util import cos_sim
from torch import Tensor

from helpers.models.batches import batches, default_batch_tokens


def excluded(labels: Tensor, in_batch: bool, mask_false: bool) -> Tensor:
    """Which documents are no candidates of which row, bool (rows, (1 + negatives) * rows).

    Columns run as in the library's loss: the positives of all rows, then every row's first negative, and so on. Without
    in-batch negatives a row sees its own documents only; with masking it does not see its positive's text again.

    >>> excluded(torch.tensor([[5, 6], [7, 5]]), in_batch=False, mask_false=False).int().tolist()
    [[0, 1, 0, 1], [1, 0, 1, 0]]
    >>> excluded(torch.tensor([[5, 6], [7, 5]]), in_batch=True, mask_false=True).int().tolist()
    [[0, 0, 0, 1], [0, 0, 0, 0]]
    """
    rows, columns = labels.shape
    of_row = torch.eye(rows, dtype=torch.bool, device=labels.device).repeat(1, columns)
    out = torch.zeros_like(of_row) if in_batch else ~of_row
    if mask_false:
        same_text = labels.T.reshape(1, -1) == labels[:, :1]
        same_text[:, :rows] &= ~of_row[:, :rows]
        out |= same_text
    return out


class InfoNCE(MultipleNegativesRankingLoss):
    """-log( exp(cos(q, p) / t) / sum over candidates of exp(cos(q, d) / t) ), mean over rows; t: the temperature.

    Study 2, section 5; van den Oord et al. (2018), arXiv 1807.03748, equation 4.

    With `deduplicate` the documents of a batch are embedded once per distinct text and in pieces of similar length:
    the same loss (but for dropout, which then is one draw per text), on a CPU in half of the time or less.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        temperature: float = 0.05,
        in_batch: bool = False,
        mask_false: bool = False,
        deduplicate: bool = True,
    ) -> None:
        super().__init__(model, scale=1 / temperature)
        self.in_batch, self.mask_false, self.deduplicate = in_batch, mask_false, deduplicate

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        if not self.deduplicate:
            return super().forward(sentence_features, labels)
        return self.compute_loss_from_embeddings(embed_batch(self.model, sentence_features, labels), labels)

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], labels: Tensor) -> Tensor:
        out = excluded(labels, self.in_batch, self.mask_false)
        self.similarity_fct = lambda a, b: cos_sim(a, b).masked_fill(out, -torch.inf)
        try:
            return super().compute_loss_from_embeddings(embeddings, labels)
        finally:
            self.similarity_fct = cos_sim

    def get_config_dict(self) -> dict[str, Any]:
        return {**super().get_config_dict(), "in_batch": self.in_batch, "mask_false": self.mask_false}


class CachedInfoNCE(CachedMultipleNegativesRankingLoss):
    """The same loss with gradient caching: `cached_batch` texts are held at a time, whatever the batch size."""

    def __init__(
        self,
        model: SentenceTransformer,
        temperature: float = 0.05,
        in_batch: bool = False,
        mask_false: bool = False,
        cached_batch: int = 32,
    ) -> None:
        super().__init__(model, scale=1 / temperature, mini_batch_size=cached_batch)
        self.loss = InfoNCE(model, temperature, in_batch, mask_false)

    def calculate_loss(
        self, reps: list[list[Tensor]], labels: Tensor | None = None, *, with_backward: bool = False
    ) -> Tensor:
        if labels is None:
            raise ValueError("CachedInfoNCE needs the numbers of the texts as labels")
        loss = self.loss.compute_loss_from_embeddings([torch.cat(part) for part in reps], labels)
        if with_backward:
            loss.backward()
            loss = loss.detach()
        return loss


def embed_batch(model: torch.nn.Module, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> list[Tensor]:
    """Embeddings of queries and documents, one (rows, dimension) tensor per column of the batch."""
    columns = list(sentence_features)
    if any("input_ids" not in c or c["input_ids"].ndim != 2 for c in columns):  # as of a static table
        return embed_columns(model, columns)
    return [model(columns[0])["sentence_embedding"], *embed_distinct(model, columns[1:], labels)]


def embed_distinct(model: torch.nn.Module, columns: list[dict[str, Tensor]], labels: Tensor) -> list[Tensor]:
    """Embeddings per column, (rows, dimension) each, of texts numbered by `labels`; every number is embedded once.

    Texts go through the model sorted by length, in pieces of as many padded tokens as suit the device: questions are
    not padded to the length of passages.
    """
    numbers = labels.T.reshape(-1)
    distinct, where = torch.unique(numbers, return_inverse=True)
    first = torch.full((len(distinct),), len(numbers), device=numbers.device)
    first = first.scatter_reduce(0, where, torch.arange(len(numbers), device=numbers.device), "amin")
    merged, left = _merged(columns)
    merged = {k: v[first] for k, v in merged.items()}
    lengths = merged["attention_mask"].sum(1)
    order = lengths.argsort(descending=True, stable=True)
    width = merged["attention_mask"].shape[1]
    vectors = []
    for piece in batches(lengths[order].cpu().numpy(), default_batch_tokens(model)):
        rows = order[piece]
        longest = int(lengths[rows].max())
        cut = slice(width - longest, width) if left else slice(0, longest)
        vectors.append(model({k: v[rows][:, cut] for k, v in merged.items()})["sentence_embedding"])
    embeddings = torch.cat(vectors)[order.argsort()][where]
    return list(embeddings.reshape(len(columns), labels.shape[0], -1).unbind(0))


def _merged(columns: list[dict[str, Tensor]]) -> tuple[dict[str, Tensor], bool]:
    """The columns' token tensors under each other at one width, and whether padding stands on the left."""
    width = max(c["input_ids"].shape[1] for c in columns)
    keys = [k for k, v in columns[0].items() if isinstance(v, Tensor) and v.ndim == 2]
    left = any(bool((c["attention_mask"][:, 0] == 0).any()) for c in columns)

    def padded(tensor: Tensor) -> Tensor:
        more = width - tensor.shape[1]
        return torch.nn.functional.pad(tensor, (more, 0) if left else (0, more))

    return {k: torch.cat([padded(c[k]) for c in columns]) for k in keys}, left
