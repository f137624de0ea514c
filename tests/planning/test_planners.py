"""Planners and their kernels against plain versions."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.core.errors import PredictionError, UnknownNameError, UsageError
from giveway.planning import PLANNERS, make_planner
from giveway.planning.builtin import LatticePlanner
from giveway.planning.encounters import interaction_cost
from giveway.planning.idm import IdmParameters, idm_acceleration
from giveway.planning.occupancy import blocked_interval, covered_interval, lead_on_path
from giveway.planning.profiles import (
    ACCEL_FIRST,
    ACCEL_LATER,
    NUM_CANDIDATES,
    NUM_COMFORT,
    NUM_PROFILES,
    SWITCH_S,
    ProfileParameters,
    speed_profiles,
)
from giveway.roads.route_tables import coarse_points, nearest_row, paths_meet
from giveway.roads.routes import path_through, project, table_of
from giveway.testing.planners import check_planner, situations
from support.planners import Counts, CountsTogether, Random, Secretive, Steers


@pytest.mark.parametrize("name", [name for name in PLANNERS.names() if name not in ("imitation", "ppo", "tuned")])
def test_every_registered_planner_keeps_the_contract(name):
    check_planner(make_planner(name))


def test_a_planner_that_goes_back_is_caught():
    class Back(LatticePlanner):
        def plan(self, situation):
            return replace(super().plan(situation), s_m=np.linspace(situation.s_m, situation.s_m - 5.0, 50))

    with pytest.raises(PredictionError, match="drives backwards"):
        check_planner(Back())


@pytest.mark.parametrize("planner", [Counts(), Steers()])
def test_planners_with_state_and_planners_that_steer_keep_the_contract(planner):
    check_planner(planner)


@pytest.mark.parametrize(
    ("planner", "words"),
    [(Secretive(), "batches differ"), (CountsTogether(), "batches differ"), (Random(), "same situation")],
)
def test_state_that_an_episode_does_not_begin_with_is_caught(planner, words):
    with pytest.raises(PredictionError, match=words):
        check_planner(planner)


def test_unknown_planners_are_named_with_near_ones():
    with pytest.raises(UnknownNameError, match="default"):
        make_planner("defalt")
    with pytest.raises(UsageError):
        make_planner("no.such.module:Thing")


def plain_idm(v, v0, gap, lead, p):
    """The model as written in the book."""
    if v <= v0:
        free = p.max_accel_mps2 * (1 - (v / v0) ** p.exponent)
    else:
        free = -p.comfort_decel_mps2 * (1 - (v0 / v) ** (p.max_accel_mps2 * p.exponent / p.comfort_decel_mps2))
    if np.isinf(gap):
        return max(free, -p.max_decel_mps2)
    brake = v * (v - lead) / (2 * np.sqrt(p.max_accel_mps2 * p.comfort_decel_mps2))
    wanted = p.min_gap_m + max(0.0, v * p.headway_s + brake)
    return max(free - p.max_accel_mps2 * (wanted / max(gap, 0.1)) ** 2, -p.max_decel_mps2)


@given(
    v=st.floats(0, 30), v0=st.floats(1, 30), gap=st.one_of(st.just(np.inf), st.floats(-5, 100)), lead=st.floats(0, 30)
)
@settings(max_examples=60, deadline=None)
def test_the_compiled_idm_equals_the_plain_one(v, v0, gap, lead):
    assert idm_acceleration(v, v0, gap, lead, IdmParameters()) == pytest.approx(
        plain_idm(v, v0, gap, lead, IdmParameters()), abs=1e-9
    )


def test_idm_keeps_its_speed_at_the_desired_one_and_its_gap_behind_a_leader():
    p = IdmParameters()
    assert idm_acceleration(8.0, 8.0, np.inf, 0.0, p) == 0.0
    gap = (p.min_gap_m + 6.0 * p.headway_s) / np.sqrt(1 - (6.0 / 8.0) ** 4)
    assert idm_acceleration(6.0, 8.0, gap, 6.0, p) == pytest.approx(0.0, abs=1e-12)


def test_a_path_goes_through_its_positions():
    angle = np.linspace(0.0, np.pi, 80)
    points = 1000.0 + 20.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    path = path_through(points, 0.0)
    assert path.length_m == pytest.approx(20 * np.pi, abs=0.01)
    radius = np.hypot(path.x - 1000.0, path.y - 1000.0)
    np.testing.assert_allclose(radius, 20.0, atol=2e-3)
    assert path.curve_speed[len(path.x) // 2] == pytest.approx(np.sqrt(3.0 * 20.0), rel=0.02)


def test_a_standing_car_gets_a_straight_stub():
    noise = 1000.0 + 0.002 * np.random.default_rng(0).normal(size=(50, 2))
    path = path_through(noise, 0.5)
    assert path.length_m == pytest.approx(2.0)
    np.testing.assert_allclose(path.heading, 0.5, atol=1e-6)


@given(s=st.floats(1.0, 55.0), d=st.floats(-3.0, 3.0))
@settings(max_examples=40, deadline=None)
def test_projection_finds_arc_length_and_offset(s, d):
    angle = np.linspace(0.0, np.pi, 80)
    path = path_through(20.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1), 0.0)
    at = s / 20.0
    point = (20.0 - d) * np.array([np.cos(at), np.sin(at)])
    found = project(path, point)
    assert found[0] == pytest.approx(s, abs=0.02)
    assert found[1] == pytest.approx(d, abs=0.01)
    table = table_of(path)
    row = nearest_row(table, coarse_points(table), point[0], point[1], 0, len(table) - 1)
    assert abs(row * path.step_m - s) <= path.step_m


@given(along=st.floats(-20, 20), across=st.floats(-6, 6), turn=st.floats(-3.1, 3.1))
@settings(max_examples=80, deadline=None)
def test_a_blocked_interval_covers_every_place_where_boxes_overlap(along, across, turn):
    """Against shapely on a straight path: wherever the boxes overlap, the center lies inside the interval."""
    row = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 10.0])
    low, high = blocked_interval(row, 0.0, along, across, np.cos(turn), np.sin(turn), 2.2, 0.9, 2.3, 1.0)
    box = shapely.box(-2.2, -0.9, 2.2, 0.9)
    other = shapely.affinity.translate(shapely.affinity.rotate(box, np.degrees(turn), origin=(0, 0)), along, across)
    for s in np.linspace(along - 6, along + 6, 25):
        own = shapely.box(s - 2.3, -1.0, s + 2.3, 1.0)
        if own.intersection(other).area > 1e-6:
            assert low <= s <= high
    swept = other.intersection(shapely.box(-30.0, -1.0, 30.0, 1.0))
    low, high = covered_interval(row, 0.0, along, across, np.cos(turn), np.sin(turn), 2.2, 0.9, 2.3, 1.0)
    if swept.area > 1e-6:
        assert (low, high) == pytest.approx((swept.bounds[0] - 2.3, swept.bounds[2] + 2.3))
    elif not swept.intersects(other):
        assert low == np.inf


def plain_profile(i, v, a, desired, p):
    """One profile, step by step, on a straight path."""
    s, out = 0.0, []
    limit = 0.1 * (p.comfort_jerk_mps3 if i < NUM_COMFORT else p.emergency_jerk_mps3)
    for k in range(50):
        wanted = ACCEL_FIRST[i] if k * 0.1 < SWITCH_S[i] else ACCEL_LATER[i]
        wanted = min(wanted, max(1.2 * (desired - v), -2.0))
        wanted = max(wanted, -v / 0.35)
        a += np.clip(wanted - a, -limit, limit)
        new = v + a * 0.1
        if new <= 0:
            new, a = 0.0, 0.0
        s += 0.05 * (v + new)
        v = new
        out.append((s, v, a))
    return np.array(out)


@pytest.mark.parametrize(("v", "a"), [(0.0, 0.0), (5.0, 0.5), (9.0, -2.0)])
def test_profiles_are_jerk_limited_and_equal_the_plain_loop(v, a):
    path = table_of(path_through(np.array([[0.0, 0.0], [100.0, 0.0], [200.0, 0.0]]), 0.0))
    trial, cost, p = np.zeros((3, 51, NUM_CANDIDATES)), np.zeros(NUM_CANDIDATES), ProfileParameters()
    step = 200.0 / (len(path) - 1)
    speed_profiles(path, step, 0.0, v, a, 8.0, p, trial, cost)
    for i in range(NUM_PROFILES):
        np.testing.assert_allclose(trial[:, 1:, i].T, plain_profile(i, v, a, 8.0, p), atol=1e-9)
    assert (trial[1] >= 0).all()
    moving = trial[1, 1:, :NUM_COMFORT] > 0
    jerk = np.abs(np.diff(trial[2, :, :NUM_COMFORT], axis=0)) / 0.1
    assert jerk[moving].max() <= p.comfort_jerk_mps3 + 1e-9


def constant_speed_trial(v):
    trial = np.zeros((3, 51, NUM_CANDIDATES))
    trial[0, :, 0] = v * 0.1 * np.arange(51)
    trial[1, :, 0] = v
    return trial


def blocks(low, high, first=0, last=25):
    blocked = np.full((1, 25, 2), np.inf)
    blocked[..., 1] = -np.inf
    blocked[0, first:last, 0], blocked[0, first:last, 1] = low, high
    return blocked


def alone(trial, rows, blocked, row_facts, p):
    """Cost of the first profile in version 2, for which nobody reacts."""
    none = np.empty((0, 0))
    return interaction_cost(trial, 0, rows, blocked, row_facts, p, np.inf, none, none, np.empty(0))


def facts(p=1.0, courtesy=1.0, car=0.0):
    return np.array([[4.5, 1.8, car, p, courtesy]])


def test_a_mode_on_the_way_costs_a_collision_in_proportion_to_its_probability():
    p = ProfileParameters()
    trial, wall = constant_speed_trial(8.0), blocks(15.0, 25.0)
    sure, doubtful = (alone(trial, 1, wall, facts(p=w), p) for w in (1.0, 0.1))
    assert sure > p.w_collision
    assert doubtful == pytest.approx(0.1 * sure, rel=1e-9)


def test_a_car_behind_is_no_collision():
    assert alone(constant_speed_trial(8.0), 1, blocks(-12.0, -2.0), facts(), ProfileParameters()) < 20.0


def test_modes_of_one_car_add_up_and_cars_are_independent():
    p = ProfileParameters()
    trial = constant_speed_trial(8.0)
    two = np.concatenate([blocks(15.0, 25.0)] * 2)
    same = np.concatenate([facts(p=0.5), facts(p=0.5)])
    apart = np.concatenate([facts(p=0.5), facts(p=0.5, car=1.0)])
    gap = alone(trial, 2, two, same, p) - alone(trial, 2, two, apart, p)
    assert gap == pytest.approx(p.w_collision * (1.0 - 0.75))


def test_with_the_right_of_way_a_later_conflict_hardly_counts():
    p = ProfileParameters()
    trial, later = constant_speed_trial(8.0), blocks(15.0, 25.0, first=6)
    owing = alone(trial, 1, later, facts(courtesy=1.0), p)
    relying = alone(trial, 1, later, facts(courtesy=0.0), p)
    assert relying < 0.3 * owing


def test_the_default_planner_does_not_brake_on_a_free_road():
    for seen in situations():
        steady = seen.s_m + 0.1 * seen.speed_mps * np.arange(50)
        free = replace(
            seen,
            accel_mps2=0.0,
            previous_s_m=steady,
            mode_states=seen.mode_states[:0],
            mode_facts=seen.mode_facts[:0],
        )
        assert LatticePlanner().plan(free).speed_mps >= seen.speed_mps - 1e-9


@given(offset=st.floats(-8, 8), turn=st.floats(-1.5, 1.5), length=st.floats(2, 12))
@settings(max_examples=40, deadline=None)
def test_paths_that_never_meet_hold_no_car_in_the_way(offset, turn, length):
    """Whenever some box on the other path blocks a piece of the own one, the paths are said to meet."""
    own = path_through(np.stack([np.linspace(0.0, 60.0, 40), np.zeros(40)], axis=1), 0.0)
    way = np.linspace(-20.0, 20.0, 40)[:, None] * np.array([np.cos(turn), np.sin(turn)])
    other = path_through(np.array([30.0, offset]) + way, turn)
    one, two = table_of(own), table_of(other)
    blocks = False
    for row in two:
        at = nearest_row(one, coarse_points(one), row[0], row[1], 0, len(one) - 1)
        low, _ = blocked_interval(
            one[at], at * own.step_m, row[0], row[1], row[2], row[3], 0.5 * length, 0.9, 2.5, 0.9 + 0.3
        )
        blocks |= bool(np.isfinite(low))
    meets = paths_meet(coarse_points(one), coarse_points(two), 0.5 * length, 0.9, 0.9 + 1.0)
    assert meets or not blocks


def test_lanes_side_by_side_do_not_meet():
    one, two = (np.stack([np.arange(0.0, 100.0, 4.0), np.full(25, y)], axis=1) for y in (0.0, 4.0))
    assert not paths_meet(one, two, 2.25, 0.9, 0.9 + 1.0)
    assert paths_meet(one, one + 1.0, 2.25, 0.9, 0.9 + 1.0)


def plain_lead(path, s_own, states, size, look_ahead, side_margin):
    """Every car against every row, without any short cut."""
    table, gap, lead = table_of(path), np.inf, 0.0
    for other, state in enumerate(states[1:], 1):
        at = int(np.argmin(np.hypot(table[:, 0] - state[0], table[:, 1] - state[1])))
        low, high = blocked_interval(
            table[at],
            at * path.step_m,
            state[0],
            state[1],
            state[3],
            state[4],
            0.5 * size[other, 0],
            0.5 * size[other, 1],
            0.5 * size[0, 0],
            0.5 * size[0, 1] + side_margin,
        )
        ahead = np.isfinite(low) and low + high > 2 * s_own and low - s_own <= look_ahead
        if ahead and low - s_own < gap:
            gap = low - s_own
            lead = max(state[2] * (state[3] * table[at, 2] + state[4] * table[at, 3]), 0.0)
    return gap, lead


@given(
    bend=st.floats(-0.02, 0.02),
    s_own=st.floats(0.0, 60.0),
    others=st.lists(
        st.tuples(
            st.floats(-10, 60),
            st.floats(-3, 3),
            st.sampled_from((0.0, 0.05, -0.3, 1.6, 3.1)),
            st.floats(0, 15),
            st.floats(2, 12),
        ),
        min_size=1,
        max_size=3,
    ),
)
@settings(max_examples=80, deadline=None)
def test_short_cuts_never_miss_the_car_ahead(bend, s_own, others):
    along = np.arange(0.0, 130.0)
    path = path_through(np.stack([np.sinc(bend * along / np.pi) * along, 0.5 * bend * along**2], axis=1), 0.0)
    table = table_of(path)
    row = table[min(int(s_own / path.step_m), len(table) - 1)]
    states = [(row[0], row[1], 8.0, row[2], row[3])]
    for ahead, aside, turn, speed, _ in others:
        at = table[int(np.clip((s_own + ahead) / path.step_m, 0, len(table) - 1))]
        heading = at[4] + turn
        states.append((at[0] - aside * at[3], at[1] + aside * at[2], speed, np.cos(heading), np.sin(heading)))
    size = np.array([(4.5, 1.8), *((length, 1.9) for *_, length in others)])
    states = np.array(states)
    found = lead_on_path(
        table, coarse_points(table), path.step_m, 0, s_own, states, np.ones(len(states), bool), size, 40.0, 0.2
    )
    assert found == pytest.approx(plain_lead(path, s_own, states, size, 40.0, 0.2))
