from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.data import DATASETS
from giveway.roads.lanelet2 import read_lanelet2
from giveway.synth.contact import touching
from giveway.synth.protocol import synthesize

SITES = ("DR_SYN_Intersection_A", "DR_SYN_Merging_A", "DR_SYN_Roundabout_A")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interaction") / "data"
    synthesize("interaction", folder, seed=2, count=1, minutes=2.0)
    return folder


def tracks(root: Path, site: str) -> pl.DataFrame:
    return pl.read_csv(root / "recorded_trackfiles" / site / "vehicle_tracks_000.csv")


@pytest.mark.parametrize("site", SITES)
def test_vehicle_files_look_like_the_originals(root: Path, site: str) -> None:
    lines = (root / "recorded_trackfiles" / site / "vehicle_tracks_000.csv").read_text().splitlines()
    assert lines[0] == "track_id,frame_id,timestamp_ms,agent_type,x,y,vx,vy,psi_rad,length,width"
    number = r"-?\d+\.(?:0|\d{0,2}[1-9])"
    assert all(re.fullmatch(rf"\d+,\d+,\d+,car(,{number}){{7}}", line) for line in lines[1:])
    table = tracks(root, site)
    assert (table["timestamp_ms"] == 100 * table["frame_id"]).all()
    assert table["frame_id"].min() == 1
    assert table.equals(table.sort("track_id", "frame_id"))
    assert table["length"].is_between(2.4, 12.2).all() and table["width"].is_between(1.25, 3.14).all()
    assert table.group_by("track_id").agg(pl.col("frame_id").diff().max())["frame_id"].max() == 1


@pytest.mark.parametrize("site", SITES)
def test_cars_point_where_they_drive_and_never_touch(root: Path, site: str) -> None:
    table = tracks(root, site)
    assert not touching(
        frame=table["frame_id"].to_numpy(),
        xy=table.select("x", "y").to_numpy(),
        heading=table["psi_rad"].to_numpy(),
        size=table.select("length", "width").to_numpy(),
    )
    fast = table.filter((pl.col("vx") ** 2 + pl.col("vy") ** 2) > 1)
    slip = np.arctan2(fast["vy"], fast["vx"]) - fast["psi_rad"].to_numpy()
    slip = np.abs((slip + np.pi) % (2 * np.pi) - np.pi)
    assert np.median(slip) < 0.0004 and slip.max() < 0.002
    for _, group in table.group_by("track_id"):
        middle = (group["x"].to_numpy()[2:] - group["x"].to_numpy()[:-2]) / 0.2
        assert np.abs(middle - group["vx"].to_numpy()[1:-1]).max() < 0.15


@pytest.mark.parametrize("site", SITES)
def test_cars_drive_on_the_lanes_of_the_map(root: Path, site: str) -> None:
    road = read_lanelet2(root / "maps" / f"{site}.osm")
    centers = np.concatenate([lane.center for lane in road.lanes.values()])
    xy = tracks(root, site).select("x", "y").to_numpy()[::7]
    apart = np.hypot(*(xy[:, None] - centers[None]).transpose(2, 0, 1)).min(axis=1)
    assert apart.max() < 6
    assert not road.warnings
    ends = [lane for lane in road.lanes.values() if not lane.successors]
    assert 2 <= len(ends) <= 4
    assert all(lane.speed_limit_mps for lane in road.lanes.values())
    assert any(lane.yields_to for lane in road.lanes.values())


def test_the_adapter_finds_nothing_wrong(root: Path) -> None:
    verification = DATASETS.get("interaction").verify(root)
    assert verification.ok and not verification.problems
    assert {recording.location for recording in verification.recordings} == set(SITES)


def test_numbers_survive_the_adapter(root: Path) -> None:
    adapter = DATASETS.get("interaction")
    recording = next(r for r in adapter.recordings(root) if "Roundabout" in r.id)
    (scene,) = list(adapter.scenes(recording))
    table = tracks(root, recording.location)
    row = table.row(len(table) // 2, named=True)
    agent = scene.tracks.index_of(str(row["track_id"]))
    instant = (
        int(np.argmin(np.abs(scene.tracks.time_s - (row["timestamp_ms"] / 1000 - 0.1))))
        if scene.tracks.time_s[0] == 0
        else int(np.argmin(np.abs(scene.tracks.time_s - row["timestamp_ms"] / 1000)))
    )
    assert scene.tracks.xy[agent, instant].tolist() == [row["x"], row["y"]]
    assert scene.tracks.size[agent].tolist() == [row["length"], row["width"]]
    assert scene.road is not None


@pytest.mark.parametrize("site", SITES)
def test_decisions_agree_with_who_comes_first(root: Path, site: str) -> None:
    truth = pl.read_csv(root / "truth" / f"{site}_000_decisions.csv", infer_schema_length=None)
    last = truth.group_by("t_id", "e_id").agg(pl.all().sort_by("t_S").last())
    both = last.filter(pl.col("t_A").is_not_nan() & pl.col("t_C").is_not_nan())
    assert both.height >= 3
    agreeing = (both["accepted"] == (both["t_A"] < both["t_C"])).mean()
    assert agreeing > 0.85  # type: ignore[operator]
    assert both.filter(~pl.col("t_crit").is_nan()).select((pl.col("t_crit") <= pl.col("t_C")).all()).item()


def test_people_cross_on_foot_in_their_own_file(root: Path) -> None:
    path = root / "recorded_trackfiles" / "DR_SYN_Roundabout_A" / "pedestrian_tracks_000.csv"
    lines = path.read_text().splitlines()
    assert lines[0] == "track_id,frame_id,timestamp_ms,agent_type,x,y,vx,vy"
    assert lines[1].startswith("P1,") and ",pedestrian/bicycle," in lines[1]
