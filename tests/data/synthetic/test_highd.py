from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.data import DATASETS
from giveway.synth.contact import touching
from giveway.synth.protocol import synthesize


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("highd") / "data"
    synthesize("highd", folder, seed=1, count=1, minutes=2.0)
    return folder


@pytest.fixture(scope="module")
def tracks(root: Path) -> pl.DataFrame:
    return pl.read_csv(root / "data" / "01_tracks.csv")


@pytest.fixture(scope="module")
def meta(root: Path) -> pl.DataFrame:
    return pl.read_csv(root / "data" / "01_tracksMeta.csv")


def test_files_look_like_the_originals(root: Path) -> None:
    lines = (root / "data" / "01_tracks.csv").read_text().splitlines()
    assert lines[0] == (
        "frame,id,x,y,width,height,xVelocity,yVelocity,xAcceleration,yAcceleration,frontSightDistance,"
        "backSightDistance,dhw,thw,ttc,precedingXVelocity,precedingId,followingId,leftPrecedingId,leftAlongsideId,"
        "leftFollowingId,rightPrecedingId,rightAlongsideId,rightFollowingId,laneId"
    )
    cells = lines[1].split(",")
    assert all(len(cell.partition(".")[2]) == 2 for cell in cells[2:16])
    assert all(cell.isdigit() for cell in [*cells[:2], *cells[16:]])
    row = (root / "data" / "01_recordingMeta.csv").read_text().splitlines()[1]
    assert row.startswith("1,25,2,-1.00,09.2017,") and row.endswith(",8.51;12.59;16.43,21.00;24.96;28.80")
    assert "1.200000e+02" in row


def test_ids_and_frames_start_at_one(tracks: pl.DataFrame, meta: pl.DataFrame) -> None:
    assert meta["id"].to_list() == list(range(1, meta.height + 1))
    assert tracks["frame"].min() == 1
    assert tracks.equals(tracks.sort("id", "frame"))
    assert meta["initialFrame"].is_sorted()


def test_directions_lanes_and_signs_agree(tracks: pl.DataFrame, meta: pl.DataFrame) -> None:
    joined = tracks.join(meta.select("id", "drivingDirection"), on="id").with_columns(
        middle=pl.col("y") + pl.col("height") / 2
    )
    upper = joined.filter(pl.col("drivingDirection") == 1)
    lower = joined.filter(pl.col("drivingDirection") == 2)
    assert (upper["xVelocity"] < 0).all() and set(upper["laneId"]) == {2, 3}
    assert (lower["xVelocity"] > 0).all() and set(lower["laneId"]) == {5, 6}
    for table, lane, low, high in ((upper, 2, 8.51, 12.59), (upper, 3, 12.59, 16.43), (lower, 6, 24.96, 28.80)):
        assert table.filter(pl.col("laneId") == lane)["middle"].is_between(low - 0.02, high + 0.02).all()


def test_neighbors_are_mutual_and_where_they_should_be(tracks: pl.DataFrame) -> None:
    some = tracks.filter(pl.col("frame") % 50 == 0)
    state = {(r["frame"], r["id"]): r for r in some.iter_rows(named=True)}
    seen = 0
    for (frame, number), row in state.items():
        forward = 1 if row["xVelocity"] > 0 else -1
        if row["precedingId"]:
            other = state[frame, row["precedingId"]]
            assert other["followingId"] == number and other["laneId"] == row["laneId"]
            assert forward * (other["x"] + other["width"] / 2 - row["x"] - row["width"] / 2) > 0
            seen += 1
        if row["leftAlongsideId"]:
            other = state[frame, row["leftAlongsideId"]]
            assert other["laneId"] == {2: 3, 6: 5}[row["laneId"]]
            assert (
                abs(other["x"] + other["width"] / 2 - row["x"] - row["width"] / 2)
                < (row["width"] + other["width"]) / 2 + 0.02
            )
    assert seen > 100


def test_nobody_touches_anybody_and_speeds_fit_positions(tracks: pl.DataFrame) -> None:
    assert not touching(
        frame=tracks["frame"].to_numpy(),
        xy=tracks.select(pl.col("x") + pl.col("width") / 2, pl.col("y") + pl.col("height") / 2).to_numpy(),
        heading=np.zeros(tracks.height),
        size=tracks.select("width", "height").to_numpy(),
    )
    for _, group in tracks.group_by("id"):
        middle = (group["x"].to_numpy()[10:] - group["x"].to_numpy()[:-10]) / 0.4
        assert np.abs(middle - group["xVelocity"].to_numpy()[5:-5]).max(initial=0) < 0.15


def test_lane_changes_are_the_accepted_gaps(root: Path, tracks: pl.DataFrame, meta: pl.DataFrame) -> None:
    truth = pl.read_csv(root / "truth" / "01_decisions.csv", infer_schema_length=None)
    taken = truth.filter("accepted").filter(pl.col("t_A").is_not_nan())
    assert taken.height >= 2
    assert meta["numLaneChanges"].sum() >= taken.height
    for row in taken.iter_rows(named=True):
        group = tracks.filter(pl.col("id") == row["t_id"])
        change = group.filter(pl.col("laneId") != pl.col("laneId").shift(1))
        assert change.height == 1
        assert change["frame"][0] / 25 == pytest.approx(row["t_A"], abs=0.045)
        if not np.isnan(row["t_C"]):
            assert row["t_A"] < row["t_C"]


def test_the_adapter_finds_nothing_wrong(root: Path) -> None:
    verification = DATASETS.get("highd").verify(root)
    assert verification.ok and not verification.problems
