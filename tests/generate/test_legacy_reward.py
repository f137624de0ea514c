"""The artefact's reward on layouts made by hand (design note 1.1)."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.generate.objective.legacy import Stage, enclosure, legacy_reward, stage_of
from giveway.generate.objective.weights import LegacyWeights

WEIGHTS = LegacyWeights()
EGO = np.zeros(2)


def encloses(cars, ego):
    return bool(enclosure(np.ascontiguousarray(cars), ego, np.empty(len(cars), dtype=np.int64))[0])


def stage(cars, before=None, ego=EGO):
    cars = np.array(cars, dtype=float)
    distance = np.hypot(*(cars - ego).T)
    earlier = distance if before is None else np.array(before, dtype=float)
    return stage_of(cars, ego, distance, earlier, WEIGHTS, np.empty(len(cars), dtype=np.int64))


def test_three_cars_around_the_ego_enclose_it():
    assert encloses(np.array([[10.0, 0.0], [-10.0, 8.0], [-10.0, -8.0]]), EGO)


def test_three_cars_on_one_side_do_not():
    assert not encloses(np.array([[10.0, 0.0], [20.0, 8.0], [20.0, -8.0]]), EGO)


def test_four_cars_enclose_whatever_their_order():
    corners = np.array([[8.0, 8.0], [-8.0, -8.0], [8.0, -8.0], [-8.0, 8.0]])
    assert encloses(corners, EGO)
    assert encloses(corners[[0, 3, 1, 2]], EGO)


def test_a_fourth_car_inside_the_others_changes_nothing():
    outer = [[10.0, 0.0], [-10.0, 8.0], [-10.0, -8.0]]
    inside, area, total = enclosure(np.array([*outer, [-1.0, 1.0]]), EGO, np.empty(4, dtype=np.int64))
    assert inside and area == pytest.approx(160.0) and total == pytest.approx(160.0)


def test_between_two_cars_is_inside_and_ahead_of_both_is_not():
    pair = np.array([[-6.0, 0.0], [6.0, 0.0]])
    assert encloses(pair, EGO)
    assert not encloses(pair, np.array([9.0, 0.0]))
    assert not encloses(pair, np.array([0.0, 3.5]))


def test_collinear_cars_do_not_enclose_an_ego_ahead_of_them():
    line = np.array([[-20.0, 0.0], [-12.0, 0.0], [-6.0, 0.0]])
    assert not encloses(line, EGO)
    assert encloses(line, np.array([-9.0, 0.0]))


def test_one_car_encloses_nothing():
    assert not encloses(np.array([[0.0, 0.0]]), EGO)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=3, max_size=4, unique=True))
def test_hull_agrees_with_shapely(points):
    cars = np.array(points, dtype=float)
    hull = shapely.MultiPoint(cars).convex_hull
    inside, area, total = enclosure(cars, EGO, np.empty(len(cars), dtype=np.int64))
    assert area == pytest.approx(hull.area, abs=1e-9)
    if hull.area > 1e-6:
        assert inside == hull.covers(shapely.Point(EGO))
        assert total >= area - 1e-9


def test_far_cars_track():
    kind, shared = stage([[30.0, 0.0], [40.0, 5.0], [40.0, -5.0]])
    distances = [30.0, math.hypot(40, 5), math.hypot(40, 5)]
    assert kind == Stage.TRACK and shared == pytest.approx(-sum(distances) / max(distances))


def test_a_near_car_outside_encircles():
    cars = [[3.0, 0.0], [10.0, 4.0], [10.0, -4.0]]
    kind, shared = stage(cars)
    outer = 0.5 * abs(7 * 8)
    triangles = 0.5 * (abs(3 * 4) + abs(10 * -4 - 4 * 10) + abs(3 * 4))
    assert kind == Stage.ENCIRCLE and shared == pytest.approx(-math.log(triangles - outer + 1.0) / 3)


def test_enclosing_from_afar_captures_and_closing_in_pays():
    cars = [[10.0, 0.0], [-10.0, 8.0], [-10.0, -8.0]]
    far = [11.0, 13.0, 13.0]
    kind, shared = stage(cars, far)
    now = 10.0 + 2 * math.hypot(10, 8)
    assert kind == Stage.CAPTURE and shared == pytest.approx(math.exp((37.0 - now) / (3 * 30 / 3.6)))


def test_enclosing_closely_finishes_with_fifty():
    kind, shared = stage([[3.0, 0.0], [-2.0, 2.0], [-2.0, -2.0]])
    assert kind == Stage.FINISH
    assert legacy_reward(int(kind), shared, 3.0, 3.5, False, False, WEIGHTS) == pytest.approx(50.7)


def test_a_crash_costs_four_and_leaving_the_road_forty():
    calm = legacy_reward(int(Stage.TRACK), 0.0, 5.0, 6.0, False, False, WEIGHTS)
    assert calm == pytest.approx(0.7)
    assert legacy_reward(int(Stage.TRACK), 0.0, 5.0, 6.0, True, False, WEIGHTS) == pytest.approx(0.7 - 4.0)
    assert legacy_reward(int(Stage.TRACK), 0.0, 5.0, 6.0, False, True, WEIGHTS) == pytest.approx(0.7 - 40.0)
    assert legacy_reward(int(Stage.TRACK), 0.0, 6.0, 5.0, False, False, WEIGHTS) == pytest.approx(-0.7)
