"""The plain-text case files of the 2020 challenge, both row forms.

Robot rows come short (``track_id planner ...``) or long (with an altered start after the id). Positions in the files
are
site coordinates minus 1000 m in both axes; a :class:`~giveway.core.case.Case` is in the site frame.
"""

from __future__ import annotations

import math
from pathlib import Path

from giveway.core.case import Car, Case, Role, Start
from giveway.core.errors import FileFormatError

SHIFT_M = 1000.0
"""Site frame minus challenge frame, both axes [m]."""

PLANNER_ROLES = {"Astar": Role.REACTIVE, "ReactivePlanner": Role.REACTIVE, "IDM": Role.IDM}
"""Planner names of the files; what is flagged as ego is the ego whatever its planner is called."""

MAX_NUMBER_CHARS = 40
"""No number of the files needs more."""

_SHORT = 10
_LONG = 21
_REPLAY = 7


class _Lines:
    """Non-empty lines with their numbers."""

    def __init__(self, text: str, where: object) -> None:
        self.where = where
        self.rows = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        self.at = 0

    def fail(self, what: str, found: object) -> FileFormatError:
        number = self.rows[min(self.at, len(self.rows)) - 1][0] if self.rows else 0
        return FileFormatError(what, where=f"{self.where}, line {number}", found=found)

    def take(self) -> str:
        if self.at >= len(self.rows):
            raise self.fail("the case file ends too early", "end of file")
        self.at += 1
        return self.rows[self.at - 1][1]

    def value(self, key: str) -> str:
        line = self.take()
        name, colon, value = line.partition(":")
        if not colon or name != key:
            raise self.fail(f"expected '{key}:'", line)
        return value.strip()

    def number(self, key: str) -> int:
        return int(self.numbers(self.value(key), 1)[0])

    def numbers(self, text: str, count: int) -> list[float]:
        try:
            values = [float(part) for part in text.split() if len(part) <= MAX_NUMBER_CHARS]
        except ValueError:
            values = []
        if len(values) != count or not all(math.isfinite(value) for value in values):
            raise self.fail(f"expected {count} finite number(s)", text[:200])
        return values

    def yes(self, text: str) -> bool:
        if text not in ("yes", "no"):
            raise self.fail("expected yes or no", text)
        return text == "yes"


def is_challenge_case(text: str) -> bool:
    """Whether the text starts like a challenge case."""
    return text.lstrip().startswith("Map:")


def read_challenge_case(text: str, *, where: Path | str, case_id: str | None = None) -> Case:
    """Read one case.

    Args:
        text: content of the file.
        where: for messages; its stem is the case id unless one is given.
        case_id: another id.

    Returns:
        The case; no hash, because the files carry none, and with replay cars without prediction hidden from the ego.

    Raises:
        FileFormatError: naming the line.
    """
    lines = _Lines(text, where)
    site = lines.value("Map")
    track = lines.value("Track")
    start_ms = lines.number("StartTimestamp(ms)")
    end_ms = lines.number("EndTimestamp(ms)")
    num_robots = lines.number("RobotCarNum")
    lines.value("InitState")
    cars = [_robot(lines) for _ in range(num_robots)]
    num_replay = lines.number("ReplayCarWithPredictor")
    lines.value("InitState")
    cars += [_replay(lines) for _ in range(num_replay)]
    end = lines.numbers(lines.value("EgoEndPosition"), 2)
    targets = lines.value("TargetRightofWay").split()
    return Case(
        id=case_id or Path(where).stem.replace(":", "-").replace(" ", "_"),
        dataset="interaction",
        recording=f"{site}/{track}",
        site=site,
        tracks_sha256="",
        start_s=start_ms / 1000,
        end_s=end_ms / 1000,
        cars=tuple(cars),
        right_of_way=tuple(targets),
        ego_end_m=(end[0] + SHIFT_M, end[1] + SHIFT_M),
        hide_unpredicted=True,
        source="challenge",
    )


def _robot(lines: _Lines) -> Car:
    parts = lines.take().split()
    if len(parts) not in (_SHORT, _LONG):
        raise lines.fail(f"a robot row has {_SHORT} or {_LONG} columns", f"{len(parts)}: {' '.join(parts)}")
    start = None
    if len(parts) == _LONG:
        ms, x, y, heading, v_lon, _, _, length, width = lines.numbers(" ".join(parts[1:10]), 9)
        start = Start(
            time_s=ms / 1000,
            x_m=x + SHIFT_M,
            y_m=y + SHIFT_M,
            heading_rad=heading,
            speed_mps=v_lon,
            length_m=length,
            width_m=width,
        )
    planner, _, _, _, _, external, _, _, ego = parts[-9:]
    if planner not in PLANNER_ROLES:
        raise lines.fail(f"unknown planner, expected {' or '.join(PLANNER_ROLES)}", planner)
    is_ego = lines.yes(ego)
    return Car(
        id=parts[0],
        role=Role.EGO if is_ego else PLANNER_ROLES[planner],
        predicted=lines.yes(external) and not is_ego,
        start=start,
    )


def _replay(lines: _Lines) -> Car:
    parts = lines.take().split()
    if len(parts) != _REPLAY:
        raise lines.fail(f"a replay row has {_REPLAY} columns", f"{len(parts)}: {' '.join(parts)}")
    return Car(id=parts[0], role=Role.REPLAY, predicted=lines.yes(parts[4]))
