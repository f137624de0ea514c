"""Hand-over of replay cars: who disturbs whom, and that people who came as close do not count."""

from __future__ import annotations

import numpy as np
import pytest

from giveway.core.arrays import BoolArray, FloatArray
from giveway.planning.idm import CLEAN, idm_acceleration
from giveway.sim.handover import disturber
from giveway.sim.traffic import follow_ahead
from giveway.sim.yielding import CAR

TICKS = 40
SIZE = np.array([[4.5, 1.8], [4.5, 1.8]])


def recorded(front_m: float, speed: float = 10.0, y: float = 0.0) -> FloatArray:
    """(L, 5) a car at constant speed along +x whose center is at ``front_m`` now."""
    x = front_m + speed * 0.1 * np.arange(TICKS)
    return np.stack([x, np.full(TICKS, y), np.full(TICKS, speed), np.zeros(TICKS), np.zeros(TICKS)], axis=1)


def plan(x: float, speed: float, y: float = 0.0) -> FloatArray:
    """(15, 4) where a car at constant speed will be at +0.2 s ... +3.0 s."""
    time = 0.2 * np.arange(1, 16)
    return np.stack([x + speed * time, np.full(15, y), np.ones(15), np.zeros(15)], axis=1)


def asked(rec_r: FloatArray, rec_q: FloatArray, planned: FloatArray, *, q_on: BoolArray | None = None) -> int:
    rec = np.stack([rec_r, rec_q])
    on = np.stack([np.ones(TICKS, dtype=np.bool_), np.ones(TICKS, dtype=np.bool_) if q_on is None else q_on])
    now = np.zeros((2, 5))
    now[0, :2], now[1, :2] = rec_r[0, :2], planned[0, :2]
    ahead = np.stack([np.zeros((15, 4)), planned])
    return int(disturber(0, 0, rec, on, SIZE, np.array([False, True]), now, ahead))


def test_a_replay_car_that_would_hit_a_slower_driven_one_is_handed_over() -> None:
    assert asked(recorded(0.0), recorded(40.0), plan(20.0, 5.0)) == 1


@pytest.mark.parametrize(("gap", "cause"), [(2.95, 1), (3.05, -1)])
def test_the_box_is_longer_by_half_a_meter_and_a_quarter_of_a_second(gap: float, cause: int) -> None:
    ahead = 4.5 + gap  # centers; both at 10 m/s, so the distance stays
    assert asked(recorded(0.0), recorded(60.0), plan(ahead, 10.0)) == cause
    assert asked(recorded(0.0), recorded(60.0), plan(-ahead, 10.0)) == -1, "nobody can help being hit from behind"


@pytest.mark.parametrize(("side", "cause"), [(1.85, 1), (1.95, -1)])
def test_the_box_is_wider_by_a_tenth_of_a_meter(side: float, cause: int) -> None:
    assert asked(recorded(0.0), recorded(60.0), plan(0.0, 10.0, y=side)) == cause


def test_a_distance_that_people_kept_too_is_no_reason() -> None:
    close = recorded(6.0)
    assert asked(recorded(0.0), close, plan(6.0, 10.0)) == -1
    gone = np.zeros(TICKS, dtype=np.bool_)
    assert asked(recorded(0.0), close, plan(6.0, 10.0), q_on=gone) == 1


def test_cars_far_away_are_not_looked_at() -> None:
    rec = recorded(0.0, speed=30.0)
    assert asked(rec, recorded(500.0), plan(69.0, 0.0)) == 1
    assert asked(rec, recorded(500.0), plan(71.0, 0.0)) == -1


def test_a_car_that_follows_is_expected_where_it_will_be() -> None:
    """Not where one tick of braking, kept for 3 s, would bring it: to a standstill."""
    car, out = np.zeros(1, dtype=CAR)[0], np.empty(15)
    car["wanted"], car["line"], car["lead_speed"] = 12.0, np.inf, 10.0
    s, v, lead = 0.0, 10.0, 8.0
    first = idm_acceleration(v, 12.0, lead - s, 10.0, CLEAN)
    assert v + 3.0 * first < 3.0
    car["s"], car["lead_at"] = s, lead - 10.0 * 0.1  # as it was when it decided, one tick ago
    follow_ahead(car, v, 4.5, CLEAN, out)
    for k in range(30):
        new = max(v + 0.1 * idm_acceleration(v, 12.0, lead - s, 10.0, CLEAN), 0.0)
        s, v, lead = s + 0.05 * (v + new), new, lead + 1.0
        if k % 2:
            assert out[k // 2] == pytest.approx(s, abs=0.25)
    car["line"] = 25.0
    follow_ahead(car, 10.0, 4.5, CLEAN, out)
    assert out[-1] + 2.25 < 25.0, "and it stops where it waits"


def test_a_car_that_would_be_hit_from_behind_is_not_handed_over() -> None:
    gone = np.zeros(TICKS, dtype=np.bool_)
    assert asked(recorded(0.0), recorded(0.0), plan(20.0, 1.0), q_on=gone) == 1
    assert asked(recorded(0.0), recorded(0.0), plan(-20.0, 19.0), q_on=gone) == -1, "not even after it was run through"
