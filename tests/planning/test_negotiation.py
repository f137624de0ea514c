"""Version 3 of the lattice: imposed decelerations, patience, comfort, and that the docs say what the code does."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.drive.spec import DriveSpec
from giveway.planning import default_planner, limits, make_planner, negotiation
from giveway.planning.encounters import JOIN_AT, JOIN_STEP, JOIN_TO, KEPT, REAR, imposed_on, interaction_cost
from giveway.planning.idm import comfortable_accel
from giveway.planning.negotiation import NUM_NEGOTIATED, fresh_memory, may_impose, plan_profile
from giveway.planning.profiles import LATTICE_2, LATTICE_3, NUM_CANDIDATES
from giveway.roads.route_tables import coarse_points
from giveway.roads.routes import path_through, table_of

DOCS = Path(__file__).parents[2] / "docs" / "drive" / "planner.md"
STRAIGHT = path_through(np.array([[0.0, 0.0], [200.0, 0.0], [400.0, 0.0]]), 0.0)
TABLE = table_of(STRAIGHT)


def steady(speed, s=0.0):
    """All candidates drive on at one speed."""
    trial = np.zeros((3, 51, NUM_NEGOTIATED))
    trial[0] = s + speed * 0.1 * np.arange(51)[:, None]
    trial[1] = speed
    return trial


def joining(gap_m, *, speed=10.0, at_step=5, until=15):
    """A car that joins at 12 m at step ``until``, ``gap_m`` behind the own one when that comes there at ``at_step``."""
    ways = speed * 0.2 * (until - np.arange(25.0))
    joins = np.zeros((1, 3))
    joins[0, JOIN_STEP], joins[0, JOIN_AT] = until, 12.0
    joins[0, JOIN_TO] = 12.0 + ways[at_step] - gap_m
    return joins, ways[None]


@pytest.mark.parametrize(("gap", "golden"), [(30.0, -0.9241), (20.0, -2.0792), (12.0, -5.7756)])
def test_the_imposed_deceleration_is_that_of_the_idm_when_the_own_front_reaches_the_joined_point(gap, golden):
    joins, ways = joining(gap)
    trial = steady(6.0, s=12.0 - 6.0 * 1.2)
    assert imposed_on(trial, 0, joins[0], ways[0], 0.0) == pytest.approx(golden, abs=5e-5)


def test_a_car_that_is_there_first_imposes_nothing_on_itself():
    joins, ways = joining(20.0, until=3)
    assert np.isnan(imposed_on(steady(6.0, s=4.8), 0, joins[0], ways[0], 0.0))


def test_patience_ends():
    assert [may_impose(t, LATTICE_3) for t in (0.0, 4.0, 10.0, 60.0)] == pytest.approx([1.0, 1.6, 2.5, 2.5])


def cost_of(gap, *, courtesy, waited=0.0, kept=-1.0):
    joins, ways = joining(gap)
    blocked = np.full((1, 25, 2), np.inf)
    blocked[..., 1] = -np.inf
    found = np.array([may_impose(waited, LATTICE_3), kept, -1.0, 0.0])
    p, trial = LATTICE_3._replace(margin_m=0.0), steady(6.0, s=4.8)
    facts = np.array([[4.5, 1.8, 7.0, 1.0, courtesy]])
    cost = interaction_cost(trial, 0, 1, blocked, facts, p, np.inf, joins, ways, found)
    assert found[REAR] == 7.0
    assert found[KEPT] == kept
    return cost


def test_what_may_be_imposed_grows_with_waiting_but_not_on_those_who_have_the_right_of_way():
    dear = LATTICE_3.cut_in * LATTICE_3.w_collision
    gentle = LATTICE_3.w_imposed * (0.9241 - 0.5) ** 2
    assert cost_of(30.0, courtesy=0.2) == pytest.approx(gentle, rel=1e-3)
    assert cost_of(20.0, courtesy=0.2) > dear
    assert cost_of(20.0, courtesy=0.2, waited=10.0) < dear / 2
    assert cost_of(20.0, courtesy=1.0, waited=10.0) > dear
    assert cost_of(20.0, courtesy=1.0, waited=10.0, kept=7.0) < dear / 2, "a gap once chosen is kept for 1 m/s^2 more"


def test_other_cars_never_react_in_version_2():
    assert LATTICE_2.polite_decel_mps2 == 0.0
    assert make_planner("default").info == make_planner("lattice").info
    assert make_planner("default-2").info == make_planner("lattice-2").info
    assert (make_planner("lattice").info.version, make_planner("lattice-2").info.version) == ("3", "2")


def test_where_no_planner_is_named_paper_traffic_has_version_2():
    assert [default_planner(traffic).info.name for traffic in ("clean", "paper")] == ["lattice", "lattice-2"]
    specs = [DriveSpec.model_validate({"predictors": ["echo"], "traffic": traffic}) for traffic in ("clean", "paper")]
    assert [spec.planner for spec in specs] == ["lattice", "lattice-2"]
    assert DriveSpec(predictors=("echo",), traffic="paper", planner="lattice").planner == "lattice"


def planned(s, v, a, others, previous=None, memory=None, desired=8.0):
    """One decision on a straight road among cars (x, y, heading, speed) that drive straight on."""
    ahead = 0.2 * np.arange(1, 26)
    states = np.empty((len(others), 25, 4))
    for row, (x, y, heading, speed) in enumerate(others):
        states[row, :, 0] = x + np.cos(heading) * speed * ahead
        states[row, :, 1] = y + np.sin(heading) * speed * ahead
        states[row, :, 2], states[row, :, 3] = np.cos(heading), np.sin(heading)
    facts = np.array([[4.5, 1.8, n, 1.0, 1.0] for n in range(len(others))]).reshape(-1, 5)
    trial, cost = np.empty((3, 51, NUM_NEGOTIATED)), np.empty(NUM_NEGOTIATED)
    memory = fresh_memory() if memory is None else memory
    before = s + 0.1 * v * np.arange(50) if previous is None else previous
    best = plan_profile(
        TABLE, coarse_points(TABLE), STRAIGHT.step_m, s, v, a, 4.5, 1.8, desired, before, len(others), states, facts,
        LATTICE_3, np.empty((max(len(others), 1), 25, 2)), trial, cost, memory,
    )  # fmt: skip
    return trial[:, :, best], memory


@settings(max_examples=150, deadline=None)
@given(
    v=st.floats(0.0, 14.0),
    others=st.lists(
        st.tuples(st.floats(-30.0, 60.0), st.floats(-12.0, 12.0), st.floats(-3.1, 3.1), st.floats(0.0, 15.0)),
        max_size=4,
    ),
)
def test_every_tick_is_comfortable_or_an_emergency(v, others):
    """Driven tick by tick from rest of the pedal, with what others do coming true."""
    s, a, previous, memory = 60.0, 0.0, None, fresh_memory()
    cars = [(60.0 + x, y, heading, speed) for x, y, heading, speed in others]
    for _ in range(30):
        plan, memory = planned(s, v, a, cars, previous, memory)
        new_s, new_v, new_a = plan[:, 1]
        jerk = (new_a - a) / 0.1
        if memory[negotiation.EMERGENCY] == 0.0:
            assert -limits.COMFORT_DECEL_MPS2 - 1e-6 <= new_a <= limits.COMFORT_ACCEL_MPS2 + 1e-6
            assert abs(jerk) <= limits.COMFORT_JERK_MPS3 + 1e-5
        assert -limits.EMERGENCY_DECEL_MPS2 - 1e-6 <= new_a <= 2.5 + 1e-6
        assert abs(jerk) <= limits.EMERGENCY_JERK_MPS3 + 1e-5 or new_v == 0.0
        s, v, a, previous = new_s, new_v, new_a, plan[0, 1:]
        cars = [(x + 0.1 * u * np.cos(h), y + 0.1 * u * np.sin(h), h, u) for x, y, h, u in cars]


def test_an_emergency_is_only_what_comfort_cannot_solve():
    calm, memory = planned(60.0, 8.0, 0.0, [(110.0, 0.0, 0.0, 0.0)])
    assert memory[negotiation.EMERGENCY] == 0.0
    assert calm[2, 1] >= -0.4 - 1e-9
    hard, memory = planned(60.0, 8.0, 0.0, [(72.0, 0.0, 0.0, 0.0)])
    assert memory[negotiation.EMERGENCY] == 1.0
    assert hard[2, 1] == pytest.approx(-1.6)


def test_a_collision_that_cannot_be_ruled_out_is_made_milder():
    """A car beside that comes in has the right of way: comfortable plans impose on it, all are likely to touch it."""
    plan, memory = planned(60.0, 5.0, 0.0, [(60.5, 2.9, -0.3, 4.0)])
    assert memory[negotiation.EMERGENCY] == 1.0
    assert plan[2, 1] == pytest.approx(-1.6)
    assert plan[1, 15] == 0.0


@settings(max_examples=200, deadline=None)
@given(
    speed=st.floats(0.0, 20.0), lead=st.floats(0.0, 20.0), gap=st.floats(0.0, 60.0), wanted=st.floats(-8.0, 3.0),
)  # fmt: skip
def test_the_idm_planner_is_comfortable_unless_it_must_not_be(speed, lead, gap, wanted):
    accel = 0.0
    for _ in range(40):
        new, urgent = comfortable_accel(wanted, accel, speed, gap, lead, 0.1)
        if not urgent:
            assert -3.0 - 1e-9 <= new <= 2.0 + 1e-9
            assert abs(new - accel) <= 0.4 + 1e-9
        assert new >= -8.0 - 1e-9
        assert abs(new - accel) <= 1.6 + 1e-9
        accel, speed = new, max(speed + 0.1 * new, 0.0)
        if speed == 0.0:
            break


def test_the_table_of_constants_in_the_docs_is_that_of_the_code():
    rows = [line.split("|")[1:-1] for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    told = {cells[0].strip().strip("`"): cells[1].strip() for cells in rows if len(cells) == 4}  # this table alone
    known = LATTICE_3._asdict() | {
        name: getattr(module, name)
        for module in (negotiation, limits)
        for name in vars(module)
        if name.isupper() and name != "DT_S" and isinstance(getattr(module, name), float)
    }
    assert told.keys() == known.keys()
    for name, value in known.items():
        assert float(told[name]) == pytest.approx(value, rel=1e-12), name


def test_the_candidates_of_version_2_come_first():
    assert negotiation.REACH == NUM_CANDIDATES
    assert NUM_NEGOTIATED == NUM_CANDIDATES + 2 * negotiation.MAX_GAPS + 2
