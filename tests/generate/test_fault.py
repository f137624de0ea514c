"""Fault and avoidability on scripted clips (design note 2.7)."""

from __future__ import annotations

import numpy as np
import pytest

from giveway.core.errors import UsageError
from giveway.core.tracks import AgentKind, Tracks
from giveway.generate.fault import judge_clip
from giveway.generate.protocol import Fault
from giveway.roads.library.straight import straight_road
from giveway.roads.tables import road_tables

LANE = 3.5
TIME = 0.1 * np.arange(81)


@pytest.fixture(scope="module")
def road():
    return road_tables(straight_road())


def car(x0, speed, y):
    """(T, 4) x, y, heading, speed of a car with given speed (number or (T,)) and lateral position."""
    speed = np.broadcast_to(np.asarray(speed, dtype=float), TIME.shape)
    y = np.broadcast_to(np.asarray(y, dtype=float), TIME.shape)
    x = x0 + np.concatenate([[0.0], np.cumsum(0.05 * (speed[1:] + speed[:-1]))])
    heading = np.arctan2(np.gradient(y, TIME), np.maximum(speed, 0.1))
    return np.stack([x, y, heading, speed], axis=1)


def ramp(start, end, begin_s, end_s):
    u = np.clip((TIME - begin_s) / (end_s - begin_s), 0.0, 1.0)
    return start + (end - start) * u * u * (3 - 2 * u)


def clip(ego, *others):
    rows = np.stack([ego, *others])
    return Tracks(
        time_s=TIME,
        xy=rows[..., :2],
        heading=rows[..., 2],
        velocity=rows[..., 3:] * np.stack([np.cos(rows[..., 2]), np.sin(rows[..., 2])], axis=-1),
        observed=np.ones(rows.shape[:2], dtype=bool),
        size=np.tile([4.5, 1.8], (len(rows), 1)),
        kind=np.full(len(rows), AgentKind.CAR, dtype=np.int64),
        ids=np.array(["ego", *(f"car{i + 1}" for i in range(len(others)))]),
    )


def test_being_hit_from_behind_is_the_other_cars_fault(road):
    verdict = judge_clip(clip(car(60, 10, LANE), car(40, 15, LANE)), road)
    assert verdict.fault is Fault.CAR_REAR
    assert verdict.car == "car1"


def test_a_cut_in_with_ample_gap_is_the_egos_fault_and_avoidable(road):
    verdict = judge_clip(clip(car(60, 12, LANE), car(95, 6, ramp(2 * LANE, LANE, 0.5, 3.0))), road)
    assert verdict.fault is Fault.EGO_FRONT
    assert verdict.avoidable


def test_a_cut_in_with_impossible_gap_cannot_be_avoided(road):
    verdict = judge_clip(clip(car(60, 12, LANE), car(70, ramp(12, 4, 2.0, 3.0), ramp(2 * LANE, LANE, 2.0, 3.0))), road)
    assert verdict.fault is Fault.EGO_FRONT
    assert not verdict.avoidable


def test_a_side_swipe_during_the_egos_lane_change_is_its_fault_and_avoidable(road):
    verdict = judge_clip(clip(car(60, 12, ramp(LANE, 2 * LANE, 2.0, 5.0)), car(60, 12, 2 * LANE)), road)
    assert verdict.fault is Fault.EGO_LATERAL
    assert verdict.avoidable


def test_a_car_that_swipes_the_ego_in_its_lane_is_at_fault(road):
    verdict = judge_clip(clip(car(60, 12, LANE), car(60, 12, ramp(2 * LANE, LANE, 2.0, 5.0))), road)
    assert verdict.fault is Fault.CAR_LATERAL


def test_hitting_a_standing_car_is_the_egos_fault_and_avoidable(road):
    verdict = judge_clip(clip(car(60, 12, LANE), car(130, 0.0, LANE)), road)
    assert verdict.fault is Fault.EGO_STOPPED_OBJECT
    assert verdict.avoidable


def test_a_car_that_drives_against_the_traffic_is_at_fault(road):
    wrong = car(130, 8, LANE)
    wrong[:, 0] = 130 - 8 * TIME
    wrong[:, 2] = np.pi
    assert judge_clip(clip(car(60, 12, LANE), wrong), road).fault is Fault.CAR_LATERAL


def test_without_contact_there_is_no_fault(road):
    verdict = judge_clip(clip(car(60, 12, LANE), car(100, 12, LANE)), road)
    assert verdict.fault is Fault.NONE and verdict.step == -1


def test_a_tailgater_does_not_make_a_crash_unavoidable(road):
    others = car(95, 6, ramp(2 * LANE, LANE, 0.5, 3.0)), car(52, 12, LANE)
    assert judge_clip(clip(car(60, 12, LANE), *others), road).avoidable


def test_moving_the_clip_in_time_changes_nothing(road):
    early = judge_clip(clip(car(60, 12, LANE), car(95, 6, ramp(2 * LANE, LANE, 0.5, 3.0))), road)
    late = judge_clip(clip(car(60, 12, LANE), car(101, 6, ramp(2 * LANE, LANE, 1.5, 4.0))), road)
    assert (early.fault, early.avoidable) == (late.fault, late.avoidable)
    assert late.step > early.step


def test_a_clip_without_the_ego_is_refused(road):
    with pytest.raises(UsageError, match="no such car"):
        judge_clip(clip(car(60, 12, LANE)), road, ego="nobody")
