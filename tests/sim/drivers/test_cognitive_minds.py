"""Whom minds attend to and what holds their cars back, over plain arrays."""

import numpy as np
import pytest

from giveway.predictors.commotions.agent import theta_table
from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.kernel.agents import LOOK, OFF, SLOTS, THINK
from giveway.sim.drivers.cognitive_attention import NONE, Conflicts, Snapshot
from giveway.sim.drivers.cognitive_control import FOLLOW, FREE, MIND, Rules
from giveway.sim.drivers.cognitive_minds import free_road, new_cognition

SITE_MPS = 10.0


class Road:
    """Car 0 has a mind and meets the others one after another, each at its own area of 3.6 m."""

    def __init__(self, theta, own_area_m, other_front_m, *, speed=8.0, jerk=True, rules=None, pedestrian=False):
        num = len(own_area_m)
        own, other = np.array(own_area_m, dtype=float), np.array(other_front_m, dtype=float)
        self.table = theta_table([theta], Configuration.from_name("CM_IIJ11"))
        conflicts = Conflicts(
            first=np.array([0, num]),
            other=np.arange(1, num + 1),
            span=np.stack([own, own + 3.6, other, other + 3.6], axis=1),
            priority=np.full(num, -1, dtype=np.int8),
            merges=np.zeros(num, dtype=np.bool_),
            key=np.arange(num, dtype=np.uint64),
            waived=np.zeros(num, dtype=np.bool_),
        )
        self.cognition = new_cognition(self.table, conflicts, car=[0], theta=[0], jerk=[jerk], rules=rules, seed=3)
        self.length = np.full(num + 1, 1.0 if pedestrian else 4.0)
        self.length[0] = 4.0
        self.s = np.concatenate([[0.0], np.zeros(num)]) - 0.5 * self.length  # fronts at place 0
        self.speed, self.accel = np.full(num + 1, speed), np.zeros(num + 1)
        self.present = np.ones(num + 1, dtype=np.bool_)
        self.jerk = np.ones(num + 1, dtype=np.int64)
        self.base = np.full(num + 1, SITE_MPS)
        if pedestrian:
            self.jerk[1:], self.base[1:] = 0, 1.5
        self.step = 0
        self.ahead = free_road(self.cognition, np.array([SITE_MPS]))

    def decide(self):
        traffic = Snapshot(
            s=self.s, speed=self.speed, accel=self.accel, length=self.length, jerk=self.jerk, base_speed=self.base,
            present=self.present,
        )  # fmt: skip
        accel = self.cognition.decide(traffic, self.ahead, np.array([self.step]), np.ones(1, dtype=np.bool_))
        self.step += 1
        return float(accel[0])

    @property
    def partner(self):
        slot = self.cognition.attention.partner[0]
        return None if slot == NONE else int(self.cognition.conflicts.other[self.cognition.attention.conflict[0, slot]])

    def next_partner(self):
        """Partner after another decision."""
        self.decide()
        return self.partner

    def tasks(self):
        """Task by other car."""
        found = {}
        for slot in range(SLOTS):
            row = self.cognition.attention.conflict[0, slot]
            if row != NONE:
                found[int(self.cognition.conflicts.other[row])] = int(self.cognition.pairs.task[slot])
        return found


def test_conflicts_are_candidates_within_8_s_and_4_s_of_each_other(world):
    """8 m/s: own entry at 7.9 and 8.1 s; windows 3.6 + 4 m long, 0.95 s, with 3.9 and 4.1 s between them."""
    near = Road(world.FITTED, [8 * 7.9], [8 * 7.9])
    near.decide()
    assert near.partner == 1
    far = Road(world.FITTED, [8 * 8.1], [8 * 8.1])
    far.decide()
    assert far.partner is None
    assert far.tasks() == {}
    for between, partner in ((3.9, 1), (4.1, None)):
        road = Road(world.FITTED, [8 * 2.0], [8 * (2.0 + 0.95 + between)])
        road.decide()
        assert road.partner == partner


def test_thoughts_go_to_the_earliest_and_one_more_and_filters_to_four(world):
    road = Road(world.FITTED, [40, 20, 30, 10, 50], [40, 20, 30, 10, 50])
    road.decide()
    assert road.partner == 4
    assert road.tasks() == {4: THINK, 2: THINK, 3: LOOK, 1: LOOK}


def test_a_partner_is_changed_after_two_decisions_and_not_before_0_6_s(world):
    """Car 2 appears with a conflict more than 1 s earlier; it takes over at the second decision, after three."""
    road = Road(world.FITTED, [40, 20], [40, 20], speed=8.0)
    road.present[2] = False
    road.decide()
    assert road.partner == 1
    road.present[2] = True
    assert [road.next_partner() for _ in range(4)] == [1, 1, 2, 2]
    late = Road(world.FITTED, [40, 20], [40, 20])
    late.present[2] = False
    for _ in range(5):
        late.decide()
    late.present[2] = True
    assert [late.next_partner() for _ in range(2)] == [1, 2]


def test_a_conflict_less_than_1_s_earlier_changes_nothing(world):
    road = Road(world.FITTED, [40, 33], [40, 33])
    road.present[2] = False
    road.decide()
    road.present[2] = True
    for _ in range(6):
        road.decide()
    assert road.partner == 1


def test_who_has_left_is_no_partner_and_evidence_about_him_is_forgotten(world):
    road = Road(world.FITTED, [20, 40], [20, 40])
    road.decide()
    assert road.partner == 1
    road.cognition.minds.value[:] = 7.0
    road.cognition.pairs.belief[:] = 7.0
    road.s[1] = 20 + 3.6 + 2.0  # rear at the end of the area
    road.decide()
    assert road.partner == 2
    assert 1 not in road.tasks()
    assert not road.cognition.attention.begins[0]  # the plan goes on
    assert np.abs(road.cognition.minds.value).max() <= 1
    assert np.abs(road.cognition.pairs.belief).max() <= 1


def test_a_partner_met_again_is_not_seen_for_the_first_time(world):
    """It falls out of the candidates and comes back: its filter went on meanwhile."""
    road = Road(world.FITTED, [30], [30])
    for _ in range(5):
        road.decide()
    known = road.cognition.pairs.filter[0].copy()
    road.speed[1] = 1.0  # 30 s away: windows far apart
    road.decide()
    assert road.partner is None
    assert road.tasks() == {1: LOOK}
    assert not np.array_equal(road.cognition.pairs.filter[0], known)
    spread = road.cognition.pairs.filter[0, 2]
    road.speed[1] = 8.0
    road.decide()
    assert road.partner == 1
    assert road.cognition.pairs.filter[0, 2] < 1.5 * spread
    fresh = Road(world.FITTED, [30], [30])
    fresh.decide()
    assert fresh.cognition.pairs.filter[0, 2] > 1.8 * road.cognition.pairs.filter[0, 2]


def test_without_partner_a_mind_drives_freely_or_follows(world):
    """Golden values of the constants of profile clean: v 8, v₀ 10, gap 20 m behind a car that stands and one at 8."""
    road = Road(world.ARBITRARY, [200], [200])
    assert road.decide() == pytest.approx(0.8856, abs=1e-4)
    assert road.cognition.control.regime[0] == FREE
    for lead, expected in ((8.0, 0.5106), (0.0, -2.1550)):
        road.ahead.gap[0], road.ahead.speed[0] = 20.0, lead
        assert road.decide() == pytest.approx(expected, abs=1e-4)
        assert road.cognition.control.regime[0] == FOLLOW


def test_the_car_ahead_holds_a_mind_back_and_the_mind_knows(world):
    road = Road(world.FITTED, [30], [30])
    road.decide()
    road.ahead.gap[0], road.ahead.speed[0] = 6.0, 4.0
    accel = road.decide()
    assert road.cognition.control.regime[0] == MIND
    assert accel == road.cognition.control.follow[0] < road.cognition.control.wish[0] - 0.05
    length = road.table.length[0]
    np.testing.assert_array_equal(road.cognition.minds.plan[0, :length], accel)


def test_accelerations_stay_within_bounds(world):
    road = Road(world.FITTED, [30], [30], rules=Rules(low_mps2=-0.3, high_mps2=0.02))
    assert min(road.decide() for _ in range(25)) == -0.3
    road.present[1] = False
    assert max(road.decide() for _ in range(25)) == 0.02


def test_the_guard_stops_before_an_area_that_the_other_is_in(world):
    """8 m/s, 7 m before it: 8²/(2 (7 - 0.2)) = 4.706 m/s²; at 9 m, 3.64 m/s², it leaves that to the mind."""
    for own, braking in ((7.0, -4.70588), (9.0, np.inf)):
        road = Road(world.ARBITRARY, [own], [-1.0], rules=Rules(horizon_s=0.0))
        accel = road.decide()
        assert road.cognition.control.guard[0] == pytest.approx(braking, abs=1e-4)
        if own == 7.0:
            assert accel == pytest.approx(braking, abs=1e-4)
    off = Road(world.ARBITRARY, [7.0], [-1.0], rules=Rules(horizon_s=0.0, guard=False))
    assert off.decide() > 0
    gone = Road(world.ARBITRARY, [7.0], [-7.7], rules=Rules(horizon_s=0.0))
    assert gone.decide() > 0


def test_the_guard_sees_who_will_be_there_at_the_same_time(world):
    """Own passage of 4 m + 3.6 m at 8 m/s: 0.875 to 1.825 s."""
    for other, meets in ((8 * 1.0, True), (8 * 1.7, True), (8 * 1.9, False), (-1.5, False)):
        road = Road(world.ARBITRARY, [7.0], [other], rules=Rules(horizon_s=0.0))
        road.speed[1] = 8.0 if other > 0 else 12.0
        road.decide()
        inside = other < 0
        assert np.isfinite(road.cognition.control.guard[0]) == (meets or inside)


def test_the_jump_between_thinking_and_not_is_limited(world):
    road = Road(world.FITTED, [30], [30])
    road.decide()
    road.cognition.control.accel[0] = -6.0
    road.present[1] = False
    assert road.decide() == pytest.approx(-4.0)  # 10 m/s³ over 0.2 s, not at once what the free road allows
    assert road.decide() == road.cognition.control.wish[0] > 0


def test_jerk_control_begins_with_the_present_acceleration_and_control_of_speed_with_none(world):
    for jerk, begins in ((True, 1.2), (False, 0.0)):
        road = Road(world.FITTED, [200], [200], jerk=jerk)
        road.decide()
        road.cognition.control.accel[0] = 1.2
        road.s[:] = 200 - 30 - 2.0
        road.cognition.minds.plan[:] = 9.0
        road.decide()
        assert road.cognition.attention.begins[0]
        first = road.cognition.minds.accel[0]
        u = road.table.actions[road.cognition.minds.choice[0]] if road.cognition.minds.acted[0] else 0.0
        step = 0.0 if jerk else u / world.FITTED.delta_t_action
        assert first == pytest.approx(begins + step)


def test_a_pedestrian_is_expected_to_walk(world):
    """Control of speed, 1 m long, 1.5 m/s: |χ| and free speed of the prior, half-extent (3.6 + 1)/2."""
    road = Road(world.FITTED, [20], [2.0], pedestrian=True)
    road.speed[1] = 1.2
    road.decide()
    pairs = road.cognition.pairs
    assert pairs.other_jerk[0] == 0
    assert pairs.scene[0, 8] == pytest.approx(2.3)
    assert pairs.scene[0, 9] == pytest.approx(world.FITTED.v_free_rel * 1.5)
    assert pairs.scene[0, 4] == pytest.approx(world.FITTED.v_free_rel * 10)


def test_free_speed_of_a_fast_car_is_what_it_had_at_first_sight(world):
    road = Road(world.FITTED, [30], [30])
    road.speed[1] = 12.0
    road.decide()
    road.speed[1] = 14.0
    road.decide()
    assert road.cognition.pairs.scene[0, 9] == pytest.approx(world.FITTED.v_free_rel * 12)


def test_who_does_not_decide_keeps_his_acceleration(world):
    road = Road(world.FITTED, [30], [30])
    before = road.decide()
    traffic = Snapshot(
        s=road.s, speed=road.speed * 0, accel=road.accel, length=road.length, jerk=road.jerk, base_speed=road.base,
        present=road.present,
    )  # fmt: skip
    again = road.cognition.decide(traffic, road.ahead, np.array([7]), np.zeros(1, dtype=np.bool_))
    assert again[0] == before
    assert (road.cognition.pairs.task == OFF).all()
