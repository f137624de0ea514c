"""Reader for the text logs of the challenge's simulator.

A run is a folder with one sub-folder ``configN`` per case, each with a case file, a log, a list of collisions and
(optionally) a dump of predictions, told apart by their names; some published runs append a date, some do not.
Positions are site coordinates minus 1000 m and stay so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.case import TICK_S, Case, Role
from giveway.core.checked import Expect, read_text
from giveway.core.errors import DataError, DatasetLayoutError, FileFormatError
from giveway.metrics.challenge import ChallengeInputs
from giveway.metrics.speeds import SpeedRecord
from giveway.sim.case_files import natural_key
from giveway.sim.challenge_cases import read_challenge_case

MAX_BYTES = 1 << 30
_COLUMNS = 13
_PAIR = "collision between cars"
_LANE = "collision with lane"


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyLog:
    """One case of a published run.

    Attributes:
        case: the case file beside the log; its id is the name of the sub-folder.
        ids: (A,) cars in order of appearance.
        xy: (A, T, 2) [m], site frame minus 1000 m; NaN where absent.
        heading: (A, T) rad.
        speed: (A, T) hypot of longitudinal and lateral speed [m/s]; NaN where absent.
        present: (A, T) bool.
        size: (A, 2) length and width [m].
        ego: row of the ego.
        finished: the simulator ran to its end ("no crash"); says nothing about collisions.
        progress_m: (now, recorded) distance of the ego along its path; None if the ego has left.
        pair_collisions: (tick, car, car), each pair once per tick.
        lane_departures: (tick, car, lane).
    """

    case: Case
    ids: tuple[str, ...]
    xy: FloatArray
    heading: FloatArray
    speed: FloatArray
    present: BoolArray
    size: FloatArray
    ego: int
    finished: bool
    progress_m: tuple[float, float] | None
    pair_collisions: tuple[tuple[int, str, str], ...]
    lane_departures: tuple[tuple[int, str, str], ...]


def read_legacy_run(folder: Path) -> list[LegacyLog]:
    """All cases of a published run, in natural order.

    Raises:
        DatasetLayoutError: if the folder holds no case.
        FileFormatError: naming file and line.
    """
    if not folder.is_dir():
        raise DataError("no such folder", where=folder)
    cases = sorted((f for f in folder.iterdir() if f.is_dir() and _pick(f, "_config")), key=natural_key)
    if not cases:
        raise DatasetLayoutError(
            "no logs of the challenge's simulator found",
            where=f"{folder}/config*/",
            found=f"{sum(1 for _ in folder.iterdir())} entries, none with a *_config* file",
            hint="point to the folder that holds config0, config1, ...",
        )
    return [read_legacy_case(case) for case in cases]


def read_legacy_case(folder: Path) -> LegacyLog:
    """The case in one ``configN`` folder."""
    config, log = _pick(folder, "_config"), _pick(folder, "_test", without="_Collision")
    collisions = _pick(folder, "_Collision")
    if config is None or log is None:
        missing = "*_config*" if config is None else "*_test*"
        raise DatasetLayoutError(f"a case without its {missing} file", where=folder)
    case = read_challenge_case(_text(config), where=config, case_id=folder.name)
    pairs, lanes = _read_collisions(collisions) if collisions else ((), ())
    return _read_log(log, case, pairs, lanes)


def challenge_inputs_of_legacy(log: LegacyLog) -> ChallengeInputs:
    """What the challenge metric needs, as the evaluator took it from the files.

    The evaluator counted collisions between any two cars it checked; who was at fault is not known from the files.
    """
    rows = {car: i for i, car in enumerate(log.ids)}
    ego_id = log.ids[log.ego]
    ego_ticks = [tick for tick, a, b in log.pair_collisions if ego_id in (a, b)]
    return ChallengeInputs(
        case_id=log.case.id,
        dt_s=TICK_S,
        ego=_record(log, log.ego),
        targets={car: _record(log, rows[car]) if car in rows else None for car in log.case.right_of_way},
        reactive=frozenset(car.id for car in log.case.cars if car.role is Role.REACTIVE),
        progress_m=float("nan") if log.progress_m is None else log.progress_m[0],
        expected_progress_m=float("nan") if log.progress_m is None else log.progress_m[1],
        ego_left=log.progress_m is None,
        desired_speed_mps=log.case.desired_speed_mps,
        any_pair_collided=bool(log.pair_collisions),
        ego_collided=bool(ego_ticks),
        first_ego_collision=min(ego_ticks, default=None),
        failed="" if log.finished else "the log does not end with 'no crash'",
    )


def _record(log: LegacyLog, row: int) -> SpeedRecord:
    return SpeedRecord(speed=log.speed[row], present=log.present[row])


def _pick(folder: Path, part: str, without: str | None = None) -> Path | None:
    files = sorted(f for f in folder.iterdir() if part in f.name and not (without and without in f.name))
    return files[0] if files else None


def _text(path: Path) -> str:
    return read_text(path, limit=MAX_BYTES, expect=Expect(what="a log of the challenge's simulator"))


def _read_collisions(path: Path) -> tuple[tuple[tuple[int, str, str], ...], tuple[tuple[int, str, str], ...]]:
    pairs: set[tuple[int, str, str]] = set()
    lanes: set[tuple[int, str, str]] = set()
    for number, line in enumerate(_text(path).splitlines(), 1):
        if _PAIR not in line and _LANE not in line:
            continue
        head, _, tail = line.partition(":")
        ids, tick = tail.split(), head.split()[0]
        if len(ids) != 2 or not tick.isdigit():
            raise FileFormatError("a collision line does not parse", where=f"{path}, line {number}", found=line)
        if _PAIR in line:
            first, second = sorted(ids)
            pairs.add((int(tick), first, second))
        else:
            lanes.add((int(tick), ids[0], ids[1]))
    return tuple(sorted(pairs)), tuple(sorted(lanes))


@dataclass(slots=True)
class _Row:
    tick: int
    car: str
    values: list[float]


def _read_log(
    path: Path,
    case: Case,
    pairs: tuple[tuple[int, str, str], ...],
    lanes: tuple[tuple[int, str, str], ...],
) -> LegacyLog:
    lines = _text(path).splitlines()
    rows: list[_Row] = []
    egos: set[str] = set()
    finished, progress, tick, expected, tail = False, None, -1, 0, False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if number <= 3 or not text or text.startswith("---"):
            continue
        if text.startswith("EgoCarFinalState"):
            tail = True
        elif text == "no crash":
            finished = True
        elif tail:
            progress = _progress(text, f"{path}, line {number}")
        elif expected == 0:
            tick, expected = _tick_line(text, f"{path}, line {number}")
        else:
            parts = text.split(",")
            if len(parts) != _COLUMNS:
                where = f"{path}, line {number}"
                raise FileFormatError(f"a state row has {_COLUMNS} columns", where=where, found=text)
            rows.append(_Row(tick, parts[0], _floats(parts[1:9], f"{path}, line {number}")))
            if parts[12] == "yes":
                egos.add(parts[0])
            expected -= 1
    if len(egos) != 1:
        raise FileFormatError("expected one car marked as ego", where=path, found=f"{len(egos)}: {sorted(egos)}")
    return _assemble(rows, case, next(iter(egos)), finished, progress, pairs, lanes)


def _assemble(
    rows: list[_Row],
    case: Case,
    ego: str,
    finished: bool,
    progress: tuple[float, float] | None,
    pairs: tuple[tuple[int, str, str], ...],
    lanes: tuple[tuple[int, str, str], ...],
) -> LegacyLog:
    ids = tuple(dict.fromkeys(row.car for row in rows))
    index = {car: i for i, car in enumerate(ids)}
    shape = (len(ids), rows[-1].tick + 1)
    xy, heading, speed = np.full((*shape, 2), np.nan), np.full(shape, np.nan), np.full(shape, np.nan)
    present, size = np.zeros(shape, dtype=np.bool_), np.full((len(ids), 2), np.nan)
    for row in rows:
        a, k, (x, y, yaw, v_lon, v_lat, _, length, width) = index[row.car], row.tick, row.values
        xy[a, k], heading[a, k], speed[a, k] = (x, y), yaw, np.hypot(v_lon, v_lat)
        present[a, k], size[a] = True, (length, width)
    return LegacyLog(
        case=case,
        ids=ids,
        xy=xy,
        heading=heading,
        speed=speed,
        present=present,
        size=size,
        ego=index[ego],
        finished=finished,
        progress_m=progress,
        pair_collisions=pairs,
        lane_departures=lanes,
    )


def _tick_line(text: str, where: str) -> tuple[int, int]:
    parts = text.split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise FileFormatError("expected 'tick number_of_cars'", where=where, found=text)
    return int(parts[0]), int(parts[1])


def _progress(text: str, where: str) -> tuple[float, float]:
    parts = text.split(",")
    if len(parts) != 3:
        raise FileFormatError("expected 'ego_id,s_now,s_tot'", where=where, found=text)
    now, total = _floats(parts[1:], where)
    return now, total


def _floats(parts: list[str], where: str) -> list[float]:
    try:
        return [float(part) for part in parts]
    except ValueError as error:
        raise FileFormatError("expected numbers", where=where, found=",".join(parts)) from error
