"""A training from start or checkpoint to its end: rounds, evaluation, checkpoints, curves."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveway.core.errors import ConfigError, StoreError, UsageError
from giveway.experiments.lock import StoreLock
from giveway.experiments.threads import limited_threads
from giveway.generate.learning.checkpoint import Saved, read_saved, restore, write_checkpoint
from giveway.generate.learning.config import LearningConfig
from giveway.generate.learning.curves import write_curves
from giveway.generate.learning.policy import Policy, load_policy, save_policy
from giveway.generate.learning.training import RoundReport, Tick, Training
from giveway.generate.learning.warm_start import Demonstrator
from giveway.predictors.torch_threads import one_torch_thread

if TYPE_CHECKING:
    from giveway.generate.protocol import VectorWorlds

Evaluate = Callable[[Policy], Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """How long and how to judge.

    Attributes:
        steps: environment steps to reach.
        round_steps: steps between two checkpoints and evaluations; worlds start afresh at each.
        score: measure of the evaluation that picks ``policy.safetensors``; the mean return if empty. A round in which
            it is not finite loses to every other.
        settings: further settings that must not change between two starts, e.g. road and ego.
        keep_replay: keep the replay of a finished training, so that it can go on later.
    """

    steps: int
    round_steps: int = 25_000
    score: str = ""
    settings: Mapping[str, Any]
    keep_replay: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingResult:
    """Attributes:
    policy: the best one by evaluation.
    history: all rounds.
    resumed_at: steps that had been done before; 0 for a new training.
    best_round: whose policy it is.
    """

    policy: Policy
    history: tuple[RoundReport, ...]
    resumed_at: int
    best_round: int


def run_training(
    worlds: VectorWorlds,
    config: LearningConfig,
    plan: TrainingPlan,
    out: Path,
    *,
    seed: int,
    world: str = "",
    made: Mapping[str, Any] | None = None,
    evaluate: Evaluate | None = None,
    demonstrator: Demonstrator | None = None,
    on_tick: Callable[[Tick], None] | None = None,
    on_round: Callable[[RoundReport], None] | None = None,
    max_rounds: int | None = None,
    max_hours: float | None = None,
) -> TrainingResult:
    """Train until ``plan.steps``, going on from the last checkpoint in ``out``.

    Args:
        worlds: what to learn in.
        config: settings of learning.
        plan: length, rounds, judgement.
        out: folder of the training.
        seed: root of all random streams.
        world: name and version of the observation, for the policy.
        made: further facts for the policy.
        evaluate: measures of a policy without noise, asked after each round.
        demonstrator: drives the first ``warm_steps`` steps.
        on_tick: told after every step.
        on_round: told after every round.
        max_rounds: stop after so many rounds now, as if killed.
        max_hours: begin no further round after this time; the first one is always made.

    Raises:
        UsageError: a plan without steps.
        ConfigError: the folder holds another training.
        StoreError: another process trains here, a file is damaged, or the folder cannot be made.
    """
    if plan.steps < 1 or plan.round_steps < 1:
        raise UsageError(
            "a training needs at least one step", found=f"{plan.steps} steps, {plan.round_steps} per round"
        )
    settings = {
        "learning": config.model_dump(mode="json"),
        "seed": seed,
        "round_steps": plan.round_steps,
        "worlds": worlds.n_worlds,
        "cars": worlds.n_cars,
        "observation": worlds.observation_size,
        **plan.settings,
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            "cannot make the folder of the training", where=out, found=error.strerror, hint="choose another --out"
        ) from error
    with StoreLock(out / "lock"), limited_threads(1), one_torch_thread():
        saved = read_saved(out, settings) or Saved(
            settings=settings, history=(), segments=(), added=0, complete=False, best=(0, -math.inf)
        )
        training = Training(
            worlds, config, seed=seed, steps=plan.steps, world=world, made=made, demonstrator=demonstrator
        )
        resumed = saved.history[-1].steps if saved.history else 0
        if resumed:
            if saved.complete and resumed < plan.steps:
                raise ConfigError(
                    "the training is finished and its replay was not kept",
                    where=out,
                    found=f"{resumed} steps, asked for {plan.steps}",
                    hint="train into another folder, or with --keep-replay from the start",
                )
            restore(out, training)
        rounds, until = 0, math.inf if max_hours is None else time.monotonic() + 3600 * max_hours
        while training.steps < plan.steps and (max_rounds is None or rounds < max_rounds):
            if rounds and time.monotonic() >= until:
                break
            saved = _round(out, training, plan, saved, evaluate, on_tick, on_round)
            rounds += 1
    return TrainingResult(policy=load_policy(out), history=saved.history, resumed_at=resumed, best_round=saved.best[0])


def _round(
    out: Path,
    training: Training,
    plan: TrainingPlan,
    saved: Saved,
    evaluate: Evaluate | None,
    on_tick: Callable[[Tick], None] | None,
    on_round: Callable[[RoundReport], None] | None,
) -> Saved:
    report = training.run_round(min(plan.round_steps, plan.steps - training.steps), on_tick)
    policy = training.policy()
    if evaluate is not None:
        report = replace(report, evaluation=dict(evaluate(policy)))
    score = report.evaluation.get(plan.score, report.mean_return) if plan.score else report.mean_return
    if not math.isfinite(score):
        score = -math.inf
    best = saved.best
    if score >= best[1]:
        best = (report.round, score)
        save_policy(out / "policy.safetensors", policy)
    save_policy(out / "last.safetensors", policy)
    history = (*saved.history, report)
    complete = training.steps >= plan.steps and not plan.keep_replay
    saved = write_checkpoint(out, training, saved, complete=complete, history=history, best=best)
    write_curves(out / "curves.png", history)
    if on_round is not None:
        on_round(report)
    return saved
