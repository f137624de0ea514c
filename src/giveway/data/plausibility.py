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
from numpy.typing import NDArray

from giveway.core import elementary
from giveway.core.arrays import FloatArray, IntArray, StrArray
from giveway.core.tracks import AgentKind
from giveway.data._motion_kernels import BACKWARDS, COUNTED, FAR_OFF, OFF, heading_marks, velocity_marks
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

ByteArray = NDArray[np.uint8]
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
    bounds = (MOST_MPS, MOST_SHARE), (STEP_MPS, STEP_SHARE)
    marks = velocity_marks(m.x, m.y, m.vx, m.vy, m.time_s, m.offsets, m.step_s, *bounds)
    bad, counts, totals = _majority(m, marks, OFF)
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
    single = np.flatnonzero(marks & FAR_OFF)
    step = m.time_s[single] - m.time_s[single - 1]
    mismatch = [
        (p[single] - p[single - 1]) / step - 0.5 * (v[single] + v[single - 1]) for p, v in ((m.x, m.vx), (m.y, m.vy))
    ]
    findings.implausible(
        f"velocity and change of position differ by more than {STEP_MPS:g} m/s + 20 %",
        m.file,
        m.lines(single),
        column=m.columns[0],
        values=[f"{value:.2f} m/s" for value in np.hypot(*mismatch).tolist()],
    )


def _check_heading(m: Motion, findings: Findings) -> None:
    """Sine of the angle between axis and velocity by a cross product, so that no arc tangent is needed."""
    heading = m.heading.astype(np.float32)  # 1e-7 rad are nothing to 15 degrees, and cost a thirtieth
    of_kind = (np.isin(m.kind, [int(kind) for kind in kinds]) for kinds in (WALKERS, LONG_KINDS))
    bounds = MOVING_MPS, elementary.tan(np.radians(MOST_DEG)), elementary.tan(np.radians(STEP_DEG))
    marks = heading_marks(m.vx, m.vy, heading, np.cos(heading), np.sin(heading), m.offsets, *of_kind, *bounds)
    bad, counts, totals = _majority(m, marks, OFF)
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
    single = np.flatnonzero(marks & FAR_OFF)
    angle = m.heading[single] - elementary.arctan2(m.vy[single], m.vx[single])
    findings.implausible(
        f"heading and direction of motion differ by more than {STEP_DEG:g} degrees",
        m.file,
        m.lines(single),
        column=m.columns[1],
        values=[f"{abs((value + 90) % 180 - 90):.0f} degrees" for value in np.degrees(angle).tolist()],
    )
    _check_direction(m, marks, findings)


def _check_direction(m: Motion, marks: ByteArray, findings: Findings) -> None:
    """A car may reverse; most cars of a file do not, and on a motorway none does."""
    bad, counts, totals = _majority(m, marks, BACKWARDS)
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


def _majority(m: Motion, marks: ByteArray, bit: int) -> tuple[IntArray, IntArray, IntArray]:
    """Tracks in which more than half of the counted rows have a mark, and both counts per track (A,)."""
    counts, totals = (np.add.reduceat((marks & b) > 0, m.offsets[:-1], dtype=np.int64) for b in (bit, COUNTED))
    return np.flatnonzero((2 * counts > totals) & (totals >= MIN_ROWS)), counts, totals
