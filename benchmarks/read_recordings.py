"""How fast recordings are read, against plain pandas in the same run.

Two files: a rounD recording of 350 tracks and 1.0 million rows, and an INTERACTION file of about 3 MB, both generated
here (numbers with the decimals of the real files). Measured for each, as the best of several:

* ``pandas``: ``read_csv`` of the tracks file and ``groupby`` into one array per track and column, as the tools that
  come with the datasets and the scripts of the field do; nothing is checked, nothing is hashed. This is what the
  required 1.5 is measured against;
* ``pandas_same_columns``: the same for the columns that we read and no others, which needs somebody who knows them;
* ``csv``: the adapter, from the files to a finished ``Scene``: all checks, SHA-256 of the sources, dense arrays;
* ``store``: the same ``Scene`` from the Parquet store.

Ratios are given for wall time and for processor time of all threads; on a busy machine only the latter means much, and
it is the harder one for us, because pandas uses one thread and we use several.

Memory is the growth of the peak resident size of a fresh process while it reads, divided by the bytes of the arrays
of the ``Scene`` it ends up with; the file itself, parser buffers and columns are all in the numerator.

    python benchmarks/read_recordings.py [--repeat N] [--rows N]
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

PARKED = 21
ROUND_TRACKS = 350
ROUND_FRAMES = 25_716  # 1028.64 s at 25 Hz, the length of recording 00


def write_round(root: Path, rows: int) -> None:
    """A few parked vehicles over the whole recording, the rest shares what is left of the rows."""
    rng = np.random.default_rng(0)
    frames = min(ROUND_FRAMES, rows // 40)
    moving = ROUND_TRACKS - PARKED
    left = rows - PARKED * frames
    lengths = np.full(moving, left // moving)
    lengths[: left - int(lengths.sum())] += 1
    lengths = np.concatenate([np.full(PARKED, frames), lengths])
    firsts = np.concatenate([np.zeros(PARKED, dtype=int), rng.integers(0, frames - lengths[-1], moving)])
    track = np.repeat(np.arange(ROUND_TRACKS), lengths)
    life = np.concatenate([np.arange(n) for n in lengths])
    time_s = life / 25
    radius = np.where(track < PARKED, 40.0, 20.0)
    angle = np.where(track < PARKED, track, 0.3 * time_s + track)
    speed = np.where(track < PARKED, 0.0, 0.3 * radius)
    direction = angle + np.pi / 2
    noise = rng.normal(0.0, 0.003, (13, len(track)))  # without it columns would compress as no real ones do
    noise[3:5] = 0.0
    floats = {
        "xCenter": 80 + radius * np.cos(angle),
        "yCenter": -60 + radius * np.sin(angle),
        "heading": np.clip(np.degrees(direction) % 360, 0.05, 359.95),
        "width": 1.8 + 0.001 * (track % 100),
        "length": 4.2 + 0.001 * (track % 100),
        "xVelocity": speed * np.cos(direction),
        "yVelocity": speed * np.sin(direction),
        "xAcceleration": -0.09 * radius * np.cos(angle),
        "yAcceleration": -0.09 * radius * np.sin(angle),
        "lonVelocity": speed,
        "latVelocity": 0.001 * np.sin(time_s),
        "lonAcceleration": 0.01 * np.cos(time_s),
        "latAcceleration": np.where(track < PARKED, 0.0, 0.09 * radius),
    }
    floats = {name: values + noise[index] for index, (name, values) in enumerate(floats.items())}
    tracks = pl.DataFrame(
        {"recordingId": np.zeros(len(track), dtype=int), "trackId": track, "frame": firsts[track] + life}
        | {"trackLifetime": life}
        | floats
    )
    tracks.write_csv(root / "00_tracks.csv", float_precision=4)
    meta = pl.DataFrame(
        {
            "recordingId": np.zeros(ROUND_TRACKS, dtype=int),
            "trackId": np.arange(ROUND_TRACKS),
            "initialFrame": firsts,
            "finalFrame": firsts + lengths - 1,
            "numFrames": lengths,
            "width": 1.8 + 0.001 * (np.arange(ROUND_TRACKS) % 100),
            "length": 4.2 + 0.001 * (np.arange(ROUND_TRACKS) % 100),
            "class": ["car"] * ROUND_TRACKS,
        }
    )
    meta.write_csv(root / "00_tracksMeta.csv", float_precision=4)
    (root / "00_recordingMeta.csv").write_text(
        "recordingId,locationId,frameRate,speedLimit,weekday,startTime,duration,numTracks,numVehicles,numVRUs,"
        "latLocation,lonLocation,xUtmOrigin,yUtmOrigin,orthoPxToMeter\n"
        f"0,1,25,13.8889,tuesday,7,{frames / 25:.4f},{ROUND_TRACKS},{ROUND_TRACKS},0,50.7906,6.0599,292669.4681,"
        "5630731.7040,0.01480983298809042\n"
    )


def write_interaction(root: Path, tracks: int = 260, frames: int = 3000) -> None:
    """About 50 000 rows; the largest real file of that size has 242 tracks over 3 006 frames."""
    rng = np.random.default_rng(1)
    length = 190
    track = np.repeat(np.arange(1, tracks + 1), length)
    life = np.tile(np.arange(length), tracks)
    firsts = np.sort(rng.integers(1, frames - length, tracks))
    angle = 0.05 * life + track
    noise = rng.normal(0.0, 0.003, (5, len(track)))
    rows = pl.DataFrame(
        {
            "track_id": track,
            "frame_id": firsts[track - 1] + life,
            "timestamp_ms": 100 * (firsts[track - 1] + life),
            "agent_type": ["car"] * len(track),
            "x": 1000 + 12 * np.cos(angle) + noise[0],
            "y": 1000 + 12 * np.sin(angle) + noise[1],
            "vx": -6 * np.sin(angle) + noise[2],
            "vy": 6 * np.cos(angle) + noise[3],
            "psi_rad": np.mod(angle + np.pi / 2 + np.pi, 2 * np.pi) - np.pi + noise[4],
            "length": 4.0 + 0.01 * (track % 50),
            "width": 1.8 + 0.01 * (track % 20),
        }
    )
    site = root / "recorded_trackfiles" / "DR_SYN_Roundabout_A"
    site.mkdir(parents=True)
    rows.with_columns(pl.col(pl.Float64).round(3)).write_csv(site / "vehicle_tracks_000.csv")


COLUMNS = {
    "round": ["recordingId", "trackId", "frame", "xCenter", "yCenter", "heading", "xVelocity", "yVelocity"],
    "interaction": None,  # all
}


def with_pandas(path: Path, track: str, columns: list[str] | None = None) -> dict[Any, dict[str, Any]]:
    """What a script of the field does."""
    import pandas as pd

    frame = pd.read_csv(path, usecols=columns)
    return {key: {name: group[name].to_numpy() for name in frame.columns} for key, group in frame.groupby(track)}


@dataclass(frozen=True)
class Cost:
    """Shortest of several runs [s]."""

    wall_s: float
    cpu_s: float


def best(function: Callable[[], object], repeat: int) -> Cost:
    """Wall and processor time (all threads); the first call warms up and is not counted."""
    function()
    wall: list[float] = []
    cpu: list[float] = []
    for _ in range(repeat):
        start, busy = time.perf_counter(), time.process_time()
        function()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
    return Cost(min(wall), min(cpu))


def read_scene(dataset: str, root: Path) -> Any:
    from giveway.data import DATASETS

    adapter = DATASETS.get(dataset)
    return next(iter(adapter.scenes(adapter.recordings(root)[0])))


def array_bytes(scene: Any) -> int:
    tracks = scene.tracks
    names = ("time_s", "xy", "heading", "velocity", "observed", "size", "kind", "ids")
    return sum(int(getattr(tracks, name).nbytes) for name in names)


def peak_memory(dataset: str, root: Path) -> dict[str, float]:
    """Run this file as a child that reads once and says how its peak grew."""
    command = [sys.executable, __file__, "--child", dataset, str(root)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output)


def peak_bytes() -> int:
    """Largest resident size of this process so far (``ru_maxrss`` would include its parent's)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def child(dataset: str, root: Path) -> None:
    from giveway.data import DATASETS

    DATASETS.get(dataset)
    pl.DataFrame({"a": [1.0]}).select(pl.col("a") + 1)
    before = peak_bytes()
    scene = read_scene(dataset, root)
    after = peak_bytes()
    arrays = array_bytes(scene)
    print(
        json.dumps({"arrays_mb": arrays / 1e6, "peak_mb": (after - before) / 1e6, "ratio": (after - before) / arrays})
    )


def measure(dataset: str, root: Path, store: Path, tracks_file: Path, track: str, repeat: int) -> dict[str, Any]:
    from giveway.data.store import open_store, read_recording, write_recording

    scene = read_scene(dataset, root)
    open_store(store, create=True)
    name = scene.provenance.recording
    write_recording(store, dataset, name, [scene])
    pandas = best(lambda: with_pandas(tracks_file, track), repeat)
    same = best(lambda: with_pandas(tracks_file, track, COLUMNS[dataset]), repeat)
    csv = best(lambda: read_scene(dataset, root), repeat)
    parquet = best(lambda: next(read_recording(store, dataset, name)), repeat)
    return {
        "file_mb": tracks_file.stat().st_size / 1e6,
        "store_mb": sum(path.stat().st_size for path in store.rglob("*.parquet")) / 1e6,
        "rows": int(scene.tracks.observed.sum()),
        "tracks": scene.tracks.num_agents,
        "pandas": asdict(pandas),
        "pandas_same_columns": asdict(same),
        "csv": asdict(csv),
        "store": asdict(parquet),
        "csv_speedup": {"wall": pandas.wall_s / csv.wall_s, "cpu": pandas.cpu_s / csv.cpu_s},
        "csv_speedup_same_columns": {"wall": same.wall_s / csv.wall_s, "cpu": same.cpu_s / csv.cpu_s},
        "store_speedup": {"wall": pandas.wall_s / parquet.wall_s, "cpu": pandas.cpu_s / parquet.cpu_s},
        "memory_csv": peak_memory(dataset, root),
        "memory_store": peak_memory("store", store),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--child", nargs=2, metavar=("DATASET", "ROOT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Path(options.child[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        for name in ("round", "interaction"):
            (base / name).mkdir()
        write_round(base / "round", options.rows)
        write_interaction(base / "interaction")
        vehicles = next((base / "interaction").rglob("vehicle_tracks_000.csv"))
        results = {
            "round": measure(
                "round", base / "round", base / "s1", base / "round" / "00_tracks.csv", "trackId", options.repeat
            ),
            "interaction": measure(
                "interaction", base / "interaction", base / "s2", vehicles, "track_id", 4 * options.repeat
            ),
        }
    report = {
        "benchmark": "read_recordings",
        "wanted": {"csv_speedup": 1.5, "store_speedup": 8.0, "memory_ratio_at_most": 2.5},
        "python": platform.python_version(),
        "polars": pl.__version__,
        "results": results,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
