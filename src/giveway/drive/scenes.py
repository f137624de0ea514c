"""Finding the recordings that cases talk about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from giveway.core.case import Case
from giveway.core.checked import known_sha256
from giveway.core.errors import DataError, GivewayError, UsageError
from giveway.core.scene import Scene
from giveway.core.seals import sha256_of_bytes
from giveway.data import DATASETS
from giveway.data.protocol import Recording
from giveway.experiments import content_key
from giveway.roads.queries import PreparedMap, prepare


class SceneSource(Protocol):
    """Where the scene of a case comes from."""

    def scene_of(self, case: Case) -> Scene:
        """The scene; a :class:`~giveway.core.errors.GivewayError` if there is none."""
        ...

    def digest_of(self, case: Case) -> str:
        """Digest of recording and map; the scene need not be read. Raises as :meth:`scene_of` does."""
        ...


class RecordedScenes:
    """Scenes below a data root, read when they are needed; the last few stay in memory.

    Args:
        root: data root, as the dataset's adapter expects it; None if the user gave none.
        keep: how many scenes to keep.
    """

    def __init__(self, root: Path | None, *, keep: int = 4) -> None:
        self._root = root
        self._keep = keep
        self._known: dict[str, dict[str, Recording]] = {}
        self._scenes: dict[tuple[str, str], Scene] = {}

    def scene_of(self, case: Case) -> Scene:
        """The recording of a case.

        Raises:
            UsageError: no data root.
            DataError: the root does not hold the recording.
        """
        key = (case.dataset, case.recording)
        if key not in self._scenes:
            recording = self._recording(case)
            scenes = list(DATASETS.get(case.dataset).scenes(recording))
            if len(scenes) != 1:
                raise DataError(
                    "a case needs a recording with one scene", where=case.recording, found=f"{len(scenes)} scenes"
                )
            while len(self._scenes) >= self._keep:
                self._scenes.pop(next(iter(self._scenes)))
            self._scenes[key] = scenes[0]
        return self._scenes[key]

    def digest_of(self, case: Case) -> str:
        """Digest of all files of the recording of a case, its map among them; each file is read once.

        Raises:
            UsageError, DataError: see :meth:`scene_of`; also a file that cannot be read.
        """
        files = self._recording(case).files
        try:
            return content_key({role: known_sha256(path) for role, path in files.items()})
        except OSError as error:
            raise DataError("cannot read a recording", where=case.recording, found=str(error)) from error

    def _recording(self, case: Case) -> Recording:
        if self._root is None:
            raise UsageError(
                "these cases need recordings",
                where=f"case {case.id!r}",
                found=f"dataset {case.dataset!r}, recording {case.recording!r}",
                hint="say where they are: --data FOLDER",
            )
        if case.dataset not in self._known:
            found = DATASETS.get(case.dataset).recordings(self._root)
            self._known[case.dataset] = {recording.id: recording for recording in found}
        known = self._known[case.dataset]
        if case.recording not in known:
            raise DataError(
                "the recording of a case is not there",
                where=f"case {case.id!r}, {self._root}",
                found=f"{len(known)} recordings, none called {case.recording!r}",
            )
        return known[case.recording]


class GivenScenes:
    """Scenes that are in memory already.

    Args:
        scenes: recording identifier to scene.
    """

    def __init__(self, scenes: Mapping[str, Scene]) -> None:
        self._scenes = scenes
        self._digests: dict[str, str] = {}

    def scene_of(self, case: Case) -> Scene:
        """The scene of the case's recording.

        Raises:
            DataError: it is not among them.
        """
        if case.recording not in self._scenes:
            raise DataError("the recording of a case is not there", where=f"case {case.id!r}", found=case.recording)
        return self._scenes[case.recording]

    def digest_of(self, case: Case) -> str:
        """Digest of tracks and map, to 1 um; raises as :meth:`scene_of` does."""
        if case.recording not in self._digests:
            self._digests[case.recording] = _digest(self.scene_of(case))
        return self._digests[case.recording]


def _digest(scene: Scene) -> str:
    """Of everything that drives read: states, sizes, lanes and lines; rounded, so that all machines agree."""
    tracks, road = scene.tracks, scene.road
    parts: list[Any] = [dict(scene.provenance.files), tracks.ids, tracks.kind, tracks.observed]
    parts += [tracks.time_s, tracks.xy, tracks.heading, tracks.velocity, tracks.size]
    if road is not None:
        parts += [list(road.lanes.values()), road.lines, road.keepouts]
    return content_key(_rounded(parts))


def _rounded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        is_float = np.issubdtype(value.dtype, np.floating)
        exact = np.ascontiguousarray(np.round(value, 6) + 0.0 if is_float else value)
        return [list(exact.shape), sha256_of_bytes(exact.tobytes())]
    if is_dataclass(value):
        return [_rounded(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, Mapping):
        return {str(name): _rounded(part) for name, part in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in cast("Sequence[Any]", value)]
    return value


def data_of(case: Case, source: SceneSource) -> str:
    """Digest of recording and map of a case; what the case says if they cannot be read, which its drive will tell."""
    try:
        return source.digest_of(case)
    except GivewayError:
        return case.tracks_sha256


def prepared_roads(
    cases: Iterable[Case], source: SceneSource, cache: dict[tuple[str, str], PreparedMap | None]
) -> None:
    """Fill ``cache`` with the maps of all sites of the cases."""
    for case in cases:
        site = (case.dataset, case.site)
        if site not in cache:
            road = source.scene_of(case).road
            cache[site] = None if road is None else prepare(road)
