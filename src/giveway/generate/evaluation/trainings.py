"""The trainings that the learned methods of a comparison need, made where they are missing."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from giveway.core.errors import UsageError
from giveway.experiments import Progress
from giveway.experiments.specs import validated
from giveway.generate.evaluation.methods import Method
from giveway.generate.policies import check_world
from giveway.generate.spec import TrainingSpec
from giveway.generate.training import world_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodTrainings:
    """How every method is trained, so that nothing but the method differs.

    Attributes:
        folder: where trainings are looked for and made, one folder each.
        env_steps: environment steps of each training.
        seeds: trainings per method and planner.
        worlds: stepped together.
        learning: settings of learning; those of the method go before.
        weights: of the full reward that differ from the default.
    """

    folder: Path
    env_steps: int = 100_000
    seeds: int = 1
    worlds: int = 32
    learning: Mapping[str, Any] = field(default_factory=dict[str, Any])
    weights: Mapping[str, float] = field(default_factory=dict[str, float])

    def spec(self, method: Method, *, road: str, planner: str, seed: int = 0) -> TrainingSpec:
        """The training of a method against a planner."""
        values = {
            "planner": planner,
            "road": road,
            "env_steps": self.env_steps,
            "worlds": self.worlds,
            "learning": {**self.learning, **method.learning},
            "weights": self.weights,
            "score": method.score,
            "method": method.policy_name,
            "seed": seed,
            **method.world,
        }
        return validated(TrainingSpec, values, where=f"training of method {method.name}")

    def place(self, method: Method, planner: str, seed: int) -> Path:
        """Folder of one training of a method."""
        return self.folder / f"{method.policy_name}-{planner.replace(':', '-')}-{seed}"


def train_methods(
    methods: Sequence[Method],
    planners: Sequence[str],
    trainings: MethodTrainings,
    *,
    road: str,
    given: Sequence[str] = (),
    max_hours: float | None = None,
    progress: Callable[[str], Progress] | None = None,
) -> dict[str, tuple[Path, ...]]:
    """Training folders of all learned methods, finished now where they were not.

    Methods that share a training share its folders. Everything is checked before the first training begins.

    Args:
        methods: what to train; others are left out.
        planners: to train against.
        trainings: how to train, and where.
        road: of all of them.
        given: names of trainings that are not needed.
        max_hours: begin no further round after this time.
        progress: from the name of a folder to where to report; nowhere by default.

    Returns:
        ``name@planner`` to folders, as :class:`giveway.generate.spec.CampaignSpec` takes them.

    Raises:
        UsageError: worlds that cannot be made, or a training was stopped before its end.
        ConfigError: a setting of learning that is not allowed, or a folder that holds another training.
    """
    from giveway.generate.train import train

    learned: dict[str, Method] = {}
    for method in methods:
        if method.is_trained and method.policy_name not in given:
            learned.setdefault(method.policy_name, method)
    pairs = list(itertools.product(learned.values(), planners))
    for method, planner in pairs:
        check_world(world_of(trainings.spec(method, road=road, planner=planner)))
    found: dict[str, tuple[Path, ...]] = {}
    began = time.monotonic()
    for method, planner in pairs:
        places = tuple(trainings.place(method, planner, seed) for seed in range(trainings.seeds))
        for seed, place in enumerate(places):
            spec = trainings.spec(method, road=road, planner=planner, seed=seed)
            left = None if max_hours is None else max(0.0, max_hours - (time.monotonic() - began) / 3600)
            made = train(spec, place, max_hours=left, progress=None if progress is None else progress(place.name))
            if made.missing:
                raise UsageError(
                    "a training was stopped before its end",
                    where=place,
                    found=f"{made.missing} of {len(made.rounds) + made.missing} rounds are missing",
                    hint="start the same command again",
                )
        found[f"{method.policy_name}@{planner}"] = places
    return found
