"""Finding the log of a drive in a store or below any folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from giveway.core.errors import EmptySelectionError
from giveway.core.log import DriveLog
from giveway.experiments.store import STORE_FILE
from giveway.reports.results import Results
from giveway.sim.log_files import logs_below, read_log


def find_log(folder: Path, *, case: str | None = None, predictor: str | None = None) -> DriveLog:
    """The first log of a case and predictor, in order of cases; ``recorded`` is how the recorded drivers drove.

    Args:
        folder: store of ``giveway drive run`` or ``serve``, a log, or a folder with logs.
        case: which case; any if None.
        predictor: which predictor; any if None.

    Raises:
        EmptySelectionError: there is none.
        StoreError, FileFormatError: it is damaged.
    """
    wanted = {name: value for name, value in (("case", case), ("predictor", predictor)) if value is not None}
    if (folder / STORE_FILE).is_file():
        found = Results.open(folder, kind="drive").log(**wanted, first=True)
        assert isinstance(found, DriveLog)
        return found
    for log in _logs(folder):
        if case in (None, log.case.id) and predictor in (None, log.meta.get("predictor")):
            return log
    asked = " and ".join(f"{what} {name}" for what, name in wanted.items())
    raise EmptySelectionError(
        "no such log",
        where=folder,
        found=f"{len(logs_below(folder))} logs" + (f", none of {asked}" if asked else ""),
        hint="the folder given to giveway drive run as --out",
    )


def _logs(folder: Path) -> Iterator[DriveLog]:
    return map(read_log, logs_below(folder))
