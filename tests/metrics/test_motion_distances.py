from dataclasses import replace

import numpy as np
import pytest

from giveway.metrics.motion_distances import QUANTITIES, distances, joined, motion_values
from giveway.testing.worlds import car, tracks_of


def straight_tracks(starts, *, speed_mps, instants, ids):
    """Cars that drive along +x from the given places."""
    movers = [car([(x, y), (x + 1000.0, y)], speed_mps) for x, y in starts]
    return replace(tracks_of(*movers, duration_s=0.1 * (instants - 1)), ids=np.array(ids))


def test_motion_of_a_steady_column_is_known():
    tracks = straight_tracks([(0.0, 0.0), (20.0, 0.0)], speed_mps=10.0, instants=51, ids=("a", "b"))
    found = motion_values(tracks)
    assert found["speed"] == pytest.approx(10.0)
    assert found["acceleration"] == pytest.approx(0.0, abs=1e-9)
    assert found["yaw_rate"] == pytest.approx(0.0, abs=1e-12)
    assert found["headway"] == pytest.approx(2.0)
    assert found["headway"].size == found["speed"].size / 2


def test_equal_motion_has_no_distance_and_full_likelihood():
    rng = np.random.default_rng(0)
    values = {name: rng.normal(size=5000) for name in QUANTITIES}
    found = distances(values, values)
    assert found["wasserstein_speed"] == 0
    assert found["likelihood"] == pytest.approx(1.0)


def test_shifted_motion_is_as_far_as_its_shift_and_less_likely():
    rng = np.random.default_rng(0)
    recorded = {name: rng.normal(size=5000) for name in QUANTITIES}
    moved = {name: values + 2.0 for name, values in recorded.items()}
    found = distances(moved, recorded)
    assert found["wasserstein_jerk"] == pytest.approx(2.0)
    assert found["likelihood"] < 0.5


def test_missing_values_give_no_number():
    empty = joined([])
    full = {name: np.ones(10) for name in QUANTITIES}
    assert np.isnan(distances(empty, full)["wasserstein_speed"])
