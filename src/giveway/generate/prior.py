"""The naturalness prior: histograms of how people drive, fitted to recordings, kept as a small JSON file.

The shipped one was made from synthetic recordings::

    giveway data synth --dataset interaction --out recordings --size 3 --minutes 3
    giveway generate prior recordings --dataset interaction --out prior.json
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.checked import Expect, read_json
from giveway.core.errors import EmptySelectionError, FileFormatError
from giveway.core.files import write_text
from giveway.core.frames import wrap_angle
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind
from giveway.generate.objective import safety
from giveway.generate.objective.arrays import Naturalness
from giveway.generate.objective.natural import VARIABLES
from giveway.generate.objective.safety import look_ahead
from giveway.sim.compiling import compiled

PRIOR = Expect(what="a naturalness prior", hint="make one with: giveway generate prior")
RANGES = ((-8.0, 6.0), (-20.0, 20.0), (-1.2, 1.2), (-20.0, 10.0), (0.0, 8.0))
BINS = 80
MIN_STEPS = 1000
SMOOTHING_S = 0.5
"""Speeds are averaged over this long before they are differentiated: tracking noise is not jerk."""
WHEELED = (AgentKind.CAR, AgentKind.VAN, AgentKind.TRUCK, AgentKind.BUS)


def fit_prior(scenes: Iterable[Scene]) -> dict[str, Any]:
    """Histograms over all steps of all cars, with one count added to each bin.

    Args:
        scenes: recordings.

    Returns:
        JSON-able description: edges, log-densities, the median of the summed log-density.

    Raises:
        EmptySelectionError: fewer than 1000 steps.
    """
    steps = [driven_steps(scene) for scene in scenes]
    values = np.concatenate([np.zeros((0, len(VARIABLES))), *steps])
    if len(values) < MIN_STEPS:
        raise EmptySelectionError("too little traffic for a prior", found=f"{len(values)} steps of cars")
    log_density: list[list[float]] = []
    total = np.zeros(len(values))
    typical = 0.0
    for v, (low, high) in enumerate(RANGES):
        known = values[:, v][np.isfinite(values[:, v])]
        width = (high - low) / BINS
        counts = np.bincount(np.clip(((known - low) / width).astype(int), 0, BINS - 1), minlength=BINS) + 1.0
        table = elementary.log(counts / counts.sum() / width)
        at = np.clip(np.floor((np.nan_to_num(values[:, v], posinf=0.0) - low) / width).astype(int), 0, BINS - 1)
        density = table[at]
        if v == len(RANGES) - 1:
            finite = np.isfinite(values[:, v])
            typical = float(np.median(density[finite])) if finite.any() else 0.0
            density = np.where(finite, density, typical)
        total += density
        log_density.append([round(float(x), 5) for x in table])
    return {
        "format": "giveway naturalness prior 1",
        "variables": list(VARIABLES),
        "ranges": [list(r) for r in RANGES],
        "log_density": log_density,
        "median": round(float(np.median(total)), 5),
        "typical_headway": round(typical, 5),
        "steps": len(values),
    }


def driven_steps(scene: Scene) -> FloatArray:
    """(N, 5) acceleration, jerk, yaw rate, speed over the limit and time headway of all steps of all cars.

    The limit is the median of the map's; without one, the 95th percentile of the speeds. A headway is inf without a
    car ahead in line.
    """
    tracks = scene.tracks
    cars = np.flatnonzero(np.isin(tracks.kind, WHEELED))
    cars = cars[np.isfinite(tracks.size[cars]).all(axis=1)]
    if cars.size == 0 or tracks.num_instants < 4:
        return np.zeros((0, len(VARIABLES)))
    dt = tracks.dt_s
    speed = tracks.speed[cars]
    smooth = _smoothed(speed, max(round(SMOOTHING_S / dt), 1))
    accel = np.diff(smooth, axis=1) / dt
    jerk = np.diff(accel, axis=1) / dt
    yaw = wrap_angle(np.diff(tracks.heading[cars], axis=1)) / dt
    limits = [] if scene.road is None else [x.speed_limit_mps for x in scene.road.lanes.values() if x.speed_limit_mps]
    limit = float(np.median(limits)) if limits else float(np.nanpercentile(speed, 95))
    headway = _headways(scene, cars)
    parts = [accel[:, 1:], jerk, yaw[:, 1:], speed[:, 2:] - limit, headway[:, 2:]]
    stacked = np.stack([p.ravel() for p in parts], axis=1)
    return stacked[np.isfinite(stacked[:, :4]).all(axis=1)]


def _smoothed(values: FloatArray, window: int) -> FloatArray:
    padded = np.pad(values, ((0, 0), (window // 2, window - 1 - window // 2)), mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, window, axis=1).mean(axis=-1)


def _headways(scene: Scene, cars: IntArray) -> FloatArray:
    tracks = scene.tracks
    state = np.zeros((tracks.num_instants, cars.size, 6))
    state[..., :2] = np.nan_to_num(tracks.xy[cars]).swapaxes(0, 1)
    state[..., 2] = np.nan_to_num(tracks.heading[cars]).T
    state[..., 3] = np.nan_to_num(tracks.speed[cars]).T
    there = np.ascontiguousarray((tracks.observed[cars] & np.isfinite(tracks.heading[cars])).T)
    return _all_headways(state, there, tracks.size[cars]).T


@compiled(safety)
def _all_headways(state: FloatArray, there: BoolArray, size: FloatArray) -> FloatArray:
    out = np.full(there.shape, np.inf)
    for t in range(there.shape[0]):
        for i in range(there.shape[1]):
            if there[t, i]:
                out[t, i] = look_ahead(state[t], there[t], size, i)[3]
    return out


def save_prior(prior: dict[str, Any], path: Path) -> None:
    """Write a prior as JSON, atomically."""
    write_text(path, json.dumps(prior, indent=1) + "\n")


def load_prior(path: Path | None = None) -> Naturalness:
    """A prior for compiled code; the shipped one without a path.

    Raises:
        FileFormatError: a file that is not a prior.
    """
    where = str(path) if path else "shipped prior"
    try:
        shipped = files("giveway.generate").joinpath("prior.json")
        raw = read_json(path, expect=PRIOR) if path else json.loads(shipped.read_text(encoding="utf-8"))
        table = np.array(raw["log_density"], dtype=np.float64)
        ranges = np.array(raw["ranges"], dtype=np.float64)
        if table.shape[0] != len(VARIABLES) or ranges.shape != (len(VARIABLES), 2) or not np.isfinite(table).all():
            raise ValueError("tables of the wrong shape")
        return Naturalness(
            low=ranges[:, 0].copy(),
            width=(ranges[:, 1] - ranges[:, 0]) / table.shape[1],
            log_density=table,
            median=float(raw["median"]),
            typical_headway=float(raw["typical_headway"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(
            "this is not a naturalness prior",
            where=where,
            found=str(error),
            hint="make one with 'giveway generate prior'",
        ) from error
