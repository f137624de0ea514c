"""Bayesian optimization as published: one point after the other by noisy expected improvement."""

from __future__ import annotations

from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.predictors.commotions.fitting.gaussian_process import as_array, quiet_torch, surrogate
from giveway.predictors.commotions.fitting.search import Search
from giveway.predictors.commotions.parameters import NUM_PARAMETERS

SAMPLES = 512
RAW_SAMPLES = 1000
RAW_BATCH = 250  # evaluated at once; the default, STARTS, takes a third longer
STARTS = 20


def bayes(search: Search, *, refit_every: int = 1) -> None:
    """Expected improvement over noisy observations, its logarithm maximized from 20 of 1000 points (6.3).

    Hyper-parameters start from those of the step before. A step that fails numerically is tried again with fresh
    hyper-parameters; where that fails too, a random point is evaluated instead.
    """
    hyper: dict[str, Any] | None = None
    step = 0
    while search.left > 0:
        entry = search.recorded()
        if entry is not None:
            point, note = np.array(entry.point), dict(entry.note)
        else:
            point, note = _propose(search, hyper, step, refit=step % refit_every == 0)
        hyper = note.get("hyper", hyper)
        search.evaluate(point, note)
        step += 1


def _propose(
    search: Search, hyper: dict[str, Any] | None, step: int, *, refit: bool
) -> tuple[FloatArray, dict[str, Any]]:
    with quiet_torch():
        from botorch.exceptions import BotorchError
        from linear_operator.utils.errors import NanError, NotPSDError

        for start, fit in ((hyper, refit or hyper is None), (None, True)):
            try:
                return _maximize(search, start, step, refit=fit)
            except (BotorchError, NotPSDError, NanError, RuntimeError):
                continue
    return np.random.default_rng([search.seed, 3, step]).random(NUM_PARAMETERS), {"fallback": True}


def _maximize(
    search: Search, hyper: dict[str, Any] | None, step: int, *, refit: bool
) -> tuple[FloatArray, dict[str, Any]]:
    import torch
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler

    model, found = surrogate(search, hyper, refit=refit)
    seed = int(np.random.default_rng([search.seed, 4, step]).integers(2**31))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        acquisition = qLogNoisyExpectedImprovement(
            model,
            torch.tensor(np.stack(search.points)),
            sampler=SobolQMCNormalSampler(torch.Size([SAMPLES]), seed=seed),
            prune_baseline=True,
        )
        found_at: Any = optimize_acqf(
            acquisition,
            bounds=torch.stack([torch.zeros(NUM_PARAMETERS), torch.ones(NUM_PARAMETERS)]).double(),
            q=1,
            num_restarts=STARTS,
            raw_samples=RAW_SAMPLES,
            options={"batch_limit": STARTS, "init_batch_limit": RAW_BATCH, "maxiter": 100, "seed": seed},
        )
    candidate, value = found_at
    return np.clip(as_array(candidate)[0], 0.0, 1.0), {"hyper": found, "acquisition": float(value)}
