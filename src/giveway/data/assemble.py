"""Rows of a file to tracks: group by agent, find breaks in the frames, lay out on a common time grid."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypedDict

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from giveway.core.errors import DataError
from giveway.core.tracks import Tracks
from giveway.data.findings import Findings
from giveway.data.streaming import TextRuns
from giveway.data.tables import line_of

MAX_CELLS = 400_000_000
"""Agents times instants; more would need over 16 GB and means that a frame number or an id is wrong."""


Run = tuple[int, int, int, int]
"""Agent, first row, end row, first instant of an unbroken stretch of frames."""


class States(TypedDict):
    """The dense part of :class:`Tracks`."""

    xy: FloatArray
    heading: FloatArray
    velocity: FloatArray
    observed: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """How rows belong to tracks.

    Attributes:
        offsets: (A + 1,) rows of agent a are ``offsets[a] .. offsets[a + 1]`` of the sorted rows.
        order: (R,) row of the file for each sorted row; None if the file is sorted already.
        ids: (A,) identifiers as text, in order of first appearance.
    """

    offsets: IntArray
    order: IntArray | None
    ids: StrArray

    @property
    def first_rows(self) -> IntArray:
        """(A,) row of the file that starts each track."""
        starts = self.offsets[:-1]
        return starts if self.order is None else self.order[starts]

    def apply(self, values: FloatArray) -> FloatArray:
        """(R,) a column of the file in sorted order."""
        return values if self.order is None else values[self.order]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRows:
    """States of all agents of a recording as flat columns, track after track.

    Attributes:
        file: where they come from.
        grouping: which rows belong to which agent.
        frame: (R,) frame numbers, strictly increasing inside a track.
        x, y: (R,) [m].
        heading: (R,) [rad]; NaN where the source gives none.
        vx, vy: (R,) [m/s]; NaN where the source gives none.
        size: (A, 2) length and width [m].
        kind: (A,) codes of AgentKind.
    """

    file: Path
    grouping: Grouping
    frame: IntArray
    x: FloatArray
    y: FloatArray
    heading: FloatArray
    vx: FloatArray
    vy: FloatArray
    size: FloatArray
    kind: IntArray

    @property
    def num_agents(self) -> int:
        """A."""
        return len(self.kind)

    @property
    def num_rows(self) -> int:
        """R."""
        return len(self.frame)

    @property
    def inner(self) -> BoolArray:
        """(R - 1,) whether row r + 1 belongs to the same track as row r."""
        same = np.ones(max(self.num_rows - 1, 0), dtype=np.bool_)
        same[self.grouping.offsets[1:-1] - 1] = False
        return same

    def lines(self, rows: IntArray) -> IntArray:
        """1-based lines of the file for sorted rows."""
        return line_of(rows if self.grouping.order is None else self.grouping.order[rows])


def group_rows(
    track: IntArray | TextRuns,
    frame: IntArray,
    file: Path,
    findings: Findings,
    *,
    columns: tuple[str, str],
    order: Literal["file", "any"] = "file",
    holes: Literal["error", "implausible", "warning", "allowed"] = "error",
) -> Grouping | None:
    """Group rows by track and check that frames run on.

    Args:
        track: (R,) identifiers, or runs of equal ones.
        frame: (R,) frame numbers.
        file: for messages.
        findings: where problems go.
        columns: names of the track and the frame column, for messages.
        order: ``"file"``: rows must come track by track, frames ascending. ``"any"``: they are sorted first.
        holes: what a frame missing inside a track means; ``"implausible"`` is an error that a reader may accept.

    Returns:
        None if rows are doubled or out of order (collecting mode).
    """
    codes, labels = _codes(track)
    permutation: IntArray | None = None
    same, step = _steps(codes, frame)
    if order == "any" and (bool((step[same] <= 0).any()) or _starts(same).size != labels.size):
        permutation = np.lexsort((frame, codes)).astype(np.int64)
        codes, frame = codes[permutation], frame[permutation]
        same, step = _steps(codes, frame)

    def report(message: str, rows: IntArray, column: str, values: FloatArray | IntArray | StrArray, hint: str) -> None:
        lines = line_of(rows if permutation is None else permutation[rows])
        findings.rows(message, file, lines, column=column, values=values, hint=hint)

    fine = True
    starts = _starts(same)
    again = _seen_before(codes[starts])
    if again.size:
        fine = False
        rows = starts[again]
        report("rows of a track are not together", rows, columns[0], labels[codes[rows]], "sort by track, then frame")
    doubled = np.flatnonzero(same & (step == 0)) + 1
    if doubled.size:
        fine = False
        report("a frame appears twice in a track", doubled, columns[1], frame[doubled], "remove one of the rows")
    unsorted = np.flatnonzero(same & (step < 0)) + 1
    if unsorted.size:
        fine = False
        report("frames are not in ascending order", unsorted, columns[1], frame[unsorted], "sort by track, then frame")
    if fine and holes != "allowed":
        missing = np.flatnonzero(same & (step > 1)) + 1
        if missing.size:
            lines = line_of(missing if permutation is None else permutation[missing])
            gaps = [f"frame {frame[r]} follows {frame[r - 1]}" for r in missing.tolist()]
            hint = "get the file again; rows seem to be lost"
            message = "frames are missing inside a track"
            if holes == "implausible":
                findings.implausible(message, file, lines, column=columns[1], values=gaps, hint=hint)
                fine = findings.accept_implausible
            else:
                findings.rows(message, file, lines, column=columns[1], values=gaps, hint=hint, severity=holes)
                fine = holes != "error"
    if not fine:
        return None
    offsets = np.append(starts, len(codes)).astype(np.int64)
    return Grouping(offsets=offsets, order=permutation, ids=labels[codes[starts]])


def tracks_from_rows(parts: list[StateRows], *, frame_rate_hz: float, frames: tuple[int, int] | None = None) -> Tracks:
    """Lay out the rows of one or more files on the frames they span together.

    Args:
        parts: vehicles, pedestrians, ...; agents keep this order.
        frame_rate_hz: instants are ``frame / frame_rate_hz``.
        frames: first and last frame of the grid; by default the smallest and largest of all parts.

    Returns:
        Dense tracks.

    Raises:
        DataError: if the layout would not fit any machine, because a frame number is absurd.
    """
    first, last = frame_range(parts) if frames is None else frames
    agents = sum(part.num_agents for part in parts)
    instants = last - first + 1
    if agents * instants > MAX_CELLS:
        raise DataError(
            "the recording spans too many frames to be real",
            where=parts[0].file,
            found=f"{agents} tracks over frames {first} to {last}",
            hint="a frame number is probably damaged; get the file again",
        )
    runs: list[Run] = []
    base = rows = 0
    for part in parts:
        runs += [(base + agent, rows + begin, rows + end, column) for agent, begin, end, column in _runs(part, first)]
        base, rows = base + part.num_agents, rows + part.num_rows
    names = ("x", "y", "heading", "vx", "vy")
    one = len(parts) == 1
    columns = [getattr(parts[0], n) if one else np.concatenate([getattr(p, n) for p in parts]) for n in names]
    return Tracks(
        **lay_out(runs, columns, agents, instants),
        time_s=np.arange(first, last + 1) / frame_rate_hz,
        size=np.concatenate([part.size for part in parts]),
        kind=np.concatenate([part.kind for part in parts]),
        ids=np.concatenate([part.grouping.ids for part in parts]),
    )


def frame_range(parts: Sequence[StateRows]) -> tuple[int, int]:
    """Smallest and largest frame."""
    return min(int(part.frame.min()) for part in parts), max(int(part.frame.max()) for part in parts)


def lay_out(runs: Sequence[Run], columns: Sequence[FloatArray], agents: int, instants: int) -> States:
    """Copy flat columns to dense arrays.

    Args:
        runs: unbroken stretches; every row belongs to one of them.
        columns: x, y, heading, vx, vy, each (R,).
        agents: A.
        instants: T.

    Returns:
        ``xy``, ``heading``, ``velocity`` and ``observed`` of :class:`Tracks`; NaN outside the stretches.
    """
    x, y, heading, vx, vy = columns

    def filled(first: FloatArray, second: FloatArray | None) -> FloatArray:
        dense = np.full((agents, instants) if second is None else (agents, instants, 2), np.nan)
        for agent, begin, end, column in runs:
            row = dense[agent, column : column + end - begin]
            if second is None:
                row[:] = first[begin:end]
            else:
                row[:, 0], row[:, 1] = first[begin:end], second[begin:end]
        return dense

    # Most of the time is the system's, which gives pages: several threads get them at once.
    with ThreadPoolExecutor(max_workers=2) as pool:
        xy, velocity, angle = pool.map(filled, (x, vx, heading), (y, vy, None))
    observed = np.zeros((agents, instants), dtype=np.bool_)
    for agent, begin, end, column in runs:
        observed[agent, column : column + end - begin] = True
    return {"xy": xy, "heading": angle, "velocity": velocity, "observed": observed}


def _runs(part: StateRows, first: int) -> list[Run]:
    """(agent, first row, end row, first instant) of every unbroken stretch of frames."""
    breaks = np.flatnonzero(~(part.inner & (np.diff(part.frame) == 1))) + 1
    begins = np.concatenate([[0], breaks])
    ends = np.append(breaks, part.num_rows)
    agents = np.searchsorted(part.grouping.offsets, begins, side="right") - 1
    columns = part.frame[begins] - first
    return list(zip(agents.tolist(), begins.tolist(), ends.tolist(), columns.tolist(), strict=True))


def _codes(track: IntArray | TextRuns) -> tuple[IntArray, StrArray]:
    """(R,) small integers in order of first appearance, and what each stands for."""
    if isinstance(track, tuple):
        words, lengths = track
        code = {word: n for n, word in enumerate(dict.fromkeys(words))}
        codes = np.fromiter((code[word] for word in words), dtype=np.int64, count=len(words))
        return np.repeat(codes, lengths), np.array(list(code), dtype=np.str_)
    change = np.flatnonzero(np.diff(track)) + 1
    heads = track[np.concatenate([[0], change])]
    values, where, inverse = np.unique(heads, return_index=True, return_inverse=True)
    rank = np.empty(len(values), dtype=np.int64)
    rank[np.argsort(where, kind="stable")] = np.arange(len(values))
    codes = np.repeat(rank[inverse], np.diff(np.concatenate([[0], change, [len(track)]])))
    labels = [str(value) for value in values[np.argsort(where, kind="stable")].tolist()]
    return codes, np.array(labels, dtype=np.str_)


def _steps(codes: IntArray, frame: IntArray) -> tuple[BoolArray, IntArray]:
    return codes[1:] == codes[:-1], np.diff(frame)


def _starts(same: BoolArray) -> IntArray:
    return np.concatenate([[0], np.flatnonzero(~same) + 1]).astype(np.int64)


def _seen_before(heads: IntArray) -> IntArray:
    """Positions whose value occurred earlier."""
    _, where = np.unique(heads, return_index=True)
    repeated = np.ones(len(heads), dtype=np.bool_)
    repeated[where] = False
    return np.flatnonzero(repeated)
