"""One world whose cars act from outside, behind PettingZoo's parallel interface, for learners of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from giveway.core.seeds import seed_for
from giveway.sim.state import State

Seen = NDArray[np.float32]

BOUND = 100.0
"""Of every number in an observation."""


class ActingCars(Protocol):
    """Worlds with learning cars, of which the first is shown; rewards and observations are theirs."""

    @property
    def n_cars(self) -> int:
        """Number of learning cars."""
        ...

    @property
    def n_actions(self) -> int | None:
        """Number of discrete actions; None with continuous ones."""
        ...

    @property
    def observation_size(self) -> int:
        """Numbers that a car sees."""
        ...

    @property
    def state(self) -> State:
        """Of the simulator."""
        ...

    def reset(self, scenes: Any = None, *, seed: int) -> Seen:
        """Begin an episode; (1, k, n) what the cars see."""
        ...

    def step(self, actions: Any) -> Any:
        """Move by 0.1 s; observations, rewards, terminated and truncated of what follows."""
        ...

    def close(self) -> None:
        """End helper processes."""
        ...


class TrafficEnv(ParallelEnv[str, Seen, Any]):
    """Learning cars ``car1`` to ``carK`` around an ego.

    Args:
        worlds: one world; ``giveway.generate.worlds.traffic_env`` makes both.
        facts: what the info of a step tells about what follows it.
    """

    metadata = {"name": "giveway_traffic_v1", "render_modes": [], "is_parallelizable": True}  # noqa: RUF012

    def __init__(self, worlds: ActingCars, facts: Callable[[Any], Mapping[str, Any]]) -> None:
        self.worlds = worlds
        self._facts = facts
        self.render_mode = None
        self.possible_agents = [f"car{i + 1}" for i in range(self.worlds.n_cars)]
        self.agents: list[str] = []
        seen = Box(-BOUND, BOUND, (self.worlds.observation_size,), np.float32)
        discrete = self.worlds.n_actions
        self.observation_spaces: dict[str, Space[Any]] = dict.fromkeys(self.possible_agents, seen)
        self.action_spaces: dict[str, Space[Any]] = {
            agent: Discrete(discrete) if discrete else Box(-1.0, 1.0, (2,), np.float32)
            for agent in self.possible_agents
        }
        self._seed = 0
        self._episode = 0

    def observation_space(self, agent: str) -> Space[Any]:
        """What a car may see."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """What a car may do."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, dict[str, Any]]]:
        """Begin an episode; ``options["scenes"]`` may hold where it starts, as the worlds take it."""
        if seed is not None:
            self._seed, self._episode = seed, 0
        scenes = (options or {}).get("scenes")
        number = seed_for(self._seed, "episode", self._episode)
        self._episode += 1
        self.agents = list(self.possible_agents)
        seen = self.worlds.reset(scenes, seed=number)
        return self._each(seen[0]), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Move the world by 0.1 s."""
        size = () if self.worlds.n_actions else (2,)
        all_actions = np.zeros((1, len(self.possible_agents), *size))
        for agent, action in actions.items():
            all_actions[0, self.possible_agents.index(agent)] = action
        after = self.worlds.step(all_actions)
        rows = {agent: self.possible_agents.index(agent) for agent in self.agents}
        seen = self._each(after.observations[0])
        rewards = {agent: float(after.rewards[0, row]) for agent, row in rows.items()}
        truncated = {agent: bool(after.truncated[0]) for agent in rows}
        terminated = {agent: bool(after.terminated[0, row]) and not truncated[agent] for agent, row in rows.items()}
        facts = self._facts(after)
        infos = {agent: dict(facts) for agent in rows}
        self.agents = [a for a in self.agents if not (terminated[a] or truncated[a])]
        return seen, rewards, terminated, truncated, infos

    def state(self) -> Seen:
        """Everything that all cars see, in one row, for centralised critics."""
        return self.worlds.state.car[0].astype(np.float32).ravel()

    def render(self) -> None:
        """Nothing: episodes are drawn from their tracks, see docs/generate/environment.md."""

    def close(self) -> None:
        """End helper processes."""
        self.worlds.close()

    def _each(self, seen: Seen) -> dict[str, Seen]:
        return {
            agent: np.clip(seen[self.possible_agents.index(agent)], -BOUND, BOUND).astype(np.float32)
            for agent in self.agents
        }
