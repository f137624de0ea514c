"""Finding the recordings that cases talk about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from giveway.core.case import Case
from giveway.core.errors import DataError, UsageError
from giveway.core.scene import Scene
from giveway.data import DATASETS
from giveway.data.protocol import Recording
from giveway.roads.queries import PreparedMap, prepare


class SceneSource(Protocol):
    """Where the scene of a case comes from."""

    def scene_of(self, case: Case) -> Scene:
        """The scene; a :class:`~giveway.core.errors.GivewayError` if there is none."""
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

    def scene_of(self, case: Case) -> Scene:
        """The scene of the case's recording.

        Raises:
            DataError: it is not among them.
        """
        if case.recording not in self._scenes:
            raise DataError("the recording of a case is not there", where=f"case {case.id!r}", found=case.recording)
        return self._scenes[case.recording]


def prepared_roads(cases: Iterable[Case], source: SceneSource, cache: dict[str, PreparedMap | None]) -> None:
    """Fill ``cache`` with the maps of all sites of the cases."""
    for case in cases:
        if case.site not in cache:
            road = source.scene_of(case).road
            cache[case.site] = None if road is None else prepare(road)
