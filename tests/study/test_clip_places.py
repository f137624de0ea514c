"""A clip depends on the motion that it shows, and on nothing else: not on the place, not on the processor."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.core import grid
from giveway.core.arrays import FloatArray
from giveway.core.lanes import Lane, LaneMap, Line
from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.study.clips import clip_document, clip_id, cut, encode_document
from giveway.study.design import ClipStyle
from giveway.study.windows import find_windows

STYLE = ClipStyle(duration_s=4.0, rate_hz=10.0)


def random_world(seed: int) -> Scene:
    """Cars that weave through one another on a grid of 0.1 mm, with holes, at 10, 12.5 or 25 Hz."""
    rng = np.random.default_rng(seed)
    count, instants, rate = int(rng.integers(2, 7)), 130, (10.0, 12.5, 25.0)[seed % 3]
    time_s = np.arange(instants) / rate
    course = rng.uniform(-np.pi, np.pi, count)
    direction = np.stack([np.cos(course), np.sin(course)], axis=1)
    away = time_s[None, :] - rng.uniform(2.0, 4.0, (count, 1))
    speed = rng.uniform(4.0, 15.0, (count, 1))
    sway = rng.uniform(0.0, 2.0, (count, 1)) * np.sin(time_s[None, :])
    xy = (away * speed)[..., None] * direction[:, None] + sway[..., None] * direction[:, None, ::-1]
    observed = np.ones((count, instants), dtype=bool)
    observed[-1, : int(rng.integers(0, 30))] = False
    xy[~observed] = np.nan
    lane = np.stack([np.linspace(-60, 60, 30), rng.normal(0, 2, 30)], axis=1)
    half = np.array([0.0, 2.0])
    road = LaneMap(
        name="anywhere",
        lanes={1: Lane(id=1, left=lane + half, right=lane - half, center=lane)},
        lines=(Line(id=2, points=lane, type="line_thin"),),
        keepouts=(lane[:5],),
    )
    return moved(
        Scene(
            tracks=Tracks(
                time_s=time_s,
                xy=xy,
                heading=np.where(observed, course[:, None], np.nan),
                velocity=np.where(observed[..., None], speed[..., None] * direction[:, None], np.nan),
                observed=observed,
                size=np.tile([4.5, 1.8], (count, 1)),
                kind=np.full(count, AgentKind.CAR),
                ids=np.arange(count).astype(str),
            ),
            road=road,
            provenance=Provenance(dataset="test", recording="a"),
        ),
        np.zeros(2),
    )


def moved(scene: Scene, shift: FloatArray) -> Scene:
    """The same world, shifted by whole grid steps."""
    assert scene.road is not None

    def place(points: FloatArray) -> FloatArray:
        return (grid.snapped(points, grid.STEPS_PER_M) + shift) / grid.STEPS_PER_M

    lanes = {
        k: replace(lane, left=place(lane.left), right=place(lane.right), center=place(lane.center))
        for k, lane in scene.road.lanes.items()
    }
    lines = tuple(replace(line, points=place(line.points)) for line in scene.road.lines)
    road = replace(scene.road, lanes=lanes, lines=lines, keepouts=tuple(place(a) for a in scene.road.keepouts))
    return replace(scene, road=road, tracks=replace(scene.tracks, xy=place(scene.tracks.xy)))


def quarter_turn(scene: Scene) -> Scene:
    return replace(scene, road=None, tracks=replace(scene.tracks, xy=scene.tracks.xy[..., ::-1] * [-1.0, 1.0]))


def clip_ids(scene: Scene) -> list[str]:
    windows = find_windows(scene, duration_s=STYLE.duration_s, limit=4)
    return [clip_id(encode_document(clip_document(cut(scene, w, STYLE), STYLE))) for w in windows]


@settings(max_examples=200)
@given(st.integers(0, 10**6), st.integers(-(10**10), 10**10), st.integers(-(10**10), 10**10))
def test_same_traffic_elsewhere_on_earth_gives_the_same_clips(seed: int, east: int, north: int) -> None:
    scene = random_world(seed)
    assert clip_ids(scene) == clip_ids(moved(scene, np.array([east, north], dtype=float)))


def test_the_property_is_about_something() -> None:
    assert sum(len(clip_ids(random_world(seed))) for seed in range(50)) > 25


@settings(max_examples=200)
@given(st.integers(0, 10**6))
def test_a_quarter_turn_of_the_world_turns_the_clips(seed: int) -> None:
    scene = replace(random_world(seed), road=None)
    here, there = (find_windows(s, duration_s=4.0, limit=4) for s in (scene, quarter_turn(scene)))
    assert here == there
    for window in here:
        document, turned = (clip_document(cut(s, window, STYLE), STYLE) for s in (scene, quarter_turn(scene)))
        for one, other in zip(document["agents"], turned["agents"], strict=True):
            for part, twin in zip(one["segments"], other["segments"], strict=True):
                assert twin["y"] == part["x"]
                assert twin["x"] == [-v for v in part["y"]]
