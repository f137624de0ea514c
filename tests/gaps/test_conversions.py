"""Between probability, time and paths."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.core.conversions import acceptance_times, paths_to_time, to_paths, to_probability, to_time
from giveway.core.predictions import Probability, TimeDistribution, Trajectories
from giveway.core.seeds import stream
from giveway.gaps.raw import circle_boundary, line_boundary

DT = 0.2


@pytest.fixture(scope="module")
def plain_conversion():
    path = Path(__file__).parent / "plain_conversion.py"
    specification = importlib.util.spec_from_file_location("plain_conversion", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def falling(start, speed, steps=20):
    """Paths along -y: (n, p) starting heights and speeds to (n, p, steps, 2)."""
    t = np.arange(1, steps + 1) * DT
    y = start[..., None] - speed[..., None] * t
    return Trajectories(xy=np.stack([np.zeros_like(y), y], axis=-1), dt_s=DT)


def test_a_straight_path_crosses_when_it_should():
    paths = falling(np.array([[3.0, 3.0, 3.0]]), np.array([[2.0, 0.5, 100.0]]))
    times = acceptance_times(paths, line_boundary(1, (0.0, 1.0), 0.0))
    assert times[0, 0] == pytest.approx(1.5)
    assert np.isnan(times[0, 1])
    assert times[0, 2] == pytest.approx(DT / 2)


def test_steps_that_are_missing_are_passed_over():
    paths = falling(np.array([[3.0]]), np.array([[2.0]]))
    paths.xy[0, 0, 6:8] = np.nan
    times = acceptance_times(paths, line_boundary(1, (0.0, 1.0), 0.0))
    assert times[0, 0] == pytest.approx(1.5)


@pytest.mark.parametrize("shape", ("line", "circle"))
def test_probability_and_deciles_equal_the_plain_reference_and_numpy(plain_conversion, shape):
    rng = np.random.default_rng(4)
    xy = np.array([6.0, 0.0]) + rng.normal(-0.25, 0.5, size=(30, 50, 25, 2)).cumsum(axis=2)
    xy[rng.random(xy.shape[:3]) < 0.05] = np.nan
    xy[3:5, :, :, 0] = 50.0
    paths = Trajectories(xy=xy, dt_s=DT)
    boundary = line_boundary(30, (1.0, 0.0), 2.0) if shape == "line" else circle_boundary(np.full(30, 4.0))
    side = (lambda x, y: x - 2.0) if shape == "line" else (lambda x, y: (x * x + y * y) ** 0.5 - 4.0)
    ours = paths_to_time(paths, boundary)
    times = acceptance_times(paths, boundary)
    for i in range(30):
        p, deciles = plain_conversion.probability_and_deciles(xy[i].tolist(), DT, side)
        assert ours.p[i] == p
        np.testing.assert_allclose(ours.quantile_s[i], deciles, rtol=1e-12)
        known = times[i][~np.isnan(times[i])]
        if len(known):
            np.testing.assert_allclose(ours.quantile_s[i], np.quantile(known, np.arange(1, 10) / 10), rtol=1e-12)
    assert ours.p[3] == 0
    assert np.isnan(ours.quantile_s[3]).all()


def conditional(n=40, num=100):
    rng = np.random.default_rng(0)
    going = falling(rng.uniform(2, 4, (n, num)), rng.uniform(0.5, 4, (n, num)))
    waiting = falling(rng.uniform(2, 4, (n, num)), rng.uniform(-0.2, 0.6, (n, num)))
    return going, waiting, line_boundary(n, (0.0, 1.0), 0.0)


@settings(max_examples=25, deadline=None)
@given(p=st.floats(0, 1))
def test_paths_accept_as_often_as_predicted(p):
    going, waiting, boundary = conditional(n=3)
    prediction = Probability(p=np.full(3, p))
    paths = to_paths(prediction, going, waiting, boundary, lambda i: stream(0, i))
    np.testing.assert_allclose(to_probability(paths, boundary).p, round(100 * p) / 100)


def test_rejecting_paths_come_first():
    going, waiting, boundary = conditional(n=5)
    paths = to_paths(Probability(p=np.full(5, 0.3)), going, waiting, boundary, lambda i: stream(0, i))
    accepts = ~np.isnan(acceptance_times(paths, boundary))
    assert not accepts[:, :70].any()
    assert accepts[:, 70:].all()


def test_predicted_times_decide_which_accepting_paths_are_drawn():
    going, waiting, boundary = conditional()
    early = TimeDistribution(p=np.ones(40), quantile_s=np.tile(np.linspace(0.6, 1.0, 9), (40, 1)))
    late = TimeDistribution(p=np.ones(40), quantile_s=np.tile(np.linspace(2.0, 3.0, 9), (40, 1)))
    medians = [
        np.nanmedian(acceptance_times(to_paths(t, going, waiting, boundary, lambda i: stream(1, i)), boundary))
        for t in (early, late)
    ]
    assert medians[0] + 0.3 < medians[1]


def test_every_decile_bin_gets_the_same_mass():
    """Bins with many candidate paths do not drown bins with few."""
    going, waiting, boundary = conditional(n=1)
    times = acceptance_times(going, boundary)[0]
    known = np.sort(times[~np.isnan(times)])
    quantiles = np.append(known[[1, 3]], np.full(7, known[3] + 1e-9))
    prediction = TimeDistribution(p=np.ones(1), quantile_s=quantiles[None])
    drawn = np.concatenate(
        [
            acceptance_times(to_paths(prediction, going, waiting, boundary, lambda i, r=r: stream(r, i)), boundary)[0]
            for r in range(40)
        ]
    )
    share = (drawn < known[1]).mean()
    assert share == pytest.approx(0.25, abs=0.04)  # four bins are not empty


def test_without_a_fitting_path_all_paths_are_used():
    going, waiting, boundary = conditional(n=4)
    none_rejects = to_paths(
        Probability(p=np.zeros(4)),
        going,
        falling(np.full((4, 100), 1.0), np.full((4, 100), 9.0)),
        boundary,
        lambda i: stream(0, i),
    )
    assert np.isfinite(none_rejects.xy).all()
    none_accepts = to_paths(
        Probability(p=np.ones(4)),
        falling(np.full((4, 100), 3.0), np.zeros((4, 100))),
        waiting,
        boundary,
        lambda i: stream(0, i),
    )
    assert np.isfinite(none_accepts.xy).all()


def test_a_sample_does_not_depend_on_its_neighbors_with_derived_seeds():
    going, waiting, boundary = conditional(n=6)
    prediction = Probability(p=np.linspace(0.1, 0.9, 6))
    together = to_paths(prediction, going, waiting, boundary, lambda i: stream(0, "s", i))
    alone = to_paths(
        Probability(p=prediction.p[4:5]),
        Trajectories(xy=going.xy[4:5], dt_s=DT),
        Trajectories(xy=waiting.xy[4:5], dt_s=DT),
        boundary.take(slice(4, 5)),
        lambda i: stream(0, "s", 4),
    )
    np.testing.assert_array_equal(together.xy[4], alone.xy[0])


def test_a_probability_borrows_times_from_accepted_gaps_only():
    going, _, boundary = conditional(n=3)
    prediction = Probability(p=np.array([0.1, 0.5, 0.9]))
    times = to_time(prediction, going, boundary)
    np.testing.assert_array_equal(times.p, prediction.p)
    np.testing.assert_array_equal(times.quantile_s, paths_to_time(going, boundary).quantile_s)
    with pytest.raises(ValueError, match="accepted gaps"):
        to_time(prediction, None, boundary)
