"""Contacts: which, where on each car, and once per pair and episode."""

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.log import Grade, Region
from giveway.roads.queries import prepare
from giveway.sim.contacts import FRONT, LEFT, REAR, boxes_touch, fill_box, find_contacts, touched_side
from giveway.sim.responsibility import judged_contacts
from giveway.testing.drive_scenes import DrivenCar, crossing_road, scene_of

RAMMER = DrivenCar(id="a", points=((950, 1000), (1100, 1000)), speed_mps=10.0)


def tracks_of(*cars):
    return scene_of(list(cars), duration_s=8.0).tracks


def collide(*cars, **options):
    return judged_contacts(tracks_of(*cars), ego="a", **options)


def test_a_rear_end_collision_is_found_and_judged():
    hit = collide(RAMMER, DrivenCar(id="b", points=((980, 1000), (1100, 1000)), speed_mps=3.0))[0]
    assert (hit.first, hit.second) == ("a", "b")
    assert (hit.first_region, hit.second_region) == (Region.FRONT, Region.REAR)
    assert (hit.first_at_fault, hit.second_at_fault) == (True, False)
    assert (hit.grade, hit.conflict) == (Grade.A, "longitudinal")
    assert hit.relative_speed_mps == pytest.approx(7.0)
    assert hit.time_s == pytest.approx((30 - 4.5 + 0.05) / 7.0, abs=0.1)


def test_hitting_a_standing_car_is_the_fault_of_who_moves():
    hit = collide(RAMMER, DrivenCar(id="b", points=((980, 1000), (1100, 1000)), speed_mps=0.0))[0]
    assert hit.violators == ("a",)


def test_a_side_hit_is_the_fault_of_who_moves_sideways_with_and_without_a_map():
    drifter = DrivenCar(id="b", points=((950, 1003.5), (1000, 1000.5), (1100, 1000.5)), speed_mps=10.0)
    for road in (prepare(crossing_road()), None):
        hit = collide(RAMMER, drifter, road=road)[0]
        assert (hit.first_region, hit.second_region) == (Region.LEFT, Region.RIGHT)
        assert (hit.violators, hit.conflict) == (("b",), "lateral")
        assert hit.grade in (Grade.C, Grade.D)


def test_who_owes_the_right_of_way_by_case_or_map_is_responsible_where_paths_cross():
    rammed = DrivenCar(id="b", points=((1000, 958.0), (1000, 1060)), speed_mps=9.0)
    by_map = collide(RAMMER, rammed, road=prepare(crossing_road()))[0]
    assert (by_map.violators, by_map.conflict) == (("a",), "junction")
    assert "map" in by_map.sentence
    owing = judged_contacts(tracks_of(RAMMER, rammed), ego="b", right_of_way=("a",))[0]
    assert (owing.first, owing.violators, owing.grade) == ("b", ("b",), Grade.A)
    assert "case" in owing.sentence


def test_one_event_per_pair_and_episode():
    hits = collide(RAMMER, DrivenCar(id="b", points=((980, 1000), (1100, 1000)), speed_mps=5.0))
    assert len(hits) == 1
    assert hits[0].end_tick > hits[0].start_tick


def test_a_contact_that_begins_with_an_appearance_is_nobodys_fault():
    hit = collide(RAMMER, DrivenCar(id="b", points=((952, 1000), (1100, 1000)), speed_mps=9.0))[0]
    assert hit.at_spawn
    assert (hit.violators, hit.grade) == ((), Grade.NONE)
    assert (hit.first_region, hit.second_region) == (Region.FRONT, Region.REAR)


def test_a_car_inside_a_long_one_is_found_although_no_edges_cross():
    lorry = DrivenCar(id="lorry", points=((980, 1000), (1100, 1000)), speed_mps=0.0, size_m=(12.0, 2.6))
    small = DrivenCar(id="b", points=((979, 1000), (1100, 1000)), speed_mps=0.0, size_m=(3.0, 1.5), enters_s=1.0)
    assert find_contacts(tracks_of(lorry, small))


def test_cars_that_touch_by_less_than_the_shrink_do_not_collide():
    beside = DrivenCar(id="b", points=((950, 1001.77), (1100, 1001.77)), speed_mps=10.0)
    assert find_contacts(tracks_of(RAMMER, beside)) == ()
    assert find_contacts(tracks_of(RAMMER, beside), shrink_m=0.0)


def test_turning_the_world_changes_nothing():
    tracks = tracks_of(RAMMER, DrivenCar(id="b", points=((980, 1000), (1100, 1000)), speed_mps=3.0))
    turn = 0.7
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    turned = replace(
        tracks, xy=tracks.xy @ matrix.T, velocity=tracks.velocity @ matrix.T, heading=tracks.heading + turn
    )
    one, two = (judged_contacts(t, ego="a")[0] for t in (tracks, turned))
    assert one == replace(two, relative_speed_mps=one.relative_speed_mps)


def row(x, y, heading=0.0):
    out = np.empty(7)
    fill_box(x, y, heading, 4.5, 1.8, out)
    return out


def test_the_side_is_that_of_the_gap_that_closed_last():
    """A car 0.5 m ahead and 1 m beside: whether it comes back or sideways decides, not where the boxes overlap."""
    own = row(0.0, 0.0)
    assert not boxes_touch(own, row(4.48, 0.0)) and boxes_touch(own, row(4.44, 0.0))
    assert touched_side(own, row(5.0, 1.0), own, row(4.2, 1.0)) == FRONT
    assert touched_side(own, row(3.0, 2.2), own, row(3.0, 1.6)) == LEFT
    assert touched_side(own, row(-5.0, 0.0), own, row(-4.0, 0.0)) == REAR
    assert touched_side(own, row(4.6, 2.6), own, row(4.0, 1.7)) == LEFT  # along closes first


def test_pedestrians_without_size_or_heading_are_touched_as_discs():
    tracks = tracks_of(RAMMER, DrivenCar(id="b", points=((980, 1000), (980, 1100)), speed_mps=0.0))
    walker = replace(
        tracks,
        kind=np.array([1, 8]),
        size=np.array([[4.5, 1.8], [np.nan, np.nan]]),
        heading=np.array([tracks.heading[0], np.full(tracks.num_instants, np.nan)]),
    )
    hit = judged_contacts(walker, ego="a")[0]
    assert hit.vulnerable
    assert (hit.first_region, hit.violators) == (Region.FRONT, ("a",))
