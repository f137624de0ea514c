"""Drive logs as material for clips: every log shows what was simulated and, beside it, what people did.

In a store of ``giveway drive run`` the predictor of a log is its condition, below any other folder the name of the
folder that holds it. The recorded drivers of the same cases become a condition of their own, each case
once, which is called what its traffic is: ``recorded`` only if it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from giveway.core.case import Case, Role
from giveway.core.checked import read_bytes, read_sealed
from giveway.core.lanes import LaneMap
from giveway.core.log import DriveLog
from giveway.core.origins import Origin, sorted_origins
from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import Tracks
from giveway.experiments.store import STORE_FILE
from giveway.sim.log_files import FORMAT, LOG, LOG_BYTES, LOG_FILE, logs_below, read_log

RoadOf = Callable[[Case], LaneMap | None]
SceneReader = Callable[[], Iterator[Scene]]
HEAD_BYTES = 200
RECORDED = "recorded"
"""Predictor of logs that hold what the recorded drivers did."""
UNKNOWN_ORIGIN = "origin_is_unknown"
"""Attribute of scenes from logs of earlier releases, which do not say what moved their rows."""


def drive_logs(folder: Path) -> list[Path]:
    """Folders of all drive logs below a folder; other files called ``log.json`` and recorded drives are passed over."""
    return [log for log in logs_below(folder) if (facts := _facts(log)) and facts["predictor"] != RECORDED]


def condition_of(log: Path, folder: Path) -> str:
    """Condition of a log: its predictor in a store, elsewhere the name of the folder that holds it."""
    return str(_facts(log)["predictor"]) if (folder / STORE_FILE).is_file() else log.parent.name


def simulated_readers(logs: Sequence[Path], road_of: RoadOf) -> tuple[SceneReader, ...]:
    """One reader per log, for what was simulated."""
    return tuple(partial(_scenes, log, road_of, recorded=False) for log in logs)


def recorded_readers(logs: Sequence[Path], road_of: RoadOf) -> tuple[SceneReader, ...]:
    """One reader per case, for what the recorded drivers did."""
    firsts: dict[str, Path] = {}
    for log in logs:
        firsts.setdefault(_facts(log)["case"], log)
    return tuple(partial(_scenes, log, road_of, recorded=True) for log in firsts.values())


def _facts(folder: Path) -> dict[str, str]:
    """Case and predictor of a log; empty if the file is none."""
    data = read_bytes(folder / LOG_FILE, limit=LOG_BYTES)
    if f'"{FORMAT}"'.encode() not in data[:HEAD_BYTES]:
        return {}
    document = read_sealed(folder / LOG_FILE, limit=LOG_BYTES, expect=LOG).document
    return {"case": str(document["case"]["id"]), "predictor": str(document["meta"].get("predictor") or "drive")}


def _scenes(folder: Path, road_of: RoadOf, *, recorded: bool) -> Iterator[Scene]:
    log = read_log(folder)
    tracks = log.recorded if recorded else log.tracks
    if not tracks.observed[log.ego].any():
        return  # nobody was recorded in a generated case
    case = log.case
    attributes: dict[str, Any] = {"ego": str(tracks.ids[log.ego]), "situation": case.id}
    rows = log.recorded_origins if recorded else log.origins
    if not rows:
        attributes[UNKNOWN_ORIGIN] = True
    shown = [row for i, row in enumerate(rows) if tracks.observed[i].any()]
    worst = sorted_origins(shown)[-1:] or [Origin.RECORDED]
    assumed = any(row.is_assumed for row in shown)
    rated = _rated(log, tracks)
    if rated is not None:
        attributes["rated"] = rated
    yield Scene(
        tracks=tracks,
        road=road_of(case) if log.road is None else log.road,
        location=case.site,
        provenance=Provenance(
            dataset=case.dataset,
            recording=case.recording,
            origin=Origin(worst[0]),
            declared_by="assumed" if assumed or not rows else "file",
        ),
        attributes=attributes,
        rows=rows,
    )


def _rated(log: DriveLog, tracks: Tracks) -> str | None:
    """The car that the ego met: driven by the simulator before only predicted, longest present first."""
    order = {Role.REACTIVE: 0, Role.IDM: 1, Role.REPLAY: 2}
    rows = [
        (order[role], -int(tracks.observed[row].sum()), row)
        for row, role in enumerate(log.roles)
        if role in order and (role != Role.REPLAY or log.predicted[row])
    ]
    return str(tracks.ids[min(rows)[2]]) if rows else None
