"""Overlap of all pairs of boxes in all frames: our kernel against the plain shapely loop and vectorised shapely.

Run ``python benchmarks/box_overlap.py``; prints JSON. CPU time, best of several; all three must find the same contacts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import shapely

from giveway.core.boxes import corners, footprints, overlapping_pairs
from giveway.core.tracks import AgentKind, Tracks

FRAMES = 1000
REQUIRED_RATIO = 50.0


def traffic(agents: int, frames: int, seed: int = 0) -> Tracks:
    """Cars on random straight ways over an area that grows with their number (one per 200 m²)."""
    rng = np.random.default_rng(seed)
    side = np.sqrt(200.0 * agents)
    heading = rng.uniform(-np.pi, np.pi, agents)
    velocity = rng.uniform(0, 10, agents)[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=-1)
    time_s = np.arange(frames) * 0.1
    xy = rng.uniform(0, side, (agents, 1, 2)) + velocity[:, None, :] * time_s[:, None]
    return Tracks(
        time_s=time_s,
        xy=np.mod(xy, side),
        heading=np.repeat(heading[:, None], frames, axis=1),
        velocity=np.repeat(velocity[:, None, :], frames, axis=1),
        observed=np.ones((agents, frames), dtype=bool),
        size=np.stack([rng.uniform(3.5, 6, agents), rng.uniform(1.6, 2.1, agents)], axis=1),
        kind=np.full(agents, AgentKind.CAR),
        ids=np.arange(agents).astype(str),
    )


def ours(tracks: Tracks) -> list[tuple[int, int, int]]:
    found = overlapping_pairs(tracks)
    return list(zip(found.instant.tolist(), found.first.tolist(), found.second.tolist(), strict=True))


def shapely_loop(tracks: Tracks) -> list[tuple[int, int, int]]:
    """What one writes first: polygons per frame, every pair tested."""
    points = corners(footprints(tracks))
    found: list[tuple[int, int, int]] = []
    for t in range(tracks.num_instants):
        boxes = [shapely.Polygon(points[i, t]) for i in range(tracks.num_agents)]
        for i in range(tracks.num_agents):
            for j in range(i + 1, tracks.num_agents):
                if boxes[i].intersects(boxes[j]):
                    found.append((t, i, j))
    return found


def shapely_arrays(tracks: Tracks) -> list[tuple[int, int, int]]:
    """The best we know with shapely: all polygons at once, an index per frame."""
    boxes = shapely.polygons(corners(footprints(tracks)))
    found: list[tuple[int, int, int]] = []
    for t in range(tracks.num_instants):
        first, second = shapely.STRtree(boxes[:, t]).query(boxes[:, t], predicate="intersects")
        found += sorted((t, int(i), int(j)) for i, j in zip(first, second, strict=True) if i < j)
    return found


def cpu_s(function: Callable[[Tracks], object], tracks: Tracks, repeats: int) -> float:
    times: list[float] = []
    for _ in range(repeats):
        start = time.process_time()
        function(tracks)
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--agents", type=int, nargs="+", default=[10, 30, 100])
    arguments = parser.parse_args()
    ours(traffic(3, 5))  # compile
    rows: list[dict[str, float]] = []
    for agents in arguments.agents:
        tracks = traffic(agents, arguments.frames)
        # The plain loop is slow and its cost is proportional to the frames: measured on a tenth at 100 agents.
        part = tracks if agents <= 30 else tracks.between(0, max(arguments.frames // 10, 1))
        if not ours(part) == shapely_loop(part) == shapely_arrays(part):
            raise SystemExit(f"the three do not agree at {agents} agents")
        mine = cpu_s(ours, tracks, 7)
        loop = cpu_s(shapely_loop, part, 2) * tracks.num_instants / part.num_instants
        arrays = cpu_s(shapely_arrays, tracks, 2)
        rows.append(
            {
                "agents": agents,
                "frames": arguments.frames,
                "contacts": len(ours(tracks)),
                "ours_s": mine,
                "shapely_loop_s": loop,
                "shapely_arrays_s": arrays,
                "ratio_loop": loop / mine,
                "ratio_arrays": arrays / mine,
            }
        )
    by_agents = {row["agents"]: row for row in rows}
    report = {"benchmark": "box_overlap", "rows": rows, "required_ratio": REQUIRED_RATIO}
    if 30 in by_agents:
        report["ratio"] = by_agents[30]["ratio_loop"]
        report["ok"] = by_agents[30]["ratio_loop"] >= REQUIRED_RATIO
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
