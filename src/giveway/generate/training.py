"""Cars that learn against a planner: worlds, evaluation and demonstrations of a training, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveway.core.errors import UsageError
from giveway.generate.drivers.cutting_in import CutInDriver
from giveway.generate.environment.arrays import RewardWeights
from giveway.generate.evaluation.training_measures import policy_evaluation
from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.session import TrainingPlan, TrainingResult, run_training
from giveway.generate.policies import world_name
from giveway.generate.worlds import Worlds, WorldSettings

if TYPE_CHECKING:
    from giveway.generate.learning.training import RoundReport, Tick


def weights_for(config: LearningConfig, given: Mapping[str, float]) -> RewardWeights:
    """Weights of the full reward: those given, else the defaults.

    Shaping by F = gamma Phi(s') - Phi(s) leaves the best policy as it is only with the gamma of the learner (Ng, Harada
    and Russell 1999), so that is the discount unless one is given.
    """
    return RewardWeights(**{"discount": config.gamma, **given})


def train_cars(
    settings: WorldSettings,
    config: LearningConfig,
    folder: Path,
    *,
    worlds: int,
    steps: int,
    score: str,
    seed: int,
    made: Mapping[str, Any],
    round_steps: int = 25_000,
    keep_replay: bool = False,
    on_tick: Callable[[Tick], None] | None = None,
    on_round: Callable[[RoundReport], None] | None = None,
    max_rounds: int | None = None,
    max_hours: float | None = None,
) -> TrainingResult:
    """Train the cars of a world against its planner, going on from the last checkpoint in ``folder``.

    Args:
        settings: of the worlds, the planner among them.
        config: of learning; with ``warm_steps`` a scripted car drives first and the actors begin as its clones.
        folder: of the training.
        worlds: stepped together.
        steps: environment steps to reach.
        score: measure of the evaluation that picks the policy.
        seed: root of all random streams.
        made: facts for the policy beside its world.
        round_steps: steps between two checkpoints and evaluations.
        keep_replay: keep the replay of a finished training, so that it can go on later.
        on_tick: told after every step.
        on_round: told after every round.
        max_rounds: stop after so many rounds now.
        max_hours: begin no further round after this time.

    Raises:
        UsageError: actions that cannot be learned or demonstrated, or no steps.
        ConfigError: the folder holds another training.
        StoreError: another process trains here, a file is damaged, or the folder cannot be made.
    """
    if settings.actions == "maneuvers":
        raise UsageError(
            "only continuous actions can be learned here",
            where="--actions",
            found=settings.actions,
            hint="lateral or steering",
        )
    if config.warm_steps and settings.actions != "lateral":
        raise UsageError(
            "the scripted car needs lateral actions",
            where="--warm-steps",
            found=settings.actions,
            hint="--actions lateral",
        )
    plan = TrainingPlan(
        steps=steps,
        round_steps=round_steps,
        score=score,
        settings={"world": settings.as_dict()},
        keep_replay=keep_replay,
    )
    learned_in = Worlds(settings, n_worlds=worlds)
    try:
        return run_training(
            learned_in,
            config,
            plan,
            folder,
            seed=seed,
            world=world_name(settings),
            made={"world": settings.as_dict(), **made},
            evaluate=policy_evaluation(settings, seed=seed),
            demonstrator=CutInDriver() if config.warm_steps else None,
            on_tick=on_tick,
            on_round=on_round,
            max_rounds=max_rounds,
            max_hours=max_hours,
        )
    finally:
        learned_in.close()
