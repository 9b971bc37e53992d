"""Hand-computed vectors in the plane and in space."""

import numpy as np
import pandas as pd
import pytest

from helpers.geometry.measures import (
    angulation,
    barycentric,
    displacement,
    pair_geometry,
    selectivity,
    similarity_improvement,
    summarise,
    unit,
)


def at(*degrees):
    """Unit vectors of the plane at these angles, one row each."""
    angle = np.radians(degrees)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def test_three_vectors_in_the_plane_give_the_three_metrics():
    q, p, a = at(0), at(60), at(90)
    assert displacement(q, p) == pytest.approx([0.5])
    assert similarity_improvement(q, p, a) == pytest.approx([np.sqrt(3) / 2])
    # p - q points to 120 degrees, a - q to 135 degrees
    assert angulation(q, p, a) == pytest.approx([np.cos(np.radians(15))])


def test_moving_straight_at_the_target_and_straight_away():
    q, a = at(0), at(90)
    assert angulation(q, a, a) == pytest.approx([1])
    away = q - (a - q) * 0.1
    assert angulation(q, away, a) == pytest.approx([-1])


def test_displacement_of_opposite_vectors_is_two():
    assert displacement(at(0), at(180)) == pytest.approx([2])


@pytest.mark.parametrize("p, a", [(0, 90), (90, 0)], ids=["query does not move", "query is its target"])
def test_angulation_without_a_direction_is_missing(p, a):
    assert np.isnan(angulation(at(0), at(p), at(a))).all()


def test_missing_angulations_are_counted_and_left_out_of_the_mean():
    q = at(0, 0)
    columns = pair_geometry(q, at(0, 90), at(90, 90), at(180, 180), np.array([0, 1]))
    table = summarise(pd.DataFrame({"instruction": "i", **columns}), ["instruction"])
    row = table.iloc[0]
    assert (row["n_queries"], row["n_missing_angulation"]) == (2, 1)
    assert row["angulation"] == pytest.approx(1)
    assert (row["n_moved_nearer"], row["n_moved_away"]) == (1, 0)


def test_selectivity_is_zero_where_target_and_other_are_approached_alike():
    q = unit(np.array([[1.0, 0, 0]]))
    p = unit(np.array([[1.0, 1, 1]]))
    a, n = np.array([[0.0, 1, 0]]), np.array([[0.0, 0, 1]])
    assert selectivity(q, p, a, n) == pytest.approx([0], abs=1e-7)
    assert selectivity(q, a, a, n) == pytest.approx([1])


def test_several_targets_of_a_query_are_averaged():
    q, p, n = at(0), at(90), at(180)
    columns = pair_geometry(q, p, at(90, 180), n, np.array([0, 0]))
    assert columns["similarity_improvement"] == pytest.approx([(1 + 1) / 2])
    assert columns["displacement"] == pytest.approx([1])


def test_corners_and_centre_have_their_barycentric_weights():
    q, d, a = np.eye(3)[[0]], np.eye(3)[[1]], np.eye(3)[[2]]
    for place, corner in enumerate((q, d, a)):
        weights, distance = barycentric(q, d, a, corner)
        assert weights[0] == pytest.approx(np.eye(3)[place], abs=1e-12)
        assert distance == pytest.approx([0])
    weights, distance = barycentric(q, d, a, np.full((1, 3), 1 / np.sqrt(3)))
    assert weights[0] == pytest.approx([1 / 3] * 3)
    assert distance == pytest.approx([1 - 1 / np.sqrt(3)])  # the plane of the corners is 1/sqrt(3) from the origin


def test_a_distractor_that_equals_the_target_leaves_the_triangle_undefined():
    weights, distance = barycentric(at(0), at(90), at(90), at(45))
    assert np.isnan(weights).all() and np.isnan(distance).all()


def test_float32_noise_is_no_movement():
    q = unit(np.random.default_rng(0).normal(size=(5, 384)))
    noisy = unit(q + np.float32(1e-7))
    assert np.isnan(angulation(q, noisy, q[::-1])[[0, 1, 3, 4]]).all()
