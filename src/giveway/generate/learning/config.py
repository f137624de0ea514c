"""Everything that can be set about learning, with the published table as defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from giveway.core.errors import ConfigError, UnknownNameError

Algorithm = Literal["maddpg", "maddpg_discrete", "matd3", "mappo"]
NoiseKind = Literal["uniform", "gaussian", "ou", "held"]
NoiseClock = Literal["all", "vector"]


MAPPO: Mapping[str, Any] = {
    "actor_rate": 7e-4,
    "critic_rate": 7e-4,
    "noise": "held",
    "noise_scale": 0.5,
    "noise_floor": 0.1,
    "noise_decay": 0.9999995,
    "learning_starts": 0,
    "normalize_observations": True,
    "shared_actor": True,
}
"""Defaults of MAPPO from nothing, where they differ from the published table of MADDPG."""

WARM_MAPPO: Mapping[str, Any] = {
    "actor_rate": 2e-4,
    "critic_rate": 7e-4,
    "noise_scale": 0.12,
    "noise_hold": 3.0,
    "critic_first": 30,
}
"""And after a warm start: small steps around what was cloned, the critic first."""


class LearningConfig(BaseModel):
    """Settings of MADDPG, MATD3 and MAPPO; defaults are the published table of MADDPG, :data:`MAPPO` those of MAPPO.

    Attributes:
        algorithm: ``maddpg``, ``maddpg_discrete`` with six maneuvers, ``matd3`` with twin critics, delayed actors and
            smoothed targets, or ``mappo``.
        hidden: units of the hidden layers of actors and critics.
        actor_rate: learning rate of the actors.
        critic_rate: learning rate of the critics.
        gamma: discount per step.
        tau: share of the learned weights that enters the targets at each update.
        batch: transitions per update.
        buffer: transitions kept.
        update_every: environment steps per update; a step of W worlds counts W.
        learning_starts: environment steps before the first update; until then actions are uniform.
        noise: kind of exploration noise; ``held`` is an autoregressive process with the memory of ``noise_hold`` steps.
        noise_hold: h, rho = 1 - 1/h.
        noise_scale: scale at the first step; sigma of MAPPO.
        noise_decay: factor per step of the clock.
        noise_floor: smallest scale.
        noise_clock: ``all`` counts every world's step, ``vector`` counts one per step of all worlds.
        grad_clip: largest norm of an agent's gradient.
        centralized: critics see all observations and actions; without, each agent learns alone (independent DDPG).
        n_step: rewards summed before bootstrapping.
        normalize_observations: by running mean and deviation.
        normalize_rewards: by the running deviation.
        shared_actor: one actor for all cars, told which car it drives.
        warm_steps: environment steps driven by a demonstrator before learning; the actors begin as its clones.
        clone_parts: in all parts of the warm start but the first, the clones drive half of the worlds, so that they
            learn to mend their own mistakes; the last part fills the replay.
        clone_rate: highest learning rate of the cloning, which rises and falls.
        clone_updates: updates of that cloning.
        imitation: weight of the squared distance to the demonstrator in the loss of the actors, whose values are then
            scaled by their mean size; 0 leaves the demonstrator behind. Needs ``warm_steps``.
        critic_first: updates in which only the critics learn, so that untrained critics do not spoil cloned actors.
        policy_delay: MATD3, critic updates per actor update.
        target_noise: MATD3, deviation of the noise on target actions.
        target_noise_clip: MATD3, bound of that noise.
        rollout: MAPPO, steps of all worlds between two iterations.
        minibatch: MAPPO, rows (a step of a world) per update.
        epochs: MAPPO, over a rollout, at most.
        max_kl: MAPPO, no further epoch after a larger mean divergence.
        ratio_clip: MAPPO, bound of the ratio of probabilities.
        gae_lambda: MAPPO, decay of generalized advantages.
        rate_steps: MAPPO, environment steps over which the learning rates fall to a tenth.
        logit_penalty: MAPPO, weight of the mean square of the actor's output before tanh.

    Reference:
        Lowe et al. 2017 (MADDPG); Ackermann et al. 2019 (MATD3); Fujimoto et al. 2018 (TD3). Layers, rates, noise and
        its decay from the supplement of SANDWICH; discount, target rate, batch and update interval from its artefact.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    algorithm: Algorithm = "maddpg"
    hidden: tuple[Annotated[int, Field(ge=1, le=8192)], ...] = Field(default=(128, 128), min_length=1)
    actor_rate: float = Field(default=1e-3, gt=0, le=1)
    critic_rate: float = Field(default=1e-3, gt=0, le=1)
    gamma: float = Field(default=0.99, ge=0, lt=1)
    tau: float = Field(default=0.01, gt=0, le=1)
    batch: int = Field(default=256, ge=1)
    buffer: int = Field(default=1_000_000, ge=1)
    update_every: int = Field(default=10, ge=1)
    learning_starts: int = Field(default=1_000, ge=0)
    noise: NoiseKind = "uniform"
    noise_hold: float = Field(default=5.0, ge=1)
    noise_scale: float = Field(default=0.75, ge=0)
    noise_decay: float = Field(default=0.999995, gt=0, le=1)
    noise_floor: float = Field(default=0.01, ge=0)
    noise_clock: NoiseClock = "all"
    grad_clip: float = Field(default=0.5, gt=0)
    centralized: bool = True
    n_step: int = Field(default=1, ge=1, le=20)
    normalize_observations: bool = False
    normalize_rewards: bool = False
    shared_actor: bool = False
    warm_steps: int = Field(default=0, ge=0)
    clone_parts: int = Field(default=8, ge=1, le=100)
    clone_rate: float = Field(default=2e-3, gt=0, le=1)
    clone_updates: int = Field(default=40_000, ge=0)
    imitation: float = Field(default=0.0, ge=0)
    critic_first: int = Field(default=0, ge=0)
    policy_delay: int = Field(default=2, ge=1)
    target_noise: float = Field(default=0.2, ge=0)
    target_noise_clip: float = Field(default=0.5, ge=0)
    rollout: int = Field(default=64, ge=1, le=10_000)
    minibatch: int = Field(default=8192, ge=1)
    epochs: int = Field(default=3, ge=1, le=100)
    max_kl: float = Field(default=0.05, gt=0)
    ratio_clip: float = Field(default=0.2, gt=0, lt=1)
    gae_lambda: float = Field(default=0.95, ge=0, le=1)
    rate_steps: int = Field(default=2_000_000, ge=1)
    logit_penalty: float = Field(default=1e-3, ge=0)

    @model_validator(mode="after")
    def _has_somebody_to_imitate(self) -> Self:
        if self.imitation and not self.warm_steps:
            raise ConfigError(
                "nobody drives who could be imitated",
                where="imitation",
                found=f"imitation = {self.imitation:g}, warm_steps = 0",
                hint="set warm_steps, e.g. 100000, or imitation to 0",
            )
        return self

    @property
    def is_discrete(self) -> bool:
        """Whether cars choose among maneuvers."""
        return self.algorithm == "maddpg_discrete"

    @property
    def num_critics(self) -> int:
        """Critics per agent."""
        return 2 if self.algorithm == "matd3" else 1

    @staticmethod
    def of(values: Mapping[str, Any], *, where: str = "", warm: bool = False) -> LearningConfig:
        """From plain values; ``warm`` if the training begins with actors that have learned before.

        Raises:
            UnknownNameError: a setting that does not exist.
            ConfigError: a value out of range, or values that contradict one another.
        """
        for name in values:
            if name not in LearningConfig.model_fields:
                raise UnknownNameError("learning setting", name, LearningConfig.model_fields, where=where)
        base: Mapping[str, Any] = MAPPO if values.get("algorithm") == "mappo" else {}
        if base and (warm or values.get("warm_steps")):
            base = {**base, **WARM_MAPPO}
        try:
            return LearningConfig(**{**base, **values})
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            raise ConfigError(
                f"a learning setting does not validate: {first['msg']}",
                where=f"{where} {field}".strip(),
                found=repr(first["input"])[:100],
            ) from error
