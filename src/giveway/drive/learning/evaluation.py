"""How a learned planner drives some cases, each once, without noise."""

from __future__ import annotations

import numpy as np

from giveway.planning.learned import LearnedPlanner, next_accel
from giveway.sim.bicycle import ACCEL
from giveway.sim.views.ego_batch import EgoBatch, EgoCases


def evaluate_planner(planner: LearnedPlanner, cases: EgoCases) -> dict[str, float]:
    """Mean ``return`` and ``score`` of the cases, and the share of cases with a contact of the ego (``contacts``)."""
    count = len(cases.cases)
    batch = EgoBatch(cases, count, observation="features")
    batch.begin({n: n for n in range(count)})
    rows, total, ends = np.arange(count), np.zeros(count), dict[int, dict[str, float]]()
    while len(ends) < count:
        accel = batch.state.car[rows, batch.static.ego, ACCEL]
        batch.accelerate(next_accel(planner.outputs(batch.observation["features"]), accel), bounded=False)
        after = batch.step()
        total += after.rewards
        ends |= {w: batch.end(w) for w in np.flatnonzero(after.terminated | after.truncated).tolist()}
    return {
        "return": float(total.mean()),
        "score": float(np.nanmean([end["score"] for end in ends.values()])),
        "contacts": float(np.mean([end["contacts"] > 0 for end in ends.values()])),
    }
