"""Roll-outs of recorded cases, and how likely the recording is under them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.boxes import VULNERABLE, corners, footprints
from giveway.core.case import Car, Case, Role
from giveway.core.origins import sorted_origins
from giveway.core.scene import Scene
from giveway.core.seeds import seed_for, stream
from giveway.core.tracks import Tracks
from giveway.drive.driving import driver_of, new_simulation
from giveway.drive.realism_areas import PassedAreas
from giveway.drive.spec import planner_of
from giveway.metrics.realism import FEATURES, PATH_FIXED, Feature, car_likelihoods, features_of, surroundings_of
from giveway.planning.idm import CLEAN, PAPER, IdmParameters
from giveway.roads.queries import PreparedMap, prepare
from giveway.sim.drivers import DRIVERS
from giveway.sim.drivers.cognitive import Cognitive
from giveway.sim.prepare import PreparedCase, with_drivers, with_traffic
from giveway.sim.recording import driven_tracks, recorded_tracks
from giveway.sim.simulation import Simulation
from giveway.sim.state import Decision, DriverCode

MIN_INSTANTS = 11
"""A car is judged that is present for at least 1 s, in the recording and in every roll-out."""

MIN_WAY_M = 5.0
"""A vehicle that moves less in its whole recording is parked, and stays on replay."""

Features = Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficChoice:
    """What a row of the table stands for.

    Attributes:
        driver: registered driver of the cars.
        idm: constants of car-following cars.
        spread: people differ: T is drawn per roll-out, v_0 per car and roll-out.
        reacts: IDM cars give way, and replay cars that a driven car disturbs are handed over to it.
    """

    driver: str
    idm: IdmParameters = CLEAN
    spread: bool = False
    reacts: bool = True


VARIANTS = {
    "idm_paper": TrafficChoice(driver="idm", idm=PAPER, reacts=False),
    "idm_spread": TrafficChoice(driver="idm", spread=True),
}
"""Rows that are a driver with other constants."""

HEADWAY_SPREAD, SPEED_SPREAD = 0.3, 0.15
"""Standard deviations of log T and log v_0 where they are drawn; the second is our choice."""


def traffic_called(name: str) -> TrafficChoice:
    """The row of a name: a variant, or a registered driver.

    Raises:
        UnknownNameError: there is none.
    """
    if name in VARIANTS:
        return VARIANTS[name]
    DRIVERS.get(name)
    return TrafficChoice(driver=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Realism of the cars of one case.

    Attributes:
        cars: identifier to the likelihood of each feature.
        features: weights and histograms: of cars on their paths, or of cars that steer.
        left_out: cars that were not present for 1 s in some roll-out.
        num_areas: order of passing that was decided in the recording, counted from each judged car.
        deterministic: all roll-outs were the same.
        origins: of the recorded rows of the case, the most real first.
    """

    cars: Mapping[str, Mapping[str, float]]
    features: Mapping[str, Feature]
    left_out: tuple[str, ...]
    num_areas: int
    deterministic: bool
    origins: tuple[str, ...]


def crowd(case: Case, scene: Scene) -> Case:
    """The same case with every motor vehicle driven that is there for 1 s and is not parked.

    Cars of the case that are driven already stay as they are. A car of which less than 5 m were recorded has no path to
    be driven along.
    """
    tracks = scene.tracks
    inside = (tracks.time_s >= case.start_s - 1e-6) & (tracks.time_s <= case.end_s + 1e-6)
    lasting = tracks.observed[:, inside].sum(axis=1) * tracks.dt_s >= 1.0 + tracks.dt_s
    known = {car.id: car for car in case.cars}
    cars = [car for car in case.cars if car.role is not Role.REPLAY]
    for row in np.flatnonzero(lasting & ~np.isin(tracks.kind, VULNERABLE)).tolist():
        name, xy = str(tracks.ids[row]), tracks.xy[row, tracks.observed[row]]
        listed = known.get(name)
        if (listed is None or listed.role is Role.REPLAY) and np.hypot(*np.diff(xy, axis=0).T).sum() >= MIN_WAY_M:
            cars.append(replace(listed or Car(id=name, role=Role.IDM), role=Role.IDM))
    there = {car.id for car in cars}
    return replace(case, cars=(*cars, *(car for car in case.cars if car.id not in there)))


def judge_traffic(
    cases: Sequence[PreparedCase], name: str, *, roll_outs: int, seed: int = 0, threads: int = 1
) -> list[Judged]:
    """Let one driver move all cars of the cast but the ego, which is replayed, and judge them.

    Args:
        cases: prepared as traffic that reacts.
        name: see :func:`traffic_called`.
        roll_outs: per case; a driver of the compiled step draws nothing, so it is run once and repeated.
        seed: root of all random streams.
        threads: of the simulator.
    """
    traffic = traffic_called(name)
    driven = [with_drivers(with_traffic(case, traffic.driver), DriverCode.REPLAY) for case in cases]
    worlds = driven if traffic.reacts else [replace(case, replay_paths=()) for case in driven]
    rows = [[i for i, role in enumerate(case.role) if role in (Role.REACTIVE, Role.IDM)] for case in cases]
    draws = traffic.spread or any(any(case.driver_name) for case in driven)

    # Nobody reads what minds thought in 32 roll-outs; taking notes would be most of the work.
    quiet = {"cognitive": Cognitive(keeps_thoughts=False)} if traffic.driver == "cognitive" else {}

    def made(number: int) -> Simulation:
        if not traffic.spread:
            return Simulation(worlds, seed=seed, roll_out=number, idm=traffic.idm, threads=threads, drivers=quiet)
        scale = elementary.exp(HEADWAY_SPREAD * stream(seed, "rollout", number, "headway").normal())
        idm = traffic.idm._replace(headway_s=traffic.idm.headway_s * float(scale))
        drawn = [_with_own_speeds(case, seed, number) for case in worlds]
        return Simulation(drawn, seed=seed, roll_out=number, idm=idm, threads=threads)

    return _judge(driven, rows, made, roll_outs, repeat=not draws)


def _with_own_speeds(case: PreparedCase, seed: int, number: int) -> PreparedCase:
    """The same case with a desired speed drawn for each car, by its name."""
    drawn = [stream(seed, "rollout", number, case.case.id, car, "speed").normal() for car in case.ids.tolist()]
    return replace(case, desired_speed=case.desired_speed * elementary.exp(SPEED_SPREAD * np.array(drawn)))


def judge_ego(
    cases: Sequence[PreparedCase], name: str, *, roll_outs: int, seed: int = 0, threads: int = 1
) -> list[Judged]:
    """Let a planner drive the ego among replayed cars, and judge the ego: how human is the planner?

    Args:
        cases: prepared as traffic that reacts.
        name: of a planner.
        roll_outs: per case, each with a seed of its own; a compiled planner is run once and repeated.
        seed: root of all random streams.
        threads: of the simulator.
    """
    planner = planner_of(name)
    replayed = [with_drivers(case, DriverCode.REPLAY, everyone_replays=True) for case in cases]
    driven = [with_drivers(case, driver_of(planner)) for case in replayed]

    def made(number: int) -> Simulation:
        return new_simulation(driven, planner, seed=seed_for(seed, "rollout", number), threads=threads)

    return _judge(driven, [[case.ego] for case in cases], made, roll_outs, repeat=bool(planner.info.driver))


def _judge(
    cases: Sequence[PreparedCase],
    rows: Sequence[Sequence[int]],
    made: Callable[[int], Simulation],
    roll_outs: int,
    *,
    repeat: bool,
) -> list[Judged]:
    references = [_Reference.of(case, cars) for case, cars in zip(cases, rows, strict=True)]
    for number in range(1 if repeat else roll_outs):
        simulation = made(number)
        try:
            while not simulation.done:
                simulation.step()
            for c, reference in enumerate(references):
                reference.add(simulation, c)
        finally:
            simulation.close()
    return [reference.judged(roll_outs if repeat else 1) for reference in references]


@dataclass(slots=True, kw_only=True)
class _Reference:
    """The recording of a case, and what its roll-outs were like so far."""

    case: PreparedCase
    cars: Sequence[int]
    recorded: Tracks
    areas: PassedAreas
    human: list[Features] = field(default_factory=list[Features])
    runs: list[list[Features]] = field(default_factory=list[list[Features]])
    places: list[FloatArray] = field(default_factory=list[FloatArray])
    road: PreparedMap | None = None
    steers: bool = False

    @staticmethod
    def of(case: PreparedCase, cars: Sequence[int]) -> _Reference:
        recorded = recorded_tracks(case)
        walks = np.isin(case.kind, VULNERABLE)
        known = zip(case.paths, case.replay_paths, walks, strict=True)
        paths = [None if on_foot else own or other for own, other, on_foot in known]
        made = _Reference(case=case, cars=cars, recorded=recorded, areas=PassedAreas(paths, recorded))
        made.human = made.measured(recorded)
        return made

    def add(self, simulation: Simulation, c: int) -> None:
        """One more roll-out, world ``c`` of a batch."""
        tracks = driven_tracks(simulation, c)
        if not self.steers and _steering(simulation, c)[list(self.cars)].any():
            self.steers = True
            self.road = None if self.case.road is None else prepare(self.case.road)
            self.human = self.measured(self.recorded)  # with the edge of the road, which others cannot leave
        self.runs.append(self.measured(tracks))
        self.places.append(tracks.xy)

    def measured(self, tracks: Tracks) -> list[Features]:
        """Per car, its features; none for a car that is not present for 1 s."""
        around, passed = surroundings_of(tracks), self.areas.features(tracks, self.cars)
        outside = np.full((len(self.cars), tracks.num_instants), np.nan)
        if self.road is not None:
            chosen = tracks.select(np.array(self.cars, dtype=np.int64))
            outside = self.road.off_road(corners(footprints(chosen))).max(axis=-1)
        return [
            {**features_of(tracks, row, outside[n], around), **passed[n]}
            if tracks.observed[row].sum() >= MIN_INSTANTS
            else {}
            for n, row in enumerate(self.cars)
        ]

    def judged(self, times: int) -> Judged:
        """Likelihood of the recording; each roll-out counts ``times`` times."""
        features = FEATURES if self.steers else PATH_FIXED
        cars: dict[str, Mapping[str, float]] = {}
        left_out: list[str] = []
        areas = 0
        for n, row in enumerate(self.cars):
            if not self.human[n]:
                continue
            runs = [run[n] for run in self.runs] * times
            if all(runs):
                cars[str(self.case.ids[row])] = car_likelihoods(runs, self.human[n], features)
                areas += len(self.areas.of.get(row, ()))
            else:
                left_out.append(str(self.case.ids[row]))
        same = all(np.array_equal(self.places[0], other, equal_nan=True) for other in self.places[1:])
        return Judged(
            cars=cars,
            features=features,
            left_out=tuple(left_out),
            num_areas=areas,
            deterministic=same,
            origins=tuple(sorted_origins(self.case.origins)),
        )


def _steering(simulation: Simulation, c: int) -> BoolArray:
    """(A,) cars that moved freely in the last tick."""
    code, kind = simulation.static.driver[c], simulation.decisions.kind[c]
    return (code == DriverCode.ACTIONS) | ((code == DriverCode.EXTERNAL) & (kind == Decision.FREE))
