"""Compiled egos that see wrongly drive as the planners in Python do that are shown the same."""

from __future__ import annotations

import numpy as np
import pytest

from giveway.generate.drivers.cars import baseline
from giveway.generate.driving import drive_scenes
from giveway.generate.egos import Ego, resolve_ego
from giveway.generate.worlds import Worlds, WorldSettings
from giveway.sim.state import DriverCode

COUNT = 8


def driven(name: str, road: str, ego: Ego | None, traffic: int):
    settings = WorldSettings(road=road, ego=name, actions="lateral", cars=2, traffic=traffic, steps=80)
    worlds = Worlds(settings, n_worlds=COUNT, ego=ego)
    scenes, _ = worlds.space.sample(COUNT, seed=5)
    try:
        return [one.record for one in drive_scenes(worlds, scenes, baseline("cut_in"), seeds=list(range(COUNT)))]
    finally:
        worlds.close()


@pytest.mark.parametrize(
    ("name", "road", "traffic"),
    [
        ("delayed", "merge", 1),
        ("delayed:idm", "straight", 0),
        ("noisy", "roundabout", 1),
        ("short_sighted", "merge", 0),
    ],
)
def test_the_compiled_ego_drives_as_the_planner_in_python(name: str, road: str, traffic: int):
    assert not resolve_ego(name).is_outside
    compiled = driven(name, road, None, traffic)
    asked = driven(name, road, Ego(driver=DriverCode.EXTERNAL), traffic)
    for one, other in zip(compiled, asked, strict=True):
        assert (one.outcome, one.ending.grade) == (other.outcome, other.ending.grade)
        np.testing.assert_array_equal(one.tracks.xy, other.tracks.xy)
        np.testing.assert_array_equal(one.tracks.speed, other.tracks.speed)


def test_seeing_late_changes_how_it_drives():
    plain, late = driven("lattice", "merge", None, 1), driven("delayed", "merge", None, 1)
    assert any(
        a.tracks.xy.shape != b.tracks.xy.shape or (a.tracks.xy != b.tracks.xy)[0].any()
        for a, b in zip(plain, late, strict=True)
    )


def test_a_planner_that_is_not_compiled_is_still_asked():
    assert resolve_ego("delayed:replay").is_outside
