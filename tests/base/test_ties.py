"""Equal up to rounding is equal, everywhere the same way."""

import numpy as np
import pytest

from helpers.base.ties import compare, levelled, zeroed


@pytest.mark.parametrize("a, b, expected", [
    (0.1 + 0.2, 0.3, 0), (0.3, 0.1 + 0.2, 0), (1.0, -1.0, 1), (0.5, 0.5 + 1e-6, -1), (1e-17, -1e-17, 0), (1e-6, 0.0, 1),
    (np.nan, 1.0, 0), (1e9 + 0.1, 1e9, 0),
])  # fmt: skip
def test_the_order_of_two_numbers(a, b, expected):
    assert compare(a, b) == expected


def test_order_broadcasts():
    assert compare([[0.1 + 0.2], [0.4]], [0.3, 0.5]).tolist() == [[0, -1], [1, -1]]


def test_what_is_zero_up_to_rounding_is_zero():
    assert zeroed([0.1 + 0.2 - 0.3, 1e-6, -1e-17]).tolist() == [0, 1e-6, 0] and np.isnan(zeroed(np.nan))


def test_levelled_values_are_exactly_equal_and_keep_their_places():
    values = np.array([[0.3, np.nan, 0.1 + 0.2], [0.2, 0.4, np.inf]])
    got = levelled(values)
    assert got[0, 0] == got[0, 2] and got[1, 0] == 0.2 and np.isnan(got[0, 1]) and got[1, 2] == np.inf
    assert np.isnan(levelled([np.nan])).all() and levelled([]).shape == (0,) and values[0, 0] != values[0, 2]
