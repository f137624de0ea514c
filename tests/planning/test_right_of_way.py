"""Giving way: golden values of the design note."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giveway.planning.idm import CLEAN, PAPER, IdmParameters, idm_acceleration
from giveway.planning.right_of_way import (
    FIRST,
    HOLD,
    SECOND,
    cruise_time,
    dash_time,
    first_margin,
    gap_choice,
    hold_accel,
    imposed_accel,
    is_committed,
    keeps_grant,
    leaves_room,
    may_appear,
    on_cycles,
    stopped_earlier,
    walker_goes_first,
)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [(PAPER, (1.7712, -0.3709, -3.3526, -8.0)), (CLEAN, (0.8856, 0.5106, -2.1550, -7.5606))],
)
def test_the_model_asks_for_the_accelerations_of_the_note(profile: IdmParameters, expected: tuple[float, ...]) -> None:
    for (gap, lead), accel in zip(((math.inf, 8.0), (20.0, 8.0), (20.0, 0.0), (12.0, 0.0)), expected, strict=True):
        assert idm_acceleration(8.0, 10.0, gap, lead, profile) == pytest.approx(accel, abs=5e-5)


@pytest.mark.parametrize(("profile", "gap"), [(PAPER, 21.994), (CLEAN, 13.0145)])
def test_a_following_car_settles_at_the_gap_of_the_note(profile: IdmParameters, gap: float) -> None:
    assert idm_acceleration(8.0, 10.0, gap, 8.0, profile) == pytest.approx(0.0, abs=2e-4)


def test_a_dash_takes_the_times_of_the_note_and_ends_at_the_desired_speed() -> None:
    assert dash_time(8.0, 3.0, 8.0) == pytest.approx(1.8297, abs=5e-5)
    assert dash_time(8.0 + 1.8 + 4.5, 3.0, 8.0) == pytest.approx(2.8028, abs=5e-5)
    reach = (64.0 - 9.0) / 3.0
    assert dash_time(reach + 16.0, 3.0, 8.0) == pytest.approx(5.0 / 1.5 + 2.0)
    assert dash_time(30.0, 10.0, 8.0) == 3.0
    assert dash_time(-1.0, 3.0, 8.0) == 0.0


@pytest.mark.parametrize(("distance", "choice"), [(60, FIRST), (45, FIRST), (30, HOLD), (5, SECOND)])
def test_a_gap_is_accepted_as_in_the_note(distance: float, choice: int) -> None:
    t_in, t_out = dash_time(8.0, 3.0, 8.0), dash_time(14.3, 3.0, 8.0)
    other = cruise_time(distance, 10.0), cruise_time(distance + 1.8 + 4.5, 10.0)
    assert other == pytest.approx((distance / 10, distance / 10 + 0.63))
    assert gap_choice(t_in, t_out, *other, first_margin(0.0)) == choice


def test_a_car_that_stands_for_good_never_arrives() -> None:
    assert cruise_time(5.0, 0.0) == math.inf
    assert cruise_time(0.0, 0.0) == 0.0


@pytest.mark.parametrize(("gap", "accel"), [(30, -0.9241), (20, -2.0792), (12, -5.7756)])
def test_merging_imposes_the_deceleration_of_the_note(gap: float, accel: float) -> None:
    assert imposed_accel(10.0, gap, 6.0, CLEAN) == pytest.approx(accel, abs=5e-5)


def test_a_car_that_holds_brakes_as_in_the_note() -> None:
    assert hold_accel(8.0, 8.0, 20.0 - 1.0, CLEAN) == pytest.approx(-2.2898, abs=5e-5)


def test_waiting_makes_a_car_accept_shorter_gaps() -> None:
    assert [first_margin(t) for t in (0.0, 5.0, 12.5, 20.0, 99.0)] == pytest.approx([1.0, 1.0, 0.65, 0.3, 0.3])


def test_a_car_that_cannot_stop_any_more_goes_on() -> None:
    assert is_committed(8.0, 7.9)
    assert not is_committed(8.0, 8.1)
    assert is_committed(0.0, 0.0)


def test_a_granted_gap_is_given_up_only_if_it_shrinks_and_stopping_is_easy() -> None:
    assert keeps_grant(3.0, 3.5, 1.0, 6.0, 10.0)
    assert not keeps_grant(3.0, 3.4, 1.0, 6.0, 10.0)
    assert keeps_grant(3.0, 3.4, 1.0, 8.0, 10.0)


def test_nobody_enters_an_area_that_cannot_be_left() -> None:
    assert not leaves_room(gap=8.0, lead_speed=0.0, t_out=3.0, to_end=7.0, length=4.5, min_gap=2.0)
    assert leaves_room(gap=8.0, lead_speed=2.0, t_out=3.0, to_end=7.0, length=4.5, min_gap=2.0)
    assert leaves_room(gap=6.0, lead_speed=0.0, t_out=3.0, to_end=7.0, length=4.5, min_gap=2.0)


def test_pedestrians_near_or_soon_at_the_area_go_first() -> None:
    assert walker_goes_first(1.4, 0.0)
    assert walker_goes_first(4.0, 1.4)
    assert not walker_goes_first(4.0, 1.3)


def test_an_all_way_stop_goes_by_time_then_from_the_right_then_by_name() -> None:
    assert stopped_earlier(1.2, 1.0, True, False)
    assert not stopped_earlier(1.0, 1.2, False, True)
    assert stopped_earlier(1.0, -1.0, True, False)
    assert not stopped_earlier(-1.0, 1.0, False, True)
    assert not stopped_earlier(1.0, 1.0, True, True)
    assert stopped_earlier(1.0, 1.0, False, True)
    assert not stopped_earlier(1.0, 1.0, False, False)


def test_cars_that_wait_for_each_other_in_a_circle_are_found_and_their_queues_are_not() -> None:
    # 0 -> 1 -> 2 -> 0; 3 waits for 0; 2 also waits for 4, which goes.
    start, end = np.array([0, 1, 2, 3, 2, 4]), np.array([1, 2, 0, 0, 4, -1])
    found = np.zeros(5, dtype=np.bool_)
    on_cycles(start, end, 5, found)
    assert found.tolist() == [True, True, True, False, False]


def test_a_car_appears_only_where_nobody_must_brake_hard() -> None:
    assert may_appear(-4.0, 0.0)
    assert not may_appear(-4.1, 0.0)
    assert not may_appear(0.0, -4.1)
