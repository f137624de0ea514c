"""Checks of states that every recording must pass, whatever its format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.data._motion_kernels import jump_marks
from giveway.data.assemble import StateRows
from giveway.data.findings import Findings
from giveway.data.plausibility import Motion, check_plausible, check_proportions
from giveway.data.tables import line_of

MAX_SPEED_MPS = 100.0
"""Faster than any road user recorded; a damaged number is usually far beyond."""

LONG_STEP = 1.5
COORDINATE_LIMIT_M = 1e6
"""Largest coordinate of a published format; all of them count from an origin at their site."""


def check_motion(
    rows: StateRows,
    frame_rate_hz: float,
    findings: Findings,
    *,
    columns: tuple[str, str, str],
    reverses: bool = True,
) -> bool:
    """Positions must not jump and must fit the recorded velocities and headings.

    Args:
        rows: states of one file.
        frame_rate_hz: to turn steps into speeds.
        findings: where problems go.
        columns: names of the x position, the x velocity and the heading column, for messages.
        reverses: vehicles may drive backwards.

    Returns:
        False if a position jumps.
    """
    time_s = rows.frame / frame_rate_hz
    if not check_jumps(rows.x, rows.y, time_s, rows.inner, rows.file, rows.lines, findings, column=columns[0]):
        return False
    motion = Motion(
        file=rows.file,
        lines=rows.lines,
        ids=rows.grouping.ids,
        offsets=rows.grouping.offsets,
        time_s=time_s,
        step_s=1.5 / frame_rate_hz,
        x=rows.x,
        y=rows.y,
        vx=rows.vx,
        vy=rows.vy,
        heading=rows.heading,
        kind=rows.kind,
        columns=columns[1:],
        reverses=reverses,
    )
    check_plausible(motion, findings)
    return True


def check_jumps(
    x: FloatArray,
    y: FloatArray,
    time_s: FloatArray,
    inner: BoolArray,
    file: Path,
    lines: Callable[[IntArray], IntArray],
    findings: Findings,
    *,
    column: str,
) -> bool:
    """Whether no position jumps farther than any road user can drive.

    Args:
        x: (R,) [m].
        y: (R,) [m].
        time_s: (R,) increasing wherever ``inner``.
        inner: (R - 1,) whether row r + 1 continues the track of row r.
        file: for messages.
        lines: rows to lines of the file.
        findings: where problems go.
        column: name of the x column.
    """
    jumps = np.flatnonzero(jump_marks(x, y, time_s, inner, MAX_SPEED_MPS))
    distance, step = np.hypot(*(p[jumps] - p[jumps - 1] for p in (x, y))), time_s[jumps] - time_s[jumps - 1]
    findings.rows(
        f"the position jumps faster than {MAX_SPEED_MPS:g} m/s",
        file,
        lines(jumps),
        column=column,
        values=[f"{far:.3f} m in {long:.3f} s" for far, long in zip(distance.tolist(), step.tolist(), strict=True)],
        hint="a coordinate is damaged; get the file again",
    )
    return not jumps.size


def check_steps(time_s: FloatArray, inner: BoolArray, file: Path, findings: Findings, *, column: str) -> None:
    """Remark steps that look as if a row were missing; for clocks of simulators, which promise no regular ones.

    Args:
        time_s: (R,) increasing wherever ``inner``.
        inner: (R - 1,) whether row r + 1 continues the track of row r.
        file: for messages.
        findings: where remarks go.
        column: name of the time column.
    """
    step = np.where(inner, np.diff(time_s), 0.0)
    usual = float(np.median(step[inner])) if inner.any() else 0.0
    long = np.flatnonzero(step > LONG_STEP * usual) + 1
    findings.rows(
        f"a step in time is more than {LONG_STEP:g} times the usual one; a row may be missing",
        file,
        line_of(long),
        column=column,
        values=[f"{step[r - 1]:.4f} s, usually {usual:.4f} s" for r in long.tolist()],
        severity="warning",
    )


def check_constant(values: FloatArray, rows: StateRows, column: str, findings: Findings) -> bool:
    """Whether a per-agent quantity that is repeated on every row stays the same inside each track.

    Args:
        values: (R,) in the order of ``rows``.
        rows: states of one file.
        column: for messages.
        findings: where problems go.
    """
    changed = np.flatnonzero(rows.inner & (values[1:] != values[:-1])) + 1
    changed = changed[~(np.isnan(values[changed]) & np.isnan(values[changed - 1]))]
    findings.rows(
        "the value changes inside a track",
        rows.file,
        rows.lines(changed),
        column=column,
        values=[f"{values[r]:g} after {values[r - 1]:g}" for r in changed.tolist()],
        hint="the file is damaged; get it again",
    )
    return not changed.size


def check_sizes(size: FloatArray, kind: IntArray, file: Path, lines: IntArray, findings: Findings) -> bool:
    """Lengths and widths must be positive, and vehicles longer than wide; NaN means that the source gives none.

    Args:
        size: (A, 2) length and width [m].
        kind: (A,) codes of AgentKind.
        file: for messages.
        lines: (A,) line that states the size of each agent.
        findings: where problems go.
    """
    for axis, column in enumerate(("length", "width")):
        bad = np.flatnonzero(size[:, axis] <= 0)
        hint = "give the real size, or remove the track"
        message = "a size is zero or negative"
        findings.rows(message, file, lines[bad], column=column, values=size[bad, axis], hint=hint)
    check_proportions(size, kind, file, lines, findings)
    return not bool((size <= 0).any())
