"""How fast own CSV files and SinD are read, against plain pandas in the same run.

A scene of two files, vehicles (200 000 rows) and pedestrians (50 000 rows), generated here in the form of SinD.
``pandas`` is ``read_csv`` and ``groupby`` into one array per track and column, unchecked; ``ours`` goes from the files
to a finished ``Scene``, all checks and SHA-256 of the sources included. Best of several, wall and processor time.

    python benchmarks/read_formats.py [--repeat N]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from giveway.data import DATASETS

FILES = {"Veh": (400, 500), "Ped": (100, 500)}


def write(root: Path) -> None:
    """Straight tracks with noise, one after the other."""
    rng = np.random.default_rng(0)
    for name, (tracks, frames) in FILES.items():
        track, step = np.repeat(np.arange(tracks), frames), np.tile(np.arange(frames), tracks)
        speed = 5.0 if name == "Veh" else 1.0
        table = pd.DataFrame({"track_id": track, "frame_id": step + 7 * track})
        table["track_id"] = table["track_id"].astype(str) if name == "Veh" else "P" + table["track_id"].astype(str)
        table["timestamp_ms"] = table["frame_id"] * 100.1
        table["agent_type"] = "car" if name == "Veh" else "pedestrian"
        table["x"] = speed * step / 9.99 + rng.normal(0, 0.002, len(track))
        table["y"] = 4.0 * track + rng.normal(0, 0.002, len(track))
        table["vx"], table["vy"] = speed + rng.normal(0, 0.01, len(track)), rng.normal(0, 0.01, len(track))
        if name == "Veh":
            table["yaw_rad"] = rng.normal(0, 0.01, len(track))
            table["heading_rad"], table["length"], table["width"] = table["yaw_rad"], 4.5, 1.8
        table["ax"], table["ay"] = 0.0, 0.0
        path = root / "City" / "day" / f"{name}_smoothed_tracks.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(path, index=False)


def with_pandas(root: Path) -> None:
    """One array per track and column."""
    for path in sorted(root.rglob("*.csv")):
        table = pd.read_csv(path)
        columns = [name for name in table.columns if name != "agent_type"]
        _ = {
            key: {name: part[name].to_numpy() for name in columns}
            for key, part in table.groupby("track_id", sort=False)
        }


def with_ours(root: Path) -> None:
    """A finished scene."""
    adapter = DATASETS.get("sind")
    for recording in adapter.recordings(root):
        assert sum(scene.tracks.num_agents for scene in adapter.scenes(recording)) == 500


def best(call: Callable[[Path], None], root: Path, repeat: int) -> tuple[float, float]:
    """Least wall and processor time [s]."""
    times: list[tuple[float, float]] = []
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        call(root)
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(w for w, _ in times), min(c for _, c in times)


def main() -> None:
    """Print JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root)
        with_ours(root)
        ours, pandas = best(with_ours, root, repeat), best(with_pandas, root, repeat)
    names = ("wall", "processor")
    result = {
        "rows": 250_000,
        "ours_s": dict(zip(names, ours, strict=True)),
        "pandas_s": dict(zip(names, pandas, strict=True)),
    }
    ratios = {name: pandas[n] / ours[n] for n, name in enumerate(names)}
    print(json.dumps({**result, "times_faster": ratios}, indent=2))


if __name__ == "__main__":
    main()
