"""Contact episodes: when, how fast, where, whose fault."""

import numpy as np
import pytest

from giveway.core.log import Region
from giveway.roads.queries import prepare
from giveway.sim.collisions import find_collisions
from giveway.testing.drive_scenes import DrivenCar, crossing_road, scene_of


def collide(*cars, **options):
    return find_collisions(scene_of(list(cars), duration_s=8.0).tracks, **options)


RAMMER = DrivenCar(id="a", points=((950, 1000), (1100, 1000)), speed_mps=10.0)


def test_a_rear_end_blames_who_drives_into_it():
    (hit,) = collide(RAMMER, DrivenCar(id="b", points=((980, 1000), (1100, 1000)), speed_mps=3.0))[:1]
    assert (hit.first_region, hit.second_region) == (Region.FRONT, Region.REAR)
    assert (hit.first_at_fault, hit.second_at_fault) == (True, False)
    assert hit.relative_speed_mps == pytest.approx(7.0)
    assert hit.time_s == pytest.approx((30 - 4.5 + 0.05) / 7.0, abs=0.1)


def test_hitting_a_standing_car_is_the_fault_of_who_moves():
    hit = collide(RAMMER, DrivenCar(id="b", points=((980, 1000), (1100, 1000)), speed_mps=0.0))[0]
    assert hit.first_at_fault
    assert not hit.second_at_fault
    assert "standing" in hit.reason


def test_a_side_hit_blames_who_is_not_inside_one_lane():
    drifter = DrivenCar(id="b", points=((950, 1003.5), (1000, 1000.5), (1100, 1000.5)), speed_mps=10.0)
    hit = collide(RAMMER, drifter, ego="a", road=prepare(crossing_road()))[0]
    assert (hit.first_region, hit.second_region) == (Region.LEFT, Region.RIGHT)
    assert (hit.first_at_fault, hit.second_at_fault) == (False, True)
    unknown = collide(RAMMER, drifter, ego="a")[0]
    assert not (unknown.first_at_fault or unknown.second_at_fault)


def test_who_owes_the_right_of_way_is_to_blame_for_being_hit_at_the_side():
    rammed = DrivenCar(id="ego", points=((1000, 958.0), (1000, 1060)), speed_mps=9.0)
    plain = collide(RAMMER, rammed, ego="ego")[0]
    owing = collide(RAMMER, rammed, ego="ego", right_of_way=("a",))[0]
    assert plain.first == owing.first == "ego"
    assert owing.first_at_fault
    assert not owing.second_at_fault
    assert "did not give way" in owing.reason


def test_one_event_per_pair_and_episode():
    hits = collide(RAMMER, DrivenCar(id="b", points=((980, 1000), (1100, 1000)), speed_mps=5.0))
    assert len(hits) == 1
    assert hits[0].end_tick > hits[0].start_tick


def test_a_contact_that_begins_with_an_appearance_is_nobodys_fault():
    hit = collide(RAMMER, DrivenCar(id="b", points=((952, 1000), (1100, 1000)), speed_mps=9.0))[0]
    assert hit.at_spawn
    assert not (hit.first_at_fault or hit.second_at_fault)


def test_a_car_inside_a_long_one_is_found_although_no_edges_cross():
    lorry = DrivenCar(id="lorry", points=((980, 1000), (1100, 1000)), speed_mps=0.0, size_m=(12.0, 2.6))
    small = DrivenCar(id="b", points=((979, 1000), (1100, 1000)), speed_mps=0.0, size_m=(3.0, 1.5), enters_s=1.0)
    assert collide(lorry, small)


def test_cars_that_touch_by_less_than_the_shrink_do_not_collide():
    beside = DrivenCar(id="b", points=((950, 1001.77), (1100, 1001.77)), speed_mps=10.0)
    assert collide(RAMMER, beside) == ()
    assert collide(RAMMER, beside, shrink_m=0.0)


def test_turning_the_world_changes_nothing():
    from dataclasses import replace

    tracks = scene_of([RAMMER, DrivenCar(id="b", points=((980, 1000), (1100, 1000)), speed_mps=3.0)]).tracks
    turn = 0.7
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    turned = replace(
        tracks, xy=tracks.xy @ matrix.T, velocity=tracks.velocity @ matrix.T, heading=tracks.heading + turn
    )
    one, two = find_collisions(tracks)[0], find_collisions(turned)[0]
    assert (one.start_tick, one.first_region, one.first_at_fault) == (
        two.start_tick,
        two.first_region,
        two.first_at_fault,
    )
