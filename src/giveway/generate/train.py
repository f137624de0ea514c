"""Traffic that learns against a planner, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from giveway.core.errors import MissingDependencyError, UnknownNameError
from giveway.experiments.specs import validated
from giveway.generate.worlds import WorldSettings
from giveway.reports.results import Results

if TYPE_CHECKING:
    from giveway.generate.learning.session import TrainingResult
    from giveway.generate.learning.training import RoundReport, Tick


class TrainingSpec(BaseModel):
    """What to learn.

    Attributes:
        planner: planner that the cars learn against.
        road: name, or a lanelet2 map.
        cars: learning cars, 1 to 4.
        traffic: bystanders, 0 to 12.
        env_steps: environment steps.
        algorithm: ``maddpg`` or ``matd3``.
        reward: ``full``, or ``legacy`` for the published one.
        actions: ``lateral`` (pedal, lateral speed) or ``steering``.
        observation: ``relative``, or ``artefact`` for the published one.
        ticks: longest episode, 0.1 s each.
        worlds: stepped together.
        round_steps: environment steps between checkpoints.
        learning: settings of learning that differ from their defaults, e.g. ``gamma``.
        weights: weights of the reward that differ from their defaults.
        prior: file that says how people drive; the shipped one if None.
        keep_replay: keep the replay, so that the training can be extended later.
        seed: root of all random streams.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    planner: str = "lattice"
    road: str = "straight"
    cars: int = 3
    traffic: int = 0
    env_steps: int = Field(default=500_000, ge=1, le=1_000_000_000)
    algorithm: str = "maddpg"
    reward: str = "full"
    actions: str = "lateral"
    observation: str = "relative"
    ticks: int = Field(default=150, ge=10, le=2000)
    worlds: int = Field(default=32, ge=1, le=4096)
    round_steps: int = Field(default=25_000, ge=100)
    learning: Mapping[str, Any] = Field(default_factory=dict)
    weights: Mapping[str, float] = Field(default_factory=dict)
    prior: Path | None = None
    keep_replay: bool = False
    seed: int = 0


def train_traffic(
    out: Path | str,
    *,
    planner: str = "lattice",
    algorithm: Literal["maddpg", "matd3"] = "maddpg",
    road: str = "straight",
    cars: int = 3,
    env_steps: int = 500_000,
    max_rounds: int | None = None,
    max_hours: float | None = None,
    **settings: Any,
) -> Results:
    """Train cars that make a planner fail; killed at any moment, the same call goes on.

    Args:
        out: training folder; ``policy.safetensors`` in it is the best policy so far.
        planner: planner that the cars learn against.
        algorithm: how they learn.
        road: ``straight``, ``merge``, ``roundabout``, ``four_way`` or the path of a lanelet2 map.
        cars: learning cars, 1 to 4.
        env_steps: environment steps to reach.
        max_rounds: stop after this many rounds now.
        max_hours: begin no further round after this time.
        settings: other fields of :class:`TrainingSpec`, e.g. ``worlds=16, learning={"gamma": 0.95}``.

    Raises:
        ConfigError: a setting that does not exist, or the folder holds a training with other settings.
        MissingDependencyError: without PyTorch.
    """
    given = {"planner": planner, "algorithm": algorithm, "road": road, "cars": cars, "env_steps": env_steps}
    spec = validated(TrainingSpec, {**given, **settings}, where="train_traffic")
    train(spec, Path(out), max_rounds=max_rounds, max_hours=max_hours)
    return Results.open(out)


def train(
    spec: TrainingSpec,
    out: Path,
    *,
    on_tick: Callable[[Tick], None] | None = None,
    on_round: Callable[[RoundReport], None] | None = None,
    max_rounds: int | None = None,
    max_hours: float | None = None,
) -> TrainingResult:
    """Train what a specification says, going on from the last checkpoint in the folder."""
    try:
        from giveway.generate.learning.config import LearningConfig
        from giveway.generate.training import train_cars, weights_for
    except ImportError as error:
        raise MissingDependencyError("torch", extra="generate", purpose="training") from error
    from giveway.generate.environment.arrays import RewardWeights
    from giveway.generate.evaluation.methods import SCORE

    for name in spec.weights:
        if name not in RewardWeights._fields:
            raise UnknownNameError("weight of the reward", name, RewardWeights._fields, where="weights")
    config = LearningConfig.of({"algorithm": spec.algorithm, **spec.learning}, where="--set")
    kind: Any = {
        "actions": spec.actions,
        "observation": spec.observation,
        "reward": spec.reward,
        "weights": weights_for(config, spec.weights),
    }
    settings = WorldSettings(
        road=spec.road,
        ego=spec.planner,
        cars=spec.cars,
        traffic=spec.traffic,
        steps=spec.ticks,
        prior=spec.prior,
        **kind,
    )
    return train_cars(
        settings,
        config,
        out,
        worlds=spec.worlds,
        steps=spec.env_steps,
        score=SCORE,
        seed=spec.seed,
        made={"algorithm": config.algorithm},
        round_steps=spec.round_steps,
        keep_replay=spec.keep_replay,
        on_tick=on_tick,
        on_round=on_round,
        max_rounds=max_rounds,
        max_hours=max_hours,
    )
