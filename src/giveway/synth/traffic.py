"""Traffic of a recording: a demand on a road of the library, driven by people in the simulator."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.case import TICK_S
from giveway.planning.idm import CLEAN, IdmParameters
from giveway.planning.profiles import ProfileParameters
from giveway.roads.road import Road
from giveway.roads.routes import CarPath, limited, path_of_way
from giveway.roads.tables import RoadTables, road_tables, tables_of_routes
from giveway.sim import step
from giveway.sim.bicycle import HEADING, SPEED, X, Y
from giveway.sim.compiling import compiled
from giveway.sim.drivers import human
from giveway.sim.drivers.human import DRAWS, Humans, decide_humans, humans_of
from giveway.sim.drivers.human_lanes import lanes_of
from giveway.sim.drivers.people import Population, draw_boldness, draw_drivers
from giveway.sim.drivers.route_areas import RouteAreas, route_areas
from giveway.sim.starts import place_on_routes
from giveway.sim.state import (
    PAST,
    DriverCode,
    Forecast,
    MotionBounds,
    State,
    Static,
    empty_decisions,
    empty_state,
    empty_static,
    no_forecast,
)
from giveway.sim.state import (
    Decisions as SimDecisions,
)
from giveway.sim.step import advance, begin

BOUNDS = MotionBounds(max_brake_mps2=8.0, max_speed_mps=60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A road as the simulator knows it.

    Attributes:
        paths: of its R routes.
        tables: of the road.
        areas: that routes share.
        origin: (R,) routes with the same number begin with the same lane.
    """

    paths: tuple[CarPath, ...]
    tables: RoadTables
    areas: RouteAreas
    origin: IntArray


def place_of(road: Road, *, ways: tuple[int, ...] = (), side_by_side: bool = False) -> Place:
    """A road with its rules, stop lines and speed limits.

    Args:
        road: of the library.
        ways: the ways that become routes; all if not given.
        side_by_side: whether cars may change between lanes beside each other.
    """
    lanes, ways = road.map().lanes, ways or tuple(range(len(road.ways)))
    routes = [road.routes[way] for way in ways]
    paths: list[CarPath] = []
    for way, route in zip(ways, routes, strict=True):
        path = path_of_way(road.ways[way])
        ends = np.cumsum([np.hypot(*np.diff(lanes[n].center, axis=0).T).sum() for n in route])
        limits = np.array([lanes[n].speed_limit_mps or np.inf for n in route])
        at = np.minimum(np.searchsorted(ends, np.arange(path.x.size) * path.step_m), limits.size - 1)
        paths.append(limited(path, limits[at]))
    return Place(
        paths=tuple(paths),
        tables=road_tables(road) if side_by_side else tables_of_routes(paths),
        areas=route_areas(paths, road.map(), road.gives_way()[np.ix_(ways, ways)]),
        origin=np.unique([route[0] for route in routes], return_inverse=True)[1].astype(np.int64),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """V vehicles in order of appearance.

    Attributes:
        route: (V,) which route.
        enter_s: (V,) earliest time at the beginning of the route, ascending.
        length_m: (V,).
        width_m: (V,).
        boldness: (V,) trait.
        reaction_s: (V,).
        accel_mps2: (V,).
        pace: (V,) factor on the reference speeds of the road.
        desired_mps: (V,) never faster than this.
        offset_m: (V,) lateral offset from the route.
        back_m: (V,) how far before its line it waits.
        overtakes: (V,) changes lanes where it can.
    """

    route: IntArray
    enter_s: FloatArray
    length_m: FloatArray
    width_m: FloatArray
    boldness: FloatArray
    reaction_s: FloatArray
    accel_mps2: FloatArray
    pace: FloatArray
    desired_mps: FloatArray
    offset_m: FloatArray
    back_m: FloatArray
    overtakes: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What all drivers of a place have in common.

    Attributes:
        headway_s: time headway of the Intelligent Driver Model.
        min_gap_m: its distance at standstill.
        comfort_mps2: its comfortable deceleration.
        settle_mps2: deceleration behind a car that cuts in without being slower.
        jerk_mps3: largest rise of the acceleration.
        decides_m: how far before their line people begin to decide.
        stop_s: how long they stand before they go if nobody comes; 0 without a stop sign.
        false_starts: share of those who wait that start and think better of it.
        margin_s: how long before the other one arrives a crossing must be left.
    """

    headway_s: float = 1.1
    min_gap_m: float = 2.0
    comfort_mps2: float = 2.0
    settle_mps2: float = 2.5
    jerk_mps3: float = 4.0
    decides_m: float = 16.0
    stop_s: float = 0.0
    false_starts: float = 0.0
    margin_s: float = 0.3


HABITS = Habits()


@dataclass(frozen=True, slots=True, kw_only=True)
class GapDecisions:
    """One row per car somebody had to decide about, in order of time.

    Attributes:
        target: (D,) vehicle T that gives way.
        priority_car: (D,) vehicle E it decided about.
        time_s: (D,) when it decided.
        gap_s: (D,) time until E arrives at its present speed.
        distance_m: (D,) distance of E from the area.
        probability: (D,) 0 where it could not have made it.
        accepted: (D,) what was drawn.
    """

    target: IntArray
    priority_car: IntArray
    time_s: FloatArray
    gap_s: FloatArray
    distance_m: FloatArray
    probability: FloatArray
    accepted: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """Logged ticks of all vehicles, sorted by vehicle, then tick; between ticks accelerations are constant.

    Attributes:
        vehicle: (M,) row of the fleet.
        tick: (M,).
        s_m: (M,) position along the route.
        v_mps: (M,).
        xy: (M, 2).
        heading: (M,).
    """

    vehicle: IntArray
    tick: IntArray
    s_m: FloatArray
    v_mps: FloatArray
    xy: FloatArray
    heading: FloatArray


def draw_fleet(
    rng: np.random.Generator, *, route: IntArray, enter_s: FloatArray, length_m: FloatArray, width_m: FloatArray
) -> Fleet:
    """Drivers for vehicles of given route and size; sorts by time."""
    order = np.argsort(enter_s, kind="stable")
    count = order.size
    boldness = draw_boldness(rng, count)
    drivers = draw_drivers(rng, boldness)
    return Fleet(
        route=route[order],
        enter_s=enter_s[order],
        length_m=length_m[order],
        width_m=width_m[order],
        boldness=boldness,
        reaction_s=drivers.reaction_s,
        accel_mps2=drivers.accel_mps2,
        pace=np.clip(1.0 + 0.06 * boldness + 0.04 * rng.standard_normal(count), 0.8, 1.2),
        desired_mps=np.full(count, np.inf),
        offset_m=np.clip(0.12 * rng.standard_normal(count), -0.25, 0.25),
        back_m=np.zeros(count),
        overtakes=np.zeros(count, dtype=np.bool_),
    )


def simulate(
    place: Place,
    fleet: Fleet,
    people: Population,
    rng: np.random.Generator,
    *,
    ticks: int,
    habits: Habits = HABITS,
) -> tuple[Motion, GapDecisions]:
    """Run the traffic for so many ticks of 0.1 s."""
    traits = np.stack([fleet.boldness, fleet.reaction_s, fleet.accel_mps2, fleet.pace, fleet.back_m], axis=1)
    draws = rng.random((fleet.route.size, DRAWS))
    static, own = worlds_of(
        place, fleet.route[None], traits[None], draws[None], people, habits, overtakes=fleet.overtakes[None]
    )
    static.size[0] = np.stack([fleet.length_m, fleet.width_m], axis=1)
    static.desired_speed[0] = fleet.desired_mps
    static.spawn_tick[0] = np.maximum(np.ceil(fleet.enter_s / TICK_S), 1)
    return drive(static, own, ticks), decisions_of(own, 0)


def worlds_of(
    place: Place, route: IntArray, traits: FloatArray, draws: FloatArray, people: Population, habits: Habits,
    *, overtakes: BoolArray | None = None,
) -> tuple[Static, Humans]:  # fmt: skip
    """Worlds before their first tick, with people at the beginning of routes (W, A); the rest can be set."""
    static = empty_static(route.shape, place.tables, BOUNDS)
    static.driver[:] = int(DriverCode.EXTERNAL)
    static.start_route[:] = route
    own = humans_of(
        traits=traits,
        habits=np.tile(astuple(habits), (len(route), 1)),
        people=np.tile(people.coefficients(), (len(route), 1)),
        draws=draws,
        areas=place.areas,
        origin=place.origin,
        lanes=lanes_of(np.zeros(route.shape, dtype=np.bool_) if overtakes is None else overtakes),
    )
    return static, own


def drive(static: Static, own: Humans, ticks: int) -> Motion:
    """Begin worlds and drive them for so many ticks; cars whose driver is not EXTERNAL are no people."""
    everyone = np.ones(len(static.driver), dtype=np.bool_)
    place_on_routes(static, everyone)
    static.num_ticks[:] = ticks
    rows = run_humans(
        static, empty_state(static, PAST + 2), empty_decisions(static), no_forecast(static, 1), everyone,
        static.driver == int(DriverCode.EXTERNAL), own, CLEAN, ProfileParameters(), ticks,
    )  # fmt: skip
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return Motion(
        vehicle=rows[:, 0].astype(np.int64),
        tick=rows[:, 1].astype(np.int64),
        s_m=rows[:, 2],
        v_mps=rows[:, 3],
        xy=rows[:, 4:6],
        heading=rows[:, 6],
    )


@compiled(step, human)
def run_humans(
    static: Static, state: State, decisions: SimDecisions, forecast: Forecast, everyone: BoolArray, mine: BoolArray,
    own: Humans, idm: IdmParameters, profiles: ProfileParameters, ticks: int,
) -> Any:  # fmt: skip
    """Begin worlds and drive them.

    Returns:
        (M, 7) vehicle (world times agents per world plus agent), tick, arc length, speed, x, y, heading of all cars at
        all ticks.
    """
    begin(static, state, everyone)
    worlds, agents = static.driver.shape
    rows, used = np.empty((1024, 7)), 0
    for tick in range(ticks):
        decide_humans(static, state, decisions, mine, own, 0, worlds)
        for w in range(worlds):
            for i in range(agents):
                if not state.present[w, i]:
                    continue
                if used == rows.shape[0]:
                    rows = np.concatenate((rows, np.empty_like(rows)))
                car = state.car[w, i]
                rows[used, 0] = w * agents + i
                rows[used, 1] = tick
                rows[used, 2] = state.lane[w, i, 0]
                rows[used, 3] = car[SPEED]
                rows[used, 4] = car[X]
                rows[used, 5] = car[Y]
                rows[used, 6] = car[HEADING]
                used += 1
        advance(static, state, decisions, forecast, idm, profiles, 0, worlds)
    return rows[:used]


def decisions_of(own: Humans, world: int) -> GapDecisions:
    """What the people of a world decided."""
    made = np.arange(own.decided.shape[2]) < own.num_decided[world][:, None]
    target, rows = np.nonzero(made)[0], own.decided[world][made]
    order = np.argsort(rows[:, 1], kind="stable")
    target, rows = target[order], rows[order]
    return GapDecisions(
        target=target,
        priority_car=rows[:, 0].astype(np.int64),
        time_s=rows[:, 1],
        gap_s=rows[:, 2],
        distance_m=rows[:, 3],
        probability=rows[:, 4],
        accepted=rows[:, 5] > 0.5,
    )
