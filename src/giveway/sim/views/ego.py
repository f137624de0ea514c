"""The ego as a Gymnasium environment: one world, or many in one batch of the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from giveway.core.errors import UnknownNameError, UsageError
from giveway.planning.features import BOUND, NUM_FEATURES
from giveway.planning.profiles import NUM_CANDIDATES, PLAN_STEPS, ProfileParameters
from giveway.planning.protocol import Plan
from giveway.sim.views.acting import (
    MAX_ACCEL_MPS2,
    MIN_ACCEL_MPS2,
    REACH_M,
    ActionKind,
    OwnMotion,
    plan_of_accel,
    plan_of_positions,
    plan_of_profile,
)
from giveway.sim.views.ego_batch import EgoBatch, EgoCases, drawn_case
from giveway.sim.views.observing import PART_BOUNDS, PART_ROWS, ObservationKind

ACTIONS: tuple[ActionKind, ...] = ("accel", "plan", "profile")
META = {"planner": "actions", "predictor": ""}


def observation_space(kind: ObservationKind = "parts") -> Space[Any]:
    """Parts ``ego``, ``path``, ``others``, ``areas``, or a row of features; see :mod:`giveway.sim.views.observing`.

    Raises:
        UnknownNameError: another kind.
    """
    if kind == "features":
        return Box(-BOUND, BOUND, (NUM_FEATURES,), np.float32)
    if kind != "parts":
        raise UnknownNameError("kind of observation", kind, ("parts", "features"))
    spaces: dict[str, Space[Any]] = {}
    for name, (low, high) in PART_BOUNDS.items():
        rows = (PART_ROWS[name], 1) if PART_ROWS[name] else (1,)
        spaces[name] = Box(np.tile(np.float32(low), rows), np.tile(np.float32(high), rows), dtype=np.float32)  # type: ignore
    return Dict(spaces)


def action_space(kind: ActionKind) -> Space[Any]:
    """An acceleration, fifty positions ahead, or the number of a profile."""
    if kind == "accel":
        return Box(MIN_ACCEL_MPS2, MAX_ACCEL_MPS2, (1,), np.float32)
    if kind == "plan":
        return Box(0.0, REACH_M, (PLAN_STEPS,), np.float32)
    if kind == "profile":
        return Discrete(NUM_CANDIDATES)
    raise UnknownNameError("kind of action", kind, ACTIONS)


def plan_of(kind: ActionKind, action: Any, own: OwnMotion, *, bounded: bool = False) -> Plan:
    """The plan that an action stands for; what a planner would have to return to drive the same.

    Raises:
        UsageError: an action that is not finite.
    """
    values = np.asarray(action, dtype=np.float64).reshape(-1)
    if not np.isfinite(values).all():
        raise UsageError("an action must be finite", where=f"action {kind!r}", found=values.tolist()[:4])
    if kind == "accel":
        return plan_of_accel(float(values[0]), own, bounded=bounded)
    if kind == "plan":
        return plan_of_positions(values, own)
    return plan_of_profile(int(values[0]), own, ProfileParameters())


class EgoEnv(gymnasium.Env[Any, Any]):
    """One ego that acts; the other cars are driven as its case says.

    Args:
        cases: to choose from.
        action: ``accel``, ``plan`` or ``profile``.
        bounded: an acceleration changes by 16 m/s^3 at most.
        end_at_contact: a contact of the ego ends the episode.
        observation: ``parts``, or ``features`` for what learned planners see, which a planner in a drive is told too.
        score: whether an episode ends with ``info["score"]``, which takes as long as twenty ticks.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        cases: EgoCases,
        *,
        action: ActionKind = "accel",
        bounded: bool = False,
        end_at_contact: bool = False,
        observation: ObservationKind = "parts",
        score: bool = True,
    ) -> None:
        self.action_space = action_space(action)
        self.observation_space = observation_space(observation)
        self._batch = EgoBatch(cases, 1, end_at_contact=end_at_contact, observation=observation, score=score)
        self._kind: ActionKind = action
        self._bounded = bounded
        self._seed, self._episode = 0, 0

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode of the case ``options["case"]``, or of one drawn from the seed and the number of the
        episode.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._seed, self._episode = seed, 0
        self._batch.begin({0: _chosen(self._batch.given, options, self._seed, self._episode)})
        self._episode += 1
        return self._seen(), _facts(self._batch, 0)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Drive for 0.1 s."""
        _decide(self._batch, self._kind, np.asarray(action)[None], bounded=self._bounded)
        after = self._batch.step()
        info = _facts(self._batch, 0) | (self._batch.end(0) if after.terminated[0] or after.truncated[0] else {})
        return self._seen(), float(after.rewards[0]), bool(after.terminated[0]), bool(after.truncated[0]), info

    def log(self) -> Any:
        """The :class:`giveway.DriveLog` of the episode so far."""
        return self._batch.log(0, META)

    def _seen(self) -> Any:
        seen = {name: part[0].copy() for name, part in self._batch.observation.items()}
        return seen.get("features", seen)


class EgoVectorEnv(VectorEnv[Any, Any, Any]):
    """Many egos in one batch of the simulator; an episode that is over begins again with the next step.

    Args:
        cases: to choose from.
        num_envs: number of worlds.
        action: ``accel``, ``plan`` or ``profile``.
        bounded: an acceleration changes by 16 m/s^3 at most.
        end_at_contact: a contact of the ego ends the episode.
        observation: ``parts``, or ``features`` for what learned planners see, which a planner in a drive is told too.
        score: whether an episode ends with ``info["score"]``, which takes as long as twenty ticks.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        cases: EgoCases,
        num_envs: int = 1,
        *,
        action: ActionKind = "accel",
        bounded: bool = False,
        end_at_contact: bool = False,
        observation: ObservationKind = "parts",
        score: bool = True,
    ) -> None:
        self.num_envs = num_envs
        self.single_action_space, self.single_observation_space = action_space(action), observation_space(observation)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._batch = EgoBatch(cases, num_envs, end_at_contact=end_at_contact, observation=observation, score=score)
        self._kind: ActionKind = action
        self._bounded = bounded
        self._seeds, self._episodes = list(range(num_envs)), [0] * num_envs
        self._begins_next = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every world; world i has the seed ``seed + i``, or the i-th of a list."""
        if seed is not None:
            given = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
            self._seeds = [own if new is None else new for own, new in zip(self._seeds, given, strict=True)]
            self._episodes = [0] * self.num_envs
        self._begins_next[:] = False
        self._begin(range(self.num_envs), options)
        return self._seen(), self._facts()

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Drive for 0.1 s; worlds whose episode was over begin the next one instead, with reward 0."""
        fresh = np.flatnonzero(self._begins_next).tolist()
        _decide(self._batch, self._kind, np.asarray(actions), bounded=self._bounded)
        after = self._batch.step()
        self._begins_next = after.terminated | after.truncated
        infos: dict[str, Any] = {}
        for w in np.flatnonzero(self._begins_next).tolist() if self._batch.scores else ():
            infos = self._add_info(infos, self._batch.end(w), w)
        if fresh:
            self._begin(fresh, None)
        infos |= self._facts()
        return self._seen(), after.rewards, after.terminated, after.truncated, infos

    def critic_state(self) -> Any:
        """(W, 3) for a critic that may see more than the actor; see :meth:`EgoBatch.critic_state`."""
        return self._batch.critic_state()

    def log(self, env: int) -> Any:
        """The :class:`giveway.DriveLog` of the episode of a world so far."""
        return self._batch.log(env, META)

    def _facts(self) -> dict[str, Any]:
        everywhere = np.ones(self.num_envs, dtype=np.bool_)
        names = np.array([case.case.id for case in self._batch.cases], dtype=object)
        return {"case": names, "_case": everywhere, "tick": self._batch.state.tick.copy(), "_tick": everywhere}

    def _begin(self, worlds: Sequence[int], options: Mapping[str, Any] | None) -> None:
        given = self._batch.given
        self._batch.begin({w: _chosen(given, options, self._seeds[w], self._episodes[w]) for w in worlds})
        for w in worlds:
            self._episodes[w] += 1

    def _seen(self) -> Any:
        seen = {name: part.copy() for name, part in self._batch.observation.items()}
        return seen.get("features", seen)


def _chosen(cases: EgoCases, options: Mapping[str, Any] | None, seed: int, episode: int) -> int:
    wanted = (options or {}).get("case")
    return drawn_case(seed, episode, len(cases.cases)) if wanted is None else cases.number(str(wanted))


def _facts(batch: EgoBatch, w: int) -> dict[str, Any]:
    return {"case": batch.cases[w].case.id, "tick": int(batch.state.tick[w])}


def _decide(batch: EgoBatch, kind: ActionKind, actions: Any, *, bounded: bool) -> None:
    """Tell the egos of all worlds what to do; ``actions`` has a row per world."""
    here = np.flatnonzero(batch.drivers_here()).tolist()
    if kind == "accel":
        wanted = np.asarray(actions, dtype=np.float64).reshape(len(batch.cases), -1)[:, 0]
        if not np.isfinite(wanted[here]).all():
            raise UsageError("an action must be finite", where="action 'accel'", found=wanted[here].tolist()[:4])
        batch.accelerate(wanted, bounded=bounded)
        return
    for w in here:
        batch.follow(w, plan_of(kind, actions[w], batch.own_motion(w)))
