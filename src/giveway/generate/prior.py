"""The naturalness prior of the graded reward: how people drive, by maneuver, fitted to recordings.

    giveway generate prior RECORDINGS --dataset interaction --out prior.json

None is shipped: the licenses of recordings do not allow it, and one of synthetic traffic would call synthetic driving
natural. Without a prior a step is unnatural that exceeds bounds of comfort, or stands for no reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from giveway.core.checked import Expect, read_json
from giveway.core.errors import EmptySelectionError, FileFormatError
from giveway.core.files import write_text
from giveway.core.frames import wrap_angle
from giveway.core.origins import Origin
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.generate.objective import natural, safety
from giveway.generate.objective.arrays import DT_S, RECENT, ManeuverPrior, V1Prior
from giveway.generate.objective.natural import (
    ALPHA,
    CLASSES,
    HEADWAY,
    LARGEST,
    LEVELS,
    MANEUVERS,
    STANDING,
    VARIABLES,
    class_density,
    rank_levels,
    step_features,
    unnaturalness,
)
from giveway.generate.objective.safety import look_ahead
from giveway.roads.queries import prepare
from giveway.roads.road import Road
from giveway.sim import locate
from giveway.sim.compiling import compiled
from giveway.sim.prepare import resample

PRIOR = Expect(what="a naturalness prior", hint="make one with: giveway generate prior")
FORMAT = "giveway naturalness prior 2"
RANGES = ((-8.0, 6.0), (-20.0, 20.0), (0.0, 6.0), (0.0, 4.0), (0.0, 4.0))
BINS = 80
MIN_STEPS = 1000
"""Of all recordings; fewer cannot be ranked at 0.05 exp(-5)."""
MIN_CLASS_STEPS = 400
"""A class with fewer recorded steps takes the tables of all steps behind somebody, or of all free ones."""
BEND_M = 2.0
"""To both sides, for the curvature of a lane."""
WHEELED = (AgentKind.CAR, AgentKind.VAN, AgentKind.TRUCK, AgentKind.BUS)
EXPECTED_RAW = ALPHA * (1.0 - math.exp(-LARGEST))
"""Mean raw cost of recorded traffic under its own prior, 0.0497."""


def fit_prior(scenes: Iterable[Scene]) -> dict[str, Any]:
    """Histograms by class over all steps of all cars, one count added to each bin, and the ranks of their densities.

    Args:
        scenes: recordings with maps, from which headings relative to the lane are taken.

    Returns:
        JSON-able description. ``pooled`` names the classes that lack steps of their own, ``origin`` where the scenes
        come from, ``mean_raw`` what they cost themselves (0.0497 but for ties).

    Raises:
        EmptySelectionError: fewer than 1000 steps of moving cars.
    """
    kinds: list[IntArray] = []
    values: list[FloatArray] = []
    origins: set[str] = set()
    for scene in scenes:
        kind, found = recorded_steps(scene)
        kinds.append(kind[kind != STANDING])
        values.append(found[kind != STANDING])
        origins.add(str(scene.provenance.origin))
    kind = np.concatenate([np.zeros(0, dtype=np.int64), *kinds])
    value = np.concatenate([np.zeros((0, len(VARIABLES))), *values])
    if len(value) < MIN_STEPS:
        raise EmptySelectionError(
            "too little traffic on mapped lanes for a prior",
            found=f"{len(value)} steps of moving cars, at least {MIN_STEPS} are needed",
            hint="give more recordings, with their maps",
        )
    tables = np.zeros((len(CLASSES), len(VARIABLES), BINS))
    pooled: list[str] = []
    members: list[BoolArray] = []
    for c, name in enumerate(CLASSES):
        own = kind == c
        if own.sum() < MIN_CLASS_STEPS:
            pooled.append(name)
            own = (kind >= len(MANEUVERS)) == (c >= len(MANEUVERS))
            own = own if own.sum() >= MIN_CLASS_STEPS else np.ones(len(kind), dtype=np.bool_)
        members.append(own)
        tables[c] = _histograms(value[own])
    low, width = _bins()
    prior = ManeuverPrior(low=low, width=width, log_density=tables, ranks=np.zeros((len(CLASSES), LEVELS)))
    for c, own in enumerate(members):
        prior.ranks[c] = _ranks(_densities(prior, np.full(int(own.sum()), c), value[own]))
    return {
        "format": FORMAT,
        "variables": list(VARIABLES),
        "classes": list(CLASSES),
        "ranges": [list(r) for r in RANGES],
        "log_density": np.round(tables, 5).tolist(),
        "ranks": np.round(prior.ranks, 5).tolist(),
        "steps": {name: int((kind == c).sum()) for c, name in enumerate(CLASSES)},
        "pooled": pooled,
        "origin": sorted(origins),
        "mean_raw": round(float(LARGEST * np.mean(costs(prior, kind, value))), 5),
    }


def recorded_steps(scene: Scene) -> tuple[IntArray, FloatArray]:
    """(N,) classes and (N, 5) features of all steps of cars on mapped lanes; -1 is standing."""
    if scene.road is None or not scene.road.lanes:
        return np.zeros(0, dtype=np.int64), np.zeros((0, len(VARIABLES)))
    tracks = scene.tracks if abs(scene.tracks.dt_s - DT_S) < 1e-9 else resample(scene.tracks, DT_S)
    cars = np.flatnonzero(np.isin(tracks.kind, WHEELED) & np.isfinite(tracks.size).all(axis=1))
    if cars.size == 0 or tracks.num_instants < RECENT:
        return np.zeros(0, dtype=np.int64), np.zeros((0, len(VARIABLES)))
    road = prepare(scene.road)
    turn, bend = (np.full((cars.size, tracks.num_instants), np.nan) for _ in range(2))
    at = road.match(tracks.xy[cars], tracks.heading[cars])
    for lane in np.unique(at.lane[at.lane >= 0]).tolist():
        here = at.lane == lane
        line, s = road.centers[lane], at.s[here]
        turn[here] = wrap_angle(tracks.heading[cars][here] - line.at(s).heading)
        ends = np.clip(s - BEND_M, 0.0, line.length_m), np.clip(s + BEND_M, 0.0, line.length_m)
        bend[here] = wrap_angle(line.at(ends[1]).heading - line.at(ends[0]).heading) / np.maximum(
            ends[1] - ends[0], 0.1
        )
    turn[np.abs(turn) > math.pi / 4] = np.nan  # across the lane: not the lane it follows
    kind, features = _recorded(_states(tracks, cars), _there(tracks, cars), tracks.size[cars], turn.T, bend.T)
    known = np.isfinite(features[:, :HEADWAY]).all(axis=1)
    return kind[known], features[known]


def _states(tracks: Tracks, cars: IntArray) -> FloatArray:
    state = np.zeros((tracks.num_instants, cars.size, 6))
    state[..., :2] = np.nan_to_num(tracks.xy[cars]).swapaxes(0, 1)
    state[..., 2] = np.nan_to_num(tracks.heading[cars]).T
    state[..., 3] = np.nan_to_num(tracks.speed[cars]).T
    return state


def _there(tracks: Tracks, cars: IntArray) -> BoolArray:
    return np.ascontiguousarray((tracks.observed[cars] & np.isfinite(tracks.heading[cars])).T)


@compiled(safety, locate, natural)
def _recorded(
    state: FloatArray, there: BoolArray, size: FloatArray, turn: FloatArray, bend: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Classes and features of every step whose last seven instants are observed on a lane."""
    instants, cars = there.shape
    kinds = np.empty(instants * cars, dtype=np.int64)
    features = np.empty((instants * cars, len(VARIABLES)))
    recent = np.empty((RECENT, 2))
    count = 0
    for t in range(RECENT - 1, instants):
        for i in range(cars):
            known = not math.isnan(bend[t, i])
            for back in range(RECENT):
                known = known and there[t - back, i] and not math.isnan(turn[t - back, i])
                recent[back, 0], recent[back, 1] = state[t - back, i, 3], turn[t - back, i]
            if known:
                headway = look_ahead(state[t], there[t], size, i)[3]
                kinds[count] = step_features(recent, bend[t, i], headway, features[count])
                count += 1
    return kinds[:count], features[:count]


def _bins() -> tuple[FloatArray, FloatArray]:
    ranges = np.array(RANGES)
    return ranges[:, 0].copy(), (ranges[:, 1] - ranges[:, 0]) / BINS


def _histograms(values: FloatArray) -> FloatArray:
    """(5, B) log-densities; headways beyond the last bin are nobody's."""
    low, width = _bins()
    out = np.zeros((len(VARIABLES), BINS))
    for v in range(len(VARIABLES)):
        known = values[:, v][np.isfinite(values[:, v])]
        at = np.clip(np.floor((known - low[v]) / width[v]).astype(int), 0, BINS - 1)
        counts = np.bincount(at, minlength=BINS) + 1.0
        out[v] = elementary.log(counts / counts.sum() / width[v])
    return out


def _ranks(densities: FloatArray) -> FloatArray:
    """(256,) smallest recorded density whose rank (#{<=} + 1/2) / (n + 1) reaches each level."""
    ordered = np.sort(densities)
    rank = (np.searchsorted(ordered, ordered, side="right") + 0.5) / (ordered.size + 1)
    return ordered[np.searchsorted(rank, rank_levels(), side="left")]


@compiled(locate, natural)
def _densities(prior: ManeuverPrior, kind: IntArray, values: FloatArray) -> FloatArray:
    out = np.empty(kind.size)
    for n in range(kind.size):
        out[n] = class_density(prior, kind[n], values[n])
    return out


@compiled(locate, natural)
def costs(prior: ManeuverPrior, kind: IntArray, values: FloatArray) -> FloatArray:
    """(N,) unnaturalness c of steps of moving cars."""
    out = np.empty(kind.size)
    for n in range(kind.size):
        out[n] = unnaturalness(prior, kind[n], values[n])
    return out


def save_prior(prior: dict[str, Any], path: Path) -> None:
    """Write a prior as JSON, atomically."""
    write_text(path, json.dumps(prior) + "\n")


def load_prior(path: Path | None = None) -> ManeuverPrior:
    """A prior for compiled code; without a path an empty one, for which bounds of comfort stand in.

    Raises:
        FileFormatError: a file that is not a prior, or one of release 0.1.
    """
    low, width = _bins()
    if path is None:
        shape = len(CLASSES), len(VARIABLES)
        return ManeuverPrior(
            low=low, width=width, log_density=np.zeros((*shape, 0)), ranks=np.zeros((len(CLASSES), LEVELS))
        )
    raw = read_json(path, expect=PRIOR)
    try:
        if raw["format"] != FORMAT:
            raise ValueError(f"format {raw['format']!r}")
        table, ranks = (np.array(raw[name], dtype=np.float64) for name in ("log_density", "ranks"))
        _require(table, (len(CLASSES), len(VARIABLES), BINS))
        _require(ranks, (len(CLASSES), LEVELS))
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(
            "this is not a naturalness prior of this release",
            where=path,
            found=str(error),
            hint="make one with 'giveway generate prior'",
        ) from error
    return ManeuverPrior(low=low, width=width, log_density=table, ranks=ranks)


def is_synthetic(path: Path) -> bool:
    """Whether a prior file was fitted to synthetic recordings, in which people's driving is what we made it."""
    return any(origin != str(Origin.RECORDED) for origin in read_json(path, expect=PRIOR).get("origin", []))


def v1_prior() -> V1Prior:
    """The histograms of release 0.1, of synthetic recordings, for its reward."""
    raw = json.loads(files("giveway.generate").joinpath("v1_prior.json").read_text(encoding="utf-8"))
    table = np.array(raw["log_density"], dtype=np.float64)
    ranges = np.array(raw["ranges"], dtype=np.float64)
    return V1Prior(
        low=ranges[:, 0].copy(),
        width=(ranges[:, 1] - ranges[:, 0]) / table.shape[1],
        log_density=table,
        median=float(raw["median"]),
        typical_headway=float(raw["typical_headway"]),
    )


def give_way_lines(road: Road) -> FloatArray:
    """(L, M) places along each way where a lane ends that must give way [m]; NaN where a way has fewer."""
    lanes = road.map().lanes
    found: list[list[float]] = []
    for route in road.routes or ((),) * len(road.ways):
        ends = np.cumsum([_length(lanes[lane].center) for lane in route])
        found.append([float(end) for end, lane in zip(ends, route, strict=True) if lanes[lane].yields_to])
    out = np.full((len(found), max(1, *(len(lines) for lines in found))), np.nan)
    for way, lines in enumerate(found):
        out[way, : len(lines)] = lines
    return out


def _length(points: FloatArray) -> float:
    return float(np.hypot(*np.diff(points, axis=0).T).sum())


def _require(array: AnyArray, shape: tuple[int, ...]) -> None:
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"a table of shape {array.shape}, expected {shape} finite numbers")
