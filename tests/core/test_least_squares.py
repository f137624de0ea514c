import numpy as np
import pytest

from giveway.core.least_squares import least_squares


@pytest.mark.parametrize("columns", [1, 2, 3, 7])
def test_solutions_agree_with_lapack(columns: int) -> None:
    rng = np.random.default_rng(columns)
    for _ in range(20):
        design = rng.normal(size=(40, columns))
        target = rng.normal(size=40)
        expected = np.linalg.lstsq(design, target, rcond=None)[0]
        np.testing.assert_allclose(least_squares(design, target), expected, rtol=1e-9)


def test_the_unit_of_a_column_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    design, target = rng.normal(size=(40, 3)), rng.normal(size=40)
    scaled = least_squares(design * [1e-6, 1.0, 1e6], target) * [1e-6, 1.0, 1e6]
    np.testing.assert_allclose(scaled, least_squares(design, target), rtol=1e-12)


def test_a_column_that_repeats_another_gets_no_weight() -> None:
    column = np.arange(1.0, 6.0)
    np.testing.assert_allclose(least_squares(np.stack([column, 2 * column], axis=1), 3 * column), [3.0, 0.0])


def test_a_nearly_singular_system_is_still_solved() -> None:
    # Läuchli's matrix: normal equations lose the small entry altogether.
    small = 1e-8
    design = np.array([[1, 1, 1], [small, 0, 0], [0, small, 0], [0, 0, small]])
    target = design @ np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(least_squares(design, target), [1, 2, 3], rtol=1e-6)
