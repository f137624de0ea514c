"""The environment: many worlds of one road with an ego under test and learning cars, stepped together."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.errors import UnknownNameError, UsageError
from giveway.generate.environment.arrays import (
    DT_S,
    ActionMode,
    EgoDriver,
    Given,
    LegacyWeights,
    ObservationMode,
    RewardMode,
    RewardWeights,
    Rules,
    empty_moving,
    empty_results,
)
from giveway.generate.environment.egos import OutsideEgo, resolve_ego
from giveway.generate.environment.observing import observation_size
from giveway.generate.environment.stepping import advance, natural_actions, start
from giveway.generate.prior import load_prior
from giveway.generate.protocol import Outcome, Scenes, Transition
from giveway.generate.scenes import SceneSpace, gathered
from giveway.planning.idm import IdmParameters
from giveway.planning.profiles import PLAN_STEPS
from giveway.roads.library import make_road
from giveway.roads.road import Road
from giveway.roads.tables import road_tables
from giveway.sim.free_motion import MotionBounds

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
        reward: ``full`` or ``legacy``.
        weights: of the full reward.
        legacy: of the artefact's reward.
        standstill_s: the ego fails after standing so long with a free road ahead.
        deadline_s: for one plan of an outside planner.
        warm_up_s: added to the deadline of its first plan.
        prior: file of a naturalness prior; the shipped one if None.
    """

    road: str = "straight"
    ego: str = "idm"
    cars: int = 3
    traffic: int = 0
    steps: int = 150
    actions: Literal["steering", "lateral", "maneuvers"] = "steering"
    observation: Literal["relative", "artefact"] = "relative"
    reward: Literal["full", "legacy"] = "full"
    weights: RewardWeights = field(default_factory=RewardWeights)
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
    """

    def __init__(
        self, settings: WorldSettings, *, n_worlds: int = 1, threads: int = 1, road: Road | None = None
    ) -> None:
        _check(settings, n_worlds)
        self.settings = settings
        self.road = road or make_road(settings.road)
        self.tables = road_tables(self.road)
        self.ego = resolve_ego(settings.ego)
        n = 1 + settings.cars + settings.traffic
        size = np.tile(np.array(CAR_SIZE_M), (n, 1))
        self.space = SceneSpace(
            road=self.road, tables=self.tables, cars=settings.cars, traffic=settings.traffic, size=size
        )
        self.rules = Rules(
            cars=settings.cars,
            traffic=settings.traffic,
            max_steps=settings.steps,
            ego=int(self.ego.driver),
            actions=int(ActionMode[settings.actions.upper()]),
            observation=int(ObservationMode[settings.observation.upper()]),
            reward=int(RewardMode[settings.reward.upper()]),
            standstill_steps=round(settings.standstill_s / DT_S),
            size=size,
            bounds=MotionBounds(max_speed_mps=1.3 * self.road.speed_limit_mps),
            weights=settings.weights,
            legacy=settings.legacy,
            idm=self.ego.idm or IdmParameters(),
            profiles=self.ego.profiles,
        )
        self.prior = load_prior(settings.prior)
        self._n = n_worlds
        self._observed = observation_size(self.rules.observation, settings.cars, settings.traffic)
        self.moving = empty_moving(n_worlds, self.rules)
        self._results = empty_results(n_worlds, self.rules, self._observed)
        self._finding = np.zeros(n_worlds, dtype=np.int64)
        self._ego_s = np.zeros((n_worlds, PLAN_STEPS))
        self._ego_speed = np.zeros(n_worlds)
        self.findings: dict[int, str] = {}
        """What an outside planner did wrong, by world, since its reset."""
        self._outside = (
            OutsideEgo(settings.ego, deadline_s=settings.deadline_s, warm_up_s=settings.warm_up_s)
            if self.ego.driver is EgoDriver.OUTSIDE
            else None
        )
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        ends = np.linspace(0, n_worlds, max(threads, 1) + 1).astype(int)
        self._chunks = [(int(a), int(b)) for a, b in itertools.pairwise(ends) if b > a]
        self.scenes: Scenes | None = None
        """Where the worlds started."""

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
        return N_MANEUVERS if self.rules.actions == int(ActionMode.MANEUVERS) else None

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
        self.space.check(scenes)
        if scenes.num_scenes != rows.size:
            raise UsageError("one scene is needed for each world", found=f"{scenes.num_scenes} for {rows.size} worlds")
        self._keep(scenes, rows)
        lanes, s, d, speed = gathered(scenes)
        moving = self.moving
        moving.way[rows] = lanes
        moving.lane[rows, :, 0] = s
        moving.lane[rows, :, 1] = d
        moving.state[rows, :, 3] = speed
        moving.desired[rows] = np.maximum(speed, 1.0)
        moving.desired[rows, 0] = scenes.ego_desired_speed
        for world in rows.tolist():
            self.findings.pop(world, None)
        start(self.tables, self.rules, moving, self._results, chosen)
        return self._results.observations.copy()

    def step(self, actions: FloatArray | IntArray) -> Transition:
        """Move every world that is not over by 0.1 s."""
        if self.scenes is None:
            raise UsageError("step before reset", hint="call reset(seed=...) first")
        running = self.moving.outcome == int(Outcome.RUNNING)
        given = Given(
            actions=self._checked(actions), ego_s=self._ego_s, ego_speed=self._ego_speed, finding=self._finding
        )
        if self._outside is not None:
            self._outside.plan(self, running, given)
        shared = (self.tables, self.rules, self.prior, self.moving, given, self._results)
        if self._pool is None or len(self._chunks) < 2:
            advance(*shared, 0, self._n)
        else:
            for job in [self._pool.submit(advance, *shared, a, b) for a, b in self._chunks]:
                job.result()
        results, moving = self._results, self.moving
        return Transition(
            observations=results.observations.copy(),
            rewards=results.rewards.copy(),
            terminated=results.terminated.copy(),
            truncated=results.truncated.copy(),
            outcome=moving.outcome.copy(),
            fault=moving.fault.copy(),
            avoidable=moving.avoidable.copy(),
            terms=results.terms.copy(),
            escape_ratio=results.escape.copy(),
            active=results.active.copy(),
        )

    def natural_actions(self) -> FloatArray | IntArray:
        """(W, k, 2) what ordinary drivers would do now in the learning cars' place: no attack.

        With discrete actions (W, k) whole numbers.
        """
        out = np.zeros((self._n, self.n_cars, 2))
        natural_actions(self.tables, self.rules, self.moving, out)
        return out[..., 0].astype(np.int64) if self.n_actions else out

    def close(self) -> None:
        """End helper threads and the process of an outside planner."""
        if self._pool is not None:
            self._pool.shutdown()
        if self._outside is not None:
            self._outside.close()

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
