"""Golden values of the two-way jackknife, and which interval is the main one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from giveway.stats.agreement import weighted_fleiss
from giveway.stats.agreement_jackknife import jackknife, jackknife_over_both

H = np.array([[4, 5, 4, 4], [2, 1, 2, 3], [3, 4, 3, 5], [1, 1, 2, 1], [5, 5, 4, 5], [2, 3, 3, 2]])


def large() -> np.ndarray:
    """Table G: 36 clips, 30 raters."""
    i, r = np.arange(36)[:, None], np.arange(30)[None, :]
    return np.minimum(5, np.maximum(1, (i % 5) + ((r**2 + 3 * i + i * r) % 3)))


def test_table_g_has_its_golden_standard_errors_and_interval() -> None:
    found = jackknife(large() - 1, num_categories=5)
    assert [found.kappa, found.standard_error_clips, found.standard_error_raters, found.standard_error] == (
        pytest.approx([0.7528664441, 0.0438228528, 0.0056860058, 0.0441901923], abs=1e-9)
    )
    interval = jackknife_over_both(large() - 1, num_categories=5)
    assert [interval.low, interval.high] == pytest.approx([0.6624873530, 0.8432455352], abs=1e-9)
    assert special.stdtrit(29, 0.975) == pytest.approx(2.0452296421, abs=1e-9)
    assert interval.note == ""


def test_table_h_has_its_golden_standard_errors_and_is_cut_at_one() -> None:
    found = jackknife(H - 1, num_categories=5)
    assert [found.kappa, found.standard_error_clips, found.standard_error_raters, found.standard_error] == (
        pytest.approx([0.7672727273, 0.1259036190, 0.0815394607, 0.1500013498], abs=1e-9)
    )
    interval = jackknife_over_both(H - 1, num_categories=5)
    assert (interval.low, interval.high) == (pytest.approx(0.2899014859, abs=1e-9), 1.0)
    assert found.kappa + special.stdtrit(3, 0.975) * found.standard_error == pytest.approx(1.2446, abs=5e-5)
    assert "0.93" in interval.note


def test_each_value_with_one_unit_left_out_is_kappa_of_the_smaller_table() -> None:
    rng = np.random.default_rng(3)
    ratings = np.clip(rng.integers(0, 5, size=(9, 1)) + rng.integers(-1, 2, size=(9, 6)), 0, 4)
    ratings[rng.random(ratings.shape) < 0.2] = -1

    def kappa(table: np.ndarray) -> float:
        return weighted_fleiss((table[:, :, None] == np.arange(5)).sum(axis=1)).coefficient

    def error(values: list[float]) -> float:
        n = len(values)
        return float(np.sqrt((n - 1) / n * ((np.array(values) - np.mean(values)) ** 2).sum()))

    found = jackknife(ratings, num_categories=5)
    assert found.standard_error_clips == pytest.approx(
        error([kappa(np.delete(ratings, i, axis=0)) for i in range(9)]), abs=1e-12
    )
    assert found.standard_error_raters == pytest.approx(
        error([kappa(np.delete(ratings, r, axis=1)) for r in range(6)]), abs=1e-12
    )


def test_clips_and_raters_without_ratings_change_nothing() -> None:
    wider = np.full((8, 6), -1)
    wider[:6, :4] = H - 1
    assert jackknife_over_both(wider, num_categories=5) == jackknife_over_both(H - 1, num_categories=5)


@pytest.mark.parametrize("ratings", [H[:, :2] - 1, H[:1] - 1, np.full((3, 3), -1)])
def test_two_raters_or_one_clip_have_no_jackknife_and_it_says_why(ratings: np.ndarray) -> None:
    interval = jackknife_over_both(ratings, num_categories=5)
    assert np.isnan([interval.low, interval.high]).all()
    assert "not defined" in interval.note
