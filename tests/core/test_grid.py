from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from giveway.core import grid


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**6))
def test_division_is_that_of_exact_fractions_rounded_half_to_even(numerator: int, denominator: int) -> None:
    assert grid.divided(numerator, denominator) == round(Fraction(numerator, denominator))


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**6))
def test_division_is_symmetric_in_sign(numerator: int, denominator: int) -> None:
    assert grid.divided(-numerator, denominator) == -grid.divided(numerator, denominator)


def test_missing_values_stay_missing_or_become_zero_steps() -> None:
    values = np.array([1.00004, np.nan, -0.00005])
    np.testing.assert_array_equal(grid.snapped(values, grid.STEPS_PER_M), [10000.0, np.nan, -0.0])
    np.testing.assert_array_equal(grid.steps(values, grid.STEPS_PER_M), [10000, 0, 0])


@given(st.integers(-(10**9), 10**9), st.integers(-(10**10), 10**10))
def test_a_shift_by_whole_steps_is_a_shift_of_integers(place: int, shift: int) -> None:
    moved = place / grid.STEPS_PER_M + shift / grid.STEPS_PER_M
    assert grid.steps(moved, grid.STEPS_PER_M) == place + shift
