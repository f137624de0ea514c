"""Sets of cases together with where their recordings are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from giveway.core.case import Case
from giveway.core.errors import UsageError
from giveway.core.scene import Scene
from giveway.drive.bundled import bundled_set
from giveway.drive.scenes import RecordedScenes, SceneSource
from giveway.sim.case_files import read_cases

BUNDLED = "bundled"
"""Dataset of the cases that come with the package."""


class CaseScenes:
    """Scenes of cases from any dataset: the bundled ones, and recordings below the data root of their dataset.

    Args:
        roots: dataset to data root.
    """

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = roots
        self._sources: dict[str, SceneSource] = {}

    def scene_of(self, case: Case) -> Scene:
        """The recording of a case; a :class:`~giveway.core.errors.GivewayError` if it is not there."""
        return self._source_of(case).scene_of(case)

    def digest_of(self, case: Case) -> str:
        """Digest of recording and map; a :class:`~giveway.core.errors.GivewayError` if they are not there."""
        return self._source_of(case).digest_of(case)

    def _source_of(self, case: Case) -> SceneSource:
        if case.dataset not in self._sources:
            found = bundled_set()[1] if case.dataset == BUNDLED else RecordedScenes(self._roots.get(case.dataset))
            self._sources[case.dataset] = found
        return self._sources[case.dataset]


def open_cases(path: Path | None, data: Path | None, limit: int | None = None) -> tuple[Sequence[Case], SceneSource]:
    """The cases of a file or folder, or the bundled ones.

    Args:
        path: case file or folder; None takes the bundled set.
        data: folder with the recordings; the bundled cases need none.
        limit: only the first so many.

    Raises:
        UsageError: a limit below one.
    """
    if limit is not None and limit < 1:
        raise UsageError("--max-cases must be at least 1", found=limit)
    if path is None:
        cases, source = bundled_set()
        return cases[:limit], source
    found = read_cases(path)
    if any(case.dataset == "bundled" for case in found):
        return found[:limit], bundled_set()[1]
    return found[:limit], RecordedScenes(data)
