"""Lanes from tracks alone."""

import numpy as np
import pytest

from giveway.core.errors import EmptySelectionError, UsageError
from giveway.core.tracks import AgentKind, Tracks
from giveway.roads.by_driving import lanes_by_driving
from giveway.roads.lanelet2 import parse_lanelet2
from giveway.roads.writer import lanelet2_text


def tracks_of(paths, *, dt_s=0.5):
    """Tracks of (points, speeds) given per instant; every agent is observed as long as its points last."""
    count = max(len(xy) for xy in paths)
    xy = np.full((len(paths), count, 2), np.nan)
    for row, points in enumerate(paths):
        xy[row, : len(points)] = points
    seen = np.isfinite(xy[..., 0])
    velocity = np.full_like(xy, np.nan)
    velocity[:, 1:] = np.diff(xy, axis=1) / dt_s
    velocity[:, 0] = velocity[:, 1]
    return Tracks(
        time_s=np.arange(count) * dt_s,
        xy=xy,
        heading=np.where(seen, 0.0, np.nan),
        velocity=velocity,
        observed=seen,
        size=np.tile([4.5, 1.8], (len(paths), 1)),
        kind=np.full(len(paths), int(AgentKind.CAR)),
        ids=np.arange(len(paths)).astype(np.str_),
    )


def crossing(n=12, *, waits=True):
    """East-west traffic that runs through, and south-north traffic that stops 5 m before the middle."""
    rng = np.random.default_rng(0)
    paths = []
    for _ in range(n):
        d = rng.normal(0, 0.2)
        paths.append(np.stack([np.arange(-50.0, 51.0, 5.0), np.full(21, d)], axis=1))
        stop = [-7.0] * 8 if waits else []
        y = np.concatenate([np.arange(-50.0, -7.0, 5.0), stop, np.arange(-5.0, 51.0, 5.0)])
        paths.append(np.stack([np.full(len(y), d), y], axis=1))
    return tracks_of(paths)


def test_two_streams_make_two_ways_and_those_who_wait_give_way():
    made = lanes_by_driving([crossing()])
    assert sorted(made.num_tracks.values()) == [12, 12]
    road = parse_lanelet2(lanelet2_text(made.sketch)[0], name="made")
    (yielding,) = [lane for lane in road.lanes.values() if lane.yields_to]
    assert np.ptp(yielding.center[:, 1]) > 90  # south to north
    np.testing.assert_allclose(yielding.center[:, 0], 0.0, atol=0.2)
    assert any("guessed from the tracks, confirm it" in note for note in made.notes)


def test_without_waiting_no_rule_is_guessed():
    made = lanes_by_driving([crossing(waits=False)])
    assert len(made.num_tracks) == 2 and not made.sketch.rules


def test_too_few_tracks_make_no_lane():
    with pytest.raises(EmptySelectionError, match="no lane can be made"):
        lanes_by_driving([crossing(2)])


def test_far_coordinates_need_an_origin():
    tracks = crossing()
    moved = Tracks(**{**{f: getattr(tracks, f) for f in Tracks.__dataclass_fields__}, "xy": tracks.xy + 5e6})
    with pytest.raises(UsageError, match="local coordinates"):
        lanes_by_driving([moved])
