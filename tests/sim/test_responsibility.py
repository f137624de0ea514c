"""The law: golden values of the formulas, worked examples, and properties that must hold for any road."""

import math
from dataclasses import replace

import numpy as np
import pytest

from giveway.core.log import Grade
from giveway.core.tracks import AgentKind, Tracks
from giveway.roads.library import make_road
from giveway.roads.tables import road_tables
from giveway.sim.careful import braked
from giveway.sim.contacts import find_contacts
from giveway.sim.cut_in import ttc_limit
from giveway.sim.responsibility import grade_of, judge
from giveway.sim.rss import LAWS, Law, d_lat, d_lon, stopping

LAW = Law()
SIZE = (4.5, 1.8)


def tracks_of(cars, *, seconds=8.0):
    """Tracks of cars given as functions of time: x, y, vx, vy."""
    time_s = 0.1 * np.arange(round(seconds * 10) + 1)
    states = np.array([[car(t) for t in time_s] for car in cars.values()])
    velocity = states[..., 2:]
    heading = np.arctan2(velocity[..., 1], velocity[..., 0])
    return Tracks(
        time_s=time_s,
        xy=states[..., :2],
        heading=heading,
        velocity=velocity,
        observed=np.ones(states.shape[:2], dtype=np.bool_),
        size=np.array([SIZE] * len(cars)),
        kind=np.full(len(cars), int(AgentKind.CAR)),
        ids=np.array(list(cars)),
    )


def driver(x, y, speed, *, accel=0.0, after=0.0, drift=0.0, drift_after=0.0):
    """Constant speed, from ``after`` on a constant acceleration until standing; drifts sideways meanwhile."""

    def at(t):
        late = max(t - after, 0.0)
        if accel < 0.0:
            late = min(late, -speed / accel)
        vx = speed + accel * late
        return (
            x + speed * min(t, after) + speed * late + 0.5 * accel * late**2 + vx * max(t - after - late, 0.0),
            y + drift * max(t - drift_after, 0.0),
            vx,
            drift if t >= drift_after else 0.0,
        )

    return at


def verdict_of(cars, **options):
    tracks = tracks_of(cars)
    contact = find_contacts(tracks, ego="ego")[0]
    return judge(tracks, contact, ego="ego", **options)


@pytest.mark.parametrize(
    ("rear", "front", "metres"), [(10, 10, 15.65625), (15, 10, 35.65625), (13.9, 0, 36.97), (5, 15, 0.0)]
)
def test_longitudinal_safe_distances_are_those_of_the_note(rear, front, metres):
    assert d_lon(rear, front, LAW) == pytest.approx(metres, abs=5e-6 if metres != 36.97 else 5e-3)


@pytest.mark.parametrize(("one", "two", "metres"), [(0, 0, 0.0625), (0, 1, 1.3125), (0.5, 0.5, 1.0), (0, -0.5, 0.0)])
def test_lateral_safe_distances_are_those_of_the_note(one, two, metres):
    assert d_lat(one, two, LAW) == pytest.approx(metres, abs=1e-12)
    assert d_lat(two, one, LAW) == pytest.approx(metres, abs=1e-12)


@pytest.mark.parametrize(("kmh", "seconds"), [(10, 0.581481), (20, 0.812963), (36, 1.183333), (60, 1.738889)])
def test_limits_of_the_cut_in_rule_are_those_of_the_note(kmh, seconds):
    assert ttc_limit(kmh / 3.6) == pytest.approx(seconds, abs=5e-7)


@pytest.mark.parametrize(("speed", "metres"), [(8, 15.65625), (10, 21.90625), (12, 29.15625)])
def test_ways_to_stop_are_those_of_the_note(speed, metres):
    assert stopping(speed, LAW) == pytest.approx(metres, abs=1e-9)


@pytest.mark.parametrize(("speed", "metres"), [(10.0, 20.971), (13.9, 32.764), (16.67, 42.357)])
def test_the_careful_driver_needs_the_way_of_the_note(speed, metres):
    way, rest = braked(speed, 30.0)
    assert (way, rest) == (pytest.approx(metres, abs=5e-4), 0.0)
    assert braked(speed, 1.15) == (pytest.approx(1.15 * speed), speed)
    assert braked(1.0, 30.0)[1] == 0.0


def test_a_careful_driver_who_stands_before_the_ramp_ends_does_not_drive_back():
    ways = [braked(1.0, t)[0] for t in np.arange(0.0, 4.0, 0.05)]
    assert (np.diff(ways) >= 0.0).all()


def test_the_preset_of_ad_rss_asks_for_more():
    assert LAWS["ad_rss"].accel_mps2 == 3.5
    assert d_lon(10, 10, LAWS["ad_rss"]) > d_lon(10, 10, LAWS["default"])


def test_an_ego_that_never_brakes_for_a_braking_lead_is_at_fault():
    """Worked example 1: both 12 m/s, gap 25 m > 20.156 m, the lead brakes by 6."""
    assert d_lon(12, 12, LAW) == pytest.approx(20.15625)
    found = verdict_of({"ego": driver(0, 0, 12), "lead": driver(29.5, 0, 12, accel=-6.0, after=1.0)})
    assert (found.grade, found.conflict, found.violators) == (Grade.A, "longitudinal", ("ego",))
    assert not found.by_default
    assert found.numbers["gap_lon_m"] < found.numbers["safe_lon_m"]
    assert "ego was behind" in found.sentence


def test_a_car_that_drifts_in_and_brakes_is_responsible_and_the_contact_avoidable():
    """Worked example 2: 1.7 m beside, bumper gap 1.4 m, drifts at 1 m/s, goes on and brakes."""
    other = driver(5.9, 3.5, 12, accel=-0.6, after=0.4, drift=-1.0)
    found = verdict_of({"ego": driver(0, 0, 12), "other": other})
    assert (found.conflict, found.violators, found.by_default) == ("lateral", ("other",), False)
    assert found.numbers["safe_lat_m"] == pytest.approx(1.3125)
    assert found.numbers["gap_lat_m"] < 1.3125
    assert found.obliged is False
    assert found.avoidable
    assert found.grade is Grade.C


def test_a_slower_car_that_cuts_in_visibly_and_far_enough_obliges_the_ego():
    """Worked example 3: constant 8 m/s, visible 1 s, gap 4 m at the reference point: 1.0 s > 0.683 s."""
    other = driver(4.5 + 4.0 + 4.0 * 1.1, 3.5, 8, drift=-1.0)
    found = verdict_of({"ego": driver(0, 0, 12), "other": other})
    assert (found.conflict, found.violators) == ("lateral", ("other",))
    assert found.numbers["visible_s"] >= 1.0
    assert found.numbers["ttc_s"] == pytest.approx(1.0, abs=0.15)
    assert found.numbers["ttc_limit_s"] == pytest.approx(0.683, abs=5e-4)
    assert found.obliged
    assert found.grade is Grade.B


def crossing(distance, *, brakes=False):
    """The ego comes from the south and enters the corridor of a car from the west, whose front is a distance away."""
    enters = 3.0

    def north(t):
        # Its front reaches y = -0.9 (the corridor of the other) at t = 3 s; it creeps, so that it is still there.
        y = -0.9 - 2.25 + 1.0 * (t - enters)
        return 0.0, y, 0.0, 1.0

    speed = 12.0
    start = -0.9 - distance - 2.25 - speed * enters
    east = driver(start, 0.0, speed, accel=-5.0 if brakes else 0.0, after=enters + 0.5)
    return {"ego": north, "other": east}


def test_entering_closer_than_the_other_can_stop_violates_the_right_of_way():
    """Worked example 4: 20 m < 29.156 m: A; 35 m and no braking: the other's."""
    near = verdict_of(crossing(20.0), yields_to={"ego": ("other",)})
    assert (near.grade, near.conflict, near.violators) == (Grade.A, "junction", ("ego",))
    assert near.numbers["distance_m"] == pytest.approx(20.0, abs=1.3)
    assert near.numbers["needed_m"] == pytest.approx(29.15625)
    assert "case" in near.sentence
    far = verdict_of(crossing(35.0), yields_to={"ego": ("other",)})
    assert far.violators == ("other",)
    assert far.numbers["distance_m"] == pytest.approx(35.0, abs=1.3)
    assert far.grade in (Grade.C, Grade.D)


def test_without_a_rule_the_car_from_the_right_goes_first():
    found = verdict_of(crossing(20.0))
    assert "right before left" in found.sentence
    assert found.violators == ("other",)  # the ego comes from the right of the other car


def test_turning_shifting_and_mirroring_the_world_changes_no_verdict():
    tracks = tracks_of({"ego": driver(0, 0, 12), "other": driver(5.9, 3.5, 12, accel=-0.6, after=0.4, drift=-1.0)})
    turn = 0.7
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    turned = replace(
        tracks,
        xy=tracks.xy @ matrix.T + 500.0,
        velocity=tracks.velocity @ matrix.T,
        heading=tracks.heading + turn,
    )
    mirror = np.array([1.0, -1.0])
    mirrored = replace(tracks, xy=tracks.xy * mirror, velocity=tracks.velocity * mirror, heading=-tracks.heading)
    one, *rest = (judge(t, find_contacts(t, ego="ego")[0], ego="ego") for t in (tracks, turned, mirrored))
    for two in rest:
        assert (two.grade, two.violators, two.conflict, two.avoidable) == (
            one.grade,
            one.violators,
            one.conflict,
            one.avoidable,
        )
        assert two.numbers == pytest.approx(one.numbers)


def test_in_a_bend_gaps_are_measured_along_the_lane():
    """Two cars on a circle of 30 m: the rear one, faster and not braking, is responsible; nobody moved sideways."""

    def circling(angle, speed, accel=0.0, after=1.0):
        def at(t):
            late = max(t - after, 0.0)
            if accel < 0.0:
                late = min(late, -speed / accel)
            now = speed + accel * late
            phi = angle + (speed * min(t, after) + speed * late + 0.5 * accel * late**2) / 30.0
            return 30 * math.sin(phi), -30 * math.cos(phi), now * math.cos(phi), now * math.sin(phi)

        return at

    cars = {"ego": circling(0.0, 10.0), "lead": circling(0.8, 10.0, accel=-5.0)}
    arc = np.linspace(-1.0, 5.0, 200)
    lane = np.stack([30 * np.sin(arc), -30 * np.cos(arc)], axis=1)
    for road in (None, [lane], [lane * 1.2, lane]):
        found = verdict_of(cars, road=road)
        assert (found.conflict, found.violators, found.grade) == ("longitudinal", ("ego",), Grade.A)
        assert found.numbers["gap_lat_m"] < 0.0


@pytest.mark.parametrize("name", ["straight", "merge", "roundabout", "four_way"])
def test_on_every_road_of_the_library_the_follower_has_to_brake(name):
    """Along any way, in bends too, gaps are along the lane: nobody is said to move sideways."""
    road = road_tables(make_road(name))
    for way in range(0, len(road.first), 3):
        rows = road.path[road.first[way] : road.first[way] + road.num_rows[way]]
        at = road.step[way] * np.arange(len(rows))
        if at[-1] < 70.0:
            continue

        def along(start, speed, accel=0.0, rows=rows, at=at):
            def state(t):
                late = min(max(t - 0.5, 0.0), speed / -accel if accel < 0.0 else np.inf)
                now = speed + accel * late
                s = start + speed * min(t, 0.5) + speed * late + 0.5 * accel * late**2
                x, y, heading = (np.interp(s, at, rows[:, column]) for column in (0, 1, 4))
                return x, y, now * np.cos(heading), now * np.sin(heading)

            return state

        tracks = tracks_of({"ego": along(5.0, 10.0), "lead": along(26.0, 10.0, accel=-6.0)}, seconds=4.0)
        found = judge(tracks, find_contacts(tracks, ego="ego")[0], road, ego="ego")
        assert (found.conflict, found.violators, found.grade) == ("longitudinal", ("ego",), Grade.A), way
        assert found.numbers["gap_lat_m"] < 0.0


def test_danger_long_ago_does_not_count_once_the_gap_was_safe_again():
    """The lead cut in too close, drew ahead, and brakes later: the ego has to react to the braking."""

    def lead(t):
        if t < 3.0:
            return 12 + 16 * t, max(3.5 - 1.5 * t, 0.0), 16.0, -1.5 if t < 3.5 / 1.5 else 0.0
        late = min(t - 3.0, 16 / 5.0)
        return 60 + 16 * late - 2.5 * late**2, 0.0, 16 - 5 * late, 0.0

    found = verdict_of({"ego": driver(0, 0, 12), "lead": lead})
    assert (found.conflict, found.violators) == ("longitudinal", ("ego",))
    assert found.numbers["danger_s"] < 4.0


def test_a_lead_that_stops_like_against_a_wall_violates_too():
    def ego(t):
        late, brake = min(max(t - 1.1, 0.0), 0.5), min(max(t - 1.6, 0.0), 13.0 / 4.0)
        x = 12 * min(t, 1.1) + 12 * late + late**2 + 13 * brake - 2 * brake**2
        return x, 0.0, 12 + 2 * late - 4 * brake, 0.0

    found = verdict_of({"ego": ego, "lead": driver(24.7, 0, 12, accel=-14.0, after=1.0)})
    assert (found.conflict, found.violators, found.by_default) == ("longitudinal", ("lead",), False)


def test_where_there_was_no_time_to_respond_the_rear_car_is_named_by_default():
    found = verdict_of({"ego": driver(0, 0, 12), "lead": driver(9.5, 0, 0.0)})
    assert (found.conflict, found.violators, found.by_default) == ("longitudinal", ("ego",), True)


def test_being_hit_from_behind_is_not_avoidable():
    found = verdict_of({"ego": driver(30, 0, 8), "rammer": driver(0, 0, 14)})
    assert (found.violators, found.avoidable, found.grade) == (("rammer",), False, Grade.D)


def test_a_contact_without_the_ego_has_violators_and_no_grade():
    cars = {"ego": driver(0, 50, 12), "rear": driver(0, 0, 12), "lead": driver(20, 0, 5)}
    tracks = tracks_of(cars)
    found = judge(tracks, find_contacts(tracks, ego="ego")[0], ego="ego")
    assert (found.grade, found.avoidable, found.obliged) == (Grade.NONE, None, None)
    assert found.violators == ("rear",)


def test_a_contact_from_the_first_tick_is_nobodys():
    tracks = tracks_of({"ego": driver(0, 0, 12), "lead": driver(3, 0, 5)})
    found = judge(tracks, find_contacts(tracks, ego="ego")[0])
    assert (found.violators, found.grade) == ((), Grade.NONE)


def test_the_careful_driver_alone_runs_into_a_queue_that_the_second_model_sees():
    """With 2 s alone a standing car at 45 km/h is hit; 3 m/s^2 after the reaction is asked for much earlier."""
    found = verdict_of({"ego": driver(0, 0, 12.5), "queue": driver(55, 0, 0.0)})
    assert (found.grade, found.violators) == (Grade.A, ("ego",))
    assert found.avoidable is False
    assert found.numbers["careful+_avoids"] == 1.0


@pytest.mark.parametrize(
    ("facts", "grade"),
    [
        ({"at_fault": True, "obliged": True, "avoidable": False}, Grade.A),
        ({"at_fault": True, "obliged": False, "avoidable": True, "contact": False}, Grade.A),
        ({"at_fault": False, "obliged": True, "avoidable": False}, Grade.B),
        ({"at_fault": False, "obliged": False, "avoidable": True}, Grade.C),
        ({"at_fault": False, "obliged": False, "avoidable": False}, Grade.D),
        (
            {"at_fault": False, "obliged": False, "avoidable": False, "contact": False, "near_miss": True},
            Grade.NEAR_MISS,
        ),
        ({"at_fault": False, "obliged": False, "avoidable": False, "contact": False}, Grade.NONE),
    ],
)
def test_the_decision_table(facts, grade):
    assert grade_of(**facts) is grade
