"""Mining: what counts as a conflict, who had to give way, and that nothing is found twice."""

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.case import Role
from giveway.core.errors import UnknownNameError
from giveway.drive.bundled import bundled_set
from giveway.drive.bundled_roads import ROADS
from giveway.drive.conflicts import find_meetings, first_shared, traces_of
from giveway.drive.driving import Drive, drive_cases
from giveway.drive.gallery import write_gallery
from giveway.drive.mining import MiningRules, RightOfWay, mine_scene
from giveway.drive.scenes import GivenScenes
from giveway.predictors import make_predictor
from giveway.roads.priority import ring_lanes
from giveway.testing.drive_scenes import DrivenCar, crossing_road, scene_of

EGO = DrivenCar(id="1", points=((930, 1000), (1080, 1000)), speed_mps=8.0)
RIVAL = DrivenCar(id="2", points=((1000, 938), (1000, 1080)), speed_mps=8.0, accel_mps2=-0.05)
EASY = MiningRules(min_interest=1.0)


def mined(*cars, road=None, rules=EASY):
    return mine_scene(scene_of(list(cars), road=road), dataset="testing", recording="r/0", rules=rules)


def test_two_crossing_cars_are_a_case_and_the_map_says_who_yields():
    found = mined(EGO, RIVAL, road=crossing_road())
    (case,) = found.cases
    (conflict,) = case.conflicts
    assert (conflict.kind, conflict.rule, conflict.yields) == ("crossing", "map", "ego")
    assert case.ego.id == "1"
    assert case.right_of_way == ("2",)
    assert abs(conflict.x_m - 1000) < 4
    assert abs(conflict.y_m - 1000) < 4
    assert case.tracks_sha256 == "0" * 64


def test_without_a_map_the_order_of_arrival_decides_and_is_marked():
    (case,) = mined(EGO, replace(RIVAL, points=((1000, 950), (1000, 1080)))).cases
    assert case.conflicts[0].rule == "inferred"
    assert case.ego.id == "1"
    assert case.conflicts[0].first == "other"


def test_a_turning_car_yields_to_a_straight_one_by_geometry():
    turning = DrivenCar(
        id="2", points=((1004, 940), (1004, 985), (1000, 1000), (985, 1010), (900, 1014)), speed_mps=7.0
    )
    straight = DrivenCar(id="1", points=((996, 1080), (996, 920)), speed_mps=8.0)
    traces = traces_of(scene_of([straight, turning]).tracks)
    meetings, _ = find_meetings(traces, max_gap_s=20.0)
    who, rule = RightOfWay(None).yields(meetings[0])
    loser = meetings[0].first if who == "first" else meetings[0].second
    assert (traces[1].row, rule) == (loser.row, "geometry")


def test_cars_that_follow_each_other_are_no_conflict():
    follower = DrivenCar(id="2", points=((915, 1000), (1080, 1000)), speed_mps=8.0)
    assert mined(EGO, follower).conflicts == 0


def test_cars_that_pass_long_after_each_other_are_no_conflict():
    late = replace(RIVAL, enters_s=9.0)
    found = mined(EGO, late)
    assert (found.pairs, found.conflicts) == (1, 0)


def test_a_parked_car_is_no_conflict():
    assert mined(EGO, DrivenCar(id="2", points=((1000, 1000), (1001, 1000)), speed_mps=0.0)).cases == ()


def test_a_follower_becomes_an_idm_car_and_a_bystander_a_predicted_replay():
    follower = DrivenCar(id="3", points=((914, 1000), (1080, 1000)), speed_mps=8.0)
    bystander = DrivenCar(id="4", points=((930, 1008), (1080, 1008)), speed_mps=8.0)
    (case, *_) = mined(EGO, RIVAL, follower, bystander, road=crossing_road()).cases
    roles = {car.id: (car.role, car.predicted) for car in case.cars}
    assert roles["2"] == (Role.REACTIVE, True)
    assert roles["3"] == (Role.IDM, False)
    assert roles["4"] == (Role.REPLAY, True)


def test_filters_and_unknown_kinds():
    assert mined(EGO, RIVAL, rules=MiningRules(min_interest=1.0, kinds=("merging",))).cases == ()
    assert mined(EGO, RIVAL, rules=MiningRules(min_interest=5.0)).cases == ()
    with pytest.raises(UnknownNameError, match="crossing"):
        MiningRules(kinds=("crosing",))


def test_the_closer_the_more_interesting():
    near, far = (
        mined(EGO, replace(RIVAL, points=((1000, 938 - back), (1000, 1080)))).cases[0].interest for back in (12, 22)
    )
    assert near > far


def test_mined_cases_of_the_bundled_recordings_can_be_driven(tmp_path):
    cases, source = bundled_set()
    scenes = {case.recording: source.scene_of(case) for case in cases[::5]}
    found = [
        case
        for name, scene in scenes.items()
        for case in mine_scene(scene, dataset="bundled", recording=name, rules=EASY).cases
    ]
    assert len(found) >= len(scenes) // 2
    assert sum(case.conflicts[0].rule == "map" for case in found) > len(found) // 2
    keys = [(case.recording, case.ego.id, case.conflicts[0].other) for case in found]
    assert len(set(keys)) == len(keys)
    driven = list(drive_cases(found[:3], GivenScenes(scenes), predictor=make_predictor("constant_velocity")))
    assert all(isinstance(drive, Drive) for drive in driven)
    write_gallery(tmp_path / "g.html", [(case, scenes[case.recording]) for case in found])
    assert (tmp_path / "g.html").read_text().count('<figure class="chart">') == len(found)


def test_shared_runs_start_and_end_where_paths_meet():
    one = np.stack([np.arange(0.0, 40.0), np.zeros(40)], axis=1)
    two = np.stack([np.full(40, 20.0), np.arange(-20.0, 20.0)], axis=1)
    start, start_other, end, end_other = first_shared(one, two, 2.2)
    assert (start, end) == (18, 22)
    assert abs(start_other - 20) <= 2
    assert end_other == 20
    assert first_shared(one, two + 100.0, 2.2) == (-1, -1, -1, -1)


def test_a_ring_is_where_one_can_come_back_to_the_same_lane():
    rings = {kind: ring_lanes(make().road) for kind, make in ROADS.items()}
    assert rings["roundabout"] == {10 * k + part for k in range(4) for part in (3, 4)}
    assert not rings["merge"]
    assert not rings["junction"]


def test_on_a_roundabout_entering_is_told_from_merging():
    cases, source = bundled_set()
    kinds = {}
    for case in cases:
        if case.id.startswith(("roundabout", "merge")):
            found = mine_scene(source.scene_of(case), dataset="bundled", recording=case.id, rules=EASY)
            kinds.setdefault(case.site, set()).update(
                c.conflicts[0].kind for c in found.cases if {c.ego.id, c.conflicts[0].other} == {"1", "2"}
            )
    assert kinds["GW_Merge"] == {"merging"}
    assert "entering" in kinds["GW_Roundabout"]
    assert "merging" not in kinds["GW_Roundabout"]


def test_cars_side_by_side_in_two_lanes_are_no_conflict_and_those_that_join_are():
    straight = DrivenCar(id="1", points=((930, 1000), (1080, 1000)), speed_mps=8.0)
    drifting = DrivenCar(id="2", points=((930, 1005), (980, 1002), (1080, 1002)), speed_mps=8.3)
    joining = replace(drifting, points=((930, 1005), (980, 1000.5), (1080, 1000.5)))
    assert mined(straight, drifting).conflicts == 0
    assert mined(straight, joining).conflicts == 1


def test_a_car_that_waits_at_the_edge_of_the_shared_area_is_no_conflict():
    waiting = DrivenCar(id="2", points=((1000, 970), (1000, 1010)), speed_mps=5.0, accel_mps2=-0.43)
    passing = DrivenCar(id="1", points=((940, 1000.8), (1080, 1000.8)), speed_mps=4.0)
    found = mined(waiting, passing)
    assert (found.pairs, found.conflicts) == (1, 0)
