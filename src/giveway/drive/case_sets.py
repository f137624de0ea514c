"""Opening a set of cases together with where its recordings are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from giveway.core.case import Case
from giveway.core.errors import UsageError
from giveway.drive.bundled import bundled_set
from giveway.drive.scenes import RecordedScenes, SceneSource
from giveway.sim.case_files import read_cases


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
        raise UsageError("--limit must be at least 1", found=limit)
    if path is None:
        cases, source = bundled_set()
        return cases[:limit], source
    found = read_cases(path)
    if any(case.dataset == "bundled" for case in found):
        return found[:limit], bundled_set()[1]
    return found[:limit], RecordedScenes(data)
