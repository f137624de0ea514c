"""Whether what a file says twice agrees: velocity and positions, heading and motion, length and width.

Two columns whose names were swapped still parse. Physics sees it: a velocity is the change of position, a vehicle
drives where its nose (or its tail) points and is longer than wide. Bounds are set so that the 24 252 tracks of 165
published INTERACTION recordings and all synthetic recordings pass (distributions in docs/explanation/inputs.md). Who
knows better reads with ``accept_implausible``, and the scene carries a note.

Nothing is said about what a reader derived itself, about standing cars, or about pedestrians' headings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from giveway.core.tracks import AgentKind
from giveway.data.findings import Findings

MOST_MPS, MOST_SHARE = 1.0, 0.05
"""Most steps of a track keep |v - dx/dt| below 1 m/s + 5 % of the speed. Largest median seen: 0.80 m/s + 5 %."""

STEP_MPS, STEP_SHARE = 2.5, 0.20
"""Every step keeps it below 2.5 m/s + 20 %. Largest seen: 1.97 m/s in INTERACTION, 5.3 m/s at 24 m/s in L-GAP's bot."""

MOST_DEG, STEP_DEG = 15.0, 30.0
"""Angle between the axis of a vehicle and its motion, for most rows of a track and for every row. Seen: 3.6 degrees."""

MOVING_MPS = 2.0
"""Slower, the direction of the velocity is mostly noise."""

MIN_ROWS = 5
"""Fewer rows than this say nothing about most of a track."""

MIN_TRACKS = 3
"""A file needs so many moving tracks before most of them driving backwards is taken for a wrong heading."""

LONG_KINDS = (AgentKind.CAR, AgentKind.VAN, AgentKind.TRUCK, AgentKind.BUS)
"""Longer than wide. Trailers, two-wheelers and people need not be."""

WALKERS = (AgentKind.PEDESTRIAN, AgentKind.PEDESTRIAN_OR_BICYCLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """What a file says about the motion of A agents, as flat columns of R rows, track after track.

    Attributes:
        file: for messages.
        lines: rows to lines of the file.
        ids: (A,) for messages.
        offsets: (A + 1,) first row of each track and R.
        time_s: (R,) increasing inside a track.
        step_s: longest step between neighbors that velocities are compared over; a longer one is a hole.
        x, y: (R,) [m].
        vx, vy: (R,) [m/s] as recorded, NaN where the file gives none.
        heading: (R,) [rad] as recorded, NaN where the file gives none.
        kind: (A,) codes of AgentKind.
        columns: names of the x velocity and the heading column.
        reverses: vehicles may drive backwards.
    """

    file: Path
    lines: Callable[[IntArray], IntArray]
    ids: StrArray
    offsets: IntArray
    time_s: FloatArray
    step_s: float
    x: FloatArray
    y: FloatArray
    vx: FloatArray
    vy: FloatArray
    heading: FloatArray
    kind: IntArray
    columns: tuple[str, str]
    reverses: bool = True


def check_plausible(motion: Motion, findings: Findings) -> None:
    """Report tracks and rows in which the columns contradict one another."""
    if len(motion.x) > 1:
        _check_velocity(motion, findings)
    _check_heading(motion, findings)


def check_proportions(size: FloatArray, kind: IntArray, file: Path, lines: IntArray, findings: Findings) -> None:
    """Cars, vans, trucks and buses are longer than wide.

    Args:
        size: (A, 2) length and width [m]; NaN where the source gives none.
        kind: (A,) codes of AgentKind.
        file: that states the sizes.
        lines: (A,) line that states the size of each agent.
        findings: where problems go.
    """
    wide = np.flatnonzero((size[:, 0] < size[:, 1]) & np.isin(kind, [int(k) for k in LONG_KINDS]))
    values = [f"{size[a, 0]:g} m long, {size[a, 1]:g} m wide" for a in wide.tolist()]
    findings.implausible("a vehicle is wider than long", file, lines[wide], column="length", values=values)


def _check_velocity(m: Motion, findings: Findings) -> None:
    """Mean of the recorded velocities at both ends of a step against the step."""
    step = np.diff(m.time_s)
    usable = (step > 0) & (step <= m.step_s)
    usable[m.offsets[1:-1] - 1] = False
    step = np.where(usable, step, 1.0)
    vx, vy = 0.5 * (m.vx[1:] + m.vx[:-1]), 0.5 * (m.vy[1:] + m.vy[:-1])
    mismatch = _norm(np.diff(m.x) / step - vx, np.diff(m.y) / step - vy)
    speed = _norm(vx, vy)
    # NaN compares false on purpose: a source without velocities cannot contradict itself.
    single = np.flatnonzero(usable & (mismatch > STEP_MPS + STEP_SHARE * speed)) + 1
    off = usable & (mismatch > MOST_MPS + MOST_SHARE * speed)
    if off.any():
        bad, counts, totals = _majority(m, np.append(False, off), np.append(False, usable))
        findings.implausible(
            "velocity and change of position contradict each other over most of a track",
            m.file,
            m.lines(m.offsets[bad]),
            column=m.columns[0],
            values=[
                f"track {m.ids[a]}: {counts[a]} of {totals[a]} steps differ by more than {MOST_MPS:g} m/s + 5 %"
                for a in bad.tolist()
            ],
        )
    findings.implausible(
        f"velocity and change of position differ by more than {STEP_MPS:g} m/s + 20 %",
        m.file,
        m.lines(single),
        column=m.columns[0],
        values=[f"{mismatch[r - 1]:.2f} m/s" for r in single.tolist()],
    )


def _check_heading(m: Motion, findings: Findings) -> None:
    """Sine of the angle between axis and velocity by a cross product, so that no arc tangent is needed."""
    moving = m.vx * m.vx + m.vy * m.vy > MOVING_MPS**2
    moving &= np.isfinite(m.heading)
    walks = np.isin(m.kind, [int(kind) for kind in WALKERS])
    if walks.any():
        moving &= ~np.repeat(walks, np.diff(m.offsets))
    if not moving.any():
        return
    cos = np.cos(m.heading, where=moving, out=np.ones(len(moving)))
    sin = np.sin(m.heading, where=moving, out=np.zeros(len(moving)))
    along, across = m.vx * cos + m.vy * sin, m.vy * cos - m.vx * sin
    backwards = moving & (along < 0)
    angle = np.abs(across), np.abs(along)  # as the legs of a triangle
    bad, counts, totals = _majority(m, moving & (angle[0] > elementary.tan(np.radians(MOST_DEG)) * angle[1]), moving)
    findings.implausible(
        "heading and direction of motion contradict each other over most of a track",
        m.file,
        m.lines(m.offsets[bad]),
        column=m.columns[1],
        values=[
            f"track {m.ids[a]}: {counts[a]} of {totals[a]} rows differ by more than {MOST_DEG:g} degrees"
            for a in bad.tolist()
        ],
    )
    vehicle = np.repeat(np.isin(m.kind, [int(kind) for kind in LONG_KINDS]), np.diff(m.offsets))
    single = np.flatnonzero(moving & vehicle & (angle[0] > elementary.tan(np.radians(STEP_DEG)) * angle[1]))
    findings.implausible(
        f"heading and direction of motion differ by more than {STEP_DEG:g} degrees",
        m.file,
        m.lines(single),
        column=m.columns[1],
        values=[f"{np.degrees(elementary.arctan2(angle[0][r], angle[1][r])):.0f} degrees" for r in single.tolist()],
    )
    _check_direction(m, backwards, moving, findings)


def _check_direction(m: Motion, backwards: BoolArray, moving: BoolArray, findings: Findings) -> None:
    """A car may reverse; most cars of a file do not, and on a motorway none does."""
    if not backwards.any():
        return
    bad, counts, totals = _majority(m, backwards, moving)
    tracks = int(np.count_nonzero(totals >= MIN_ROWS))
    if m.reverses and (tracks < MIN_TRACKS or 2 * len(bad) <= tracks):
        return
    findings.implausible(
        "road users drive backwards where hardly anybody does",
        m.file,
        m.lines(m.offsets[bad]),
        column=m.columns[1],
        values=[f"track {m.ids[a]}: {counts[a]} of {totals[a]} rows" for a in bad.tolist()],
        hint="check how the heading is counted and from which axis",
    )


def _norm(x: FloatArray, y: FloatArray) -> FloatArray:
    """Several times faster than ``np.hypot``, whose care for overflow is not needed inside the ranges of formats."""
    return np.sqrt(x * x + y * y)


def _majority(m: Motion, off: BoolArray, counted: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Tracks in which more than half of the counted rows are off, and both counts per track (A,)."""
    starts = m.offsets[:-1]
    counts = np.add.reduceat(off, starts, dtype=np.int64)
    totals = np.add.reduceat(counted, starts, dtype=np.int64)
    return np.flatnonzero((2 * counts > totals) & (totals >= MIN_ROWS)), counts, totals
