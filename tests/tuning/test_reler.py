"""RELER: exact distributions, an unbiased gradient, less noise with the projection, and a reward that rises."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import ive
from torch.nn.functional import normalize

from helpers.study.tuning import RelerSpec
from helpers.tuning.reler import concentration, leave_one_out, mean_length, policy_loss, project, reward, vmf_samples


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("d", "kappa"), [(2, 3.0), (3, 10.0), (64, 200.0)])
def test_draws_have_the_mean_length_of_the_distribution(d, kappa):
    mean = normalize(torch.randn(d, generator=seeded()), dim=0)
    z = vmf_samples(mean, kappa, 20_000, seeded(1))
    assert torch.allclose(z.norm(dim=-1), torch.ones(20_000), atol=1e-5)
    expected = ive(d / 2, kappa) / ive(d / 2 - 1, kappa)  # ratio of Bessel functions, Mardia and Jupp (2000)
    assert (z @ mean).mean().item() == pytest.approx(expected, abs=0.01)
    assert z.mean(0).norm().item() == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("d", "kappa"), [(2, 3.0), (384, 400.0), (1024, 700.0)])
def test_the_mean_length_is_the_ratio_of_bessel_functions(d, kappa):
    assert mean_length(kappa, d) == pytest.approx(ive(d / 2, kappa) / ive(d / 2 - 1, kappa), rel=1e-9)


def mean_reward(d: int, kappa: float, gap: float, rows: int) -> float:
    """Of a perfect ranker: its target at cosine `gap`, eight other documents orthogonal to the query."""
    query, documents = torch.zeros(rows, d), torch.zeros(rows, 9, d)
    query[:, 0] = 1
    documents[:, 0, :2] = torch.tensor([gap, (1 - gap**2) ** 0.5])
    documents[:, range(1, 9), range(2, 10)] = 1
    settings = RelerSpec(kappa=kappa, kappa_at=None, samples=8, projection=False)
    return policy_loss(query, documents, settings, None, seeded())[1].item()


def test_a_perfect_ranker_is_rewarded_alike_in_every_dimension():
    gap = 0.45
    rewards = [mean_reward(d, concentration(400.0, 384, d), gap, 128) for d in (128, 384, 768, 1024)]
    assert np.ptp(rewards) < 0.03
    assert mean_reward(1024, 400.0, gap, 64) < rewards[0] - 0.3  # one concentration for all would not do
    assert concentration(400.0, 384, 384) == concentration(400.0, None, 1024) == 400


def test_rewards_of_a_ranking_by_hand():
    scores = torch.tensor([[0.9, 0.1, 0.2], [0.5, 0.5, 0.1], [0.1, 0.5, 0.6], [0.4, -torch.inf, 0.3]])
    assert reward(scores, "recall@1").tolist() == [1, 0, 0, 1]
    assert reward(scores, "ndcg@10").tolist() == pytest.approx([1, 1 / np.log2(3), 0.5, 1])
    many = torch.arange(12.0)[None]
    assert reward(many, "ndcg@10").item() == 0


def test_baseline_is_the_mean_of_the_other_draws():
    assert leave_one_out(torch.tensor([[1.0], [0.0], [0.5]])).flatten().tolist() == pytest.approx([0.75, -0.75, 0.0])


def test_gradient_equals_the_exact_one_on_the_circle():
    """Query at angle 0, target at 0.6, other document at -0.5: E[reward] and its gradient by summing over a grid."""
    kappa, angles, n = 4.0, (0.0, 0.6, -0.5), 180
    grid = (np.arange(n) + 0.5) / n * 2 * np.pi
    density = [np.exp(kappa * np.cos(grid - a)) for a in angles]
    q, t, o = (f / f.sum() for f in density)
    gap = np.cos(grid[:, None] - grid)[:, :, None] - np.cos(grid[:, None] - grid)[:, None, :]  # query, target, other
    wins = np.where(np.abs(gap) < 1e-9, 0.5, gap > 0)  # equal with probability 0 off the grid
    given_query = np.einsum("qto,t,o->q", wins, t, o)
    given_target = np.einsum("qto,q,o->t", wins, q, o)
    exact_q = (q * given_query * kappa * np.sin(grid - angles[0])).sum()
    exact_t = (t * given_target * kappa * np.sin(grid - angles[1])).sum()

    theta = torch.tensor(angles, dtype=torch.float64, requires_grad=True)
    rows = 20_000
    point = torch.stack([theta.cos(), theta.sin()], dim=1)
    settings = RelerSpec(kappa=kappa, kappa_at=None, samples=8, projection=False)
    loss, mean = policy_loss(point[:1].expand(rows, 2), point[1:].expand(rows, 2, 2), settings, None, seeded())
    loss.backward()
    assert mean.item() == pytest.approx((q * given_query).sum(), abs=0.005)
    assert loss.item() == pytest.approx(1 - mean.item())
    assert -theta.grad[0].item() == pytest.approx(exact_q, abs=0.01)
    assert -theta.grad[1].item() == pytest.approx(exact_t, abs=0.01)
    assert exact_q > 0.05  # towards the target


def gradients(projection: bool, repeats: int) -> torch.Tensor:
    base = torch.randn(4, 24, generator=seeded(5), dtype=torch.float64)
    settings = RelerSpec(kappa=30.0, kappa_at=None, samples=4, projection=projection)
    query = base[:1].clone().expand(repeats, 24).clone().requires_grad_(True)
    documents = base[None, 1:].expand(repeats, 3, 24).clone().requires_grad_(True)
    loss, _ = policy_loss(query, documents, settings, None, seeded(7))
    (loss * repeats).backward()
    return torch.cat([query.grad, documents.grad.reshape(repeats, -1)], dim=1)


def test_projection_keeps_the_expectation_and_lowers_the_variance():
    plain, projected = gradients(False, 6_000), gradients(True, 6_000)
    error = (plain.var(0) / len(plain) + projected.var(0) / len(projected)).sqrt()
    z = (plain.mean(0) - projected.mean(0)) / error
    assert z.abs().max() < 4.5 and z.square().mean() < 1.5
    assert projected.var(0).sum() < 0.5 * plain.var(0).sum()


def test_projection_onto_a_span():
    draws = torch.tensor([[1.0, 2.0, 3.0]])
    span = torch.tensor([[[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]])
    assert torch.allclose(project(draws, span), torch.tensor([[1.0, 2.0, 0.0]]), atol=1e-6)
    assert torch.equal(project(draws, torch.randn(1, 3, 3)), draws)


def test_excluded_candidates_neither_count_nor_move():
    query, documents = torch.randn(2, 8), torch.randn(2, 3, 8, requires_grad=True)
    out = torch.tensor([[False, True, False], [False, False, True]])
    policy_loss(query, documents, RelerSpec(kappa=20.0, kappa_at=None), out, seeded())[0].backward()
    moved = documents.grad.abs().sum(-1) > 0
    assert not moved[0, 1] and not moved[1, 2]


def test_training_raises_the_reward_on_a_toy_set():
    generator = seeded(3)
    queries = torch.randn(12, 16, generator=generator).requires_grad_(True)
    documents = torch.randn(12, 4, 16, generator=generator).requires_grad_(True)
    settings = RelerSpec(kappa=60.0, kappa_at=None, samples=16)
    optimiser = torch.optim.Adam([queries, documents], lr=0.05)
    curve = []
    for _ in range(60):
        loss, mean = policy_loss(queries, documents, settings, None, generator)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        curve.append(mean.item())
    assert np.mean(curve[-5:]) > np.mean(curve[:5]) + 0.3
