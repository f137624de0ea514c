"""Columns that contradict one another: refused, unless a reader says that it knows better, and then noted."""

from dataclasses import replace

import numpy as np
import pytest

from giveway.cli.main import run
from giveway.core.errors import FileFormatError
from giveway.core.tracks import AgentKind
from giveway.data import DATASETS
from giveway.data.findings import Findings
from giveway.data.plausibility import Motion, check_plausible, check_proportions

RATE_HZ = 10.0


def motion(*, heading=0.0, speed=6.0, claimed=None, kind=AgentKind.CAR, rows=20, tracks=1, reverses=True, noise=None):
    """Cars along +x at ``speed`` that claim another velocity or heading."""
    time = np.tile(np.arange(rows) / RATE_HZ, tracks)
    vx, vy = (speed, 0.0) if claimed is None else claimed
    x = speed * time
    if noise is not None:
        x = x + noise.normal(0.0, 0.02, len(x))
    return Motion(
        file="tracks.csv",
        lines=lambda at: at + 2,
        ids=np.array([str(a) for a in range(tracks)]),
        offsets=np.arange(tracks + 1) * rows,
        time_s=time,
        step_s=1.5 / RATE_HZ,
        x=x,
        y=np.zeros(len(x)),
        vx=np.full(len(x), float(vx)),
        vy=np.full(len(x), float(vy)),
        heading=np.full(len(x), float(heading)),
        kind=np.full(tracks, int(kind)),
        columns=("vx", "psi_rad"),
        reverses=reverses,
    )


def problems(tmp_path, *motions):
    findings = Findings(tmp_path, strict=False)
    for each in motions:
        check_plausible(replace(each, file=tmp_path / "tracks.csv"), findings)
    return [problem.message for problem in findings.problems]


def test_a_car_that_drives_where_it_points_is_plausible(tmp_path):
    assert problems(tmp_path, motion(), motion(heading=2 * np.pi), motion(noise=np.random.default_rng(0))) == []


def test_a_velocity_that_is_not_the_change_of_position_is_told_once_per_track(tmp_path):
    (message,) = problems(tmp_path, motion(claimed=(4.5, 0.0)))
    assert message == "velocity and change of position contradict each other over most of a track"


def test_the_bound_is_one_meter_per_second_and_five_percent(tmp_path):
    assert problems(tmp_path, motion(speed=10.0, claimed=(11.55, 0.0))) == []
    assert problems(tmp_path, motion(speed=10.0, claimed=(11.65, 0.0))) != []


def test_one_row_that_is_far_off_is_told_with_its_line(tmp_path):
    one = motion()
    one.vx[7] += 20.0
    findings = Findings(tmp_path, strict=False)
    check_plausible(replace(one, file=tmp_path / "tracks.csv"), findings)
    assert [problem.line for problem in findings.problems] == [9, 10]


@pytest.mark.parametrize(
    "kept",
    [
        motion(heading=np.pi),  # reversing
        motion(speed=1.0, heading=1.5),  # too slow for a direction
        motion(heading=1.5, kind=AgentKind.PEDESTRIAN),
        motion(heading=np.nan),
        motion(claimed=(np.nan, np.nan)),
        motion(speed=0.0, heading=1.0),
        motion(heading=1.5, rows=1),
    ],
    ids=["reversing", "slow", "pedestrian", "no heading", "no velocity", "standing", "one row"],
)
def test_what_real_recordings_have_is_no_contradiction(tmp_path, kept):
    assert [m for m in problems(tmp_path, kept) if "over most" in m or "backwards" in m] == []


def test_a_heading_across_the_motion_is_told(tmp_path):
    assert any("over most of a track" in m for m in problems(tmp_path, motion(heading=0.5)))


def test_everybody_driving_backwards_is_a_wrong_heading(tmp_path):
    assert (
        problems(tmp_path, motion(heading=np.pi, tracks=4))
        == ["road users drive backwards where hardly anybody does"] * 4
    )
    assert problems(tmp_path, motion(heading=np.pi, reverses=False)) == [
        "road users drive backwards where hardly anybody does"
    ]


def test_steps_over_holes_are_not_compared(tmp_path):
    holed = motion()
    holed.time_s[10:] += 5.0
    assert problems(tmp_path, holed) == []


def test_only_long_vehicles_must_be_longer_than_wide(tmp_path):
    findings = Findings(tmp_path, strict=False)
    size = np.array([[1.8, 4.5], [1.5, 1.6], [0.4, 0.5], [np.nan, np.nan]])
    kind = np.array([AgentKind.CAR, AgentKind.TRAILER, AgentKind.PEDESTRIAN, AgentKind.CAR])
    check_proportions(size, kind, tmp_path / "meta.csv", np.arange(4) + 2, findings)
    assert [(p.line, p.message) for p in findings.problems] == [(2, "a vehicle is wider than long")]


@pytest.fixture
def swapped(interaction_root):
    """Both velocity columns exchanged by name; longer tracks than the fixture has."""
    path = interaction_root / "recorded_trackfiles" / "DR_TEST_Merging_A" / "vehicle_tracks_000.csv"
    lines = ["track_id,frame_id,timestamp_ms,agent_type,x,y,vy,vx,psi_rad,length,width"]
    lines += [f"1,{k},{100 * k},car,{1000 + 0.5 * k:.3f},994.000,5.0,0.0,0.0,4.5,1.8" for k in range(1, 12)]
    path.write_text("\n".join(lines) + "\n")
    return interaction_root


def call(*args):
    with pytest.raises(SystemExit) as caught:
        run([str(arg) for arg in args])
    return caught.value.code or 0


def test_reading_refuses_and_accepting_leaves_a_note(swapped):
    adapter = DATASETS.get("interaction")
    recording = adapter.recordings(swapped)[0]
    with pytest.raises(FileFormatError, match="velocity and change of position") as caught:
        next(adapter.scenes(recording))
    assert "--accept-implausible" in caught.value.hint
    scene = next(adapter.scenes(replace(recording, accept_implausible=True)))
    assert scene.provenance.notes
    assert all(note.startswith("accepted although implausible: ") for note in scene.provenance.notes)
    assert not adapter.verify(swapped).ok
    accepted = adapter.verify(swapped, accept_implausible=True)
    assert accepted.ok and {problem.severity for problem in accepted.problems} == {"warning"}


def test_the_option_reaches_verify_show_and_convert_and_the_store_keeps_the_note(swapped, tmp_path, capsys):
    common = ["--dataset", "interaction", "--root", swapped]
    for command, extra in (
        ("verify", []),
        ("show", ["--out", tmp_path / "show"]),
        ("convert", ["--out", tmp_path / "store"]),
    ):
        assert call("data", command, *common, *extra) == (2 if command == "show" else 1)
        message = capsys.readouterr().err
        assert "velocity and change of position" in message and "--accept-implausible" in message
        assert call("data", command, *common, *extra, "--accept-implausible") == 0
    stored = DATASETS.get("store")
    scene = next(stored.scenes(stored.recordings(tmp_path / "store")[0]))
    assert any("implausible" in note for note in scene.provenance.notes)
