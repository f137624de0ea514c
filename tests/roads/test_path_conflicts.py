"""Where and when two driven paths need the same piece of road."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from giveway.core.frames import rotated
from giveway.core.tracks import AgentKind, Tracks
from giveway.roads.path_conflicts import (
    boxes_of,
    driven_path,
    driven_paths,
    near_to,
    order_of,
    path_conflict,
    path_of_points,
)

DT_S = 0.1
HEAD_ON_RAD = 2.4
PLAIN = runpy.run_path(str(Path(__file__).with_name("plain_path_conflicts.py")))


def tracks_of(*xys, size=(4.0, 2.0), kind=AgentKind.CAR) -> Tracks:
    """Tracks that are recorded from the first instant on, each as long as its points; NaN in them is not recorded."""
    instants = max(len(xy) for xy in xys)
    position = np.full((len(xys), instants, 2), np.nan)
    for k, xy in enumerate(xys):
        position[k, : len(xy)] = xy
    velocity = np.gradient(position, DT_S, axis=1)
    return Tracks(
        time_s=np.arange(instants) * DT_S,
        xy=position,
        heading=np.full(position.shape[:2], np.nan),
        velocity=velocity,
        observed=np.isfinite(position[..., 0]),
        size=np.tile(np.asarray(size, dtype=float), (len(xys), 1)),
        kind=np.full(len(xys), int(kind)),
        ids=np.array([str(k) for k in range(len(xys))]),
    )


def straight(start, velocity, seconds):
    return np.asarray(start) + np.arange(round(seconds / DT_S) + 1)[:, None] * DT_S * np.asarray(velocity)


def of(*xys, **sizes):
    return driven_paths(tracks_of(*xys, **sizes))


def test_a_right_angle_has_the_corridors_of_both_cars():
    """c = 2 + 0.3 m: T, along x, is first near at x = -2.3; the next point of the grid is at -2.0."""
    target, ego = of(straight((-30, 0), (5, 0), 12), straight((0, -40), (0, 10), 8))
    found = path_conflict(target, ego)
    assert (found.status, found.kind, found.side) == ("conflict", "cross", -1)
    assert found.s_in_m == pytest.approx(28.0)
    assert found.place == pytest.approx((-2.0, 0.0))
    assert found.angle_rad == pytest.approx(np.pi / 2)
    (passage,) = found.passages
    assert passage.u_in_m == pytest.approx(40.0 - 2.0, abs=0.51)
    t_t, t_e = order_of(target, ego, found)
    assert t_t == pytest.approx((28.0 - 2.0) / 5)
    assert t_e == pytest.approx((passage.u_in_m - 2.0) / 10)
    assert 2.0 <= found.s_out_m - found.s_in_m <= 5.5


def test_paths_apart_do_not_conflict_and_followers_share_their_lane():
    apart, beside = of(straight((0, 0), (5, 0), 10), straight((0, 3), (5, 0), 10))
    assert path_conflict(apart, beside).status == "no_conflict"
    first, behind = of(straight((0, 0), (5, 0), 10), straight((-20, 0.4), (5, 0), 10))
    assert path_conflict(first, behind).status == "same_lane"


def test_a_merge_ends_where_the_paths_have_joined():
    way = np.arange(0, 60, 0.5)
    ramp = np.column_stack([way - 40.0, -np.maximum(-(way - 40.0), 0) * np.tan(np.radians(15))])
    target, ego = (path_of_points(p) for p in (ramp, np.column_stack([np.arange(-60, 40, 0.5), np.zeros(200)])))
    found = path_conflict(target, ego)
    assert found.kind == "merge"
    assert np.degrees(found.angle_rad) == pytest.approx(15.0, abs=0.1)
    assert found.s_out_m - found.s_in_m == pytest.approx((2.1 - 1.0) / np.sin(np.radians(15)), abs=1.0)


def test_a_place_that_t_reaches_later_on_the_ring_is_not_es_way_in():
    """T enters a circle and follows it; E drove there half a lap before it passed T's entry."""
    angle = np.arange(-np.pi, np.pi / 2, 0.02)
    ego = 15.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    after = np.arange(0.0, 1.5 * np.pi, 0.02)
    target = np.concatenate(
        [
            np.column_stack([np.arange(45, 15, -0.4), np.zeros(75)]),
            15.0 * np.column_stack([np.cos(after), np.sin(after)]),
        ]
    )
    found = path_conflict(path_of_points(target), path_of_points(ego))
    at_entry = 15.0 * np.pi  # arc length of E when it passes angle 0
    assert len(found.passages) == 1
    assert at_entry - 8.0 < found.passages[0].u_in_m < at_entry
    assert found.side == 1


def test_every_lap_is_a_passage_of_its_own():
    angle = np.arange(-np.pi / 2, 4.5 * np.pi, 0.02)
    ego = 15.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    target = np.column_stack([np.arange(45, 0, -0.4), np.zeros(113)])
    passages = path_conflict(path_of_points(target), path_of_points(ego)).passages
    assert len(passages) == 3
    assert np.diff([p.u_in_m for p in passages]) == pytest.approx(15.0 * 2 * np.pi, abs=1.0)


def test_a_standing_car_does_not_drive_by_jitter():
    rng = np.random.default_rng(0)
    way = np.concatenate([np.linspace(0, 10, 50), np.full(200, 10.0), np.linspace(10.2, 20, 50)])
    xy = np.column_stack([way, np.zeros(300)]) + rng.normal(0, 0.01, (300, 2))
    path = driven_path(tracks_of(xy), 0)
    assert path.arc_m[-1] == pytest.approx(20.0, abs=0.3)
    assert driven_path(tracks_of(rng.normal(0, 0.01, (300, 2))), 0) is None


def test_sizes_come_from_the_kind_where_none_is_recorded():
    walker = driven_path(tracks_of(straight((0, 0), (1, 0), 5), size=(np.nan, 0), kind=AgentKind.PEDESTRIAN), 0)
    assert (walker.length_m, walker.width_m) == (0.5, 0.5)


def test_a_passage_before_the_first_instant_is_not_observed():
    target, ego = of(straight((-30, 0), (5, 0), 12), straight((0, -3.0), (0, 10), 4))
    assert np.isnan(order_of(target, ego, path_conflict(target, ego))[1])


def test_only_paths_near_in_space_and_time_are_compared():
    late = np.concatenate([np.full((90, 2), np.nan), straight((0, 0), (5, 0), 2)])
    paths = of(straight((0, 0), (5, 0), 8), straight((20, 9), (0, -5), 8), straight((0, 300), (5, 0), 8), late)
    assert near_to(boxes_of(paths), 0).tolist() == [1]


curves = st.tuples(
    st.floats(-30, 30), st.floats(-30, 30), st.floats(-np.pi, np.pi), st.floats(4, 12), st.floats(-0.08, 0.08)
)


def curve(start_x, start_y, heading, speed, curvature):
    way = np.arange(80) * DT_S * speed
    turn = heading + curvature * way
    step = np.column_stack([np.cos(turn), np.sin(turn)]) * DT_S * speed
    return np.array([start_x, start_y]) + np.cumsum(step, axis=0)


@settings(max_examples=60, deadline=None)
@given(one=curves, two=curves, angle=st.floats(-np.pi, np.pi), dx=st.floats(-500, 500))
def test_turning_moving_and_mirroring_a_site_changes_nothing(one, two, angle, dx):
    first, second = curve(*one), curve(*two)
    plain = path_conflict(*of(first, second))
    turned = path_conflict(*of(*(rotated(xy, angle) + np.array([dx, 7.0]) for xy in (first, second))))
    mirrored = path_conflict(*of(first * [1, -1], second * [1, -1]))
    assert plain.status == turned.status == mirrored.status
    if plain.status == "conflict":
        assert mirrored.side == -plain.side
        for other in (turned, mirrored):
            assert other.s_in_m == pytest.approx(plain.s_in_m, abs=0.51)  # a point may lie on the edge of a corridor
            assert len(other.passages) == len(plain.passages)
            assert other.passages[0].u_in_m == pytest.approx(plain.passages[0].u_in_m, abs=1.01)


@settings(max_examples=60, deadline=None)
@given(one=curves, two=curves)
@example(one=(0.0, 1.0, 0.0, 9.0, 0.0625), two=(0.0, -1.0, 3.0, 6.0, -0.0625))  # they meet twice, 20 m apart
def test_exchanging_t_and_e_exchanges_who_came_first(one, two):
    a, b = of(curve(*one), curve(*two))
    here, there = path_conflict(a, b), path_conflict(b, a)
    if here.status != "conflict" or there.status != "conflict" or len(here.passages) + len(there.passages) > 2:
        return
    of_a, of_b = there.passages[0], here.passages[0]
    apart_a = here.s_out_m < of_a.u_in_m or of_a.u_out_m < here.s_in_m
    if apart_a or there.s_out_m < of_b.u_in_m or of_b.u_out_m < there.s_in_m:
        return  # they meet twice: each has its own first place
    if max(abs(here.angle_rad), abs(there.angle_rad)) > HEAD_ON_RAD:
        return  # where one enters the shared part the other leaves it, and each may come first to its end
    (t_a, t_b), (u_b, u_a) = order_of(a, b, here), order_of(b, a, there)
    if min(abs(t_a - t_b), abs(u_a - u_b)) > 1.0:  # NaN: not observed
        assert (t_a < t_b) == (u_a < u_b)


@settings(max_examples=60, deadline=None)
@given(one=curves, two=curves)
def test_the_plain_loop_finds_the_same(one, two):
    a, b = of(curve(*one), curve(*two))
    near = 0.5 * (a.width_m + b.width_m) + PLAIN["MARGIN"]
    s_in, passages = PLAIN["conflict"](a.xy.tolist(), b.xy.tolist(), near)
    found = path_conflict(a, b)
    assert {None: "no_conflict", 0: "same_lane"}.get(s_in, "conflict") == found.status
    assert [passage.u_in_m for passage in found.passages] == [0.5 * u for u in passages]
    if passages:
        assert found.s_in_m == 0.5 * s_in
