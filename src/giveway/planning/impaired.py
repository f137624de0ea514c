"""Planners that fail, as test subjects: any planner that sees late, with errors, or not far enough.

A generator of failures is believed if it finds those of an ego that has some. Each class here drives like the planner
it wraps but sees the other cars wrongly; it always knows its own car. ``--planner delayed`` wraps the lattice,
``--planner delayed:idm`` any other planner by its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.planning.builtin import LatticePlanner
from giveway.planning.profiles import CHECK_STEPS, ROW_CAR
from giveway.planning.protocol import Answer, Episode, Planner, PlannerInfo, Situation

if TYPE_CHECKING:
    from pathlib import Path

DELAY_S = 1.0
"""Age of what the delayed planner sees; the design asks for 0.5 to 1.5 s."""
POSITION_SD_M, SPEED_SD_MPS = 0.3, 0.5
"""Deviations of the errors of the noisy planner, per axis, drawn anew at each tick."""
HORIZON_S = 2.0
"""How far the short-sighted planner looks ahead."""
MODE_STEP_S = 0.2
"""Time between two predicted states of a situation."""


class Impaired(ABC):
    """A planner that is shown something else than what is there.

    Args:
        planner: the planner that decides; the lattice if None.
    """

    name: str
    title: str
    faults: Mapping[str, float]

    def __init__(self, planner: Planner | None = None) -> None:
        self.planner: Any = planner or LatticePlanner()

    @classmethod
    def load(cls, name: Path) -> Self:
        """The same around another planner, by its name."""
        from giveway.planning import make_planner

        return cls(make_planner(str(name)))

    @property
    def info(self) -> PlannerInfo:
        """Fact sheet: that of the wrapped planner with what is wrong about it."""
        inner: PlannerInfo = self.planner.info
        plain = type(self.planner) is LatticePlanner
        return PlannerInfo(
            name=self.name if plain else f"{self.name}:{inner.name}",
            title=f"{self.title} {inner.title}",
            version=f"1.{inner.version}",
            uses_predictions=inner.uses_predictions,
            parameters={**inner.parameters, **self.faults},
        )

    def reset(self, episode: Episode) -> None:
        """An episode begins."""
        if hasattr(self.planner, "reset"):
            self.planner.reset(episode)

    def plan(self, situation: Situation) -> Answer:
        """What the wrapped planner does about what it is shown."""
        return self.planner.plan(self.seen(situation))

    @abstractmethod
    def seen(self, situation: Situation) -> Situation:
        """What the planner is shown."""


class DelayedPlanner(Impaired):
    """Sees other cars as they were one second ago, itself as it is: a planner with latency, to test generators."""

    name, title, faults = "delayed", "delayed", MappingProxyType({"delay_s": DELAY_S})

    def __init__(self, planner: Planner | None = None) -> None:
        super().__init__(planner)
        self._past: deque[Situation] = deque()

    def reset(self, episode: Episode) -> None:
        """Forget what was seen."""
        super().reset(episode)
        self._past = deque(maxlen=round(DELAY_S / episode.dt_s) + 1)

    def seen(self, situation: Situation) -> Situation:
        """Others of the oldest situation that is remembered; at the beginning of an episode, of its first one."""
        self._past.append(situation)
        old = self._past[0]
        states = old.states.copy()
        states[situation.own] = situation.states[situation.own]
        return replace(
            situation,
            states=states,
            present=old.present,
            mode_states=old.mode_states,
            mode_facts=old.mode_facts,
            history=old.history,
            history_present=old.history_present,
        )


class NoisyPlanner(Impaired):
    """Sees other cars with errors of 0.3 m and 0.5 m/s, drawn at each tick: bad perception, to test generators."""

    name, title = "noisy", "noisy"
    faults = MappingProxyType({"position_sd_m": POSITION_SD_M, "speed_sd_mps": SPEED_SD_MPS})

    def __init__(self, planner: Planner | None = None) -> None:
        super().__init__(planner)
        self._rng = np.random.default_rng(0)

    def reset(self, episode: Episode) -> None:
        """Errors are drawn from the seed of the episode."""
        super().reset(episode)
        self._rng = np.random.default_rng(episode.seed)

    def seen(self, situation: Situation) -> Situation:
        """Shift each car, and let it drive faster or slower: now, and in what is predicted of it."""
        errors = self._rng.standard_normal((len(situation.states), 3)) * (POSITION_SD_M, POSITION_SD_M, SPEED_SD_MPS)
        errors[situation.own] = 0.0
        states = situation.states.copy()
        states[:, :3] += errors
        states[:, 2] = np.maximum(states[:, 2], 0.0)
        of_mode = errors[situation.mode_facts[:, ROW_CAR].astype(np.int64)]
        modes = situation.mode_states.copy()
        ahead: FloatArray = MODE_STEP_S * np.arange(1, CHECK_STEPS + 1) * of_mode[:, 2:]
        modes[..., :2] += of_mode[:, None, :2] + ahead[..., None] * modes[..., 2:]
        return replace(situation, states=states, mode_states=modes)


class ShortSightedPlanner(Impaired):
    """Looks ahead for two seconds: no farther predictions, no cars farther than it drives in that time."""

    name, title, faults = "short_sighted", "short-sighted", MappingProxyType({"horizon_s": HORIZON_S})

    def seen(self, situation: Situation) -> Situation:
        """Cut what is predicted, leave out who is far."""
        modes = situation.mode_states.copy()
        modes[:, round(HORIZON_S / MODE_STEP_S) :] = np.nan
        own = situation.states[situation.own, :2]
        away = np.hypot(*(situation.states[:, :2] - own).T)
        near = away <= HORIZON_S * situation.desired_speed_mps + situation.size_m[0]
        facts_near = near[situation.mode_facts[:, ROW_CAR].astype(np.int64)]
        return replace(
            situation,
            present=situation.present & near,
            mode_states=modes[facts_near],
            mode_facts=situation.mode_facts[facts_near],
        )
