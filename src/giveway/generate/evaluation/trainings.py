"""The trainings that the learned methods of a comparison need, made where they are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveway.generate.evaluation.methods import Method
from giveway.generate.learning.config import LearningConfig
from giveway.generate.policies import POLICY_FILE
from giveway.generate.training import train_cars, weights_for
from giveway.generate.worlds import WorldSettings

if TYPE_CHECKING:
    from giveway.generate.learning.training import RoundReport, Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOrder:
    """How every method is trained, so that nothing but the method differs.

    Attributes:
        folder: where trainings are looked for and made, one folder each.
        steps: environment steps of each training.
        seeds: trainings per method and planner.
        worlds: stepped together.
        learning: settings of learning; those of the method go before.
        weights: of the full reward that differ from the default; see :func:`giveway.generate.training.weights_for`.
    """

    folder: Path
    steps: int = 100_000
    seeds: int = 1
    worlds: int = 32
    learning: Mapping[str, Any] = field(default_factory=dict[str, Any])
    weights: Mapping[str, float] = field(default_factory=dict[str, float])

    def config(self, method: Method) -> LearningConfig:
        """Settings of learning for a method.

        Raises:
            UnknownNameError: a setting that does not exist.
            ConfigError: a value out of range.
        """
        return LearningConfig.of({**self.learning, **method.learning}, where="--set")

    def world(self, method: Method, settings: WorldSettings, *, ego: str) -> WorldSettings:
        """In which a method is trained, from the worlds of the comparison."""
        weights = weights_for(self.config(method), self.weights)
        return replace(method.world_of(settings, ego), weights=weights)

    def place(self, method: Method, ego: str, seed: int) -> Path:
        """Folder of one training of a method."""
        return self.folder / f"{method.policy_name}-{ego.replace(':', '-')}-{seed}"


def trained(
    method: Method,
    settings: WorldSettings,
    order: TrainingOrder,
    *,
    ego: str,
    seed: int,
    on_tick: Callable[[Tick], None] | None = None,
    on_round: Callable[[RoundReport], None] | None = None,
) -> Path:
    """The policy file of a training, finished now if it was not.

    Args:
        method: what to train.
        settings: of the worlds of the comparison.
        order: how to train, and where.
        ego: planner to train against.
        seed: of the training.
        on_tick: told after every step.
        on_round: told after every round.

    Raises:
        ConfigError: the folder holds another training.
    """
    folder = order.place(method, ego, seed)
    train_cars(
        order.world(method, settings, ego=ego),
        order.config(method),
        folder,
        worlds=order.worlds,
        steps=order.steps,
        score=method.score,
        seed=seed,
        made={"method": method.name},
        on_tick=on_tick,
        on_round=on_round,
    )
    return folder / POLICY_FILE
