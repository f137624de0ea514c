"""48 synthetic cases over merge, roundabout and junction, so that everything runs without any dataset.

Nothing is shipped: the traffic is driven by this package's own simulator (every car plans with the others' plans) from
a seed, which takes about a second, and is then treated like any other recording.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.case import Car, Case, Role
from giveway.core.origins import Origin
from giveway.core.scene import Provenance, Scene
from giveway.core.seeds import stream
from giveway.core.tracks import AgentKind, Tracks
from giveway.drive.bundled_roads import ROADS, BundledRoad
from giveway.drive.scenes import GivenScenes
from giveway.roads.routes import CarPath, path_through, project
from giveway.sim.contacts import find_contacts
from giveway.sim.prepare import PreparedCase
from giveway.sim.simulation import Simulation
from giveway.sim.state import FUTURE, PAST, DriverCode

SEED = 48
CASES_PER_ROAD = 16
VERSION = 1
"""Changes whenever the cases do."""

START_S, CASE_S, RECORDED_S = 2.0, 6.0, 14.0
CONFLICT_M = {"merge": (995.0, 1000.0), "junction": (1001.8, 998.2), "roundabout": (1007.0, 986.0)}
"""About where ego and priority cars meet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Driver:
    """One car to be driven: its way, where it starts on it, how fast, and how fast it wants to go."""

    name: str
    path: CarPath
    start_m: float
    speed_mps: float
    desired_mps: float
    has_priority: bool
    length_m: float


@lru_cache(maxsize=4)
def bundled_set(seed: int = SEED, per_road: int = CASES_PER_ROAD) -> tuple[tuple[Case, ...], GivenScenes]:
    """The cases and their recordings.

    Args:
        seed: other seeds give other traffic on the same roads.
        per_road: cases per road.
    """
    wanted = [(kind, n) for kind in ROADS for n in range(per_road)]
    scenes: dict[str, Scene] = {}
    missing, attempt = wanted, 0
    while missing:
        made = _drive([(kind, n, _traffic(kind, n, seed, attempt)) for kind, n in missing])
        scenes |= {
            f"{kind}-{n:02d}": scene for (kind, n), scene in zip(missing, made, strict=True) if scene is not None
        }
        missing = [(kind, n) for (kind, n), scene in zip(missing, made, strict=True) if scene is None]
        attempt += 1
    cases = tuple(_case(f"{kind}-{n:02d}", scenes[f"{kind}-{n:02d}"]) for kind, n in wanted)
    return cases, GivenScenes(scenes)


@lru_cache(maxsize=8)
def _road(kind: str) -> BundledRoad:
    return ROADS[kind]()


@lru_cache(maxsize=64)
def _path(kind: str, who: str, number: int) -> CarPath:
    """One of the routes of a road, e.g. the first of ``ego_routes``."""
    return path_through(getattr(_road(kind), who)[number], 0.0)


def _traffic(kind: str, n: int, seed: int, attempt: int) -> list[_Driver]:
    """Who drives where: ego and one priority car would reach the conflict within a second of each other."""
    rng = stream(seed, "bundled", VERSION, kind, n, attempt)
    road, spot = _road(kind), np.array(CONFLICT_M[kind])
    arrival = rng.uniform(5.0, 6.5)

    def driver(name: str, who: str, arrives_s: float, priority: bool) -> _Driver:
        path = _path(kind, who, int(rng.integers(len(getattr(road, who)))))
        speed, desired = rng.uniform(5.5, 8.5), rng.uniform(7.0, 9.5)
        start = max(project(path, spot)[0] - arrives_s * 0.5 * (speed + desired), 1.0)
        return _Driver(
            name=name,
            path=path,
            start_m=start,
            speed_mps=speed,
            desired_mps=desired,
            has_priority=priority,
            length_m=float(rng.uniform(4.0, 5.2)),
        )

    ego = driver("1", "ego_routes", arrival, False)
    rival = driver("2", "priority_routes", arrival + rng.uniform(-0.8, 0.8), True)
    second = driver("3", "priority_routes", arrival + rng.uniform(2.0, 3.5), True)
    third = driver("4", "other_routes", arrival - rng.uniform(2.0, 4.0), True)
    behind = _Driver(
        name="5",
        path=ego.path,
        start_m=max(ego.start_m - rng.uniform(12.0, 22.0), 1.0),
        speed_mps=ego.speed_mps,
        desired_mps=ego.desired_mps,
        has_priority=False,
        length_m=float(rng.uniform(4.0, 5.2)),
    )
    return [ego, rival, second, third, behind]


def _drive(wanted: list[tuple[str, int, list[_Driver]]]) -> list[Scene | None]:
    """Let all of them drive; None for traffic that starts or ends in a heap, or whose ego leaves too early."""
    ticks = round(RECORDED_S * 10)
    simulation = Simulation([_prepared(kind, n, cars, ticks) for kind, n, cars in wanted])
    while not simulation.done:
        simulation.step()
    scenes: list[Scene | None] = []
    for c, (kind, n, cars) in enumerate(wanted):
        log = simulation.state.log[c, : len(cars), PAST : PAST + ticks + 1]
        scene = _scene(kind, n, cars, log, simulation.state.on[c, : len(cars), PAST : PAST + ticks + 1])
        stays = bool(scene.tracks.observed[0, : round((START_S + CASE_S) * 10) + 1].all())
        scenes.append(None if find_contacts(scene.tracks) or not stays else scene)
    return scenes


def _prepared(kind: str, n: int, cars: list[_Driver], ticks: int) -> PreparedCase:
    count, columns = len(cars), PAST + ticks + 1 + FUTURE
    starts = np.array([_start(car) for car in cars])
    case = Case(
        id=f"{kind}-{n:02d}",
        dataset="bundled",
        recording=f"{kind}-{n:02d}",
        site=_road(kind).road.name,
        tracks_sha256="",
        start_s=0.0,
        end_s=ticks / 10,
        cars=(Car(id="1", role=Role.EGO), *(Car(id=car.name, role=Role.REACTIVE) for car in cars[1:])),
    )
    return PreparedCase(
        case=case,
        road=_road(kind).road,
        ids=np.array([car.name for car in cars]),
        kind=np.full(count, int(AgentKind.CAR), dtype=np.int64),
        size=(size := np.array([(car.length_m, 1.8) for car in cars])),
        recorded_size=size,
        heading_known=np.ones(count, dtype=np.bool_),
        role=(Role.EGO, *(Role.REACTIVE,) * (count - 1)),
        driver=np.full(count, int(DriverCode.PLANNER), dtype=np.int64),
        driver_name=("",) * count,
        predicted=np.zeros(count, dtype=np.bool_),
        hidden=np.zeros(count, dtype=np.bool_),
        favored=np.array([car.has_priority for car in cars]),
        desired_speed=np.array([car.desired_mps for car in cars]),
        spawn_tick=np.zeros(count, dtype=np.int64),
        start=starts,
        start_s=np.array([car.start_m for car in cars]),
        paths=tuple(car.path for car in cars),
        rec=np.full((count, columns, 5), np.nan),
        rec_on=np.zeros((count, columns), dtype=np.bool_),
        past=np.full((count, PAST, 5), np.nan),
        past_on=np.zeros((count, PAST), dtype=np.bool_),
        ego=0,
        recorded_path=None,
        recorded_start_s=0.0,
        expected_progress_m=0.0,
    )


def _start(car: _Driver) -> tuple[float, float, float, float]:
    table = np.arange(car.path.x.size) * car.path.step_m
    x, y, heading = (
        float(np.interp(car.start_m, table, values)) for values in (car.path.x, car.path.y, car.path.heading)
    )
    return x, y, heading, car.speed_mps


def _scene(kind: str, n: int, cars: list[_Driver], log: FloatArray, on: BoolArray) -> Scene:
    """Rounded like a recording: 1 mm, 1 mm/s, 1 mrad."""
    states = np.where(on[..., None], np.round(log, 3), np.nan)
    tracks = Tracks(
        time_s=0.1 * np.arange(on.shape[1]),
        xy=states[..., :2],
        heading=states[..., 4],
        velocity=states[..., 2:4],
        observed=on.copy(),
        size=np.array([(round(car.length_m, 2), 1.8) for car in cars], dtype=np.float64),
        kind=np.full(len(cars), int(AgentKind.CAR), dtype=np.int64),
        ids=np.array([car.name for car in cars]),
    )
    digest = hashlib.sha256(states.tobytes()).hexdigest()
    road = _road(kind).road
    return Scene(
        tracks=tracks,
        road=road,
        location=road.name,
        provenance=Provenance(
            dataset="bundled",
            recording=f"{kind}-{n:02d}",
            files={"tracks": digest},
            origin=Origin.SYNTHETIC,
            declared_by="file",
        ),
    )


def _case(name: str, scene: Scene) -> Case:
    """Ego 1 must give way to 2 (reacts), 3 is replayed and predicted, 5 follows, 4 is replayed."""
    here = set(scene.tracks.ids[scene.tracks.observed[:, round(START_S * 10) :].any(axis=1)].tolist())
    cast = (
        Car(id="1", role=Role.EGO),
        Car(id="2", role=Role.REACTIVE, predicted=True),
        Car(id="3", role=Role.REPLAY, predicted=True),
        Car(id="5", role=Role.IDM),
    )
    return Case(
        id=name,
        dataset="bundled",
        recording=name,
        site=scene.location,
        tracks_sha256=scene.provenance.files["tracks"],
        start_s=START_S,
        end_s=START_S + CASE_S,
        cars=tuple(car for car in cast if car.id in here),
        right_of_way=tuple(car for car in ("2", "3") if car in here),
        interest=5.0,
        source=f"bundled {VERSION}",
        origin=Origin.SYNTHETIC,
    )
