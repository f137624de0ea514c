"""A score with gates, in the manner of nuPlan: what must not happen multiplies, the rest is a weighted mean.

::

    score = no_fault x on_road x forward x progressing x (5 ttc + 5 progress + 4 limit + 2 comfort) / 16

Gates that the recorded human fails as well are forgiven (as NAVSIM does), because then the map or the recording is
to blame rather than the drive.

Reference:
    nuPlan devkit, closed-loop metrics documentation; NAVSIM v2 for the forgiving filter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.log import DriveLog
from giveway.metrics.comfort import comfort_of
from giveway.metrics.metric import MetricValue, metric
from giveway.metrics.safety import TTC_BOUND_S, closeness_of, ego_contacts
from giveway.metrics.shared import once_per_log

OFF_ROAD_M = 0.3
"""A corner further outside the drivable area than this closes the gate."""

BACKWARD_M, BACKWARD_S = 1.0, 1.0
"""Driving back further than this within this time closes the gate."""

MIN_PROGRESS = 0.2
PROGRESS_FLOOR_M = 0.1
MAX_OVERSPEED_MPS = 2.23
WEIGHTS = {"ttc": 5.0, "progress": 5.0, "speed_limit": 4.0, "comfort": 2.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedScore:
    """Attributes:
    score: 0 to 1.
    gates: name to factor (0 or 1).
    terms: name to value (0 to 1).
    forgiven: gates that the recorded human failed as well.
    """

    score: float
    gates: dict[str, float]
    terms: dict[str, float]
    forgiven: tuple[str, ...]


def progress_ratio(driven_m: float, expected_m: float) -> float:
    """min(1, max(p, 0.1) / max(p_expert, 0.1)), 0 for driving back further than 0.1 m."""
    if driven_m < -PROGRESS_FLOOR_M:
        return 0.0
    return min(1.0, max(driven_m, PROGRESS_FLOOR_M) / max(expected_m, PROGRESS_FLOOR_M))


def speed_limit_term(speed: FloatArray, limit: FloatArray, dt_s: float) -> float:
    """max(0, 1 - integral of the overspeed / (2.23 m/s x duration)); 1 where no limit is known."""
    known = ~np.isnan(limit) & ~np.isnan(speed)
    if not known.any():
        return 1.0
    over = np.maximum(speed[known] - limit[known], 0.0).sum() * dt_s
    return max(0.0, 1.0 - over / (MAX_OVERSPEED_MPS * known.sum() * dt_s))


def drove_backward(progress_m: FloatArray, dt_s: float) -> bool:
    """Whether the arc length fell by more than 1 m within 1 s."""
    window = round(BACKWARD_S / dt_s)
    known = progress_m[~np.isnan(progress_m)]
    if known.size <= window:
        return bool(known.size and known[0] - known[-1] > BACKWARD_M)
    return bool((known[:-window] - known[window:]).max() > BACKWARD_M)


def gated_score(
    *,
    at_fault: bool,
    outside_m: FloatArray,
    human_outside_m: FloatArray,
    progress_m: FloatArray,
    expected_progress_m: float,
    left_early: bool,
    ttc_s: FloatArray,
    speed: FloatArray,
    limit_mps: FloatArray,
    is_comfortable: bool,
    dt_s: float,
) -> GatedScore:
    """Score one drive.

    Args:
        at_fault: the ego caused a collision with a car or a person.
        outside_m: (T,) of its outermost corner; NaN unknown.
        human_outside_m: (T,) of the recorded ego.
        progress_m: (T,) along its path since the start.
        expected_progress_m: of the recorded ego.
        left_early: it reached the end of its path: full progress.
        ttc_s: (T,) time to collision.
        speed: (T,) m/s.
        limit_mps: (T,) speed limit.
        is_comfortable: see :func:`giveway.metrics.comfort.comfort`.
        dt_s: sampling interval.
    """
    known = progress_m[~np.isnan(progress_m)]
    driven = float(known[-1]) if known.size else 0.0
    ratio = 1.0 if left_early else progress_ratio(driven, expected_progress_m)
    off_road, human_off = (_largest(values) > OFF_ROAD_M for values in (outside_m, human_outside_m))
    forgiven = ("on_road",) if off_road and human_off else ()
    gates = {
        "no_fault": 0.0 if at_fault else 1.0,
        "on_road": 0.0 if off_road and not human_off else 1.0,
        "forward": 0.0 if drove_backward(progress_m, dt_s) else 1.0,
        "progressing": 1.0 if ratio >= MIN_PROGRESS else 0.0,
    }
    safe = ttc_s[~np.isnan(ttc_s)]
    terms = {
        "ttc": 1.0 if safe.size == 0 or float(safe.min()) > TTC_BOUND_S else 0.0,
        "progress": ratio,
        "speed_limit": speed_limit_term(speed, limit_mps, dt_s),
        "comfort": 1.0 if is_comfortable else 0.0,
    }
    mean = sum(WEIGHTS[name] * value for name, value in terms.items()) / sum(WEIGHTS.values())
    return GatedScore(score=float(np.prod(list(gates.values())) * mean), gates=gates, terms=terms, forgiven=forgiven)


def _largest(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.max()) if known.size else -np.inf


@once_per_log
def gated_of(log: DriveLog) -> GatedScore:
    """The gated score of a log."""
    tracks, ego, felt = log.tracks, log.ego, comfort_of(log)
    return gated_score(
        at_fault=any(c.first_at_fault for c in ego_contacts(log)),
        outside_m=log.outside_m[ego],
        human_outside_m=log.recorded_outside_m[ego],
        progress_m=log.ego_s,
        expected_progress_m=log.expected_progress_m,
        left_early=log.ego_left,
        ttc_s=closeness_of(log).ttc_s,
        speed=tracks.speed[ego],
        limit_mps=log.limit_mps,
        is_comfortable=felt is None or felt.is_comfortable,
        dt_s=tracks.dt_s,
    )


NUPLAN = "nuPlan devkit, closed-loop metrics documentation"


@metric(
    name="gated_score",
    title="Gated score",
    formula="no_fault x on_road x forward x progressing x (5 ttc + 5 progress + 4 limit + 2 comfort) / 16",
    better="higher",
    range=(0.0, 1.0),
    of="drive",
    items="gates and terms",
    needs="map",
    column="gated",
    version=2,
    reference=f"{NUPLAN}; gates that the recorded ego fails as well are forgiven (NAVSIM v2).",
)
def gated(log: DriveLog) -> MetricValue:
    """Gated score of a drive; items are its gates (0 or 1) and terms (0 to 1)."""
    found = gated_of(log)
    items = {**found.gates, **found.terms}
    values = np.array(list(items.values()))
    note = f"forgiven, as the recorded ego fails it as well: {', '.join(found.forgiven)}" if found.forgiven else ""
    mask = np.ones(values.shape, dtype=np.bool_)
    return MetricValue(value=found.score, per_item=values, mask=mask, labels=tuple(items), note=note)


@metric(
    name="speed_limit_compliance",
    title="Speed limit compliance",
    formula="max(0, 1 - integral of the overspeed / (2.23 m/s x duration)); 1 where no limit is known",
    better="higher",
    range=(0.0, 1.0),
    of="drive",
    needs="map",
    column="",
    reference=NUPLAN,
)
def speed_limit_compliance(log: DriveLog) -> float:
    """Term of the gated score."""
    return gated_of(log).terms["speed_limit"]


@metric(
    name="progress",
    title="Progress",
    formula="min(1, max(p, 0.1 m) / max(p_recorded, 0.1 m)); 0 after driving back",
    better="higher",
    range=(0.0, 1.0),
    of="drive",
    needs="recording",
    column="",
    reference=f"{NUPLAN}; unlike S_eff defined where the recorded ego waits.",
)
def progress(log: DriveLog) -> float:
    """Term of the gated score."""
    return gated_of(log).terms["progress"]
