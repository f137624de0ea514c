"""How close a drive came: time to collision, post-encroachment time, distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core._box_kernels import pair_overlaps  # pyright: ignore[reportUnknownVariableType]
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.boxes import footprints, nearest_agents
from giveway.core.kernels import njit
from giveway.core.log import Collision, DriveLog, Grade
from giveway.core.tracks import Tracks
from giveway.metrics.metric import MetricValue, metric, undefined
from giveway.metrics.shared import once_per_log

TTC_BOUND_S = 0.95
"""Least time to collision that still counts as safe (nuPlan)."""

ONE_EVENT = "One contact per pair and episode; boxes shrunk by 0.05 m, contacts within 0.5 s are one."
LAW = "Responsibility-sensitive safety, right of way and UN R157; see the page on responsibility."

TTC_STEP_S = 0.1
TTC_HORIZON_S = 5.0
STOPPED_MPS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """Attributes:
    ttc_s: (T,) time to collision of the ego at each instant; inf if nothing is hit within the horizon, NaN if absent.
    min_ttc_s: the least of them; inf if there is none.
    post_encroachment_s: least time between the ego and another agent being at the same place; inf if never, 0 on
    contact.
    min_gap_m: least distance to another agent; inf if the ego was alone.
    """

    ttc_s: FloatArray
    min_ttc_s: float
    post_encroachment_s: float
    min_gap_m: float


def closeness(tracks: Tracks, ego: int, *, horizon_s: float = TTC_HORIZON_S, step_s: float = TTC_STEP_S) -> Closeness:
    """How close the ego came to anybody.

    Time to collision: both boxes go straight on at their velocities; the first instant at which they overlap. Agents
    behind the ego and instants at which it stands do not count, as in nuPlan. Post-encroachment time: least |t_i - t_j|
    over all instants i, j at which the box of the ego at t_i overlaps the box of another agent at t_j.

    Args:
        tracks: everybody.
        ego: row of the ego.
        horizon_s: how far to look ahead.
        step_s: in steps of this.

    Reference:
        nuPlan devkit, metrics documentation (time to collision); Allen, Shin, Cooper (1978) for post-encroachment.
        Its documentation says 0.1 s and 5 s; released configurations differ, so both are parameters.
    """
    rows = footprint_rows(tracks)
    ttc = times_to_collision(tracks, ego, rows, horizon_s=horizon_s, step_s=step_s)
    seen = ttc[tracks.observed[ego]]
    gap = nearest_agents(tracks).distance[ego]
    gap = gap[~np.isnan(gap)]
    return Closeness(
        ttc_s=ttc,
        min_ttc_s=float(seen.min()) if seen.size else math.inf,
        post_encroachment_s=_encroachment(rows, tracks.observed, ego) * tracks.dt_s,
        min_gap_m=float(gap.min()) if gap.size else math.inf,
    )


def footprint_rows(tracks: Tracks) -> FloatArray:
    """(A, T, 7) x, y, cosine, sine, half length, half width, radius of all footprints."""
    boxes = footprints(tracks)
    rows = np.empty((tracks.num_agents, tracks.num_instants, 7))
    rows[..., :2] = boxes.xy
    rows[..., 2], rows[..., 3] = np.cos(boxes.heading), np.sin(boxes.heading)
    rows[..., 4], rows[..., 5], rows[..., 6] = 0.5 * boxes.size[..., 0], 0.5 * boxes.size[..., 1], boxes.radius
    return rows


def times_to_collision(
    tracks: Tracks, ego: int, rows: FloatArray, *, horizon_s: float = TTC_HORIZON_S, step_s: float = TTC_STEP_S
) -> FloatArray:
    """(T,) time to collision of one agent, see :func:`closeness`; rows as :func:`footprint_rows` gives them."""
    ttc = time_to_collision(rows, tracks.velocity, tracks.observed, ego, round(horizon_s / step_s), step_s)
    ttc[~tracks.observed[ego]] = np.nan
    return ttc


@njit(cache=True, nogil=True)
def time_to_collision(
    rows: FloatArray, velocity: FloatArray, observed: BoolArray, ego: int, steps: int, step_s: float
) -> FloatArray:
    """(T,) see :func:`closeness`; rows are (A, T, 7) footprints."""
    agents, instants = observed.shape
    out = np.empty(instants)
    own, other = np.empty(7), np.empty(7)
    for k in range(instants):
        out[k] = np.inf
        if not observed[ego, k] or math.hypot(velocity[ego, k, 0], velocity[ego, k, 1]) <= STOPPED_MPS:
            continue
        best = steps + 1
        for j in range(agents):
            if j == ego or not observed[j, k]:
                continue
            dx = rows[j, k, 0] - rows[ego, k, 0]
            dy = rows[j, k, 1] - rows[ego, k, 1]
            reach = math.hypot(rows[j, k, 4], rows[j, k, 5]) + rows[j, k, 6]
            along = rows[ego, k, 2] * dx + rows[ego, k, 3] * dy
            if along < -rows[ego, k, 4]:
                continue  # its center is behind the ego's rear
            for field in range(7):  # a slice takes Numba a second to compile
                own[field], other[field] = rows[ego, k, field], rows[j, k, field]
            limit = math.hypot(dx, dy) - reach - math.hypot(own[4], own[5])
            closing = math.hypot(velocity[j, k, 0] - velocity[ego, k, 0], velocity[j, k, 1] - velocity[ego, k, 1])
            if limit > closing * min(steps, best) * step_s:
                continue
            for n in range(min(steps, best - 1) + 1):
                t = n * step_s
                own[0] = rows[ego, k, 0] + velocity[ego, k, 0] * t
                own[1] = rows[ego, k, 1] + velocity[ego, k, 1] * t
                other[0] = rows[j, k, 0] + velocity[j, k, 0] * t
                other[1] = rows[j, k, 1] + velocity[j, k, 1] * t
                if pair_overlaps(own, other):
                    best = n
                    break
        if best <= steps:
            out[k] = best * step_s
    return out


@njit(cache=True, nogil=True)
def _encroachment(rows: FloatArray, observed: BoolArray, ego: int) -> float:
    """Least number of instants between the ego and somebody else covering the same spot; inf if never."""
    agents, instants = observed.shape
    best = instants + 1
    for j in range(agents):
        if j == ego:
            continue
        for i in range(instants):
            if not observed[ego, i]:
                continue
            for k in range(max(i - best + 1, 0), min(i + best, instants)):
                if observed[j, k] and abs(i - k) < best:
                    dx = rows[j, k, 0] - rows[ego, i, 0]
                    dy = rows[j, k, 1] - rows[ego, i, 1]
                    both = rows[j, k, 4] + rows[j, k, 5] + rows[j, k, 6] + rows[ego, i, 4] + rows[ego, i, 5]
                    if dx * dx + dy * dy <= both * both and pair_overlaps(rows[ego, i], rows[j, k]):
                        best = abs(i - k)
    return best * 1.0 if best <= instants else np.inf


@once_per_log
def closeness_of(log: DriveLog) -> Closeness:
    """How close the ego of a log came to anybody."""
    return closeness(log.tracks, log.ego)


@metric(
    name="min_ttc_s",
    title="Least TTC",
    formula="least time until the ego's box meets another one, both going straight on; up to 5 s",
    unit="s",
    better="higher",
    range=(0.0, TTC_HORIZON_S),
    of="drive",
    column="TTC s",
    version=1,
    reference="nuPlan devkit, metrics documentation: time to collision; without agents behind the ego.",
)
def min_ttc_s(log: DriveLog) -> MetricValue:
    """Least time to collision of a drive; undefined if the ego never closes in on anybody."""
    return _finite(closeness_of(log).min_ttc_s, "the ego meets nobody within 5 s")


@metric(
    name="post_encroachment_s",
    title="Post-encroachment time",
    formula="least |t_i - t_j| over instants at which the ego's box and another one cover the same spot",
    unit="s",
    better="higher",
    range=(0.0, math.inf),
    of="drive",
    column="PET s",
    version=1,
    reference="Allen, Shin, Cooper (1978); 0 on contact.",
)
def post_encroachment_s(log: DriveLog) -> MetricValue:
    """Least time between the ego and another agent at the same place; undefined if no place is shared."""
    return _finite(closeness_of(log).post_encroachment_s, "no place is shared")


@metric(
    name="min_gap_m",
    title="Least distance",
    formula="least distance between the ego's box and another one",
    unit="m",
    better="higher",
    range=(0.0, math.inf),
    of="drive",
    column="",
    version=1,
    reference="Distance of two rectangles; 0 on contact.",
)
def min_gap_m(log: DriveLog) -> MetricValue:
    """Least distance to another agent; undefined if the ego is alone."""
    return _finite(closeness_of(log).min_gap_m, "the ego is alone")


def ego_contacts(log: DriveLog) -> list[Collision]:
    """Contacts of the ego, without those that began when somebody appeared."""
    ego = str(log.tracks.ids[log.ego])
    return [c for c in log.collisions if not c.at_spawn and c.first == ego]


def _graded(log: DriveLog, grade: Grade) -> int:
    return sum(c.grade is grade for c in ego_contacts(log))


def _count(
    name: str, title: str, formula: str, column: str = "", *, version: int = 1, reference: str = ONE_EVENT
) -> Any:
    """Facts of a number of contacts."""
    return metric(
        name=name,
        title=title,
        formula=formula,
        unit="",
        better="lower",
        range=(0.0, math.inf),
        of="drive",
        column=column,
        version=version,
        reference=reference,
    )


@_count("ego_collisions", "Collisions of the ego", "contacts of the ego with cars, without those at an appearance")
def ego_collisions(log: DriveLog) -> int:
    """Number of contacts of the ego with cars."""
    return sum(not c.vulnerable for c in ego_contacts(log))


@_count(
    "at_fault_collisions",
    "Collisions at fault",
    "contacts of the ego, persons included, in which it violated its proper response or the right of way (grade A)",
    "fault/case",
    version=2,
    reference=LAW,
)
def at_fault_collisions(log: DriveLog) -> int:
    """Number of contacts that the ego is responsible for, perhaps with the other one."""
    return sum(c.first_at_fault for c in ego_contacts(log))


@_count(
    "obliged_collisions",
    "Collisions obliged to avoid",
    "contacts that another car caused by a cut-in which UN R157 obliges the ego to avoid (grade B)",
    "B/case",
    reference=LAW,
)
def obliged_collisions(log: DriveLog) -> int:
    """Number of contacts of grade B."""
    return _graded(log, Grade.B)


@_count(
    "avoidable_collisions",
    "Avoidable collisions",
    "contacts that another car caused, no such cut-in, and a careful driver avoids (grade C)",
    "C/case",
    reference=LAW,
)
def avoidable_collisions(log: DriveLog) -> int:
    """Number of contacts of grade C."""
    return _graded(log, Grade.C)


@_count(
    "others_collisions",
    "Collisions not the ego's",
    "contacts that another car caused and that a careful driver does not avoid either (grade D)",
    "D/case",
    reference=LAW,
)
def others_collisions(log: DriveLog) -> int:
    """Number of contacts of grade D."""
    return _graded(log, Grade.D)


@_count("vulnerable_collisions", "Collisions with persons", "contacts of the ego with pedestrians and cyclists")
def vulnerable_collisions(log: DriveLog) -> int:
    """Number of contacts of the ego with pedestrians and cyclists."""
    return sum(c.vulnerable for c in ego_contacts(log))


@_count("other_collisions", "Collisions of others", "contacts between other agents, without those at an appearance")
def other_collisions(log: DriveLog) -> int:
    """Number of contacts that the ego has no part in."""
    ego = str(log.tracks.ids[log.ego])
    return sum(not c.at_spawn and c.first != ego for c in log.collisions)


@_count("spawn_contacts", "Contacts at an appearance", "contacts that began when one of the two appeared")
def spawn_contacts(log: DriveLog) -> int:
    """Number of contacts that began when an agent appeared; nobody is at fault."""
    return sum(c.at_spawn for c in log.collisions)


def _finite(value: float, otherwise: str) -> MetricValue:
    return MetricValue(value=value) if math.isfinite(value) else undefined(otherwise)
