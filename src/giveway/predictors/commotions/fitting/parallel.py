"""Several fits at once, one process each, without more threads than cores."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace

from giveway.core.errors import UsageError
from giveway.predictors.commotions.config import Configuration, Switches
from giveway.predictors.commotions.fitting.fit import FitOptions, fit_parameters
from giveway.predictors.commotions.fitting.result import FittedParameters
from giveway.predictors.commotions.losses import TrainingSet
from giveway.predictors.commotions.simulation import default_threads


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTask:
    """Arguments of one :func:`~giveway.predictors.commotions.fitting.fit.fit_parameters`."""

    training: TrainingSet
    config: Configuration
    switches: Switches = field(default_factory=Switches)
    options: FitOptions = field(default_factory=FitOptions)


def fit_many(
    tasks: Sequence[FitTask],
    *,
    workers: int | None = None,
    on_done: Callable[[int, FittedParameters], None] | None = None,
) -> list[FittedParameters]:
    """Fit every task; results in the order of the tasks and the same for any number of workers.

    Args:
        tasks: what to fit; a task with a journal resumes.
        workers: processes; None takes one per core. Cores are divided between them.
        on_done: called with the number of a task and its result, in order.
    """
    cores = default_threads()
    workers = min(cores, len(tasks)) if workers is None else workers
    if tasks and workers < 1:
        raise UsageError("at least one worker is needed", where="workers", found=str(workers))
    threads = max(1, cores // max(1, workers))
    limited = [replace(task, options=replace(task.options, threads=task.options.threads or threads)) for task in tasks]
    results: list[FittedParameters] = []
    # a fresh interpreter per worker: forking after threads were started can hang
    with ProcessPoolExecutor(max(1, workers), mp_context=multiprocessing.get_context("spawn")) as pool:
        for number, fitted in enumerate(pool.map(_fit, limited)):
            results.append(fitted)
            if on_done is not None:
                on_done(number, fitted)
    return results


def _fit(task: FitTask) -> FittedParameters:
    return fit_parameters(task.training, task.config, switches=task.switches, options=task.options)
