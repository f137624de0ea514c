"""How long a training takes, measured by a few of its updates."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from giveway.core.samples import GapSamples
from giveway.predictors.protocol import FitCost
from giveway.predictors.trajectron.checkpoint import EpochReport
from giveway.predictors.trajectron.config import TrajectronConfig
from giveway.predictors.trajectron.sampling import sample_paths
from giveway.predictors.trajectron.training import train_on, training_set

TIMED_UPDATES = 8
TIMED_PREDICTIONS = 8
TEST_SHARE = 0.25
"""Samples predicted per training sample: a fifth of all is tested."""


def fit_cost(samples: GapSamples, config: TrajectronConfig, *, device: str = "cpu") -> FitCost:
    """Updates cost in proportion to the steps they predict; an epoch uses every sample about once.

    The batch that is timed holds futures of the usual length, so that every epoch is one update. The first update pays
    for starting up and is not counted. Early stopping is not foreseen.
    """
    data = training_set(samples, config)
    usable = np.flatnonzero(data.length > 1)
    if usable.size == 0:
        return FitCost(fixed_s=0.0, per_step_s=0.0, measured="no sample is long enough to learn from")
    usual = int(np.median(data.length[usable]))
    nearest = usable[np.argsort(np.abs(data.length[usable] - usual), kind="stable")]
    steps = int(data.length[nearest[0]])
    batch = data.take(np.resize(nearest[data.length[nearest] == steps], config.batch_size))
    ended: list[float] = []

    def note(report: EpochReport, total: int) -> None:
        ended.append(time.process_time())

    timed = replace(config, epochs=TIMED_UPDATES + 1, updates=0, validation_share=0.0, patience=0)
    network, _ = train_on(batch, timed, seed=0, device=device, progress=note)
    update_s = float(np.median(np.diff(ended)))
    few = samples.take(np.arange(min(TIMED_PREDICTIONS, samples.num_samples))).inputs
    began = time.process_time()
    sample_paths(network, few, 0, device=device)
    predicting_s = TEST_SHARE * (time.process_time() - began) / max(float(few.num_predict.sum()), 1.0)
    measured = f"{TIMED_UPDATES} updates and {few.num_samples} predictions"
    if config.updates:
        return FitCost(
            fixed_s=config.updates * update_s, per_step_s=predicting_s, measured=f"{measured} of {config.updates}"
        )
    learning_s = config.epochs * update_s / (config.batch_size * steps)
    return FitCost(
        fixed_s=0.0, per_step_s=learning_s + predicting_s, measured=f"{measured}, for {config.epochs} epochs"
    )
