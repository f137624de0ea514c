"""Cases on disk: JSON, and the challenge's plain text in both row forms."""

import json
from dataclasses import replace

import pytest

from giveway.core.case import Car, Role, Route, Start
from giveway.core.errors import DataError, EmptySelectionError, FileFormatError
from giveway.sim.case_files import natural_key, read_cases, write_cases
from giveway.sim.challenge_cases import read_challenge_case
from giveway.testing.drive_scenes import crossing_case

SHORT = """Map:DR_USA_Roundabout_FT
Track:000
StartTimestamp(ms):6000
EndTimestamp(ms):13600
RobotCarNum:3
InitState:track_id,Planner,Planner.Para,in_Predictor,in_dt,in_horizon,ex_Predictor,ex_dt,ex_horizon,ego_car
13 Astar N GroundTruth 0.1 3.0 no 0.1 3.0 yes
12 ReactivePlanner N GroundTruth 0.1 3.0 yes 0.1 3.0 no
3 IDM N GroundTruth 0.1 3.0 no 0.1 3.0 no
ReplayCarWithPredictor:1
InitState:track_id,in_Predictor,in_Predictor.dt,in_Predictor.horizon,ex_Predictor,ex_Predictor.dt,ex_Predictor.horizon
11 GroundTruth 0.1 3.0 yes 0.1 3.0
EgoEndPosition:7.456000 -14.489000
TargetRightofWay:12 \n"""

LONG_ROW = "13 6000 3.5 6.25 3.0 8.9 0.00 0.00 5.42 1.99 30000 30008 Astar N GroundTruth 0.1 3.0 no 0.1 3.0 yes"


def test_short_rows_give_roles_predictions_and_the_site_frame():
    case = read_challenge_case(SHORT, where="test_config_0.txt")
    assert case.id == "test_config_0"
    assert case.recording == "DR_USA_Roundabout_FT/000"
    assert [(car.id, car.role, car.predicted) for car in case.cars] == [
        ("13", Role.EGO, False),
        ("12", Role.REACTIVE, True),
        ("3", Role.IDM, False),
        ("11", Role.REPLAY, True),
    ]
    assert (case.start_s, case.end_s, case.num_ticks) == (6.0, 13.6, 76)
    assert case.ego_end_m == pytest.approx((1007.456, 985.511))
    assert case.right_of_way == ("12",)
    assert case.hide_unpredicted


def test_long_rows_carry_an_altered_start():
    text = SHORT.replace("13 Astar N GroundTruth 0.1 3.0 no 0.1 3.0 yes", LONG_ROW)
    start = read_challenge_case(text, where="x").ego.start
    assert start is not None
    assert (start.time_s, start.x_m, start.y_m, start.speed_mps) == (6.0, 1003.5, 1006.25, 8.9)
    assert (start.length_m, start.width_m) == (5.42, 1.99)


def test_no_right_of_way_car_is_allowed():
    text = SHORT.replace("TargetRightofWay:12 ", "TargetRightofWay:")
    assert read_challenge_case(text, where="x").right_of_way == ()


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("Track:000", "Trak:000", "line 2"),
        ("StartTimestamp(ms):6000", "StartTimestamp(ms):soon", "line 3"),
        ("StartTimestamp(ms):6000", "StartTimestamp(ms):nan", "line 3"),
        ("RobotCarNum:3", "RobotCarNum:inf", "line 5"),
        ("13 Astar N GroundTruth 0.1 3.0 no 0.1 3.0 yes", LONG_ROW.replace("6000", "inf"), "line 7"),
        ("3 IDM N", "3 Magic N", "line 9"),
        ("12 ReactivePlanner N", "12 ReactivePlanner", "line 8"),
        ("3.0 no 0.1 3.0 yes", "3.0 no 0.1 3.0 maybe", "line 7"),
        ("EgoEndPosition:7.456000 -14.489000", "EgoEndPosition:7.456000", "line 13"),
        ("EgoEndPosition:7.456000", "EgoEndPosition:nan", "line 13"),
    ],
)
def test_a_broken_line_is_named(old, new, line):
    with pytest.raises(FileFormatError) as caught:
        read_challenge_case(SHORT.replace(old, new), where="c.txt")
    assert line in str(caught.value.where)


def test_a_file_that_ends_too_early_is_refused():
    with pytest.raises(FileFormatError, match="ends too early"):
        read_challenge_case(SHORT[:200], where="c.txt")


def test_a_case_set_survives_the_round_trip(tmp_path):
    cases = (crossing_case(), read_challenge_case(SHORT, where="b.txt"))
    write_cases(tmp_path / "cases.json", cases)
    assert read_cases(tmp_path / "cases.json") == cases


def test_a_folder_of_plain_text_cases_is_read_in_natural_order(tmp_path):
    for n in (10, 2, 1):
        (tmp_path / f"config_{n}.txt").write_text(SHORT)
    assert [case.id for case in read_cases(tmp_path)] == ["config_1", "config_2", "config_10"]


def test_natural_order_compares_numbers_as_numbers(tmp_path):
    names = ["a10b", "a2b", "a2", "b1"]
    assert [p.name for p in sorted((tmp_path / n for n in names), key=natural_key)] == ["a2", "a2b", "a10b", "b1"]


def test_unknown_fields_and_wrong_types_are_refused_with_their_place(tmp_path):
    write_cases(tmp_path / "c.json", [crossing_case()])
    document = json.loads((tmp_path / "c.json").read_text())
    document["cases"][0]["speed"] = 3
    (tmp_path / "c.json").write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="speed"):
        read_cases(tmp_path / "c.json")
    del document["cases"][0]["speed"]
    document["cases"][0]["start_s"] = "now"
    (tmp_path / "c.json").write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="start_s"):
        read_cases(tmp_path / "c.json")


@pytest.mark.parametrize("field", ["time_s", "x_m", "y_m", "heading_rad", "speed_mps", "length_m", "width_m"])
@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e300"])
def test_a_start_that_is_no_number_is_refused_with_its_place(tmp_path, field, number):
    start = Start(time_s=1.0, x_m=945.0, y_m=1000.5, heading_rad=0.0, speed_mps=6.0, length_m=4.5, width_m=1.8)
    case = crossing_case()
    write_cases(tmp_path / "c.json", [replace(case, cars=(replace(case.ego, start=start), *case.cars[1:]))])
    document = json.loads((tmp_path / "c.json").read_text())
    document["cases"][0]["cars"][0]["start"][field] = float(number)
    (tmp_path / "c.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match="must be finite") as caught:
        read_cases(tmp_path / "c.json")
    assert caught.value.where == f"case 'crossing', car ego, start.{field}"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "other"}', '{"format": "giveway-cases", "version": 9}'])
def test_nonsense_is_refused(tmp_path, text):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(DataError):
        read_cases(tmp_path / "c.json")


def test_an_empty_folder_and_a_missing_file_say_so(tmp_path):
    with pytest.raises(EmptySelectionError):
        read_cases(tmp_path)
    with pytest.raises(DataError, match="no such case file"):
        read_cases(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"cars": (Car(id="a", role=Role.IDM),)},
        {"cars": (Car(id="a", role=Role.EGO), Car(id="b", role=Role.EGO))},
        {"cars": (Car(id="a", role=Role.EGO), Car(id="a", role=Role.IDM))},
        {"cars": (Car(id="a", role=Role.EGO, predicted=True),)},
        {"end_s": 1.0},
        {"end_s": float("nan")},
        {"start_s": -1e308, "end_s": 1e308},
        {"ego_end_m": (float("inf"), 0.0)},
        {"desired_speed_mps": float("inf")},
        {"desired_speed_mps": 0.0},
        {"id": "../evil"},
        {"id": ""},
        {"right_of_way": ("ego",)},
    ],
)
def test_a_case_that_cannot_be_driven_is_refused(changes):
    with pytest.raises(DataError):
        replace(crossing_case(), **changes)


def test_the_fingerprint_changes_with_anything_in_the_case():
    case = crossing_case()
    assert case.fingerprint == crossing_case().fingerprint
    assert case.fingerprint != replace(case, desired_speed_mps=9.0).fingerprint


@pytest.mark.parametrize(
    ("points", "s_m", "speed_mps", "message"),
    [
        (((0.0, 0.0),), 0.0, 1.0, "at least two points"),
        (((0.0, 0.0), (0.0, 0.0)), 0.0, 1.0, "at least two points"),
        (((0.0, 0.0), (50.0, 0.0)), 500.0, 1.0, "starts on its route"),
        (((0.0, 0.0), (50.0, 0.0)), -1.0, 1.0, "starts on its route"),
        (((0.0, 0.0), (50.0, 0.0)), 5.0, -3.0, "backwards"),
        (((0.0, 0.0), (float("nan"), 0.0)), 5.0, 3.0, "finite"),
    ],
)
def test_a_route_that_nobody_can_follow_is_refused(points, s_m, speed_mps, message):
    route = Route(points_m=points, s_m=s_m, speed_mps=speed_mps)
    case = crossing_case()
    with pytest.raises(DataError, match=message):
        replace(case, cars=(replace(case.cars[0], route=route), *case.cars[1:]))
