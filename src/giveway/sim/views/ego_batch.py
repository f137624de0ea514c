"""Worlds with an ego that acts from outside: what both Gymnasium environments are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from giveway.core import _box_kernels
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.case import TICK_S
from giveway.core.errors import UnknownNameError, UsageError
from giveway.core.log import DriveLog
from giveway.core.seeds import stream
from giveway.metrics import METRICS
from giveway.planning.protocol import Plan
from giveway.roads.conflicts import areas_between
from giveway.roads.priority import rules_of
from giveway.roads.queries import PreparedMap
from giveway.sim import contacts, motion
from giveway.sim.bicycle import ACCEL, HEADING, SPEED, X, Y
from giveway.sim.compiling import compiled
from giveway.sim.contacts import boxes_touch, fill_box, find_contacts
from giveway.sim.drivers import DRIVERS
from giveway.sim.prepare import PreparedCase, with_drivers, with_traffic
from giveway.sim.recording import PredictionLog, drive_log, driven_tracks
from giveway.sim.responsibility import judge
from giveway.sim.simulation import Simulation
from giveway.sim.situations import route_rows
from giveway.sim.state import (
    LANE_S,
    Decision,
    Decisions,
    DriverCode,
    State,
    Static,
    Status,
)
from giveway.sim.views import acting
from giveway.sim.views.acting import W_JERK, W_SLOW, OwnMotion, plan_along, reward
from giveway.sim.views.observing import (
    ObservationKind,
    clip_observation,
    empty_observation,
    observe_features,
    observe_worlds,
)

ALONG = int(Decision.ALONG)
PRIORITY = {"own": 1.0, "other": -1.0, "none": 0.0}
SCORE = "challenge"
"""Metric of a finished episode."""

CRITIC_SIZE = 3
"""Columns of :meth:`EgoBatch.critic_state`."""


class Stepped(NamedTuple):
    """What a tick gave.

    Attributes:
        rewards: (W,) of worlds that moved; 0 otherwise.
        terminated: (W,) the ego reached the end of its path, or touched somebody where that ends an episode.
        truncated: (W,) the case is over.
    """

    rewards: FloatArray
    terminated: BoolArray
    truncated: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoCases:
    """Cases in which the ego acts from outside.

    Attributes:
        cases: prepared, the ego with driver code EXTERNAL.
        roads: map of each case with its indices, or None.
        areas: of each case, (N, 6) conflict areas of the ego as :func:`giveway.sim.views.observing.observe_areas` has
            them.
    """

    cases: tuple[PreparedCase, ...]
    roads: tuple[PreparedMap | None, ...]
    areas: tuple[FloatArray, ...]

    def number(self, case_id: str) -> int:
        """Number of a case.

        Raises:
            UnknownNameError: there is none of that name.
        """
        names = [case.case.id for case in self.cases]
        if case_id not in names:
            raise UnknownNameError("case", case_id, names)
        return names.index(case_id)


def ego_cases(
    cases: Sequence[PreparedCase], roads: Sequence[PreparedMap | None], *, driver: str | None = None
) -> EgoCases:
    """Cases for an acting ego.

    Args:
        cases: prepared.
        roads: map of each.
        driver: of all other cars that are not on replay; as the cases say if None.

    Raises:
        UsageError: no case.
        UnknownNameError: a driver that is not registered.
    """
    if not cases:
        raise UsageError("there are no cases to drive", where="cases", found="none")
    ready = [with_drivers(case, DriverCode.EXTERNAL) for case in cases]
    if driver is not None:
        DRIVERS.get(driver)
        ready = [with_traffic(case, driver) for case in ready]
    return EgoCases(cases=tuple(ready), roads=tuple(roads), areas=tuple(map(_areas, ready, roads)))


def _areas(case: PreparedCase, road: PreparedMap | None) -> FloatArray:
    """(N, 6) areas that the ego's route shares with those of others."""
    known = [i for i, path in enumerate(case.paths) if path is not None]
    rules = None if road is None else rules_of(road)
    pairs = areas_between([case.paths[i] for i in known], case.size[known, 1], rules=rules)  # pyright: ignore
    rows: list[tuple[float, ...]] = []
    for (a, b), areas in pairs.items():
        first, second = known[a], known[b]
        if case.ego not in (first, second):
            continue
        for area in areas:
            seen = area if first == case.ego else area.mirrored()
            other = second if first == case.ego else first
            if seen.kind != "following":
                rows.append((other, *seen.own, *seen.other, PRIORITY[seen.priority]))
    return np.array(rows, dtype=np.float64).reshape(-1, 6)


class EgoBatch:
    """W worlds, each in an episode of some case, stepped together; what happens in one does not depend on the others.

    Args:
        given: cases to choose from.
        num_worlds: W.
        end_at_contact: a contact of the ego ends the episode.
        observation: what the egos see.
        score: whether :meth:`end` computes the score, which takes as long as twenty ticks.
        seed: root of the random streams of drivers.
    """

    def __init__(
        self,
        given: EgoCases,
        num_worlds: int,
        *,
        end_at_contact: bool = False,
        observation: ObservationKind = "parts",
        score: bool = True,
        seed: int = 0,
    ) -> None:
        self.given = given
        self.end_at_contact = end_at_contact
        self.scores = score
        self.simulation = Simulation([given.cases[0]] * num_worlds, choices=given.cases, seed=seed)
        self.static, self.state = self.simulation.static, self.simulation.state
        self.observation = empty_observation(num_worlds, observation)
        shape = self.static.driver.shape
        self._number = np.zeros(num_worlds, dtype=np.int64)
        self._is_over = np.ones(num_worlds, dtype=np.bool_)
        self._touches = np.zeros(shape, dtype=np.bool_)
        self._areas = np.zeros((num_worlds, max(len(areas) for areas in given.areas), 6))
        self._num_areas = np.zeros(num_worlds, dtype=np.int64)
        self._priority = np.zeros(shape, dtype=np.int64)
        self._expected, self._desired = np.zeros(num_worlds), np.zeros(num_worlds)
        self._ride = np.zeros((*shape, 2))
        """(W, A, 2) speed and acceleration of everybody in the tick before; NaN of whoever was not there."""

    @property
    def cases(self) -> Sequence[PreparedCase]:
        """(W,) case of each world."""
        return self.simulation.cases

    def begin(self, numbers: Mapping[int, int]) -> None:
        """Begin episodes: world to number of its case."""
        self.simulation.reset(numbers)
        worlds = np.zeros(len(self.cases), dtype=np.bool_)
        for w, number in numbers.items():
            worlds[w] = True
            areas, prepared = self.given.areas[number], self.given.cases[number]
            self._number[w] = number
            self._areas[w, : len(areas)], self._num_areas[w] = areas, len(areas)
            self._priority[w] = _priorities(self.static, w, areas)
            self._expected[w], self._desired[w] = prepared.expected_progress_m, prepared.case.desired_speed_mps
        self._touches[worlds] = self._is_over[worlds] = False
        self._ride[worlds] = np.nan
        courtesy_costs(self.static, self.state, worlds, self._desired, self._ride)
        self._observe(worlds)

    def own_motion(self, w: int) -> OwnMotion:
        """What the action of a world is made a plan of."""
        static, state, ego = self.static, self.state, int(self.static.ego[w])
        route = int(state.route[w, ego])
        return OwnMotion(
            path=route_rows(static, route),
            path_step_m=float(static.road.step[route]),
            s_m=float(state.lane[w, ego, LANE_S]),
            speed_mps=float(state.car[w, ego, SPEED]),
            accel_mps2=float(state.car[w, ego, ACCEL]),
            desired_speed_mps=float(static.desired_speed[w, ego]),
            previous_s_m=state.plan_s[int(state.tick[w]) % 2, w, ego],
        )

    def drivers_here(self) -> BoolArray:
        """(W,) worlds whose episode goes on and whose ego is there: they need a decision."""
        rows = np.arange(len(self.cases))
        return ~self._is_over & (self.state.status[rows, self.static.ego] == Status.PRESENT)

    def accelerate(self, accel: FloatArray, *, bounded: bool) -> None:
        """Decide by accelerations (W,) [m/s^2]; see :func:`giveway.sim.views.acting.plan_of_accel`."""
        decide_by_accel(self.static, self.state, self.simulation.decisions, self.drivers_here(), accel, bounded)

    def follow(self, w: int, plan: Plan) -> None:
        """Decide by a plan."""
        ego, decisions = int(self.static.ego[w]), self.simulation.decisions
        decisions.kind[w, ego] = int(Decision.ALONG)
        decisions.along_s[w, ego], decisions.speed[w, ego] = plan.s_m, plan.speed_mps

    def step(self) -> Stepped:
        """Move every world whose episode goes on by one tick, as decided."""
        count, static, state = len(self.cases), self.static, self.state
        rows, moving, here = np.arange(count), ~self._is_over, self.drivers_here()
        before, accel = self._progress(), state.car[rows, static.ego, ACCEL].copy()
        self.simulation.step()
        return self._judged(moving, here, before, accel)

    def log(self, w: int, meta: Mapping[str, Any]) -> DriveLog:
        """What happened in a world."""
        return drive_log(self.simulation, w, PredictionLog(), self.given.roads[self._number[w]], meta)

    def end(self, w: int) -> dict[str, Any]:
        """Score of an episode and number of contacts, neither needs the map; nothing if no scores are wanted."""
        if not self.scores:
            return {}
        log = drive_log(self.simulation, w, PredictionLog(), None, {})
        return {"score": float(METRICS.get(SCORE)(log).value), "contacts": len(log.collisions)}

    def critic_state(self) -> Any:
        """(W, 3) float32 what rewards depend on and a planner is not told: share of the recorded progress that is made,
        what is left of it, in units of 30 m, and of the time, in units of 5 s.
        """
        made, left = self._progress(), (self.static.num_ticks - self.state.tick) * TICK_S
        share = np.clip(made / np.maximum(self._expected, 1.0), 0.0, 2.0)
        room = np.clip((self._expected - made) / 30.0, -2.0, 4.0)
        return np.stack([share, room, left / 5.0], axis=1).astype(np.float32)

    def _progress(self) -> FloatArray:
        """(W,) way of the egos along their routes since their starts [m]."""
        rows, ego = np.arange(len(self.cases)), self.static.ego
        return self.state.lane[rows, ego, LANE_S] - self.static.start_lane[rows, ego, LANE_S]

    def _judged(self, moving: BoolArray, here: BoolArray, before: FloatArray, accel: FloatArray) -> Stepped:
        static, state = self.static, self.state
        rows, ego = np.arange(len(self.cases)), static.ego
        began = np.zeros(len(self.cases), dtype=np.bool_)
        touch(static, state, moving, self._touches, began)
        at_fault = np.zeros(len(self.cases), dtype=np.bool_)
        for w in np.flatnonzero(began).tolist():
            began[w], at_fault[w] = self._contact(w)
        jerk = (state.car[rows, ego, ACCEL] - accel) / TICK_S
        slower = self._desired - state.car[rows, ego, SPEED]
        courtesy = courtesy_costs(static, state, moving, self._desired, self._ride)
        rewards = reward(before, self._progress(), self._expected, jerk, slower, at_fault, courtesy)
        ended = moving & ((state.status[rows, ego] == Status.GONE) | (began & self.end_at_contact))
        truncated = moving & ~ended & (state.tick >= static.num_ticks)
        self._observe(moving)
        self._is_over |= ended | truncated
        static.num_ticks[ended] = state.tick[ended]
        return Stepped(rewards=np.where(here, rewards, 0.0), terminated=ended, truncated=truncated)

    def _contact(self, w: int) -> tuple[bool, bool]:
        """Whether a contact of the ego began in this tick, and whether by its fault."""
        prepared, tick = self.cases[w], int(self.state.tick[w])
        ego = str(prepared.ids[prepared.ego])
        tracks, road = driven_tracks(self.simulation, w), self.given.roads[self._number[w]]
        owes = {ego: prepared.case.right_of_way}
        begun = [hit for hit in find_contacts(tracks, ego=ego) if hit.first == ego and hit.start_tick == tick]
        return bool(begun), any(ego in judge(tracks, hit, road, ego=ego, yields_to=owes).violators for hit in begun)

    def _observe(self, worlds: BoolArray) -> None:
        out = self.observation
        if "features" in out:
            observe_features(self.static, self.state, worlds, out["features"])
            return
        observe_worlds(
            self.static,
            self.state,
            worlds,
            self._expected,
            self._priority,
            self._areas,
            self._num_areas,
            out["ego"],
            out["path"],
            out["others"],
            out["areas"],
        )
        clip_observation(out)


def _priorities(static: Static, w: int, areas: FloatArray) -> IntArray:
    """(A,) 1 where the ego goes first, -1 where the other one does: by the case, else at a shared area."""
    out = np.zeros(static.driver.shape[1], dtype=np.int64)
    out[areas[:, 0].astype(np.int64)] = areas[:, 5].astype(np.int64)
    favored = static.favored[w]
    out[favored & ~favored[static.ego[w]]] = -1
    return out


@compiled(_box_kernels, contacts)
def touch(static: Static, state: State, worlds: BoolArray, touches: BoolArray, began: BoolArray) -> None:
    """Write (W, A) who touches the ego, and (W,) whether one of them did not before."""
    own, other = np.empty(7), np.empty(7)
    for w in range(worlds.size):
        ego = static.ego[w]
        if not worlds[w]:
            continue
        car, size = state.car[w, ego], static.size[w, ego]
        fill_box(car[X], car[Y], car[HEADING], size[0], size[1], own)
        for j in range(static.num_agents[w]):
            known = touches[w, j]
            touches[w, j] = False
            if j != ego and state.present[w, j] and state.present[w, ego]:
                car, size = state.car[w, j], static.size[w, j]
                fill_box(car[X], car[Y], car[HEADING], size[0], size[1], other)
                touches[w, j] = boxes_touch(own, other)
                began[w] |= touches[w, j] and not known


@compiled(acting)
def courtesy_costs(
    static: Static, state: State, worlds: BoolArray, desired: FloatArray, ride: FloatArray
) -> FloatArray:
    """(W,) costs of the last tick for cars with the right of way; see :func:`giveway.sim.views.acting.reward`.

    Args:
        static: of the batch.
        state: of the batch.
        worlds: (W,) that moved; the others cost nothing.
        desired: (W,) speed below which a car is slow [m/s].
        ride: (W, A, 2) speed and acceleration in the tick before, replaced by those of this one.
    """
    costs = np.zeros(worlds.size)
    for w in range(worlds.size):
        if not worlds[w]:
            continue
        for j in range(static.num_agents[w]):
            if not static.favored[w, j] or j == static.ego[w]:
                continue
            speed, known = state.car[w, j, SPEED], not np.isnan(ride[w, j, 0])
            if not state.present[w, j]:
                ride[w, j] = np.nan
                continue
            accel = (speed - ride[w, j, 0]) / TICK_S if known else 0.0
            if known:
                jerk = (accel - ride[w, j, 1]) / TICK_S
                costs[w] += (W_JERK * jerk * jerk + W_SLOW * max(desired[w] - speed, 0.0)) * TICK_S
            ride[w, j, 0], ride[w, j, 1] = speed, accel
    return costs


@compiled(motion, acting)
def decide_by_accel(
    static: Static, state: State, decisions: Decisions, worlds: BoolArray, accel: FloatArray, bounded: bool
) -> None:
    """Write the decisions of egos that keep an acceleration (W,) for a tick."""
    for w in range(worlds.size):
        if worlds[w]:
            ego = static.ego[w]
            car = state.car[w, ego]
            decisions.kind[w, ego] = ALONG
            decisions.speed[w, ego] = plan_along(
                state.lane[w, ego, 0],
                car[SPEED],
                car[ACCEL],
                static.desired_speed[w, ego],
                bounded,
                accel[w],
                decisions.along_s[w, ego],
            )


def drawn_case(seed: int, episode: int, count: int) -> int:
    """Number of the case of an episode: stream ("env", seed, episode)."""
    return int(stream(seed, "env", episode).integers(count))
