"""Reinforcement learning for retrieval in embedding space (RELER): the reward is the metric of a sampled ranking.

The derivation below is the suite's own; the gradient is that of REINFORCE (Williams 1992, doi:10.1007/BF00992696).
Queries and documents are drawn from von Mises-Fisher distributions around their normalised embeddings m,
p(z) ~ exp(kappa z.m). A sampled ranking orders the candidates by z_query . z_document; R is its metric. With a fixed
kappa the score function of a draw is kappa z, so the gradient of E[R] is

    E[(R - b) kappa (z_query . dm_query + sum over documents of z_document . dm_document)],

b the mean reward of the other draws of the same query (leave one out: unbiased, needs no value network).

Conditional-mean projection: given the drawn documents, R sees z_query only through its products with them. What of
z_query lies outside the span of m_query and the drawn candidates has mean zero whatever R is, so it is left out; of a
document everything outside the span of m_document and z_query. The expectation stays, the noise of d - 10 of d
dimensions goes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import torch
from scipy.optimize import brentq
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn.functional import normalize

from helpers.study.tuning import RelerSpec
from helpers.tuning.loss import embed_batch, excluded


def mean_length(kappa: float, d: int) -> float:
    """A_d(kappa): the expected cosine of a draw with its mean, the ratio of Bessel functions I_d/2 and I_d/2-1.

    By its continued fraction, which does not underflow in many dimensions. Mardia and Jupp (2000), Directional
    Statistics, section 9.3.2; NIST Digital Library of Mathematical Functions, 10.33.1.

    >>> round(mean_length(400, 384), 3), round(mean_length(400, 1024), 3)
    (0.63, 0.344)
    """
    ratio = 0.0
    for k in range(int(d / 2 + kappa) + 50, -1, -1):
        ratio = 1 / ((d + 2 * k) / kappa + ratio)
    return ratio


def signal_to_noise(kappa: float, d: int) -> float:
    """How far draws of query and document keep a difference of cosines: A_d(kappa)^2 / sd of an unrelated product.

    z_query . z_document has the expectation A^2 cos(m_query, m_document). Across its mean a draw has the second moment
    b = A / kappa per dimension, along it a = 1 - (d - 1) b; for orthogonal means the product has variance
    2 a b + (d - 2) b^2.
    """
    length = mean_length(kappa, d)
    across = length / kappa
    return length**2 / math.sqrt(2 * (1 - (d - 1) * across) * across + (d - 2) * across**2)


@lru_cache
def concentration(kappa: float, at: int | None, d: int) -> float:
    """The concentration at which sampled rankings in d dimensions are as noisy as with kappa in `at` dimensions.

    With one kappa for all a ranker's mean reward would fall with its dimension. A constant expected cosine would let it
    rise: in more dimensions unrelated draws meet less. So `signal_to_noise` is held.
    """
    if at is None or at == d:
        return kappa
    wanted = signal_to_noise(kappa, at)
    return float(brentq(lambda other: signal_to_noise(other, d) - wanted, 1e-3 * kappa, 1e3 * kappa, rtol=1e-6))


def vmf_samples(means: Tensor, kappa: float, n: int, generator: torch.Generator | None = None) -> Tensor:
    """n draws around each unit vector: means (..., d), result (n, ..., d), unit vectors too.

    Wood (1994, doi:10.1080/03610919408813161): the component along the mean by rejection from a Beta envelope, the rest uniform on the sphere across.
    """
    d = means.shape[-1]
    if d < 2:
        raise ValueError("von Mises-Fisher draws need at least two dimensions")
    # b as a quotient of positive terms: the textbook's difference cancels for large kappa.
    b = (d - 1) / (2 * kappa + math.sqrt(4 * kappa**2 + (d - 1) ** 2))
    x = (1 - b) / (1 + b)
    c = kappa * x + (d - 1) * math.log(1 - x**2)
    shape = (n, *means.shape[:-1])
    along = torch.empty(math.prod(shape), dtype=torch.float64)
    todo = torch.arange(len(along))
    while len(todo):
        # A Beta(h, h) draw, h = (d - 1) / 2, as a ratio of gamma draws: `torch.distributions` takes no generator.
        g = torch._standard_gamma(torch.full((2, len(todo)), (d - 1) / 2, dtype=torch.float64), generator=generator)
        beta = g[0] / g.sum(0)
        w = (1 - (1 + b) * beta) / (1 - (1 - b) * beta)
        u = torch.rand(len(todo), dtype=torch.float64, generator=generator)
        kept = kappa * w + (d - 1) * torch.log1p(-x * w) - c >= torch.log(u)
        along[todo[kept]] = w[kept]
        todo = todo[~kept]
    # In float64: a random direction that is nearly the mean's leaves little across it, most of all in few dimensions.
    centre = normalize(means.double(), dim=-1)
    noise = torch.randn((*shape, d), generator=generator, dtype=torch.float64).to(centre)
    across = normalize(noise - (noise * centre).sum(-1, keepdim=True) * centre, dim=-1)
    w = along.reshape(*shape, 1).to(centre)
    return (w * centre + (1 - w**2).clamp(min=0).sqrt() * across).to(means)


def reward(scores: Tensor, kind: str) -> Tensor:
    """The metric of rankings with one relevant candidate: scores (..., candidates), the relevant one first.

    Excluded candidates have score -inf. A candidate that is as similar as the relevant one stands before it.

    >>> reward(torch.tensor([[0.9, 0.2], [0.2, 0.9], [0.2, 0.2]]), "recall@1").tolist()
    [1.0, 0.0, 0.0]
    """
    above = (scores[..., 1:] >= scores[..., :1]).sum(-1)
    if kind == "recall@1":
        return (above == 0).to(scores)
    return torch.where(above < 10, 1 / torch.log2(above.to(scores) + 2), 0.0)


def leave_one_out(rewards: Tensor) -> Tensor:
    """Reward minus the mean reward of the other draws; rewards (draws, ...), at least two draws.

    >>> leave_one_out(torch.tensor([1.0, 0.0, 0.0])).tolist()
    [1.0, -0.5, -0.5]
    """
    n = rewards.shape[0]
    return rewards - (rewards.sum(0, keepdim=True) - rewards) / (n - 1)


def project(draws: Tensor, span: Tensor) -> Tensor:
    """Orthogonal projection of draws (..., d) onto the span of (..., k, d) vectors."""
    if span.shape[-2] >= span.shape[-1]:
        return draws
    basis = torch.linalg.qr(span.transpose(-1, -2)).Q
    return (basis @ (basis.transpose(-1, -2) @ draws.unsqueeze(-1))).squeeze(-1)


def policy_loss(
    queries: Tensor,
    documents: Tensor,
    settings: RelerSpec,
    out: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """(loss, mean reward): the loss has the value 1 - mean reward and the gradient of -E[reward].

    queries (rows, d) and documents (rows, candidates, d) need not be normalised; the first candidate is the relevant
    one. out: bool (rows, candidates), candidates that do not count. One set of draws per row, also for documents that
    several rows share.
    """
    mean_q, mean_d = normalize(queries, dim=-1), normalize(documents, dim=-1)
    kappa = concentration(settings.kappa, settings.kappa_at, queries.shape[-1])
    with torch.no_grad():
        z_q = vmf_samples(mean_q, kappa, settings.samples, generator)
        z_d = vmf_samples(mean_d, kappa, settings.samples, generator)
        scores = torch.einsum("srd,srcd->src", z_q, z_d)
        if out is not None:
            scores = scores.masked_fill(out, -torch.inf)
        rewards = reward(scores, settings.reward)
        advantage = leave_one_out(rewards)
        if settings.projection:
            centre_q = mean_q.expand_as(z_q).unsqueeze(2)
            projected = project(z_q, torch.cat([centre_q, z_d], dim=2))
            centre_d = mean_d.expand_as(z_d).unsqueeze(3)
            z_d = project(z_d, torch.cat([centre_d, z_q[:, :, None, None].expand_as(centre_d)], dim=3))
            z_q = projected
        if out is not None:
            z_d = z_d.masked_fill(out[None, :, :, None], 0.0)
    pull = (z_q * mean_q).sum(-1) + (z_d * mean_d).sum((-1, -2))
    surrogate = -(kappa * advantage * pull).mean()
    value = 1 - rewards.mean()
    return surrogate - surrogate.detach() + value, rewards.mean()


class Reler(torch.nn.Module):
    """RELER as a loss for the sentence-transformers Trainer, on the same batches as `loss.InfoNCE`."""

    def __init__(
        self, model: SentenceTransformer, settings: RelerSpec, in_batch: bool = False, mask_false: bool = False
    ) -> None:
        super().__init__()
        self.model, self.settings = model, settings
        self.in_batch, self.mask_false = in_batch, mask_false

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        queries, *columns = embed_batch(self.model, sentence_features, labels)
        documents, out = torch.stack(columns, dim=1), None
        if self.in_batch:
            everything = torch.cat(columns)
            # The row's positive first, as `reward` wants it; the others keep their order.
            others = ~torch.eye(len(queries), len(everything), dtype=torch.bool, device=labels.device)
            order = others.int().argsort(dim=1, stable=True)
            out = excluded(labels, True, self.mask_false).gather(1, order)
            documents = everything[order]
        elif self.mask_false:
            out = labels == labels[:, :1]
            out[:, 0] = False
        return policy_loss(queries, documents, self.settings, out)[0]

    def get_config_dict(self) -> dict[str, Any]:
        return {**self.settings.model_dump(), "in_batch": self.in_batch, "mask_false": self.mask_false}
