"""What holds for every registered generator."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.data import DATASETS
from giveway.synth import SYNTHESIZERS
from giveway.synth.protocol import synthesize

SMALL: dict[str, dict[str, float | int]] = {"lgap": {"count": 9}, "leeds": {"count": 1}}
VELOCITY_LIMIT_MPS = {
    "lgap": 1.5,  # smoothed by row, while steps in time vary by 2 %: up to 0.7 m/s at 35 m/s
    "highd": 0.5,  # positions have two decimals: 0.01 m in 0.04 s
    "leeds": 0.5,  # the adapter takes velocities from differences
}
OTHERS: dict[str, float | int] = {"count": 1, "minutes": 0.7}


@pytest.fixture(scope="module", params=SYNTHESIZERS.names())
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    name = request.param
    folder = tmp_path_factory.mktemp(name) / "data"
    synthesize(name, folder, seed=8, **SMALL.get(name, OTHERS))  # type: ignore[arg-type]
    return name, folder


def digests(folder: Path) -> dict[str, str]:
    files = (p for p in folder.rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_the_adapter_of_the_same_name_finds_nothing_wrong(written: tuple[str, Path]) -> None:
    name, folder = written
    verification = DATASETS.get(name).verify(folder)
    assert verification.ok and not verification.problems
    assert verification.recordings


def test_scenes_move_as_their_velocities_say(written: tuple[str, Path]) -> None:
    name, folder = written
    adapter = DATASETS.get(name)
    scene = next(iter(adapter.scenes(adapter.recordings(folder)[0])))
    tracks = scene.tracks
    step = np.diff(tracks.xy, axis=1) / np.diff(tracks.time_s)[None, :, None]
    mean = (tracks.velocity[:, 1:] + tracks.velocity[:, :-1]) / 2
    off = np.hypot(*np.moveaxis(step - mean, -1, 0))
    assert np.nanquantile(off, 0.99) < VELOCITY_LIMIT_MPS.get(name, 0.25)
    assert not np.isnan(tracks.xy[tracks.observed]).any()


def test_the_same_seed_gives_the_same_bytes(written: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = written
    synthesize(name, tmp_path / "again", seed=8, **SMALL.get(name, OTHERS))  # type: ignore[arg-type]
    assert digests(folder) == digests(tmp_path / "again")


def test_the_record_names_seed_version_and_every_file(written: tuple[str, Path]) -> None:
    name, folder = written
    record = json.loads((folder / "synthetic.json").read_text())
    assert record["synthetic"] is True and record["dataset"] == name and record["seed"] == 8
    assert set(record["files"]) == digests(folder).keys() - {"synthetic.json"}
    assert record["giveway"] and record["parameters"]["size"] >= 1


def test_truth_lies_beside_the_recordings(written: tuple[str, Path]) -> None:
    _, folder = written
    tables = sorted((folder / "truth").glob("*.csv"))
    assert tables
    assert sum(pl.read_csv(table, infer_schema_length=None).height for table in tables) > 0


def test_test_cases_end_after_ten_frames_and_have_one_ego(tmp_path: Path) -> None:
    synthesize("interaction_cases", tmp_path / "d", seed=1, minutes=1.0)
    table = pl.read_csv(tmp_path / "d" / "test_multi-agent" / "DR_SYN_Roundabout_A_obs.csv", infer_schema_length=None)
    assert table["frame_id"].max() == 10
    egos = table.filter(pl.col("interesting_agent") == 1).group_by("case_id").agg(pl.col("track_id").n_unique())
    assert (egos["track_id"] == 1).all() and egos.height == table["case_id"].n_unique()
    assert (table.filter(pl.col("interesting_agent") == 1)["track_to_predict"] == 1).all()


def test_ind_has_five_decimals_and_people_without_size(tmp_path: Path) -> None:
    synthesize("ind", tmp_path / "d", seed=1, minutes=2.0)
    lines = (tmp_path / "d" / "data" / "00_recordingMeta.csv").read_text().splitlines()
    assert lines[1].startswith("0,4,25.00000,13.88889,")
    meta = pl.read_csv(tmp_path / "d" / "data" / "00_tracksMeta.csv")
    people = meta.filter(pl.col("class").is_in(["pedestrian", "bicycle"]))
    assert people.height > 0 and people["length"].max() == 0
    assert set(meta["class"]) <= {"car", "truck_bus", "pedestrian", "bicycle"}
