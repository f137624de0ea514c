"""Sample sizes against the values of the design note, intervals by cluster, and looks that keep their level."""

import numpy as np
import pytest

from giveway.core.errors import UsageError
from giveway.stats.clusters import ClusterDraws, within_cluster_correlation
from giveway.stats.power import half_width, power_of, samples_for_half_width, samples_needed
from giveway.stats.sequential import bounds, looks_at, spent, standardized

SD = 3.93
"""Of oracle minus constant velocity per case, closed-loop-v2 section 5."""


def test_sample_sizes_of_the_note():
    assert samples_for_half_width(SD, 0.5) == 238
    assert samples_needed(SD, 0.5) == 485
    assert samples_needed(SD, 0.5, power=0.9) == 650
    assert samples_needed(SD, 0.25) == 1940
    assert samples_needed(SD, 0.5, per_cluster=20, rho=0.05) == 946
    assert power_of(SD, 0.5, 96) == pytest.approx(0.24, abs=0.005)
    assert half_width(SD, 96) == pytest.approx(0.79, abs=0.005)


def test_the_needed_number_has_the_wanted_power_and_one_less_has_not():
    assert power_of(SD, 0.5, 485) >= 0.8 > power_of(SD, 0.5, 484)
    draws = np.random.default_rng(0).normal(0.5, SD, (20_000, 485))
    z = draws.mean(axis=1) / (draws.std(axis=1, ddof=1) / np.sqrt(485))
    assert np.mean(np.abs(z) > 1.959964) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("values", [{"effect": 0.0}, {"power": 1.0}, {"sd": -1.0}])
def test_impossible_sizes_are_refused(values):
    with pytest.raises(UsageError, match="sample size"):
        samples_needed(**{"sd": 1.0, "effect": 1.0, **values})


def test_the_share_of_variance_between_clusters_is_found_again():
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(4000), 5)
    values = rng.normal(0, np.sqrt(0.3), 4000)[group] + rng.normal(0, np.sqrt(0.7), group.size)
    assert within_cluster_correlation(values, group.tolist()) == pytest.approx(0.3, abs=0.02)
    assert within_cluster_correlation(rng.normal(size=group.size), group.tolist()) < 0.01
    assert np.isnan(within_cluster_correlation(np.ones(3), ["a", "b", "c"]))


def clustered(rng, recordings=24, rho=0.3, effect=0.0):
    """Differences of unequal recordings whose cases are alike."""
    sizes = rng.integers(3, 30, recordings)
    group = np.repeat(np.arange(recordings), sizes)
    values = rng.normal(0, np.sqrt(rho), recordings)[group] + rng.normal(0, np.sqrt(1 - rho), group.size)
    return values + effect, group


def test_intervals_by_cluster_cover_where_intervals_by_sample_do_not():
    rng = np.random.default_rng(3)
    covered = {"clusters": 0, "samples": 0}
    for _ in range(300):
        values, group = clustered(rng)
        names = [str(i) for i in range(values.size)]
        for unit, labels in (("clusters", group.tolist()), ("samples", names)):
            draws = ClusterDraws(dict(zip(names, labels, strict=True)), rng=rng, num_resamples=400)
            interval = draws.interval(draws.means(names, values)[:, 0])
            covered[unit] += not interval.excludes_zero
    assert covered["clusters"] / 300 > 0.88
    assert covered["samples"] / 300 < 0.75


def test_means_leave_out_what_is_unknown_and_few_clusters_are_not_resampled():
    draws = ClusterDraws({"a": 0, "b": 0, "c": 1}, rng=np.random.default_rng(0))
    assert (draws.unit, draws.num_units, draws.num_clusters) == ("samples", 3, 2)
    found = draws.means(["a", "b", "c"], np.array([[1.0, 4.0], [3.0, np.nan], [5.0, 8.0]]))
    assert found[0].tolist() == [3.0, 6.0]
    assert np.isnan(found[1:, 1]).any(), "resamples of b alone know nothing"
    with pytest.raises(UsageError, match="at least two"):
        ClusterDraws({"a": 0}, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("fractions", "published"),
    [
        ((0.25, 0.5, 0.75, 1.0), (4.3326, 2.9631, 2.3590, 2.0141)),
        ((0.2, 0.4, 0.6, 0.8, 1.0), (4.8769, 3.3569, 2.6803, 2.2898, 2.0310)),
        ((1.0,), (1.959964,)),
    ],
)
def test_bounds_are_the_published_ones_of_lan_and_demets(fractions, published):
    assert bounds(fractions) == pytest.approx(published, abs=1e-3)


def test_all_of_the_level_is_spent_at_the_end_and_little_early():
    assert spent(1.0) == pytest.approx(0.05)
    assert spent(0.25) < 1e-4
    with pytest.raises(UsageError, match="increase"):
        bounds([0.5, 0.5])


def test_looking_four_times_keeps_the_level_where_naive_looks_do_not():
    rng = np.random.default_rng(5)
    runs, plan = 4000, (0.25, 0.5, 0.75, 1.0)
    stopped = naive = 0
    for _ in range(runs):
        values, group = clustered(rng, recordings=40)
        looks = looks_at(values, group.tolist(), plan)
        stopped += looks[-1].decides
        naive += any(abs(standardized(values[group < n], group[group < n])[1]) > 1.96 for n in (10, 20, 30, 40))
    assert stopped / runs == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / runs))
    assert naive / runs > 0.09


def test_a_large_difference_is_decided_early_and_a_look_needs_three_recordings():
    values, group = clustered(np.random.default_rng(7), recordings=40, effect=1.0)
    looks = looks_at(values, group.tolist(), (0.25, 0.5, 0.75, 1.0))
    assert looks[-1].decides
    assert looks[-1].fraction < 1.0
    with pytest.raises(UsageError, match="three recordings"):
        looks_at(values, group.tolist(), (0.05, 1.0))
