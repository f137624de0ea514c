"""Unsafe gaps and ways out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giveway.generate.objective.safety import escape_ratio, look_ahead, update_culpable
from giveway.roads.library.straight import LANE_WIDTH_M, straight_road
from giveway.roads.tables import road_tables

LANE = LANE_WIDTH_M
SIZE = np.tile([4.5, 1.8], (5, 1))


@pytest.fixture(scope="module")
def road():
    return road_tables(straight_road())


def cars(*rows):
    """(n, 6) states from x, y, speed and an optional heading."""
    return np.array([[r[0], r[1], r[3] if len(r) > 3 else 0.0, r[2], 0.0, 0.0] for r in rows])


def ratio(road, state, lane=1):
    present = np.ones(len(state), dtype=bool)
    row = int(state[0, 0] / road.step[lane])
    boxes = np.empty((12, len(state), 7))
    return escape_ratio(road, lane, row, state[0, 0], 0.0, state, present, SIZE[: len(state)], boxes)


def test_an_empty_road_leaves_every_way_out(road):
    assert ratio(road, cars((100, LANE, 10.0))) == 1.0
    assert ratio(road, cars((100, LANE, 10.0), (400, LANE, 10.0))) == 1.0


def test_a_sandwich_leaves_none(road):
    packed = [(100 + dx, LANE + dy, 2.0) for dx in (-5.0, 5.0) for dy in (-LANE, 0.0, LANE)]
    state = cars((100, LANE, 2.0), *packed, (100, 0.0, 2.0), (100, 2 * LANE, 2.0))
    size = np.tile([4.5, 1.8], (len(state), 1))
    boxes = np.empty((12, len(state), 7))
    present = np.ones(len(state), dtype=bool)
    row = int(100 / road.step[1])
    found = escape_ratio(road, 1, row, 100.0, 0.0, state, present, size, boxes)
    assert found <= 1 / 15 + 1e-9


def test_one_car_beside_closes_only_that_side(road):
    beside = ratio(road, cars((100, LANE, 10.0), (100, 2 * LANE, 10.0)))
    assert 0.5 < beside < 1.0
    assert ratio(road, cars((100, LANE, 10.0), (112, LANE, 2.0), (100, 2 * LANE, 10.0))) < beside


def responsible(before, after, turn=(0.0, 0.0)):
    culpable, inline = np.zeros((2, 2), dtype=np.int8), np.zeros((2, 2), dtype=bool)
    lane = np.zeros((2, 3))
    present = np.ones(2, dtype=bool)
    update_culpable(before, lane, present, SIZE[:2], culpable, inline)
    lane[:, 2] = turn
    update_culpable(after, lane, present, SIZE[:2], culpable, inline)
    return int(culpable[0, 1])


def test_the_rear_car_that_closes_in_is_culpable():
    far, near = cars((0, 0, 12.0), (60, 0, 5.0)), cars((40, 0, 12.0), (50, 0, 5.0))
    assert responsible(far, near) == 1
    assert responsible(far[::-1].copy(), near[::-1].copy()) == 2


def test_the_car_that_cuts_in_is_culpable_although_it_is_ahead():
    beside, cut_in = cars((0, 0, 12.0), (10, LANE, 8.0)), cars((1, 0, 12.0), (11, 1.0, 8.0, -0.1))
    assert responsible(beside, cut_in, turn=(0.0, -0.1)) == 2


def test_cars_in_different_lanes_owe_each_other_nothing():
    state = cars((0, 0, 12.0), (6, LANE, 5.0))
    assert responsible(state, state) == 0


def test_looking_ahead_finds_the_nearest_car_in_line():
    state = cars((0, 0, 10.0), (30, 0, 5.0), (20, LANE, 5.0), (50, 0, 1.0))
    ttc, who, gap, headway = look_ahead(state, np.ones(4, dtype=bool), SIZE[:4], 0)
    assert who == 1 and gap == pytest.approx(25.5)
    assert ttc == pytest.approx(25.5 / 5) and headway == pytest.approx(2.55)
    assert look_ahead(state, np.ones(4, dtype=bool), SIZE[:4], 3)[0] == math.inf
