"""From a training set to θ."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from giveway import __version__
from giveway.core.errors import EmptySelectionError, UsageError
from giveway.core.seeds import seed_for
from giveway.predictors.commotions.config import MODEL_VERSION, Configuration, Switches
from giveway.predictors.commotions.fitting.journal import Journal
from giveway.predictors.commotions.fitting.optimizers import OPTIMIZERS, budgets_of
from giveway.predictors.commotions.fitting.result import FittedParameters, Stage
from giveway.predictors.commotions.fitting.search import Budget, Objective, Search, Trace, initial_points
from giveway.predictors.commotions.losses import Loss, TrainingSet, loss_of, path_losses
from giveway.predictors.commotions.parameters import Box, Theta, to_search
from giveway.predictors.commotions.simulation import Precision, simulate_encounters

FIT_PATHS = 10  # n_p while fitting


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """How to fit.

    Attributes:
        num_paths: n_p per sample and evaluation.
        seed: of the optimizer and of the noise, which is the same for every θ.
        budgets: per stage; None takes the optimizer's own.
        precision: of the kernel.
        threads: of the kernel; None uses the cores this process may use.
        journal: file to record evaluations in and to resume from.
    """

    num_paths: int = FIT_PATHS
    seed: int = 0
    budgets: Sequence[Budget] | None = None
    precision: Precision = "float32"
    threads: int | None = None
    journal: Path | None = None


def objective_of(training: TrainingSet, config: Configuration, switches: Switches, options: FitOptions) -> Objective:
    """θ to loss with common random numbers: every θ meets the same noise."""
    noise_seed = seed_for(options.seed, "commotions", "noise")

    def objective(theta: Theta) -> Loss:
        simulation = simulate_encounters(
            training.encounters,
            theta,
            config,
            num_paths=options.num_paths,
            seed=noise_seed,
            precision=options.precision,
            threads=options.threads,
            step_count=switches.step_count,
            acceptance=switches.acceptance,
        )
        return loss_of(path_losses(simulation, training, config, switches))

    return objective


def fit_parameters(
    training: TrainingSet,
    config: Configuration,
    *,
    switches: Switches | None = None,
    options: FitOptions | None = None,
    on_trace: Callable[[Trace], None] | None = None,
    objective: Objective | None = None,
) -> FittedParameters:
    """Fit θ in one or two stages (6.3, 6.4); the result is the θ with the smallest observed loss.

    Killed and called again with the same journal it goes on after the last evaluation and ends with the same result.

    Args:
        training: what was observed.
        config: variant; its stages and loss count.
        switches: clean by default.
        options: paths, seed, budgets, journal.
        on_trace: called after every new evaluation.
        objective: θ to loss in place of :func:`objective_of`, e.g. one that measures time.

    Raises:
        EmptySelectionError: without samples.
        UsageError: for budgets that do not match the stages.
        StoreError: if the journal belongs to another fit.
    """
    switches = Switches() if switches is None else switches
    options = FitOptions() if options is None else options
    if training.encounters.num_samples == 0:
        raise EmptySelectionError("there is nothing to fit", where=config.name, found="0 training samples")
    budgets = tuple(options.budgets or budgets_of(switches.optimizer, config.stages))
    if switches.sobol_points == "first_stage":
        budgets = (budgets[0], *(Budget(initial=0, further=b.further) for b in budgets[1:]))
    if len(budgets) != config.stages or budgets[0].initial < 2 or any(b.initial < 0 or b.further < 0 for b in budgets):
        raise UsageError(
            "a budget is needed for every stage, with at least 2 initial points",
            where=config.name,
            found=str(budgets),
            hint=f"{config.stages} of Budget(initial=210, further=150)",
        )
    optimizer = OPTIMIZERS.get(switches.optimizer)
    header = _header(training, config, switches, options, budgets)
    journal = Journal(options.journal, header)
    objective = objective_of(training, config, switches, options) if objective is None else objective
    started = time.monotonic()
    full, total = Box.full(switches.bounds, switches.search_scale), sum(b.total for b in budgets)
    box, seen = full, list[tuple[Theta, Loss]]()
    stages: list[Stage] = []
    for number, budget in enumerate(budgets):
        search = Search(
            objective=objective,
            box=box,
            journal=journal,
            stage=number,
            budget=budget,
            seed=seed_for(options.seed, "commotions", "optimizer", number),
            total=total,
            on_trace=on_trace,
        )
        if budget.initial == 0:  # goes on with what the stage before has seen, in the coordinates of the new box
            search.points, search.losses = [box.encode(theta) for theta, _ in seen], [loss for _, loss in seen]
            search.inherited = len(seen)
        for point in initial_points(budget.initial, search.seed % 2**63):
            search.evaluate(point)
        optimizer(search)
        seen = [(box.decode(p), loss) for p, loss in zip(search.points, search.losses, strict=True)]
        theta, loss = box.decode(search.points[search.best]), search.losses[search.best]
        stages.append(Stage(theta=theta, loss=loss.mean, error=loss.error, evaluations=search.made))
        box = full.around(theta, fraction=switches.box_fraction)
    winner = min(range(len(stages)), key=lambda i: stages[i].loss)
    deployed = stages[winner].theta
    if switches.stage_winner == "logarithms" and len(stages) == 2 and winner == 0:
        deployed = Theta.from_array(to_search(deployed))
    return FittedParameters(
        theta=deployed,
        config=config,
        loss=stages[winner].loss,
        loss_error=stages[winner].error,
        stages=tuple(stages),
        provenance={
            **header,
            "giveway": __version__,
            "kernel_seconds": round(sum(e.seconds for e in journal.entries), 3),
            "seconds": round(time.monotonic() - started, 3),
        },
    )


def _header(
    training: TrainingSet, config: Configuration, switches: Switches, options: FitOptions, budgets: Sequence[Budget]
) -> dict[str, Any]:
    """What decides the result of a fit."""
    return {
        "model": config.name,
        "version": MODEL_VERSION,
        "actions": list(config.action_set),
        "dt_free": config.dt_free,
        "speed_prior": config.speed_prior,
        "switches": asdict(switches),
        "num_paths": options.num_paths,
        "seed": options.seed,
        "precision": options.precision,
        "budgets": [asdict(b) for b in budgets],
        "samples": training.encounters.num_samples,
        "accepted": int(training.accepted.sum()),
        "data_sha256": training.fingerprint(),
    }
