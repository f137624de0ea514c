"""The training loop: step all worlds, remember, update, and tell how it goes.

Training advances in rounds. Each round starts with fresh worlds and its own random streams, so that a training that
was killed goes on from its last round exactly as if it had not been.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from giveway.core.arrays import BoolArray, IntArray
from giveway.core.errors import UsageError
from giveway.core.seeds import seed_for, stream
from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.demonstrations import Demonstrations
from giveway.generate.learning.maddpg import Losses, MultiAgentLearner, gumbel, one_hot
from giveway.generate.learning.mappo import PpoLearner
from giveway.generate.learning.noise import Noise, noise_scale
from giveway.generate.learning.policy import CHOICES, Float32Array, Policy, PolicyInfo
from giveway.generate.learning.replay import Accumulator, Batch, ReplayBuffer, Shape
from giveway.generate.learning.rounds import RoundReport
from giveway.generate.learning.statistics import RunningStatistics
from giveway.generate.protocol import GRADES, Outcome, Transition, VectorWorlds

if TYPE_CHECKING:
    from giveway.generate.learning.warm_start import Demonstrator

MAX_SEED = 2**31 - 1
KNOWN_STEPS = 1e6
"""Steps that the units of a policy count for which a training begins with: actors know no other units."""
SATURATED = 0.95
"""Actions beyond this magnitude count as saturated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Sent after every step of the worlds, for a live line.

    Attributes:
        steps: environment steps so far.
        updates: so far.
        noise: scale of the exploration.
        episodes: finished in this round.
        mean_return: of the finished ones; NaN without any.
        stage: ``learning``, or before it ``watching`` the demonstrator or ``cloning`` it.
    """

    steps: int
    updates: int
    noise: float
    episodes: int
    mean_return: float
    stage: str = "learning"


class Training:
    """A training under way.

    Args:
        worlds: what to learn in.
        config: settings.
        seed: root of all random streams.
        steps: environment steps it is meant to reach; bounds the memory of the replay.
        world: name and version of the observation, kept in the policy.
        made: further facts for the policy file.
        demonstrator: drives the first ``warm_steps`` steps.

    Raises:
        UsageError: a warm start without demonstrator.
    """

    def __init__(
        self,
        worlds: VectorWorlds,
        config: LearningConfig,
        *,
        seed: int,
        steps: int,
        world: str = "",
        made: Mapping[str, Any] | None = None,
        demonstrator: Demonstrator | None = None,
    ) -> None:
        if config.is_discrete != bool(worlds.n_actions) or (config.is_discrete and config.warm_steps):
            raise UsageError(
                "maddpg_discrete learns maneuvers from nothing, the other learners continuous actions",
                where="algorithm",
                found=config.algorithm,
                hint="actions = maneuvers and no warm_steps, or another algorithm",
            )
        if config.warm_steps and demonstrator is None:
            raise UsageError("a warm start needs somebody to imitate", where="warm_steps", found=config.warm_steps)
        self.demonstrator = demonstrator
        self.worlds, self.config, self.seed, self.world = worlds, config, seed, world
        self.made = dict(made or {})
        action = len(CHOICES) if config.is_discrete else worlds.action_size
        self.shape = Shape(cars=worlds.n_cars, observation=worlds.observation_size, action=action)
        weights = torch.Generator().manual_seed(seed_for(seed, "weights") % 2**63)
        none = np.zeros((worlds.n_worlds, 0), dtype=np.float32)
        self.contexts: Float32Array = getattr(worlds, "contexts", none)
        """(W, c) what only a critic on policy is told about each world."""
        self.learner: PpoLearner | MultiAgentLearner = (
            PpoLearner(self.shape, config, weights, self.contexts.shape[1])
            if config.algorithm == "mappo"
            else MultiAgentLearner(self.shape, config, weights)
        )
        self.buffer = ReplayBuffer(self.shape, max(min(config.buffer, steps + worlds.n_worlds), config.batch))
        self.observed = RunningStatistics((self.shape.cars, self.shape.observation))
        self.rewarded = RunningStatistics((self.shape.cars,))
        self.demonstrations: Demonstrations | None = None
        self.steps = self.rounds = self.owed = 0

    def policy(self) -> Policy:
        """The actors as they are now."""
        info = PolicyInfo(
            cars=self.shape.cars,
            observation=self.shape.observation,
            action=self.shape.action,
            world=self.world,
            hidden=self.config.hidden,
            shared=self.config.shared_actor,
            steps=self.steps,
            seed=self.seed,
            made=self.made,
        )
        mean, deviation = self.scaling()
        return Policy(info, self.learner.actor.theta.detach().numpy().copy(), mean, deviation)

    def begin_as(self, policy: Policy) -> None:
        """Begin with the actors of a policy and with its units of observations.

        Raises:
            UsageError: the policy has actors of another shape.
        """
        config, info = self.config, policy.info
        policy.check(
            cars=self.shape.cars, observation=self.shape.observation, action=self.shape.action, world=self.world
        )
        there, asked = (info.hidden, info.shared), (config.hidden, config.shared_actor)
        if there != asked or not config.normalize_observations:
            raise UsageError(
                "the actors of the policy do not fit the settings of learning",
                where="policy",
                found=f"hidden, shared_actor = {there}, asked for {asked}",
                hint="leave hidden and shared_actor out, and set normalize_observations=true",
            )
        with torch.no_grad():
            self.learner.actor.theta.copy_(torch.from_numpy(policy.theta))
            self.learner.actor.target.copy_(self.learner.actor.theta)
        self.observed.count, self.observed.mean = KNOWN_STEPS, policy.mean.astype(np.float64)
        self.observed.squares = KNOWN_STEPS * policy.deviation.astype(np.float64) ** 2

    def run_round(self, steps: int, on_tick: Callable[[Tick], None] | None = None) -> RoundReport:
        """Advance by at least ``steps`` environment steps, in whole steps of all worlds."""
        goal = self.steps + steps
        if self.steps == 0 and self.demonstrator is not None and self.config.warm_steps:
            from giveway.generate.learning.warm_start import warm_start

            warm_start(self, self.demonstrator, on_tick)
        self.rounds += 1
        round_ = self._round(on_tick)
        while self.steps < goal:
            round_.step()
        return round_.report()

    def _round(self, on_tick: Callable[[Tick], None] | None) -> RoundBase:
        if self.config.algorithm != "mappo":
            return _Round(self, on_tick)
        from giveway.generate.learning.on_policy import OnPolicyRound

        return OnPolicyRound(self, on_tick)

    def scaling(self) -> tuple[Float32Array, Float32Array]:
        """(k, o) mean and deviation of the observations; 0 and 1 if they are taken as they are."""
        shape = (self.shape.cars, self.shape.observation)
        if not self.config.normalize_observations:
            return np.zeros(shape, dtype=np.float32), np.ones(shape, dtype=np.float32)
        return self.observed.mean.astype(np.float32), self.observed.deviation.astype(np.float32)

    def scaled(self, batch: Batch) -> Batch:
        """The batch in the units the networks see."""
        if not (self.config.normalize_observations or self.config.normalize_rewards):
            return batch
        mean, deviation = (torch.from_numpy(a) for a in self.scaling())
        unit = self.rewarded.deviation.astype(np.float32) if self.config.normalize_rewards else np.float32(1)
        return Batch(
            observations=(batch.observations - mean) / deviation,
            actions=batch.actions,
            rewards=batch.rewards / torch.as_tensor(unit),
            discounts=batch.discounts,
            active=batch.active,
            next_observations=(batch.next_observations - mean) / deviation,
        )


class RoundBase(ABC):
    """Everything that lives for one round only.

    Attributes:
        observations: (W, k, o) what the cars see now.
        scale: of the noise.
    """

    def __init__(self, training: Training, on_tick: Callable[[Tick], None] | None) -> None:
        self.training, self.on_tick = training, on_tick
        worlds, config, n = training.worlds, training.config, training.rounds
        self.rng = stream(training.seed, "explore", n)
        self.noise = Noise(config, (worlds.n_worlds, worlds.n_cars, training.shape.action), self.rng)
        self.resets = 0
        self.observations = self._reset(None)
        self.returns = np.zeros((worlds.n_worlds, worlds.n_cars))
        self.finished: list[float] = []
        self.outcomes: dict[str, int] = {}
        self.grades: dict[str, int] = {}
        self.weights = np.array(list(worlds.term_weights.values()))
        self.terms = np.zeros(self.weights.size)
        self.saturated = self.acted = 0
        self.scale = 0.0

    @abstractmethod
    def step(self) -> None:
        """One step of all worlds, and the learning that is due."""

    @abstractmethod
    def report(self) -> RoundReport:
        """How the round went."""

    def noise_scale(self) -> float:
        """Scale of the noise now."""
        training, config = self.training, self.training.config
        return noise_scale(
            training.steps if config.noise_clock == "all" else training.steps // training.worlds.n_worlds, config
        )

    def scaled(self, observations: Float32Array) -> Tensor:
        """In the units the networks see."""
        x = torch.from_numpy(observations)
        if not self.training.config.normalize_observations:
            return x
        mean, deviation = (torch.from_numpy(a) for a in self.training.scaling())
        return (x - mean) / deviation

    def drive(self, actions: Float32Array) -> Transition:
        """Move all worlds, keep account, start finished worlds again."""
        training = self.training
        asked = np.array(CHOICES)[actions.argmax(axis=2)] if training.config.is_discrete else actions.astype(np.float64)
        moved = training.worlds.step(asked)
        done = moved.done
        self.returns += moved.rewards * moved.active
        self.terms += moved.terms[..., : self.weights.size].sum(axis=(0, 1)) * self.weights
        self.saturated += int((np.abs(actions[moved.active]) > SATURATED).sum())
        self.acted += actions[moved.active].size
        self._finish(done, moved.outcome, moved.grade)
        self.observations = self._reset(done) if done.any() else moved.observations
        training.steps += training.worlds.n_worlds
        return moved

    def tell(self) -> None:
        """A word of progress."""
        if self.on_tick is not None:
            self.on_tick(
                Tick(
                    steps=self.training.steps,
                    updates=self.training.learner.updates,
                    noise=self.scale,
                    episodes=len(self.finished),
                    mean_return=mean_of(self.finished),
                )
            )

    def summary(self, *, critic_loss: float, value: float, learning: Mapping[str, float]) -> RoundReport:
        """The report, with what the learner says."""
        training = self.training
        return RoundReport(
            round=training.rounds,
            steps=training.steps,
            updates=training.learner.updates,
            episodes=len(self.finished),
            mean_return=mean_of(self.finished),
            noise=self.scale,
            critic_loss=critic_loss,
            value=value,
            outcomes=dict(sorted(self.outcomes.items())),
            grades=dict(sorted(self.grades.items())),
            terms=self._terms_per_episode(),
            saturation=self.saturated / self.acted if self.acted else float("nan"),
            learning=learning,
        )

    def _terms_per_episode(self) -> dict[str, float]:
        """Weighted sum of each term per finished episode and car; what the round's open episodes got is shared out."""
        names, share = self.training.worlds.term_weights, max(len(self.finished), 1) * self.training.worlds.n_cars
        return {name: float(value) / share for name, value in zip(names, self.terms, strict=True)}

    def _finish(self, done: BoolArray, codes: IntArray, grades: IntArray) -> None:
        if not done.any():
            return
        self.finished += self.returns[done].mean(axis=1).tolist()
        for code, count in zip(*np.unique(codes[done], return_counts=True), strict=True):
            name = Outcome(code).name.lower()
            self.outcomes[name] = self.outcomes.get(name, 0) + int(count)
        for code, count in zip(*np.unique(grades[done & (grades > 0)], return_counts=True), strict=True):
            name = str(GRADES[code])
            self.grades[name] = self.grades.get(name, 0) + int(count)
        self.returns[done] = 0.0
        self.noise.restart(done)

    def _reset(self, done: BoolArray | None) -> Float32Array:
        seed = seed_for(self.training.seed, "reset", self.training.rounds, self.resets) % MAX_SEED
        self.resets += 1
        return np.ascontiguousarray(self.training.worlds.reset(seed=seed, worlds=done), dtype=np.float32)


class _Round(RoundBase):
    """A round of MADDPG or MATD3, which learn from a replay."""

    def __init__(self, training: Training, on_tick: Callable[[Tick], None] | None) -> None:
        super().__init__(training, on_tick)
        assert isinstance(training.learner, MultiAgentLearner)
        self.learner = training.learner
        self.sampler = torch.Generator().manual_seed(seed_for(training.seed, "sample", training.rounds) % 2**63)
        self.memory = Accumulator(
            training.shape, training.worlds.n_worlds, training.config.n_step, training.config.gamma
        )
        self.losses: list[Losses] = []

    def step(self) -> None:
        training, config = self.training, self.training.config
        seen, actions = self.observations, self._explore()
        moved = self.drive(actions)
        records = self.memory.push(
            seen, actions, moved.rewards, moved.terminated, moved.active, moved.observations, moved.done
        )
        training.buffer.add(records)
        if config.normalize_observations:
            training.observed.add(seen)
        if config.normalize_rewards:
            training.rewarded.add(moved.rewards)
        self._learn()
        self.tell()

    def _explore(self) -> Float32Array:
        training, config = self.training, self.training.config
        worlds = training.worlds
        self.scale = self.noise_scale()
        if training.steps < config.learning_starts:
            shape = (worlds.n_worlds, worlds.n_cars, training.shape.action)
            drawn = self.rng.uniform(-1.0, 1.0, shape).astype(np.float32)
            return one_hot(torch.from_numpy(drawn)).numpy() if config.is_discrete else drawn
        with torch.no_grad():
            out = self.learner.act(self.scaled(self.observations)).transpose(0, 1)
            if config.is_discrete:
                return one_hot(out + gumbel(out.shape, self.sampler)).numpy()
            chosen = out.numpy()
        return np.clip(chosen + self.noise.draw(self.scale), -1.0, 1.0).astype(np.float32)

    def _learn(self) -> None:
        training, config = self.training, self.training.config
        if training.steps < config.learning_starts or len(training.buffer) < config.batch:
            return
        training.owed += training.worlds.n_worlds
        while training.owed >= config.update_every:
            batch = training.scaled(training.buffer.sample(config.batch, self.sampler))
            self.losses.append(self.learner.update(batch, self.sampler, self._demonstrated()))
            training.owed -= config.update_every

    def _demonstrated(self) -> Demonstrations | None:
        training = self.training
        if training.demonstrations is None or not self.learner.updates_actors_next:
            return None
        mean, deviation = (torch.from_numpy(a) for a in training.scaling())
        return training.demonstrations.sample(training.config.batch, self.sampler).scaled(mean, deviation)

    def report(self) -> RoundReport:
        critic = [float(loss.critic.mean()) for loss in self.losses]
        value = [float(loss.value.mean()) for loss in self.losses if loss.value is not None]
        learning = {"td_error": mean_of(critic) ** 0.5} if critic else {}
        return self.summary(critic_loss=mean_of(critic), value=mean_of(value), learning=learning)


def mean_of(values: Sequence[float]) -> float:
    """Mean, NaN of nothing."""
    return float(np.mean(values)) if values else float("nan")
