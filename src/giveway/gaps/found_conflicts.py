"""Places where road users conflict, found from tracks: where they are, how busy, and who yields more often.

All pairs that are present together are compared (:func:`giveway.roads.path_conflicts.path_conflict`). Places are
clustered within 3 m together with the directions from which both come. Who stands more often within 15 m before the
place yields more often; that is a guess about the rule, and whoever uses it must confirm it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.files import write_text
from giveway.core.frames import wrap_angle
from giveway.data import DATASETS
from giveway.gaps.encounters import Traffic, traffic_of
from giveway.roads.path_conflicts import DrivenPath, boxes_of, near_to, order_of, path_conflict

PLACE_M, TURN_RAD = 3.0, np.radians(30.0)
"""Conflicts this near to each other, from the same directions, are one place."""

BEFORE_M = 15.0
"""Part of a path before the place on which standing is looked for, and over which a gate lies ahead of it."""

STANDING_MPS = 1.0
GATE_M = 2.0
"""Half the width of a gate."""

MAX_PLACES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundConflict:
    """A place where two streams conflict; the first one yields more often.

    Attributes:
        xy: (2,) of the place [m].
        target_rad, priority_rad: directions in which the two streams drive when they come in.
        kind: merge or cross.
        count: pairs that conflict here.
        target_stands, priority_stands: share of each stream that stands before the place.
        target_first: share of the pairs in which the first stream passes first.
        target_gate, priority_gate: (2, 2) lines 15 m before the place, crossed from their left to their right.
    """

    xy: FloatArray
    target_rad: float
    priority_rad: float
    kind: str
    count: int
    target_stands: float
    priority_stands: float
    target_first: float
    target_gate: FloatArray
    priority_gate: FloatArray

    def as_dict(self) -> dict[str, Any]:
        """Plain values, rounded to centimeters."""
        return {
            "place": [round(float(v), 2) for v in self.xy],
            "kind": self.kind,
            "pairs": self.count,
            "target_stands": round(self.target_stands, 3),
            "priority_stands": round(self.priority_stands, 3),
            "target_first": round(self.target_first, 3),
            "target_gate": np.round(self.target_gate, 2).tolist(),
            "priority_gate": np.round(self.priority_gate, 2).tolist(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """One conflict of two agents: place, directions, gates, standing and order of each."""

    xy: tuple[float, float]
    rad: tuple[float, float]
    gates: tuple[tuple[FloatArray, float], tuple[FloatArray, float]]
    stands: tuple[bool, bool]
    first: int
    kind: str


def find_conflicts(recordings: Iterable[Traffic], *, most: int = MAX_PLACES) -> list[FoundConflict]:
    """The busiest conflicts of recordings of one site, by the number of pairs."""
    pairs = [pair for traffic in recordings for pair in _pairs(traffic)]
    places: list[list[_Pair]] = []
    anchors: list[_Pair] = []
    for pair in pairs:
        for k, anchor in enumerate(anchors):
            if _is_same(pair, anchor):
                places[k].append(pair)
                break
            if _is_same(swapped := _swapped(pair), anchor):
                places[k].append(swapped)
                break
        else:
            anchors.append(pair)
            places.append([pair])
    places.sort(key=lambda group: -len(group))
    return [_found(group) for group in places[:most]]


def conflicts_at(root: Path, dataset: str, *, max_recordings: int | None = None) -> list[dict[str, Any]]:
    """The busiest conflicts of each site of recordings, as plain values with the location."""
    adapter = DATASETS.get(dataset)
    recordings = sorted(adapter.recordings(root)[:max_recordings], key=lambda r: r.location)
    found: list[dict[str, Any]] = []
    for location, here in itertools.groupby(recordings, key=lambda r: r.location):
        traffic = (traffic_of(scene) for recording in here for scene in adapter.scenes(recording))
        found += [{"location": location, **one.as_dict()} for one in find_conflicts(traffic)]
    return found


def conflicts_toml(found: Sequence[Mapping[str, Any]]) -> str:
    """``[[conflict]]`` tables as ``dataset.toml`` takes them; the rule must be confirmed."""
    lines: list[str] = []
    for k, one in enumerate(found, 1):
        lines += [
            "[[conflict]]",
            f'name = "{one["location"] or "place"} {k}"',
            f"# {one['pairs']} pairs {one['kind']} at {one['place']}; T stands in {one['target_stands']:.0%}, E in "
            f"{one['priority_stands']:.0%}, T first in {one['target_first']:.0%}",
            f"target_gate = {one['target_gate']}",
            f"priority_gate = {one['priority_gate']}",
            '# rule = "target_yields"  # confirm: or "none"',
            "",
        ]
    return "\n".join(lines)


def write_conflicts(path: Path, found: Sequence[Mapping[str, Any]]) -> None:
    """Write :func:`conflicts_toml`, atomically."""
    write_text(path, conflicts_toml(found))


def _pairs(traffic: Traffic) -> Iterator[_Pair]:
    boxes = boxes_of(traffic.paths)
    for one, path in enumerate(traffic.paths):
        if path is None:
            continue
        for two in near_to(boxes, one).tolist():
            other = traffic.paths[two]
            if two <= one or other is None or not (traffic.is_driver[one] or traffic.is_driver[two]):
                continue
            found = path_conflict(path, other)
            if found.status != "conflict":
                continue
            times = order_of(path, other, found)
            if not np.isfinite(times).all():
                continue
            u_in = found.passages[0].u_in_m
            yield _Pair(
                xy=found.place,
                rad=(path.heading(found.s_in_m), other.heading(u_in)),
                gates=(_gate_of(path, found.s_in_m), _gate_of(other, u_in)),
                stands=(_stands(path, found.s_in_m), _stands(other, u_in)),
                first=int(times[1] < times[0]),
                kind=found.kind,
            )


def _gate_of(path: DrivenPath, s_m: float) -> tuple[FloatArray, float]:
    at = max(s_m - BEFORE_M, 0.0)
    return path.point(at), path.heading(at)


def _stands(path: DrivenPath, s_m: float) -> bool:
    """Whether a car is slower than 1 m/s somewhere on its last 15 m before a place."""
    near = (path.arc_m > s_m - BEFORE_M) & (path.arc_m <= s_m)
    arc, time_s = path.arc_m[near], path.time_s[near]
    return len(arc) > 1 and bool((np.diff(arc) < STANDING_MPS * np.diff(time_s)).any())


def _swapped(pair: _Pair) -> _Pair:
    return _Pair(
        xy=pair.xy,
        rad=(pair.rad[1], pair.rad[0]),
        gates=(pair.gates[1], pair.gates[0]),
        stands=(pair.stands[1], pair.stands[0]),
        first=1 - pair.first,
        kind=pair.kind,
    )


def _is_same(pair: _Pair, anchor: _Pair) -> bool:
    if np.hypot(pair.xy[0] - anchor.xy[0], pair.xy[1] - anchor.xy[1]) > PLACE_M:
        return False
    return all(abs(float(wrap_angle(a - b))) < TURN_RAD for a, b in zip(pair.rad, anchor.rad, strict=True))


def _mean_angle(angles: FloatArray) -> float:
    return float(elementary.arctan2(np.sin(angles).sum(), np.cos(angles).sum()))


def _gate(ends: list[tuple[FloatArray, float]]) -> FloatArray:
    """Two points across the median of positions, so that traffic crosses from the left of the line to its right."""
    middle = np.median([xy for xy, _ in ends], axis=0)
    heading = _mean_angle(np.array([h for _, h in ends]))
    across = GATE_M * np.array([-np.sin(heading), np.cos(heading)])
    return np.stack([middle - across, middle + across])


def _found(group: list[_Pair]) -> FoundConflict:
    stands = np.array([pair.stands for pair in group]).mean(axis=0)
    if stands[1] > stands[0]:
        group, stands = [_swapped(pair) for pair in group], stands[::-1]
    return FoundConflict(
        xy=np.median([pair.xy for pair in group], axis=0),
        target_rad=_mean_angle(np.array([pair.rad[0] for pair in group])),
        priority_rad=_mean_angle(np.array([pair.rad[1] for pair in group])),
        kind=max(("merge", "cross"), key=lambda kind: sum(pair.kind == kind for pair in group)),
        count=len(group),
        target_stands=float(stands[0]),
        priority_stands=float(stands[1]),
        target_first=float(np.mean([pair.first == 0 for pair in group])),
        target_gate=_gate([pair.gates[0] for pair in group]),
        priority_gate=_gate([pair.gates[1] for pair in group]),
    )
