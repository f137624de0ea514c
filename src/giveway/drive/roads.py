"""Maps of the cases that logs tell about."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from giveway.core.case import Case
    from giveway.core.lanes import LaneMap
    from giveway.core.log import DriveLog
    from giveway.drive.scenes import RecordedScenes


def road_of_log(log: DriveLog, data: Path | None = None) -> LaneMap | None:
    """The map that was kept with a log; for logs of earlier releases see :func:`road_of`."""
    return road_of(log.case, data) if log.road is None else log.road


def road_of(case: Case, data: Path | None) -> LaneMap | None:
    """The map of a case: bundled, or beside its recording below ``data``; None without either."""
    from giveway.drive.bundled import bundled_set

    if case.dataset == "bundled":
        return bundled_set()[1].scene_of(case).road
    return None if data is None else _recordings(data).scene_of(case).road


@lru_cache(maxsize=2)
def _recordings(data: Path) -> RecordedScenes:
    from giveway.drive.scenes import RecordedScenes

    return RecordedScenes(data)
