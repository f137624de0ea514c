"""Small traffic scenes for closed-loop tests: cars that drive along polylines, and cases on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.case import Car, Case, Role
from giveway.core.lanes import Lane, LaneMap
from giveway.core.origins import Origin
from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import AgentKind, Tracks

HASH = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenCar:
    """A car that drives along a polyline at a constant acceleration.

    Attributes:
        id: identifier.
        points: (P, 2) corners of its way [m].
        speed_mps: at the start.
        accel_mps2: constant; it stops for good at standstill.
        enters_s: when it appears.
        size_m: length and width.
    """

    id: str
    points: Sequence[tuple[float, float]]
    speed_mps: float = 8.0
    accel_mps2: float = 0.0
    enters_s: float = 0.0
    size_m: tuple[float, float] = (4.5, 1.8)


def scene_of(cars: Sequence[DrivenCar], *, duration_s: float = 20.0, road: LaneMap | None = None) -> Scene:
    """A recording at 10 Hz in which every car drives its way and leaves at its end."""
    instants = round(duration_s * 10) + 1
    time_s = 0.1 * np.arange(instants)
    xy = np.full((len(cars), instants, 2), np.nan)
    heading, velocity = np.full((len(cars), instants), np.nan), np.full((len(cars), instants, 2), np.nan)
    for i, car in enumerate(cars):
        states = _states(car, time_s)
        xy[i], heading[i], velocity[i] = states[:, :2], states[:, 2], states[:, 3:]
    return Scene(
        tracks=Tracks(
            time_s=time_s,
            xy=xy,
            heading=heading,
            velocity=velocity,
            observed=~np.isnan(heading),
            size=np.array([car.size_m for car in cars], dtype=np.float64),
            kind=np.full(len(cars), int(AgentKind.CAR), dtype=np.int64),
            ids=np.array([car.id for car in cars]),
        ),
        road=road,
        location="crossing",
        provenance=Provenance(
            dataset="testing",
            recording="crossing",
            files={"tracks.csv": HASH},
            origin=Origin.SYNTHETIC,
            declared_by="file",
        ),
    )


def crossing_scene(*, ego_speed_mps: float = 8.0, other_speed_mps: float = 8.0, other_lead_m: float = 0.0) -> Scene:
    """Two straight roads that cross at (1000, 1000).

    The ego comes from the west, car ``other`` from the south, ``other_lead_m`` closer to the crossing; ``follower``
    drives 20 m behind the ego.
    """
    south = 960.0 + other_lead_m
    return scene_of(
        [
            DrivenCar(id="ego", points=((940.0, 1000.0), (1080.0, 1000.0)), speed_mps=ego_speed_mps),
            DrivenCar(id="other", points=((1000.0, south - 20.0), (1000.0, 1080.0)), speed_mps=other_speed_mps),
            DrivenCar(id="follower", points=((920.0, 1000.0), (1080.0, 1000.0)), speed_mps=ego_speed_mps),
        ],
        road=crossing_road(),
    )


def crossing_road() -> LaneMap:
    """One lane from west to east, one from south to north, 4 m wide; the first one gives way."""

    def straight(number: int, start: FloatArray, end: FloatArray, **more: object) -> Lane:
        way = end - start
        left = 2.0 * np.array([-way[1], way[0]]) / np.hypot(way[0], way[1])
        center = np.linspace(start, end, 30)
        return Lane(id=number, left=center + left, right=center - left, center=center, **more)  # pyright: ignore[reportArgumentType]

    west, east = np.array([900.0, 1000.0]), np.array([1100.0, 1000.0])
    south, north = np.array([1000.0, 900.0]), np.array([1000.0, 1100.0])
    return LaneMap(
        name="crossing",
        lanes={
            1: straight(1, west, east, conflicts=(2,), yields_to=(2,), speed_limit_mps=13.9),
            2: straight(2, south, north, conflicts=(1,), speed_limit_mps=13.9),
        },
    )


def crossing_case(
    *, case_id: str = "crossing", other: Role = Role.REACTIVE, predicted: bool = True, seconds: float = 6.0
) -> Case:
    """The ego meets ``other``, who has the right of way; ``follower`` drives by car following."""
    return Case(
        id=case_id,
        dataset="testing",
        recording="crossing",
        site="crossing",
        tracks_sha256=HASH,
        start_s=1.0,
        end_s=1.0 + seconds,
        cars=(
            Car(id="ego", role=Role.EGO),
            Car(id="other", role=other, predicted=predicted),
            Car(id="follower", role=Role.IDM),
        ),
        right_of_way=("other",),
    )


def _states(car: DrivenCar, time_s: FloatArray) -> FloatArray:
    """(T, 5) x, y, heading, vx, vy; NaN before the car enters and after it left."""
    points = np.asarray(car.points, dtype=np.float64)
    step = np.diff(points, axis=0)
    arc = np.concatenate([[0.0], np.cumsum(np.hypot(step[:, 0], step[:, 1]))])
    clock = np.maximum(time_s - car.enters_s, 0.0)
    if car.accel_mps2 < 0:
        clock = np.minimum(clock, -car.speed_mps / car.accel_mps2)
    way = car.speed_mps * clock + 0.5 * car.accel_mps2 * clock**2
    speed = car.speed_mps + car.accel_mps2 * clock
    piece = np.clip(np.searchsorted(arc, way, side="right") - 1, 0, len(step) - 1)
    heading = elementary.arctan2(step[:, 1], step[:, 0])[piece]
    x, y = (np.interp(way, arc, points[:, axis]) for axis in (0, 1))
    states = np.stack([x, y, heading, speed * np.cos(heading), speed * np.sin(heading)], axis=1)
    states[(time_s < car.enters_s - 1e-9) | (way > arc[-1])] = np.nan
    return states
