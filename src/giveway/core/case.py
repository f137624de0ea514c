"""A case: which cars, whose recording, when, who drives how, and who had the right of way.

A case never holds states. It names a recording by the content of its track file, so that a file that changed
behind our back is noticed instead of silently giving other numbers.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, Literal

from giveway.core.errors import DataError
from giveway.core.origins import Origin

TICK_S = 0.1
"""Length of a simulation tick [s]; the rate of the recordings."""

DESIRED_SPEED_MPS = 8.0
"""v_d of the challenge's evaluator [m/s], one constant for every site."""

LARGEST = {"_s": 1e7, "_m": 1e7, "_mps": 150.0, "_rad": 100.0}
"""No time, place, speed or heading of a case is beyond this, by the ending of its name."""


MIN_ROUTE_M = 1.0
"""A shorter route has no direction."""

MAX_TEXT = 500
"""Longest identifier or name of a case."""


class Role(StrEnum):
    """Who moves a car.

    A replay car without prediction need not be listed: every car of the recording that a case does not name is one.
    """

    EGO = "ego"
    REACTIVE = "reactive"
    IDM = "idm"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A start that differs from the recording (site frame).

    Attributes:
        time_s: when the car appears, in seconds of the recording.
        x_m: box center [m].
        y_m: box center [m].
        heading_rad: counter-clockwise from +x.
        speed_mps: speed along the heading.
        length_m: box length; None takes the recorded one.
        width_m: box width; None takes the recorded one.
    """

    time_s: float
    x_m: float
    y_m: float
    heading_rad: float
    speed_mps: float
    length_m: float | None = None
    width_m: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The road that a car follows, where its recorded positions do not tell it exactly.

    Attributes:
        points_m: center line, (x, y) in order.
        s_m: where on it the car starts.
        speed_mps: how fast.
    """

    points_m: tuple[tuple[float, float], ...]
    s_m: float
    speed_mps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Car:
    """One car of a case that is not simply replayed.

    Attributes:
        id: identifier in the recording.
        role: who moves it.
        predicted: whether the ego's planner is given the participant's prediction of it; never for the ego.
        start: a start other than the recorded one, or None.
        driver: registered driver that moves it instead of the one of its role; empty for that one.
        route: what it follows; None follows its recorded positions.
        cruise_mps: speed that its driver wants on a free road; None takes ``desired_speed_mps`` of the case.
    """

    id: str
    role: Role
    predicted: bool = False
    start: Start | None = None
    driver: str = ""
    route: Route | None = None
    cruise_mps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two recorded cars that wanted the same piece of road within a few seconds.

    Attributes:
        kind: ``crossing``, ``merging``, ``entering`` (merging into a circulating lane), ``following`` (a leader that
            brakes) or ``pedestrian``.
        other: the car in conflict with the ego.
        time_gap_s: between the first car leaving the shared area and the second one entering it; negative if both were
            inside at once.
        first: who went first in the recording.
        yields: who had to give way.
        rule: what says so: a rule of the map, the lane geometry, (``inferred``) the order of arrival, or (``law``) what
            holds everywhere: keep a distance to the car ahead, let pedestrians go first, stop in turn where all must.
        x_m: a point of the shared area, for people and galleries.
        y_m: see ``x_m``.
    """

    kind: Literal["crossing", "merging", "entering", "following", "pedestrian"]
    other: str
    time_gap_s: float
    first: Literal["ego", "other"]
    yields: Literal["ego", "other"]
    rule: Literal["map", "geometry", "inferred", "law"]
    x_m: float
    y_m: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One drive to be simulated.

    Attributes:
        id: unique in its case set, also the name of its log; letters, digits, ``-_.`` only.
        dataset: registered adapter that reads the recording.
        recording: identifier of the recording for that adapter.
        site: map name, e.g. ``DR_USA_Roundabout_FT``.
        tracks_sha256: hash of the track file; empty if it is not known (challenge files carry none).
        start_s: start, in seconds of the recording (timestamp_ms / 1000 for INTERACTION).
        end_s: end; the last tick is at this time.
        cars: ego, reactive, IDM and predicted replay cars. Exactly one ego.
        right_of_way: cars to which the ego owes courtesy.
        ego_end_m: recorded ego position at ``end_s``; None takes it from the recording.
        desired_speed_mps: v_d of the metric for ego and courtesy targets; also the speed of drivers without their own.
        hide_unpredicted: as in the challenge, the ego's planner does not see replay cars without prediction.
        conflicts: what makes the case interesting, if it was mined.
        interest: 1 (dull) to 5 (had to give way closely), None if nobody rated it.
        source: where the case came from, e.g. ``mined``, ``challenge``, ``generated``.
        origin: of the traffic it was made from; None if nobody says. Not part of the fingerprint, because the recording
            is named by its content already.
        tags: what happens in it, e.g. ``merge``, ``dense``.
        content_id: digest of the recorded states during the case, see :func:`giveway.sim.verify.content_id`; empty if
            it is not known.
    """

    id: str
    dataset: str
    recording: str
    site: str
    tracks_sha256: str
    start_s: float
    end_s: float
    cars: tuple[Car, ...]
    right_of_way: tuple[str, ...] = ()
    ego_end_m: tuple[float, float] | None = None
    desired_speed_mps: float = DESIRED_SPEED_MPS
    hide_unpredicted: bool = False
    conflicts: tuple[Conflict, ...] = ()
    interest: float | None = None
    source: str = ""
    origin: Origin | None = None
    tags: tuple[str, ...] = ()
    content_id: str = ""

    def __post_init__(self) -> None:
        check_case(self)

    @property
    def ego(self) -> Car:
        """The car driven by the planner under test."""
        return next(car for car in self.cars if car.role is Role.EGO)

    @property
    def is_altered(self) -> bool:
        """Whether a car starts elsewhere than in the recording."""
        return any(car.start is not None for car in self.cars)

    @property
    def num_ticks(self) -> int:
        """Steps between start and end; a log has one state more."""
        return round((self.end_s - self.start_s) / TICK_S)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over everything above but the origin; changes when anything else in the case changes."""
        return fingerprint_of(case_dict(self))


def fingerprint_of(plain: Mapping[str, Any]) -> str:
    """Fingerprint of a case in JSON's types."""
    named = {name: value for name, value in plain.items() if name != "origin"}
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()


def set_id(fingerprints: Iterable[str]) -> str:
    """Content id of a set of cases: SHA-256 over their sorted fingerprints, so that their order does not matter."""
    return hashlib.sha256("".join(f"{one}\n" for one in sorted(fingerprints)).encode()).hexdigest()


def case_dict(case: Case) -> dict[str, Any]:
    """The case in JSON's types; an origin, drivers and routes that nobody declared are left out."""
    plain = json.loads(json.dumps(asdict(case)))
    for car in plain["cars"]:
        for name in ("driver", "route", "cruise_mps"):
            if not car[name]:
                del car[name]
    for name in ("tags", "content_id"):
        if not plain[name]:
            del plain[name]
    if case.origin is None:
        del plain["origin"]
    return plain


def check_case(case: Case) -> None:
    """Refuse a case that cannot be driven.

    Raises:
        DataError: naming the case and what is wrong with it.
    """
    where = f"case {case.id!r}"
    if not case.id or any(not (c.isascii() and (c.isalnum() or c in "-_.")) for c in case.id) or case.id[0] == ".":
        raise DataError("a case id may hold letters, digits and -_. only", where=where, found=repr(case.id))
    for name, text in _texts(case).items():
        if len(text) > MAX_TEXT:
            raise DataError(
                f"a name of more than {MAX_TEXT} characters", where=f"{where[:100]}, {name}", found=repr(text[:40])
            )
    egos = [car.id for car in case.cars if car.role is Role.EGO]
    if len(egos) != 1:
        raise DataError("a case needs exactly one ego", where=where, found=f"{len(egos)}: {', '.join(egos) or 'none'}")
    ids = [car.id for car in case.cars]
    twice = sorted({i for i in ids if ids.count(i) > 1})
    if twice:
        raise DataError("a car is listed twice", where=where, found=", ".join(twice))
    if case.ego.predicted:
        raise DataError("the ego is never predicted", where=where, found=f"car {case.ego.id} has predicted = true")
    _check_numbers(case, where)
    for car in case.cars:
        if car.route is not None:
            _check_route(car.route, f"{where}, car {car.id}, route")
    if case.num_ticks < 1:
        raise DataError("a case must last at least one tick", where=where, found=f"{case.start_s} s to {case.end_s} s")
    if case.desired_speed_mps <= 0:
        raise DataError("the desired speed must be positive", where=where, found=case.desired_speed_mps)
    if case.ego.id in case.right_of_way:
        raise DataError("the ego cannot have the right of way over itself", where=where, found=case.ego.id)


def _check_route(route: Route, where: str) -> None:
    """Refuse a route that nobody can follow from its start."""
    length = sum(math.hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(route.points_m))
    if length < MIN_ROUTE_M:
        found = f"{len(route.points_m)} points, {length:g} m"
        raise DataError(f"a route has at least two points and {MIN_ROUTE_M:g} m", where=where, found=found)
    if not 0.0 <= route.s_m <= length:
        raise DataError("a car starts on its route", where=where, found=f"at {route.s_m:g} m of {length:g} m")
    if route.speed_mps < 0.0:
        raise DataError("a car does not start backwards", where=where, found=f"{route.speed_mps:g} m/s")


def _texts(case: Case) -> dict[str, str]:
    names = ("id", "dataset", "recording", "site", "tracks_sha256", "source")
    return {name: getattr(case, name) for name in names} | {
        "right_of_way": max(case.right_of_way, key=len, default=""),
        "cars": max((text for car in case.cars for text in (car.id, car.driver)), key=len, default=""),
    }


def _check_numbers(case: Case, where: str) -> None:
    """Refuse what the simulation cannot count with."""
    numbers: dict[str, float | None] = {
        "start_s": case.start_s,
        "end_s": case.end_s,
        "desired_speed_mps": case.desired_speed_mps,
    }
    numbers |= {f"ego_end_m[{axis}]": value for axis, value in enumerate(case.ego_end_m or ())}
    for car in case.cars:
        numbers[f"car {car.id}, cruise_mps"] = car.cruise_mps
        if car.cruise_mps is not None and not car.cruise_mps > 0:
            raise DataError("the cruising speed must be positive", where=f"{where}, car {car.id}", found=car.cruise_mps)
        if car.start is not None:
            numbers |= {f"car {car.id}, start.{name}": value for name, value in asdict(car.start).items()}
        if car.route is not None:
            flat = [value for point in car.route.points_m for value in point]
            numbers |= {f"car {car.id}, route.points_m[{n}]": value for n, value in enumerate(flat)}
            numbers |= {f"car {car.id}, route.{name}": getattr(car.route, name) for name in ("s_m", "speed_mps")}
    for name, value in numbers.items():
        limit = next(LARGEST[end] for end in LARGEST if name.partition("[")[0].endswith(end))
        if value is not None and not abs(value) <= limit:
            raise DataError(
                f"a number of a case must be finite and within {limit:g}", where=f"{where}, {name}", found=value
            )
