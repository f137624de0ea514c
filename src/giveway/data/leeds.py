"""Leeds (UDISS): straight crossings of a stream of cars in a driving simulator.

Source: COMMOTIONS urban driving in simulator study, dataset paper arXiv 2305.11909. Every car has a log of its own with
its own clock ticks; a scene resamples them linearly to one grid of 30 Hz, as the published analysis does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.derivatives import backward_difference
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.data.checks import COORDINATE_LIMIT_M, check_jumps, check_steps
from giveway.data.findings import Findings, relative_name
from giveway.data.headings import heading_from_velocity
from giveway.data.layout import files, first_line, folders, no_recordings
from giveway.data.origins import provenance_of
from giveway.data.protocol import DatasetInfo, Progress, Recording, RecordingSummary, Verification
from giveway.data.tables import Column, TableFormat, line_of, read_table
from giveway.data.verification import verify_recordings

FRAME_RATE_HZ = 30.0
SUBJECT = "subject"
SUBJECT_FILE = re.compile(r"subject.*2\.txt")
DRONE_FILES = {1: re.compile(r"drone3(\d\d)(?!\d).*\.txt"), 2: re.compile(r"drone10(\d\d)(?!\d).*\.txt")}
MAX_PACE = 5.0
FIRST_ID = {1: 300, 2: 1000}
"""Leader and follower columns count from here; smaller numbers mean none."""

SUBJECT_LOG = TableFormat(
    columns=(
        Column(name="simTime", low=0, high=1e6, unit="s"),
        Column(name="x", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
        Column(name="y", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
        Column(name="offset", low=-1000, high=1000, unit="m"),
    ),
    separator="\t",
    newline_required=False,
    rename={"%simTime": "simTime"},
)
DRONE_LOG = TableFormat(
    columns=(
        Column(name="simTime", low=0, high=1e6, unit="s"),
        Column(name="x_r", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
        Column(name="y_r", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
        Column(name="offset_p", low=-1000, high=1000, unit="m"),
        Column(name="leaderID_r", low=-1e9, high=1e9),
        Column(name="followerID_r", low=-1e9, high=1e9),
    ),
    separator="\t",
    newline_required=False,
    rename={"%simTime": "simTime"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """One car, resampled.

    Attributes:
        id: ``"subject"`` or the number leaders and followers are called by.
        frames: (n,) consecutive multiples of 1/30 s.
        xy: (n, 2) [m].
        offset: (n,) lateral offset as the log gives it [m].
        first_offset: offset of the first row, not resampled.
        neighbors: leader and follower ids of the first row; empty text for none.
        step_s: median step of its clock [s].
        path: of the log.
        rows: rows of the log.
        sha256: of the file.
    """

    id: str
    frames: IntArray
    xy: FloatArray
    offset: FloatArray
    first_offset: float
    neighbors: tuple[str, str]
    step_s: float
    path: Path
    rows: int
    sha256: str


class Leeds:
    """Adapter; one recording per participant and crossing, one scene each."""

    @property
    def info(self) -> DatasetInfo:
        """Fact sheet."""
        return DatasetInfo(
            name="leeds",
            title="Leeds (UDISS)",
            frame_rate_hz=FRAME_RATE_HZ,
            license="open data; the terms are stated at the project page",
            obtain="download Data.zip from OSF project eazg5 and unpack it",
            layout="subN/subject*2.txt\nsubN/drone3NN*.txt   (first crossing)\nsubN/drone10NN*.txt   (second crossing)",
            references=("COMMOTIONS urban driving in simulator study (2023). arXiv:2305.11909.",),
        )

    def recognizes(self, root: Path) -> bool:
        """Whether a participant folder with a log of the subject is there."""
        return any(
            SUBJECT_FILE.fullmatch(path.name) and "\t" in first_line(path)
            for folder in _participants(root)
            for path in files(folder)
        )

    def recordings(self, root: Path) -> Sequence[Recording]:
        """Participants in numerical order, first crossing before second."""
        found: list[Recording] = []
        for folder in _participants(root):
            names = files(folder)
            subject = [path for path in names if SUBJECT_FILE.fullmatch(path.name)]
            for crossing, pattern in DRONE_FILES.items():
                matches = [(pattern.fullmatch(path.name), path) for path in names]
                drones = {f"drone{match[1]}": path for match, path in matches if match is not None}
                if subject and drones:
                    paths = {"subject": subject[0], **dict(sorted(drones.items()))}
                    found.append(
                        Recording(
                            dataset="leeds",
                            id=f"{folder.name}/{crossing}",
                            root=root,
                            files=paths,
                            location=f"crossing {crossing}",
                        )
                    )
        if not found:
            raise no_recordings(self.info, root)
        return found

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """The one scene: the participant first, then the stream of cars by number."""
        findings = Findings.of(recording)
        logs = _read(recording, findings)
        names = [relative_name(path, recording.root) for path in recording.files.values()]
        first = min(int(log.frames[0]) for log in logs)
        yield Scene(
            tracks=_tracks(logs, first),
            location=recording.location,
            provenance=provenance_of(
                recording,
                {name: log.sha256 for name, log in zip(names, logs, strict=True)},
                notes=("resampled linearly to 30 Hz; velocity and heading by differences of position", *findings.notes),
            ),
            attributes=_attributes(recording, logs, first),
        )

    def verify(self, root: Path, *, progress: Progress | None = None, accept_implausible: bool = False) -> Verification:
        """Check every log of every participant."""
        return verify_recordings(
            self, root, _check, version="OSF eazg5", progress=progress, accept_implausible=accept_implausible
        )


LEEDS = Leeds()


def _participants(root: Path) -> list[Path]:
    """``sub1``, ``sub2``, ... by number, in the root or in one folder below it."""
    for base in (root, *folders(root)):
        found = [folder for folder in folders(base) if re.fullmatch(r"sub\d+", folder.name)]
        if found:
            return sorted(found, key=lambda folder: int(folder.name[3:]))
    return []


def _check(recording: Recording, findings: Findings) -> RecordingSummary | None:
    logs = _read(recording, findings)
    if len(logs) < len(recording.files):
        return None
    first = min(int(log.frames[0]) for log in logs)
    last = max(int(log.frames[-1]) for log in logs)
    return RecordingSummary(
        id=recording.id,
        location=recording.location,
        num_tracks=len(logs),
        num_frames=last - first + 1,
        num_rows=sum(log.rows for log in logs),
        duration_s=(last - first + 1) / FRAME_RATE_HZ,
    )


def _read(recording: Recording, findings: Findings) -> list[Log]:
    logs: list[Log] = []
    crossing = int(recording.id.rsplit("/", 1)[1])
    for role, path in recording.files.items():
        number = "" if role == "subject" else str(FIRST_ID[crossing] + int(role.removeprefix("drone")))
        log = _read_log(path, number, findings)
        if log is not None:
            logs.append(log)
    _check_clocks(logs, findings)
    known = {log.id for log in logs}
    for log, path in zip(logs, recording.files.values(), strict=False):
        for name, neighbor in zip(("leaderID_r", "followerID_r"), log.neighbors, strict=True):
            if neighbor and neighbor not in known:
                findings.warning(
                    "a leader or follower has no log; it counts as absent", path, line=2, column=name, found=neighbor
                )
    return logs


def _read_log(path: Path, number: str, findings: Findings) -> Log | None:
    table = read_table(path, DRONE_LOG if number else SUBJECT_LOG, findings)
    if table is None:
        return None
    time = table.floats("simTime")
    stuck = np.flatnonzero(np.diff(time) <= 0) + 1
    message, hint = "time does not increase", "remove doubled rows, sort by time"
    findings.rows(message, path, line_of(stuck), column="simTime", values=time[stuck], hint=hint)
    if stuck.size:
        return None
    x_name, y_name, offset_name = ("x_r", "y_r", "offset_p") if number else ("x", "y", "offset")
    x, y, offset = table.floats(x_name), table.floats(y_name), table.floats(offset_name)
    inner = np.ones(len(time) - 1, dtype=np.bool_)
    if not check_jumps(x, y, time, inner, path, line_of, findings, column=x_name):
        return None
    check_steps(time, inner, path, findings, column="simTime")
    frames = np.arange(np.ceil(time[0] * FRAME_RATE_HZ - 1e-6), np.floor(time[-1] * FRAME_RATE_HZ + 1e-6) + 1)
    if not frames.size:
        message = "the log is shorter than one thirtieth of a second"
        findings.error(message, path, line=2, column="simTime", found=f"{time[0]} to {time[-1]} s")
        return None
    at = frames / FRAME_RATE_HZ
    neighbors = ("", "")
    if number:
        for name in ("leaderID_r", "followerID_r"):
            ids = table.floats(name)
            broken = np.flatnonzero(ids != np.floor(ids))
            message, hint = "the id of a car is not a whole number", "columns may be swapped; check the header"
            findings.rows(message, path, line_of(broken), column=name, values=ids[broken], hint=hint)
            if broken.size:
                return None
        lowest = FIRST_ID[1] if int(number) < FIRST_ID[2] else FIRST_ID[2]
        cells = (table.floats("leaderID_r")[0], table.floats("followerID_r")[0])
        neighbors = tuple(str(int(cell)) if cell >= lowest else "" for cell in cells)
    return Log(
        id=number or SUBJECT,
        frames=frames.astype(np.int64),
        xy=np.stack([np.interp(at, time, x), np.interp(at, time, y)], axis=1),
        offset=np.interp(at, time, offset),
        first_offset=float(offset[0]),
        neighbors=(neighbors[0], neighbors[1]),
        step_s=float(np.median(np.diff(time))) if len(time) > 1 else float("nan"),
        path=path,
        rows=table.num_rows,
        sha256=table.sha256,
    )


def _check_clocks(logs: list[Log], findings: Findings) -> None:
    """All cars of a drive were logged by one simulator, so no clock ticks at another pace than the others'."""
    usual = float(np.median([log.step_s for log in logs])) if logs else 0.0
    for log in logs:
        if not usual / MAX_PACE <= log.step_s <= usual * MAX_PACE and log.rows > 1:
            findings.implausible(
                f"the clock of a log ticks more than {MAX_PACE:g} times faster or slower than those of the others",
                log.path,
                line_of(np.array([1])),
                column="simTime",
                values=[f"{log.step_s:.4g} s, usually {usual:.4g} s"],
            )


def _tracks(logs: list[Log], first: int) -> Tracks:
    instants = max(int(log.frames[-1]) for log in logs) - first + 1
    xy = np.full((len(logs), instants, 2), np.nan)
    observed = np.zeros((len(logs), instants), dtype=np.bool_)
    for agent, log in enumerate(logs):
        span = slice(int(log.frames[0]) - first, int(log.frames[-1]) - first + 1)
        xy[agent, span] = log.xy
        observed[agent, span] = True
    velocity = backward_difference(xy, 1 / FRAME_RATE_HZ, observed)
    return Tracks(
        time_s=np.arange(first, first + instants) / FRAME_RATE_HZ,
        xy=xy,
        heading=heading_from_velocity(velocity, observed),
        velocity=velocity,
        observed=observed,
        size=np.full((len(logs), 2), np.nan),
        kind=np.full(len(logs), AgentKind.CAR, dtype=np.int64),
        ids=np.array([log.id for log in logs]),
    )


def _attributes(recording: Recording, logs: list[Log], first: int) -> Mapping[str, object]:
    instants = max(int(log.frames[-1]) for log in logs) - first + 1
    offset = np.full((len(logs), instants), np.nan)
    for agent, log in enumerate(logs):
        offset[agent, int(log.frames[0]) - first : int(log.frames[-1]) - first + 1] = log.offset
    participant, crossing = recording.id.split("/")
    return {
        "frame_rate_hz": FRAME_RATE_HZ,
        "first_frame": first,
        "participant": participant,
        "crossing": int(crossing),
        "leader_id": np.array([log.neighbors[0] for log in logs]),
        "follower_id": np.array([log.neighbors[1] for log in logs]),
        "offset_m": offset,
        "first_offset_m": np.array([log.first_offset for log in logs]),
    }
