"""Challenge cases with altered starts on synthetic recordings."""

import csv
import math

import pytest

from giveway.synth.protocol import synthesize

LONG = "a,b"
"""The column names of the InitState lines are not read."""


def read_rows(path):
    """Track to its rows, in order of time."""
    tracks = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            tracks.setdefault(row["track_id"], []).append(row)
    return tracks


def long_row(track, start_ms, *, ahead_m, aside_m, faster_mps, planner, predicted, ego):
    """A robot row of the challenge whose start is moved along and across the recorded heading."""
    row = next(row for row in track if int(row["timestamp_ms"]) >= start_ms)
    x, y, psi = (float(row[name]) for name in ("x", "y", "psi_rad"))
    speed = max(math.hypot(float(row["vx"]), float(row["vy"])) + faster_mps, 0.0)
    x += ahead_m * math.cos(psi) - aside_m * math.sin(psi) - 1000.0
    y += ahead_m * math.sin(psi) + aside_m * math.cos(psi) - 1000.0
    return (
        f"{row['track_id']} {row['timestamp_ms']} {x:.6f} {y:.6f} {psi:.6f} {speed:.6f} 0.00 0.00 "
        f"{row['length']} {row['width']} 0 0 {planner} N GroundTruth 0.1 3.0 {predicted} 0.1 3.0 {ego}"
    )


@pytest.fixture(scope="module")
def altered_cases(tmp_path_factory):
    """A synthetic INTERACTION set and six challenge cases with altered starts on it."""
    root = tmp_path_factory.mktemp("altered") / "data"
    synthesize("interaction", root, seed=5, count=1, minutes=1)
    folder = root.parent / "cases"
    folder.mkdir()
    moves = ((0.0, 0.0, -1.0), (2.0, 0.5, 1.5), (-3.0, -0.7, 0.0), (1.0, 0.0, 2.0), (-0.7, 0.2, -2.5), (4.0, 0.0, 0.5))
    site = sorted(path.name for path in (root / "recorded_trackfiles").iterdir())[0]
    tracks = read_rows(root / "recorded_trackfiles" / site / "vehicle_tracks_000.csv")
    lasting = [name for name, rows in tracks.items() if len(rows) >= 80]
    for number, (ahead, aside, faster) in enumerate(moves):
        ego = lasting[number]
        start = int(tracks[ego][10]["timestamp_ms"])
        end = start + 5000
        there = [
            name
            for name in lasting
            if name != ego
            and int(tracks[name][0]["timestamp_ms"]) <= start
            and int(tracks[name][-1]["timestamp_ms"]) >= end
        ]
        last = next(row for row in tracks[ego] if int(row["timestamp_ms"]) == end)
        rows = [
            long_row(
                tracks[ego],
                start,
                ahead_m=ahead,
                aside_m=aside,
                faster_mps=faster,
                planner="Astar",
                predicted="no",
                ego="yes",
            ),
            *(
                long_row(
                    tracks[name],
                    start,
                    ahead_m=0.0,
                    aside_m=0.0,
                    faster_mps=-0.8,
                    planner="ReactivePlanner",
                    predicted="yes",
                    ego="no",
                )
                for name in there[:1]
            ),
        ]
        (folder / f"config_{number}.txt").write_text(
            "\n".join(
                [
                    f"Map:{site}",
                    "Track:000",
                    f"StartTimestamp(ms):{start}",
                    f"EndTimestamp(ms):{end}",
                    f"RobotCarNum:{len(rows)}",
                    f"InitState:{LONG}",
                    *rows,
                    "ReplayCarWithPredictor:0",
                    f"InitState:{LONG}",
                    f"EgoEndPosition:{float(last['x']) - 1000:.6f} {float(last['y']) - 1000:.6f}",
                    f"TargetRightofWay:{' '.join(there[:2])}",
                ]
            )
            + "\n"
        )
    return root, folder
