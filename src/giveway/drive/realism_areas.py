"""Who enters a conflict area when: order and time of passing, for the realism of cars on their recorded paths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.tracks import Tracks
from giveway.roads.conflicts import areas_between
from giveway.roads.route_lines import RouteLine, route_line
from giveway.roads.routes import CarPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """A conflict area that at least one of two cars entered in the recording, seen from one of them.

    Attributes:
        other: row of the other car.
        own_in_m: arc length on the own path where the area begins.
        other_in_m: the same on the path of the other car.
        instant: at which the own front entered it in the recording; inf if it had not by the end of the case.
    """

    other: int
    own_in_m: float
    other_in_m: float
    instant: float


class PassedAreas:
    """Conflict areas of a case whose order was decided during it: both cars were seen before it, and one entered.

    Args:
        paths: (A,) recorded path of each car; None for agents without one.
        recorded: tracks of the same rows.
    """

    def __init__(self, paths: Sequence[CarPath | None], recorded: Tracks) -> None:
        with_path = [i for i, path in enumerate(paths) if path is not None]
        routes = [path for path in paths if path is not None]
        lines = [route_line(route) for route in routes]
        self._lines: dict[int, RouteLine] = {
            i: line for i, line in zip(with_path, lines, strict=True) if line is not None
        }
        self.of: dict[int, list[Passing]] = {}
        """Car to its areas, in the order of partners and of the route."""
        fronts = self._fronts(recorded, with_path)
        for (a, b), areas in areas_between(routes, recorded.size[with_path, 1]).items():
            i, j = with_path[a], with_path[b]
            for area in areas:
                if area.kind == "following":
                    continue
                begins = area.own[0], area.other[0]
                when = entered(fronts[i], begins[0]), entered(fronts[j], begins[1])
                came = _is_before(fronts[i], begins[0]) and _is_before(fronts[j], begins[1])
                if came and math.isfinite(min(when)):
                    self._add(i, j, begins, when[0])
                    self._add(j, i, (begins[1], begins[0]), when[1])

    def _add(self, car: int, other: int, begins_m: tuple[float, float], instant: float) -> None:
        passing = Passing(other=other, own_in_m=begins_m[0], other_in_m=begins_m[1], instant=instant)
        self.of.setdefault(car, []).append(passing)

    def features(self, tracks: Tracks, cars: Sequence[int]) -> list[dict[str, FloatArray]]:
        """``order`` (K,) and ``passing`` (J,) of some cars; a car that never enters is infinitely late.

        Time is compared at the J areas that the car itself entered in the recording. In a tie neither enters before the
        other one, and so in a roll-out in which neither enters.

        Args:
            tracks: of the recording or of a roll-out, same rows as the recording.
            cars: rows.
        """
        needed = sorted({row for car in cars for p in self.of.get(car, ()) for row in (car, p.other)})
        fronts = self._fronts(tracks, needed)
        found: list[dict[str, FloatArray]] = []
        for car in cars:
            passed = self.of.get(car, [])
            own = [entered(fronts[car], p.own_in_m) for p in passed]
            other = [entered(fronts[p.other], p.other_in_m) for p in passed]
            late = [tracks.dt_s * (at - p.instant) for at, p in zip(own, passed, strict=True) if p.instant < math.inf]
            order = [float(mine < yours) for mine, yours in zip(own, other, strict=True)]
            found.append({"order": np.array(order), "passing": np.array(late)})
        return found

    def _fronts(self, tracks: Tracks, rows: Sequence[int]) -> dict[int, FloatArray]:
        """Row to (T,) arc length of its front on its path; NaN where absent."""
        fronts: dict[int, FloatArray] = {}
        for row in rows:
            fronts[row] = np.full(tracks.num_instants, np.nan)
            here = tracks.observed[row]
            if row in self._lines and here.any():
                s, _ = self._lines[row].locate(np.ascontiguousarray(tracks.xy[row, here]))
                fronts[row][here] = s + 0.5 * tracks.size[row, 0]
        return fronts


def entered(front_m: FloatArray, begins_m: float) -> float:
    """First instant at which a front (T,) is in or beyond an area that begins there; inf if never."""
    inside = np.flatnonzero(front_m >= begins_m)
    return float(inside[0]) if inside.size else math.inf


def _is_before(front_m: FloatArray, begins_m: float) -> bool:
    """Whether a front (T,) has not reached the area when the car is first seen."""
    seen = front_m[np.isfinite(front_m)]
    return bool(seen.size and seen[0] < begins_m)
