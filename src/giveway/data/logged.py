"""Files that hold whole scenes with dense states: what their adapters share.

Most come from a moving car. Its own track is one of them, marked by the scene attribute ``is_recorder``; whoever it
could not see is absent from the file, which is no evidence of an empty road.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.errors import FileFormatError
from giveway.core.lanes import LaneMap
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.data.declared import conflicts_file, declared
from giveway.data.findings import Findings, relative_name
from giveway.data.fingerprints import sha256_of_bytes, sha256_of_file
from giveway.data.layout import entries, no_recordings
from giveway.data.origins import provenance_of
from giveway.data.protocol import DatasetInfo, Progress, Recording, RecordingSummary, Verification
from giveway.data.tables import read_bytes
from giveway.data.verification import verify_recordings
from giveway.roads.path_conflicts import SIZES_M, USUAL_SIZE_M

MAX_BYTES = 256 * 1024 * 1024
"""Larger files of these formats are refused; a scene has a few megabytes."""

COORDINATE_LIMIT_M = 1e7
OCCLUSION = "recorded from a moving car: road users it could not see are absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """What a file says about one scene.

    Attributes:
        tracks: states.
        road: lanes in the same coordinates, or None.
        location: site or city.
        attributes: extras of the format.
        recorder: id of the car that recorded, or None if the camera stood still.
        notes: what was derived or assumed.
    """

    tracks: Tracks
    road: LaneMap | None = None
    location: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    recorder: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedDataset:
    """Adapter of a format whose files hold whole scenes.

    Attributes:
        info: fact sheet.
        version: which release of the format is read.
        find: recordings below a root: id, role to path, location.
        read: scenes of the bytes of a recording's files, by role; raises :class:`FileFormatError`.
        binary: roles of files that ``read`` opens itself, whatever their size.
    """

    info: DatasetInfo
    version: str
    find: Callable[[Path], Sequence[tuple[str, Mapping[str, Path], str]]]
    read: Callable[[Recording, Mapping[str, bytes]], Iterator[Logged]]
    binary: frozenset[str] = frozenset()

    def recognizes(self, root: Path) -> bool:
        """Whether there are such files."""
        return bool(self.find(root))

    def recordings(self, root: Path) -> Sequence[Recording]:
        """All such files below the root.

        Raises:
            DatasetLayoutError: there is none.
        """
        entries(root)
        conflicts = conflicts_file(root)
        found = [
            Recording(dataset=self.info.name, id=name, root=root, files={**files, **conflicts}, location=location)
            for name, files, location in self.find(root)
        ]
        if not found:
            raise no_recordings(self.info, root)
        return sorted(found, key=lambda recording: recording.id)

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """The scenes of a file, in its order."""
        content = {role: _bytes(path) for role, path in recording.files.items() if role not in self.binary}
        hashes = {
            relative_name(path, recording.root): sha256_of_bytes(content[role])
            if role in content
            else sha256_of_file(path)
            for role, path in recording.files.items()
        }
        extras = {"conflicts": declared(path)} if (path := recording.files.get("conflicts")) else {}
        content.pop("conflicts", None)
        for logged in self.read(recording, content):
            tracks = logged.tracks
            if not tracks.num_agents:
                continue
            seen = {} if logged.recorder is None else {"is_recorder": tracks.ids == logged.recorder}
            note = () if logged.recorder is None else (OCCLUSION,)
            yield Scene(
                tracks=tracks,
                road=logged.road,
                location=logged.location or recording.location,
                provenance=provenance_of(recording, hashes, notes=(*note, *logged.notes)),
                attributes={
                    "frame_rate_hz": 1.0 / tracks.dt_s if tracks.num_instants > 1 else self.info.frame_rate_hz,
                    **logged.attributes,
                    **seen,
                    **extras,
                },
            )

    def verify(self, root: Path, *, progress: Progress | None = None, accept_implausible: bool = False) -> Verification:
        """Read every file; one problem per file, with the field that is wrong."""
        return verify_recordings(
            self, root, self._check, version=self.version, progress=progress, accept_implausible=accept_implausible
        )

    def _check(self, recording: Recording, findings: Findings) -> RecordingSummary | None:
        scenes = list(self.scenes(recording))
        for scene in scenes:
            for warning in scene.road.warnings if scene.road is not None else ():
                findings.warning(warning, recording.files.get("map", next(iter(recording.files.values()))))
        return RecordingSummary(
            id=recording.id,
            location=scenes[0].location if scenes else recording.location,
            num_tracks=sum(scene.tracks.num_agents for scene in scenes),
            num_frames=sum(scene.tracks.num_instants for scene in scenes),
            num_rows=sum(int(scene.tracks.observed.sum()) for scene in scenes),
            duration_s=sum(scene.tracks.num_instants / scene.attributes["frame_rate_hz"] for scene in scenes),
        )


def _bytes(path: Path) -> bytes:
    data = read_bytes(path)
    if len(data) > MAX_BYTES:
        refuse("the file is too large for a scene", path, found=f"{len(data)} bytes, at most {MAX_BYTES} are read")
    return data


def refuse(what: str, path: Path, field: str = "", *, found: object = None, hint: str | None = None) -> NoReturn:
    """Say what is wrong with which field of a file.

    Raises:
        FileFormatError: always.
    """
    where = f"{path}, field {field!r}" if field else str(path)
    raise FileFormatError(what, where=where, found=found, hint=hint or "get the file again; it seems damaged")


def json_of(data: bytes, path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        FileFormatError: it is not one.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        refuse("the file is not JSON", path, found=str(error)[:120])
    if not isinstance(content, dict):
        refuse("the file is not a JSON object", path, found=type(content).__name__)
    return content


def dense_tracks(
    path: Path,
    *,
    ids: Sequence[str],
    kind: Sequence[AgentKind],
    time_s: FloatArray,
    xy: FloatArray,
    heading: FloatArray,
    velocity: FloatArray,
    observed: BoolArray,
    size: FloatArray,
) -> Tracks:
    """Checked tracks: agents that are never observed and states that are not observed are blanked.

    Args:
        path: for messages.
        ids: (A,) of the source; doubled ones are an error.
        kind: (A,).
        time_s: (T,).
        xy: (A, T, 2); must be finite and below 10 000 km where observed.
        heading: (A, T).
        velocity: (A, T, 2).
        observed: (A, T).
        size: (A, 2); zero or negative becomes NaN.

    Raises:
        FileFormatError: naming the field.
    """
    some = observed.any(axis=1)
    label = np.array(ids, dtype=np.str_).reshape(len(observed))[some]
    names, counts = np.unique(label, return_counts=True)
    if (counts > 1).any():
        refuse("two road users have one id", path, "id", found=names[counts > 1][0])
    xy, heading, velocity, seen = xy[some], heading[some], velocity[some], observed[some]
    with np.errstate(invalid="ignore"):
        bad = seen & ~(np.abs(xy) < COORDINATE_LIMIT_M).all(axis=2)
    if bad.any():
        agent, instant = np.argwhere(bad)[0]
        refuse("a position is no number on earth", path, "position", found=f"{label[agent]} at instant {instant}")
    if len(time_s) > 1 and not bool((np.diff(time_s) > 0).all()):
        refuse("times do not increase", path, "timestamp")
    sizes = np.asarray(size, dtype=np.float64)[some]
    blank = ~seen
    return Tracks(
        time_s=np.asarray(time_s, dtype=np.float64),
        xy=np.where(blank[..., None], np.nan, xy),
        heading=np.where(blank | ~np.isfinite(heading), np.nan, heading),
        velocity=np.where((blank | ~np.isfinite(velocity).all(axis=2))[..., None], np.nan, velocity),
        observed=seen,
        size=np.where(np.isfinite(sizes) & (sizes > 0), sizes, np.nan),
        kind=np.array([int(k) for k in kind], dtype=np.int64)[some],
        ids=label,
    )


def usual_sizes(kind: Sequence[AgentKind] | IntArray) -> FloatArray:
    """(A, 2) length and width of road users whose source gives none, by kind [m]."""
    return np.array([SIZES_M.get(AgentKind(int(k)), USUAL_SIZE_M) for k in kind], dtype=np.float64).reshape(-1, 2)
