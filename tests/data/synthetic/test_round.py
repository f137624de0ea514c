from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.synth.contact import touching
from giveway.synth.protocol import synthesize

LOCATIONS_PX = {0: (801.0, -465.0, 247.5), 1: (781.0, -481.0, 98.1), 2: (1011.0, -449.0, 100.0)}
RECORDINGS = range(3)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("round") / "data"
    synthesize("round", folder, seed=5, count=3, minutes=3.0)
    return folder


def read(root: Path, number: int) -> tuple[dict[str, float], pl.DataFrame, pl.DataFrame]:
    stem = root / "data" / f"{number:02d}"
    meta = pl.read_csv(f"{stem}_recordingMeta.csv").row(0, named=True)
    return meta, pl.read_csv(f"{stem}_tracksMeta.csv"), pl.read_csv(f"{stem}_tracks.csv")


def circle(meta: dict[str, float]) -> tuple[np.ndarray, float]:
    x, y, outer = LOCATIONS_PX[int(meta["locationId"])]
    scale = 10 * meta["orthoPxToMeter"]
    return np.array([x, y]) * scale, outer * scale


def test_files_look_like_the_originals(root: Path) -> None:
    lines = {
        ending: (root / "data" / f"00_{ending}.csv").read_text().splitlines()
        for ending in ("recordingMeta", "tracksMeta", "tracks")
    }
    assert lines["recordingMeta"][0] == (
        "recordingId,locationId,frameRate,speedLimit,weekday,startTime,duration,numTracks,numVehicles,numVRUs,"
        "latLocation,lonLocation,xUtmOrigin,yUtmOrigin,orthoPxToMeter"
    )
    assert lines["recordingMeta"][1].startswith("0,1,25,13.8889,")
    assert lines["recordingMeta"][1].endswith(",50.7906,6.0599,292669.4681,5630731.7040,0.01480983298809042")
    assert lines["tracksMeta"][0] == "recordingId,trackId,initialFrame,finalFrame,numFrames,width,length,class"
    assert lines["tracks"][0] == (
        "recordingId,trackId,frame,trackLifetime,xCenter,yCenter,heading,width,length,xVelocity,yVelocity,"
        "xAcceleration,yAcceleration,lonVelocity,latVelocity,lonAcceleration,latAcceleration"
    )
    cells = lines["tracks"][1].split(",")
    assert all(cell.isdigit() for cell in cells[:4])
    assert all(len(cell.partition(".")[2]) == 4 for cell in cells[4:])
    assert (root / "data" / "00_background.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("number", RECORDINGS)
def test_ids_frames_and_counts_follow_the_rules(root: Path, number: int) -> None:
    meta, tracks_meta, tracks = read(root, number)
    assert meta["locationId"] == {0: 1, 1: 2, 2: 0}[number]
    assert tracks_meta["trackId"].to_list() == list(range(int(meta["numTracks"])))
    assert meta["numVehicles"] + meta["numVRUs"] == meta["numTracks"]
    assert tracks.equals(tracks.sort("trackId", "frame"))
    for track_id, group in tracks.group_by("trackId", maintain_order=True):
        row = tracks_meta.row(int(track_id[0]), named=True)  # type: ignore[call-overload]
        assert group["frame"].to_list() == list(range(row["initialFrame"], row["finalFrame"] + 1))
        assert group["trackLifetime"].to_list() == list(range(row["numFrames"]))
    assert (tracks["yCenter"] < 0).all() and (tracks["xCenter"] > 0).all()
    assert tracks["heading"].is_between(0, 360, closed="left").all()
    assert tracks_meta["width"].min() > 0  # type: ignore[operator]
    parked = tracks_meta.filter(pl.col("numFrames") == pl.col("numFrames").max())
    assert parked.height == 1 and tracks.filter(pl.col("trackId") == parked["trackId"][0])["lonVelocity"].max() == 0


@pytest.mark.parametrize("number", RECORDINGS)
def test_nobody_touches_anybody_and_nobody_slips_sideways(root: Path, number: int) -> None:
    _, _, tracks = read(root, number)
    heading = np.radians(tracks["heading"].to_numpy())
    assert not touching(
        frame=tracks["frame"].to_numpy(),
        xy=tracks.select("xCenter", "yCenter").to_numpy(),
        heading=heading,
        size=tracks.select("length", "width").to_numpy(),
    )
    fast = tracks.with_columns(heading=heading).filter(pl.col("lonVelocity") > 1)
    slip = np.arctan2(fast["yVelocity"], fast["xVelocity"]) - fast["heading"].to_numpy()
    assert np.abs((slip + np.pi) % (2 * np.pi) - np.pi).max() < 1e-3
    assert tracks["lonAcceleration"].is_between(-8, 3.3).all()


@pytest.mark.parametrize("number", RECORDINGS)
def test_velocities_are_the_derivatives_of_positions(root: Path, number: int) -> None:
    _, _, tracks = read(root, number)
    for _, group in tracks.group_by("trackId", maintain_order=True):
        for axis in ("x", "y"):
            position = group[f"{axis}Center"].to_numpy()
            middle = (position[2:] - position[:-2]) * 12.5
            assert np.abs(middle - group[f"{axis}Velocity"].to_numpy()[1:-1]).max() < 0.05


@pytest.mark.parametrize("number", RECORDINGS)
def test_truth_follows_from_the_written_positions(root: Path, number: int) -> None:
    meta, _, tracks = read(root, number)
    center, outer = circle(meta)
    lane = outer - 1.75
    paths = {
        int(key[0]): (group["frame"].to_numpy() / 25, group.select("xCenter", "yCenter").to_numpy() - center)  # type: ignore[call-overload]
        for key, group in tracks.group_by("trackId")
    }
    truth = pl.read_csv(root / "truth" / f"{number:02d}_samples.csv", infer_schema_length=None)
    seen = truth.filter(pl.col("t_S").is_not_nan())
    assert seen.height > 10
    for row in seen.iter_rows(named=True):
        time, xy = paths[row["t_id"]]
        if row["t_A_observed"]:
            at = [np.interp(row["t_A"], time, xy[:, k]) for k in (0, 1)]
            assert math.hypot(*at) == pytest.approx(outer, abs=0.05)
        first_near = int(np.argmax(np.hypot(*xy.T) < outer + 10))
        away = xy[0] - xy[first_near]
        phi = math.atan2(away[1], away[0])
        e_time, e_xy = paths[row["e_id"]]
        angle = np.unwrap(np.arctan2(e_xy[:, 1], e_xy[:, 0]) - phi)
        angle -= 2 * np.pi * np.round(np.interp(row["pass_frame"] / 25, e_time, angle) / (2 * np.pi))
        radius = np.hypot(*e_xy.T)
        along = -np.logaddexp(0, radius - lane) * np.tanh(5 * angle) - lane * angle - 2.5
        if row["t_C_observed"]:
            assert np.interp(row["t_C"], e_time, along) == pytest.approx(0, abs=0.02)
        has_window = row["t_crit"] - max(time[0], e_time[0]) > 0.2
        if has_window and row["t_S"] < row["t_crit"] < min(row["t_A"], row["t_C"]):
            now, earlier = (np.interp(row["t_crit"] - back, e_time, along) for back in (0.0, 0.2))
            assert now == pytest.approx(((earlier - now) / 0.2) ** 2 / 8, abs=0.02)
        assert (row["t_S"] * 25) == pytest.approx(round(row["t_S"] * 25), abs=1e-3)


def test_gaps_of_both_kinds_are_there_and_bolder_rules_show_in_the_outcome(root: Path) -> None:
    truth = pl.concat(
        [pl.read_csv(root / "truth" / f"{n:02d}_samples.csv", infer_schema_length=None) for n in RECORDINGS]
    )
    seen = truth.filter(pl.col("t_S").is_not_nan())
    assert 5 < seen["accepted"].sum() < seen.height - 20
    chosen = seen.filter(pl.col("p_accept").is_not_nan())
    impossible = chosen.filter(pl.col("p_accept") == 0)
    assert impossible["accepted"].mean() < 0.1 < chosen.filter(pl.col("p_accept") > 0.7)["accepted"].mean()  # type: ignore[operator]
