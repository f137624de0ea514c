"""Bayesian optimization inside a box that grows with success and shrinks with failure."""

from __future__ import annotations

from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.predictors.commotions.fitting.gaussian_process import as_array, quiet_torch, surrogate
from giveway.predictors.commotions.fitting.search import Search
from giveway.predictors.commotions.parameters import NUM_PARAMETERS

BATCH = 8
FIRST_SIZE, SMALLEST, LARGEST = 0.8, 0.5**6, 1.6
SUCCESSES, FAILURES = 3, 3  # batches
CANDIDATES = 1000
MAX_POINTS = 400  # the surrogate sees the best and the newest of them


def trust_region(search: Search) -> None:
    """TuRBO-1 (Eriksson et al. 2019): Thompson sampling in a trust region around the best point, in batches of 8."""
    size, wins, losses = FIRST_SIZE, 0, 0
    hyper: dict[str, Any] | None = None
    batch = 0
    while search.left > 0:
        before = search.losses[search.best].mean
        num = min(BATCH, search.left)
        recorded = search.recorded()
        if recorded is not None and "hyper" in recorded.note:
            proposals, hyper = None, dict(recorded.note["hyper"])
        else:
            proposals, hyper = _propose(search, hyper, size, batch)
        for i in range(num):
            entry = search.recorded()
            if entry is not None:
                search.evaluate(np.array(entry.point), entry.note)
            else:
                if proposals is None:
                    # the batch was cut by a crash: the same surrogate and seed give the same proposals again
                    proposals, _ = _propose(_before(search, i), hyper, size, batch, refit=False)
                search.evaluate(proposals[i], {"hyper": hyper} if i == 0 else None)
        improved = search.losses[search.best].mean < before - 1e-3 * abs(before)
        wins, losses = (wins + 1, 0) if improved else (0, losses + 1)
        if wins == SUCCESSES:
            size, wins = min(2 * size, LARGEST), 0
        if losses == FAILURES:
            size, losses = size / 2, 0
        if size < SMALLEST:
            size = FIRST_SIZE
        batch += 1


def _before(search: Search, num: int) -> Search:
    """What the search looked like ``num`` evaluations ago; only for reading."""
    end = len(search.points) - num
    return Search(
        objective=search.objective,
        box=search.box,
        journal=search.journal,
        stage=search.stage,
        budget=search.budget,
        seed=search.seed,
        total=search.total,
        points=search.points[:end],
        losses=search.losses[:end],
    )


def _propose(
    search: Search, hyper: dict[str, Any] | None, size: float, batch: int, *, refit: bool = True
) -> tuple[FloatArray, dict[str, Any]]:
    rng = np.random.default_rng([search.seed, 5, batch])
    best = search.points[search.best]
    order = np.argsort([x.mean for x in search.losses], kind="stable")
    newest = np.arange(len(order))[-MAX_POINTS // 2 :]
    keep = np.unique(np.concatenate([order[: MAX_POINTS // 2], newest]))
    seen = _before(search, 0)
    seen.points, seen.losses = [search.points[i] for i in keep], [search.losses[i] for i in keep]
    with quiet_torch():
        import torch
        from botorch.generation import MaxPosteriorSampling

        model, found = surrogate(seen, hyper, refit=refit)
        weight = np.array(found["lengthscale"])
        weight = weight / np.exp(np.log(weight).mean())
        low, high = np.clip(best - 0.5 * size * weight, 0, 1), np.clip(best + 0.5 * size * weight, 0, 1)
        points = low + (high - low) * rng.random((CANDIDATES, NUM_PARAMETERS))
        # few coordinates at a time move in high dimensions
        moved = rng.random(points.shape) < min(1.0, 20 / NUM_PARAMETERS)
        moved[np.arange(CANDIDATES), rng.integers(NUM_PARAMETERS, size=CANDIDATES)] = True
        points = np.where(moved, points, best)
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(int(rng.integers(2**31)))
            chosen = MaxPosteriorSampling(model=model, replacement=False)(torch.tensor(points), num_samples=BATCH)
    return as_array(chosen), found
