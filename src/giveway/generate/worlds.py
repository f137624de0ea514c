"""The environment: many worlds of one road with an ego under test and learning cars, stepped together."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.errors import UnknownNameError, UsageError
from giveway.core.histories import FUTURE_STEPS
from giveway.generate.egos import OUTCOMES, Ego, episode_facts, resolve_ego
from giveway.generate.impaired_egos import ImpairedEgos
from giveway.generate.objective.arrays import (
    DT_S,
    ObservationMode,
    Priors,
    RewardMode,
    Rules,
    empty_judged,
    empty_results,
)
from giveway.generate.objective.observing import observation_size
from giveway.generate.objective.verdicts import LOG_COLUMNS, ending_without_contact, road_lines, settle
from giveway.generate.objective.watching import begin_judging, judge_step, look_before
from giveway.generate.objective.weights import LegacyWeights, RewardWeights, V1Weights
from giveway.generate.prior import give_way_lines, load_prior, v1_prior
from giveway.generate.protocol import GRADES, TERMS, Ending, Outcome, Scenes, Transition, agent_ids
from giveway.generate.scenes import SceneSpace, gathered
from giveway.planning.idm import IdmParameters
from giveway.roads.library import make_road
from giveway.roads.road import Road
from giveway.roads.tables import road_tables
from giveway.sim.bicycle import MotionBounds
from giveway.sim.compiling import DirectCalls
from giveway.sim.drivers.actions import ActionMode, LaneTargets, ordinary_actions, steer
from giveway.sim.drivers.external import ExternalEgos
from giveway.sim.drivers.hosts import make_host
from giveway.sim.starts import place_on_routes
from giveway.sim.state import (
    LANE_D,
    LANE_S,
    PAST,
    DriverCode,
    Static,
    empty_decisions,
    empty_state,
    empty_static,
    no_forecast,
)
from giveway.sim.step import advance, begin

if TYPE_CHECKING:
    from giveway.sim.views.traffic import TrafficEnv

N_MANEUVERS = 9
"""{keep, left, right} x {brake, coast, go}."""

CAR_SIZE_M = (4.5, 1.8)
MAX_WORLDS = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSettings:
    """What kind of worlds.

    Attributes:
        road: registered name, or the path of a lanelet2 map.
        ego: ``idm``, ``default`` (also called ``lattice``), ``constant_speed``, a registered planner, or
            ``package.module:attribute``.
        cars: k, number of learning cars.
        traffic: m, number of bystanders.
        steps: of an episode, 0.1 s each.
        actions: ``steering`` (acceleration and steering rate), ``lateral`` (acceleration and lateral speed, kept on the
            road by a controller) or ``maneuvers`` (discrete).
        observation: ``relative`` or ``artefact``.
        reward: ``graded``, ``v1`` (of release 0.1) or ``legacy`` (of the published code).
        weights: of the graded reward.
        v1: of the reward of release 0.1.
        legacy: of the artefact's reward.
        standstill_s: the ego fails after standing so long with a free road ahead.
        deadline_s: for one plan of an outside planner.
        warm_up_s: added to the deadline of its first plan.
        prior: file of a naturalness prior of the graded reward; bounds of comfort without one.
    """

    road: str = "straight"
    ego: str = "idm"
    cars: int = 3
    traffic: int = 0
    steps: int = 150
    actions: Literal["steering", "lateral", "maneuvers"] = "steering"
    observation: Literal["relative", "artefact"] = "relative"
    reward: Literal["graded", "v1", "legacy"] = "graded"
    weights: RewardWeights = field(default_factory=RewardWeights)
    v1: V1Weights = field(default_factory=V1Weights)
    legacy: LegacyWeights = field(default_factory=LegacyWeights)
    standstill_s: float = 25.0
    deadline_s: float = 1.0
    warm_up_s: float = 20.0
    prior: Path | None = None

    def as_dict(self) -> dict[str, Any]:
        """In JSON's types; two environments with equal dictionaries are the same."""
        return {
            "road": self.road,
            "ego": self.ego,
            "cars": self.cars,
            "traffic": self.traffic,
            "steps": self.steps,
            "actions": self.actions,
            "observation": self.observation,
            "reward": self.reward,
            "weights": self.weights._asdict(),
            "v1": self.v1._asdict(),
            "legacy": self.legacy._asdict(),
            "standstill_s": self.standstill_s,
            "deadline_s": self.deadline_s,
            "warm_up_s": self.warm_up_s,
            "prior": str(self.prior) if self.prior else None,
        }


class Worlds:
    """W worlds; implements :class:`giveway.generate.protocol.VectorWorlds`.

    Args:
        settings: what kind of worlds.
        n_worlds: W.
        threads: worlds are spread over this many; never changes a result.
        road: instead of the one that the settings name.
        ego: how the ego is driven, instead of by the planner that the settings name.
    """

    def __init__(
        self,
        settings: WorldSettings,
        *,
        n_worlds: int = 1,
        threads: int = 1,
        road: Road | None = None,
        ego: Ego | None = None,
    ) -> None:
        _check(settings, n_worlds)
        self.settings = settings
        self.road = road or make_road(settings.road)
        self.tables = road_tables(self.road)
        self.ego = ego or resolve_ego(settings.ego)
        self._idm = self.ego.idm or IdmParameters()
        n = 1 + settings.cars + settings.traffic
        size = np.tile(np.array(CAR_SIZE_M), (n, 1))
        self.space = SceneSpace(
            road=self.road, tables=self.tables, cars=settings.cars, traffic=settings.traffic, size=size
        )
        self.rules = Rules(
            cars=settings.cars,
            traffic=settings.traffic,
            max_steps=settings.steps,
            observation=int(ObservationMode[settings.observation.upper()]),
            reward=int(RewardMode[settings.reward.upper()]),
            standstill_steps=round(settings.standstill_s / DT_S),
            size=size,
            bounds=MotionBounds(max_speed_mps=1.3 * self.road.speed_limit_mps),
            weights=settings.weights,
            v1=settings.v1,
            legacy=settings.legacy,
            lines_m=give_way_lines(self.road),
        )
        self.priors = Priors(v1=v1_prior(), maneuvers=load_prior(settings.prior))
        self._n = n_worlds
        self._mode = int(ActionMode[settings.actions.upper()])
        self._observed = observation_size(self.rules.observation, settings.cars, settings.traffic)
        self.static = self._static()
        self.state = empty_state(self.static, LOG_COLUMNS + PAST)
        self.decisions = empty_decisions(self.static)
        self.judged = empty_judged(n_worlds, self.rules)
        self._who = np.arange(1, 1 + settings.cars)
        self._targets = LaneTargets(
            route=np.zeros((n_worlds, n), dtype=np.int64), row=np.zeros((n_worlds, n), dtype=np.int64)
        )
        self._forecast = no_forecast(self.static, FUTURE_STEPS)
        self._results = empty_results(n_worlds, self.rules, self._observed)
        self._map = self.road.map()
        self._lines = road_lines(self.road)
        self.ids = agent_ids(settings.cars, settings.traffic)
        """Names of the cars of a world: ``ego``, ``car1`` ..., ``idm1`` ..."""
        self._endings: dict[int, Ending] = {}
        self._egos: ExternalEgos | ImpairedEgos | None = None
        if self.ego.sees is not None:
            self._egos = ImpairedEgos(self.ego, self.static, self.state, self.decisions)
        elif self.ego.is_outside:
            host = make_host(settings.ego, deadline_s=settings.deadline_s, warm_up_s=settings.warm_up_s)
            self._egos = ExternalEgos(host, self.static, self.state, self.decisions)
        self._call = DirectCalls()
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        ends = np.linspace(0, n_worlds, max(threads, 1) + 1).astype(int)
        self._chunks = [(int(a), int(b)) for a, b in itertools.pairwise(ends) if b > a]
        self.scenes: Scenes | None = None
        """Where the worlds started."""

    @property
    def findings(self) -> dict[int, str]:
        """What an outside planner did wrong, by world, since its reset."""
        found = {} if self._egos is None else self._egos.findings
        return {world: finding.sentence for world, finding in found.items()}

    def ending(self, world: int) -> Ending:
        """What the law says about the end of a world's episode; nothing while it is running."""
        if world in self._endings:
            return self._endings[world]
        return ending_without_contact(self.judged, world, self.findings.get(world, ""))

    @property
    def n_worlds(self) -> int:
        """W."""
        return self._n

    @property
    def n_cars(self) -> int:
        """Number of learning cars, k."""
        return self.settings.cars

    @property
    def observation_size(self) -> int:
        """Numbers that a car sees."""
        return self._observed

    @property
    def action_size(self) -> int:
        """2 with continuous actions, 1 with discrete ones."""
        return 1 if self.n_actions else 2

    @property
    def n_actions(self) -> int | None:
        """Number of discrete actions; None with continuous ones."""
        return N_MANEUVERS if self._mode == int(ActionMode.MANEUVERS) else None

    @property
    def term_weights(self) -> dict[str, float]:
        """Weight of each column of :attr:`Transition.terms`, by name."""
        p, v = self.settings.weights, self.settings.v1
        weights = {
            "graded": (p.incident, p.potential, p.naturalness, p.responsibility, p.penalty),
            "v1": (v.potential, v.escape, v.naturalness, v.responsibility, v.contact, v.terminal * v.terminal_scale),
            "legacy": (),
        }
        return dict(zip(TERMS[self.settings.reward], weights[self.settings.reward], strict=True))

    def reset(self, scenes: Scenes | None = None, *, seed: int, worlds: BoolArray | None = None) -> NDArray[np.float32]:
        """Start worlds again; see :meth:`giveway.generate.protocol.VectorWorlds.reset`.

        Scenes that are given need not be safe; drawn ones are.
        """
        chosen = np.ones(self._n, dtype=np.bool_) if worlds is None else np.asarray(worlds, dtype=np.bool_)
        if self.scenes is None and not chosen.all():
            raise UsageError("the first reset must start all worlds", found=f"{int(chosen.sum())} of {self._n}")
        rows = np.flatnonzero(chosen)
        if rows.size == 0:
            return self._results.observations.copy()
        if scenes is None:
            scenes, _ = self.space.sample(rows.size, seed=seed)
        else:
            self.space.check(scenes)
        if scenes.num_scenes != rows.size:
            raise UsageError("one scene is needed for each world", found=f"{scenes.num_scenes} for {rows.size} worlds")
        self._keep(scenes, rows)
        lanes, s, d, speed = gathered(scenes)
        static = self.static
        static.start_route[rows] = lanes
        static.start_lane[rows, :, LANE_S] = s
        static.start_lane[rows, :, LANE_D] = d
        static.start[rows, :, 3] = speed
        static.desired_speed[rows] = np.maximum(speed, 1.0)
        static.desired_speed[rows, 0] = scenes.ego_desired_speed
        static.num_ticks[rows] = self.settings.steps
        place_on_routes(static, chosen)
        begin(static, self.state, chosen)
        self._targets.route[rows], self._targets.row[rows] = self.state.route[rows], self.state.row[rows]
        for world in rows.tolist():
            self._endings.pop(world, None)
        begin_judging(static, self.rules, self.state, self.judged, self._results, chosen)
        if self._egos is not None:
            for row, world in enumerate(rows.tolist()):
                facts = episode_facts(scenes, row, self._map, static.driver.shape[1], static.road.step.size)
                self._egos.begin(world, facts)
        return self._results.observations.copy()

    def step(self, actions: FloatArray | IntArray) -> Transition:
        """Move every world that is not over by 0.1 s."""
        if self.scenes is None:
            raise UsageError("step before reset", hint="call reset(seed=...) first")
        given = self._checked(actions)
        if self._egos is not None:
            self._egos.decide(np.flatnonzero(self.judged.outcome == int(Outcome.RUNNING)).tolist(), self._forecast)
            for world, found in self._egos.findings.items():
                self.judged.finding[world] = int(OUTCOMES[found.fault])
        if self._pool is None or len(self._chunks) < 2:
            self._advance(given, 0, self._n)
        else:
            jobs = [self._pool.submit(self._advance, given, a, b) for a, b in self._chunks[1:]]
            self._advance(given, *self._chunks[0])
            for job in jobs:
                job.result()
        results, judged = self._results, self.judged
        self._endings |= settle(self.rules, self.state, judged, results, self._lines, self.ids)
        return Transition(
            observations=results.observations.copy(),
            rewards=results.rewards.copy(),
            terminated=results.terminated.copy(),
            truncated=results.truncated.copy(),
            outcome=judged.outcome.copy(),
            grade=judged.grade.copy(),
            avoidable=judged.avoidable.copy(),
            terms=results.terms.copy(),
            escape_ratio=results.escape.copy(),
            active=results.active.copy(),
        )

    def _advance(self, actions: FloatArray, first: int, last: int) -> None:
        """One step of some worlds: look, decide, move, judge."""
        static, state, rules = self.static, self.state, self.rules
        call = self._call
        call(look_before, rules, state, self.judged, self._results, first, last)
        call(steer, static, state, self.decisions, self._targets, self._who, actions, self._mode, first, last)
        call(advance, static, state, self.decisions, self._forecast, self._idm, self.ego.profiles, first, last)
        call(judge_step, static, rules, self.priors, state, self.judged, self._results, first, last)

    def _static(self) -> Static:
        """Arrays of worlds that have not begun; the ego in row 0, then learning cars, then bystanders."""
        count, k, m = self._n, self.settings.cars, self.settings.traffic
        shape = (count, 1 + k + m)
        driver = np.full(shape, int(DriverCode.IDM), dtype=np.int64)
        driver[:, 0] = int(self.ego.driver)
        driver[:, 1 : 1 + k] = int(DriverCode.ACTIONS)
        size = np.tile(self.rules.size, (count, 1, 1))
        return empty_static(shape, self.tables, self.rules.bounds)._replace(driver=driver, size=size)

    def logged(self) -> FloatArray:
        """(W, n, 5) x, y, vx, vy, heading now, as a log has them."""
        column = (PAST + self.state.tick) % self.state.log.shape[2]
        return self.state.log[np.arange(self._n), :, column]

    def natural_actions(self) -> FloatArray | IntArray:
        """(W, k, 2) what ordinary drivers would do now in the learning cars' place: no attack.

        With discrete actions (W, k) whole numbers.
        """
        out = np.zeros((self._n, self.n_cars, 2))
        ordinary_actions(self.static, self.state, self._who, self._mode, IdmParameters(), out)
        return out[..., 0].astype(np.int64) if self.n_actions else out

    def close(self) -> None:
        """End helper threads and the process of an outside planner."""
        if self._pool is not None:
            self._pool.shutdown()
        if self._egos is not None:
            self._egos.close()

    def _keep(self, scenes: Scenes, rows: IntArray) -> None:
        if self.scenes is None or rows.size == self._n:
            self.scenes = scenes
            return
        merged = self.scenes.select(slice(None))
        for name in Scenes.__dataclass_fields__:
            if name != "road":
                column = getattr(merged, name).copy()
                column[rows] = getattr(scenes, name)
                object.__setattr__(merged, name, column)
        self.scenes = merged

    def _checked(self, actions: FloatArray | IntArray) -> FloatArray:
        expected = (self._n, self.n_cars) if self.n_actions else (self._n, self.n_cars, 2)
        array = np.asarray(actions)
        if self.n_actions and array.shape == (*expected, 1):
            array = array[..., 0]
        if array.shape != expected:
            raise UsageError("actions have the wrong shape", found=array.shape, hint=f"expected {expected}")
        if not np.isfinite(array).all():
            raise UsageError("actions must be finite numbers", found="NaN or infinity")
        if not self.n_actions:
            return np.ascontiguousarray(array, dtype=np.float64)
        if ((array < 0) | (array >= N_MANEUVERS) | (array != np.floor(array))).any():
            raise UsageError("a discrete action is a whole number from 0 to 8", found=array.min())
        both = np.zeros((*expected, 2))
        both[..., 0] = array
        return both


def make_worlds(*, n_worlds: int = 1, threads: int = 1, **settings: Any) -> Worlds:
    """Worlds from the fields of :class:`WorldSettings`."""
    unknown = set(settings) - set(WorldSettings.__dataclass_fields__)
    if unknown:
        raise UnknownNameError("setting", min(unknown), WorldSettings.__dataclass_fields__)
    return Worlds(WorldSettings(**settings), n_worlds=n_worlds, threads=threads)


def traffic_env(settings: WorldSettings | None = None) -> TrafficEnv:
    """One world behind PettingZoo's parallel interface; needs the extra ``generate``."""
    from giveway.sim.views.traffic import TrafficEnv

    return TrafficEnv(Worlds(settings or WorldSettings(), n_worlds=1), _facts)


def _facts(after: Transition) -> dict[str, Any]:
    return {
        "outcome": Outcome(int(after.outcome[0])).name,
        "grade": str(GRADES[int(after.grade[0])]),
        "avoidable": bool(after.avoidable[0]),
        "escape_ratio": float(after.escape_ratio[0]),
    }


def _check(settings: WorldSettings, n_worlds: int) -> None:
    for name, kind in (("actions", ActionMode), ("observation", ObservationMode), ("reward", RewardMode)):
        value = getattr(settings, name)
        known = [member.name.lower() for member in kind]
        if value not in known:
            raise UnknownNameError(f"kind of {name}", value, known)
    if not 1 <= n_worlds <= MAX_WORLDS:
        raise UsageError(f"the number of worlds must be between 1 and {MAX_WORLDS}", found=n_worlds)
    if not 1 <= settings.steps <= 10000:
        raise UsageError("an episode has between 1 and 10000 steps", found=settings.steps)
    if not settings.deadline_s > 0.0 or not settings.standstill_s > 0.0:
        raise UsageError("deadlines must be positive", found=(settings.deadline_s, settings.standstill_s))
