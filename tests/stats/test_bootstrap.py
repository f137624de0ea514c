from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from giveway.core.errors import UsageError
from giveway.metrics import METRICS
from giveway.metrics.metric import score_resampler
from giveway.stats.bootstrap import bootstrap, paired_bootstrap


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_intervals_agree_with_scipy(method: str) -> None:
    x = np.random.default_rng(0).exponential(size=40)
    ours = bootstrap(lambda i: float(x[i].mean()), 40, rng=np.random.default_rng(1), num_resamples=8000, method=method)  # type: ignore[arg-type]
    theirs = stats.bootstrap(
        (x,), np.mean, n_resamples=8000, method=method, random_state=np.random.default_rng(2)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.method == method
    assert ours.low == pytest.approx(theirs.low, abs=0.04 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.04 * width)


def test_the_same_generator_gives_the_same_interval() -> None:
    x = np.random.default_rng(0).normal(size=30)
    first, second = (bootstrap(lambda i: float(x[i].mean()), 30, rng=np.random.default_rng(5)) for _ in range(2))
    assert first == second


def test_a_paired_comparison_is_sharper_than_the_spread_of_either_side() -> None:
    rng = np.random.default_rng(0)
    hard = rng.normal(size=200)
    a, b = hard + 0.1 * rng.normal(size=200), hard + 0.1 * rng.normal(size=200) - 0.05
    interval = paired_bootstrap(
        lambda i: float(a[i].mean()), lambda i: float(b[i].mean()), 200, rng=np.random.default_rng(1)
    )
    assert interval.excludes_zero
    assert interval.p_value < 0.05
    assert interval.high - interval.low < 0.1


def test_groups_are_drawn_whole_so_dependent_samples_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(20), 30)
    x = rng.normal(size=20)[group] + 0.1 * rng.normal(size=600)
    options = {"num_resamples": 500}
    apart = bootstrap(lambda i: float(x[i].mean()), 600, rng=np.random.default_rng(1), **options)
    together = bootstrap(lambda i: float(x[i].mean()), 600, rng=np.random.default_rng(1), group=group, **options)
    assert together.num_units == 20
    assert together.high - together.low > 3 * (apart.high - apart.low)


def test_the_area_under_the_curve_can_be_resampled() -> None:
    rng = np.random.default_rng(0)
    accepted = rng.uniform(size=150) < 0.3
    p = np.clip(0.4 * accepted + rng.uniform(0, 0.6, 150), 0, 1)
    score = METRICS.get("auc").score
    assert score is not None
    interval = bootstrap(score_resampler(score, accepted, p), 150, rng=rng, num_resamples=300)
    assert interval.low < interval.estimate < interval.high
    assert interval.estimate == score(accepted, p)


def test_resamples_without_a_value_are_left_out_and_counted() -> None:
    accepted = np.array([True, False, False])
    score = METRICS.get("auc").score
    assert score is not None
    interval = bootstrap(
        score_resampler(score, accepted, np.array([0.9, 0.2, 0.1])), 3, rng=np.random.default_rng(0), num_resamples=200
    )
    assert 0 < interval.num_resamples < 200


def test_a_statistic_that_never_varies_has_an_interval_of_width_zero() -> None:
    interval = bootstrap(lambda _: 2.0, 10, rng=np.random.default_rng(0), num_resamples=50)
    assert (interval.low, interval.high) == (2.0, 2.0)


def test_an_undefined_statistic_gives_an_undefined_interval() -> None:
    assert math.isnan(bootstrap(lambda _: math.nan, 10, rng=np.random.default_rng(0), num_resamples=20).low)


def test_one_sample_or_one_group_cannot_be_resampled() -> None:
    with pytest.raises(UsageError, match="two samples"):
        bootstrap(lambda _: 1.0, 1, rng=np.random.default_rng(0))
    with pytest.raises(UsageError, match="two groups"):
        bootstrap(lambda _: 1.0, 4, rng=np.random.default_rng(0), group=np.zeros(4))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_intervals_cover_at_their_nominal_rate(method: str) -> None:
    rng = np.random.default_rng(3)
    hits = []
    for _ in range(800):
        x = rng.normal(size=60)
        interval = bootstrap(lambda i, x=x: float(x[i].mean()), 60, rng=rng, num_resamples=400, method=method)  # type: ignore[arg-type]
        hits.append(interval.low <= 0 <= interval.high)
    assert 0.92 < np.mean(hits) < 0.97
