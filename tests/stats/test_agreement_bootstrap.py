from __future__ import annotations

import numpy as np
import pytest

from giveway.core.errors import UsageError
from giveway.stats.agreement import weighted_fleiss
from giveway.stats.agreement_bootstrap import (
    bootstrap_over_clips,
    bootstrap_over_raters,
    kappa_of_clip_draws,
    kappa_of_rater_draws,
    multiplicities,
)


@pytest.fixture
def ratings() -> np.ndarray:
    rng = np.random.default_rng(1)
    values = np.clip(rng.integers(0, 5, size=(12, 1)) + rng.integers(-1, 2, size=(12, 8)), 0, 4)
    values[rng.random(values.shape) < 0.2] = -1
    return values


def counts_of(ratings: np.ndarray) -> np.ndarray:
    return (ratings[:, :, None] == np.arange(5)).sum(axis=1)


def test_each_draw_of_clips_equals_kappa_of_the_resampled_table(ratings: np.ndarray) -> None:
    table = counts_of(ratings).astype(float)
    drawn = multiplicities(len(table), 50, np.random.default_rng(0))
    expected = [weighted_fleiss(np.repeat(table, m.astype(int), axis=0)).coefficient for m in drawn]
    assert kappa_of_clip_draws(table, drawn) == pytest.approx(expected, abs=1e-12)


def test_drawing_every_rater_once_gives_kappa_itself(ratings: np.ndarray) -> None:
    values = kappa_of_rater_draws(ratings, np.ones((1, 8)), 5)
    assert values[0] == pytest.approx(weighted_fleiss(counts_of(ratings)).coefficient, abs=1e-12)


def test_each_draw_of_raters_equals_the_loop_that_skips_copies(ratings: np.ndarray) -> None:
    drawn = multiplicities(8, 20, np.random.default_rng(0))
    weights = 1 - (np.arange(5)[:, None] - np.arange(5)) ** 2 / 16
    for value, multiplicity in zip(kappa_of_rater_draws(ratings, drawn, 5), drawn, strict=True):
        people = [r for r in range(8) for _ in range(int(multiplicity[r]))]
        observed, pooled = [], []
        for row in ratings:
            present = [(r, row[r]) for r in people if row[r] >= 0]
            pooled += [j for _, j in present]
            pairs = [weights[a, b] for r, a in present for s, b in present if r != s]
            observed += [np.mean(pairs)] if pairs else []
        expected = np.mean([weights[a, b] for a in pooled for b in pooled])
        assert value == pytest.approx((np.mean(observed) - expected) / (1 - expected), abs=1e-12)


def test_copies_of_a_rater_do_not_lift_kappa() -> None:
    rng = np.random.default_rng(2)
    noise = rng.integers(0, 5, size=(200, 6))
    drawn = multiplicities(6, 200, rng)
    assert abs(np.mean(kappa_of_rater_draws(noise, drawn, 5)) - weighted_fleiss(counts_of(noise)).coefficient) < 0.01


def test_same_seed_gives_the_same_interval(ratings: np.ndarray) -> None:
    first = bootstrap_over_clips(counts_of(ratings), rng=np.random.default_rng(4))
    assert first == bootstrap_over_clips(counts_of(ratings), rng=np.random.default_rng(4))
    assert first.low < weighted_fleiss(counts_of(ratings)).coefficient < first.high


def test_resampling_clips_and_raters_is_wider_than_either(ratings: np.ndarray) -> None:
    def width(**options: object) -> float:
        interval = bootstrap_over_raters(ratings, num_categories=5, rng=np.random.default_rng(0), **options)  # type: ignore[arg-type]
        return interval.high - interval.low

    assert width(also_clips=True) > width(also_clips=False)


def test_draws_without_a_value_are_counted_and_left_out() -> None:
    counts = np.array([[0, 4], [4, 0]])
    interval = bootstrap_over_clips(counts, draws=400, rng=np.random.default_rng(0))
    assert 100 < interval.undefined < 300
    assert interval.low == interval.high == pytest.approx(1)


def test_nothing_to_resample_is_an_error() -> None:
    with pytest.raises(UsageError):
        bootstrap_over_clips(np.zeros((3, 5), dtype=int), rng=np.random.default_rng(0))


@pytest.mark.slow
def test_interval_over_clips_covers_at_its_nominal_rate() -> None:
    rng = np.random.default_rng(0)

    def sample(clips: int) -> np.ndarray:
        quality = rng.normal(size=(clips, 1))
        score = quality + rng.normal(size=(clips, 10))
        return counts_of(np.digitize(score, [-1.2, -0.4, 0.4, 1.2]))

    truth = weighted_fleiss(sample(200_000)).coefficient
    intervals = [bootstrap_over_clips(sample(40), draws=500, rng=rng) for _ in range(400)]
    covered = np.mean([i.low <= truth <= i.high for i in intervals])
    assert 0.88 < covered < 0.98
