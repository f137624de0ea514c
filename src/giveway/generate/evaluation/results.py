"""One test: an initial scene that was driven, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from giveway.core.errors import DataError
from giveway.core.test_result import TestResult
from giveway.core.tracks import Tracks
from giveway.generate.protocol import EpisodeRecord, Outcome

SPEED_BANDS_MPS = (4.0, 8.0, 12.0)
"""Bounds of the speed bands of archive cells."""

CHANGE_M = 1.2
"""Lateral motion of the other car during the last three seconds that counts as a lane change."""

BRAKE_MPS2 = -2.0
"""Mean acceleration of the other car during that time that counts as braking."""

SECTORS, ENTRY_GAPS_M, CLOSING_MPS, DANGER_CELLS = 8, (0.5, 1.0, 2.0, 5.0, 10.0), (1.0, 3.0, 6.0, 10.0), 10
"""Bounds of archive cells: sectors around the ego, gaps at entry, closing speeds; cells of tests without failure."""

GRADE_WORTH = {"A": 1.0, "B": 0.8, "C": 0.4}
"""As the graded reward pays; a failure that is not the ego's is worth nothing."""

BEFORE = 30
"""Steps before the end that say which manoeuvre led to the failure."""


def result_of(record: EpisodeRecord, *, number: int, genes: tuple[float, ...], triggers: int) -> TestResult:
    """The plain facts of an episode."""
    failed, ending = record.outcome.is_failure, record.ending
    return TestResult(
        number=number,
        genes=genes,
        scene=record.scene.as_dict(0),
        outcome=record.outcome.name.lower(),
        grade=str(ending.grade),
        violators=ending.violators,
        conflict=ending.conflict,
        avoidable=ending.avoidable,
        avoidable_plus=ending.avoidable_plus,
        sentence=ending.sentence,
        failed=failed,
        near_miss=bool(record.near_miss),
        other=ending.other,
        kind=failure_kind(record.tracks, record.outcome, ending.other) if failed else "",
        finding=record.finding,
        steps=len(record.actions),
        min_ttc_s=float(record.min_ttc_s),
        min_escape_ratio=float(record.min_escape_ratio),
        impact_speed_mps=float(ending.impact_speed_mps),
        infeasible_share=float(record.infeasible_share),
        off_road_share=float(record.off_road_share),
        responsibility_per_100_s=float(record.responsibility_per_100_s),
        triggers=triggers,
        unnaturalness=float(record.unnaturalness),
        **contact_facts(record.tracks, ending.other),
    )


def contact_facts(tracks: Tracks, other: str) -> dict[str, float]:
    """Physical descriptors of a contact at the last instant: angle, gap at entry, closing speed; empty without one.

    The corridor of the ego is as wide as both cars and as straight as its heading at each instant.
    """
    rows = np.flatnonzero(tracks.ids == other)
    if rows.size == 0:
        return {}
    car, last = int(rows[0]), int(tracks.last[0])
    heading = tracks.heading[0]
    dx, dy = (tracks.xy[car] - tracks.xy[0]).T
    along = np.cos(heading) * dx + np.sin(heading) * dy
    across = np.cos(heading) * dy - np.sin(heading) * dx
    length, width = 0.5 * (tracks.size[0] + tracks.size[car])
    outside = np.flatnonzero(~(np.abs(across[: last + 1]) < width))  # where it is not observed, it is outside
    entered = min(int(outside[-1]) + 1 if outside.size else 0, last)
    relative = tracks.velocity[car, last] - tracks.velocity[0, last]
    away = math.hypot(dx[last], dy[last])
    return {
        "contact_angle_rad": math.atan2(across[last] / width, along[last] / length),
        "entry_gap_m": float(abs(along[entered]) - length),
        "closing_mps": -float(relative[0] * dx[last] + relative[1] * dy[last]) / max(away, 1e-6),
    }


def archive_cell(result: TestResult) -> str:
    """Kind of a test by physical descriptors: conflict, contact angle, gap at entry, closing speed.

    A failure without contact is a kind by its outcome, a test without failure by how near it came to one.
    """
    if not result.failed:
        return f"near {int(DANGER_CELLS * result.danger)}"
    if not math.isfinite(result.contact_angle_rad):
        return result.outcome
    sector = round(result.contact_angle_rad / (2.0 * math.pi / SECTORS)) % SECTORS
    gap = sum(result.entry_gap_m >= bound for bound in ENTRY_GAPS_M)
    closing = sum(result.closing_mps >= bound for bound in CLOSING_MPS)
    return f"{result.conflict or 'none'}, sector {sector}, gap {gap}, closing {closing}"


def quality(result: TestResult) -> float:
    """What a test is worth among those of its kind: the worth of its grade first, then c, at most 0.01."""
    unnatural = result.unnaturalness if math.isfinite(result.unnaturalness) else 1.0
    worth = GRADE_WORTH.get(result.grade, 0.0) if result.failed else 0.01 * result.danger
    return worth - 0.01 * unnatural


def result_from(values: Mapping[str, Any]) -> TestResult:
    """A result from the plain values of a record; null stands for no contact, and for never closing in.

    Raises:
        DataError: a test of an earlier release, which knew no grades.
    """
    if "grade" not in values:
        raise DataError(
            "the test was judged by the rules of an earlier release",
            found="a fault class instead of a grade",
            hint="run the campaign again: giveway generate run; its tests get keys of their own",
        )
    missing = {"min_ttc_s": math.inf}
    plain: dict[str, Any] = {n: missing.get(n, math.nan) if v is None else v for n, v in values.items()}
    plain |= {"genes": tuple(values["genes"]), "violators": tuple(values["violators"])}
    return TestResult(**plain)


def failure_kind(tracks: Tracks, outcome: Outcome, other: str) -> str:
    """Archive cell of a failure: side of the contact x initiating manoeuvre x speed band.

    Args:
        tracks: of the episode, row 0 the ego.
        outcome: how it ended.
        other: car in contact; empty without one.

    Returns:
        e.g. ``front-braking-8``; ``off_road-none-4`` without a car.
    """
    last = int(tracks.last[0])
    speed = float(tracks.speed[0, last])
    band = sum(speed >= bound for bound in SPEED_BANDS_MPS)
    lower = (0.0, *SPEED_BANDS_MPS)[band]
    rows = np.flatnonzero(tracks.ids == other)
    if rows.size == 0:
        return f"{outcome.name.lower().removeprefix('ego_').removeprefix('planner_')}-none-{lower:g}"
    return f"{_side(tracks, int(rows[0]), last)}-{_maneuver(tracks, int(rows[0]), last)}-{lower:g}"


def _side(tracks: Tracks, car: int, at: int) -> str:
    heading = float(tracks.heading[0, at])
    dx, dy = tracks.xy[car, at] - tracks.xy[0, at]
    along = math.cos(heading) * dx + math.sin(heading) * dy
    across = -math.sin(heading) * dx + math.cos(heading) * dy
    if abs(across) < 0.5 * float(tracks.size[0, 1] + tracks.size[car, 1]) * 0.8:
        return "front" if along > 0 else "rear"
    return "left" if across > 0 else "right"


def _maneuver(tracks: Tracks, car: int, at: int) -> str:
    start = max(at - BEFORE, int(tracks.first[car]))
    heading = float(tracks.heading[car, start])
    dx, dy = tracks.xy[car, at] - tracks.xy[car, start]
    across = -math.sin(heading) * dx + math.cos(heading) * dy
    if abs(across) > CHANGE_M:
        return "change_left" if across > 0 else "change_right"
    speed = tracks.speed[car]
    accel = float(speed[at] - speed[start]) / max(0.1 * (at - start), 0.1)
    if accel < BRAKE_MPS2:
        return "braking"
    return "accelerating" if accel > 1.0 else "steady"
