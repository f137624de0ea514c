"""Behavior cloning: a network that does what a demonstrator did, where it did it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from giveway.core.arrays import FloatArray
from giveway.core.case import TICK_S
from giveway.core.seeds import seed_for
from giveway.drive.learning.networks import Rectified, Trained, planner_of_network
from giveway.drive.learning.settings import LearningSettings
from giveway.planning.builtin import Lattice2Planner
from giveway.planning.features import NUM_FEATURES
from giveway.planning.learned import LearnedPlanner, output_for
from giveway.sim.bicycle import ACCEL, SPEED
from giveway.sim.state import PAST
from giveway.sim.views.ego_batch import EgoBatch, EgoCases

MAX_SEED = 2**31
SMOOTHED_TICKS = 5
"""Ticks over which recorded speeds are averaged: accelerations of a tracker are noisy, and cloning them gives jerk."""


def demonstrations(cases: EgoCases, demonstrator: str) -> tuple[Any, Any]:
    """(N, F) what was seen at each tick and (N,) what the network should have said, with the demonstrator driving.

    Args:
        cases: each is driven once.
        demonstrator: ``recorded``, or ``lattice``, which takes other cars to drive straight on.
    """
    count = len(cases.cases)
    batch = EgoBatch(cases, count, observation="features", score=False)
    batch.begin({n: n for n in range(count)})
    rows, ego, seen, said = np.arange(count), batch.static.ego, list[Any](), list[Any]()
    accel_of = _recorded(batch) if demonstrator == "recorded" else _planned(batch)
    while (here := batch.drivers_here()).any():
        before = batch.state.car[rows, ego, ACCEL]
        accel = np.where(here, accel_of(here), 0.0)
        known = here & np.isfinite(accel)
        seen.append(batch.observation["features"][known].copy())
        said.append(output_for(accel, before)[known].astype(np.float32))
        batch.accelerate(np.where(known, accel, 0.0), bounded=False)
        batch.step()
    return np.concatenate(seen), np.concatenate(said)


def _recorded(batch: EgoBatch) -> Callable[[Any], FloatArray]:
    """Accelerations with which the egos keep to the speeds of their recordings."""
    static, rows = batch.static, np.arange(len(batch.cases))
    speed = np.hypot(*np.moveaxis(static.rec[rows, static.ego, PAST:, 2:4], -1, 0))
    padded = np.pad(speed, ((0, 0), (SMOOTHED_TICKS // 2,) * 2), mode="edge")
    smooth = np.lib.stride_tricks.sliding_window_view(padded, SMOOTHED_TICKS, axis=1).mean(axis=2)
    wanted = np.where(np.isfinite(smooth), smooth, speed)

    def accel_of(here: Any) -> FloatArray:
        now = batch.state.car[rows, static.ego, SPEED]
        return (wanted[rows, np.minimum(batch.state.tick + 1, wanted.shape[1] - 1)] - now) / TICK_S

    return accel_of


def _planned(batch: EgoBatch) -> Callable[[Any], FloatArray]:
    """Accelerations that version 2 of the lattice chooses, which remembers nothing."""
    planner, static = Lattice2Planner(), batch.static

    def accel_of(here: Any) -> FloatArray:
        accel = np.full(here.size, np.nan)
        for w in np.flatnonzero(here).tolist():
            seen = batch.simulation.situation(w, int(static.ego[w]))
            accel[w] = (planner.plan(seen).speed_mps - seen.speed_mps) / TICK_S
        return accel

    return accel_of


class Imitation:
    """A clone of a demonstrator.

    Args:
        cases: to learn on.
        settings: of learning.
        demonstrator: who is cloned.
        env_steps: length of the training: demonstrated ticks seen, each as often as it is.
        seed: root of all random streams.
    """

    name = "imitation"

    def __init__(
        self, cases: EgoCases, settings: LearningSettings, *, demonstrator: str, env_steps: int, seed: int
    ) -> None:
        self.settings, self.seed, self.env_steps, self.steps = settings, seed, env_steps, 0
        generator = torch.Generator().manual_seed(seed_for(seed, "weights") % MAX_SEED)
        self.actor = Rectified((NUM_FEATURES, *settings.hidden, 1), 0.01, generator)
        self.trained = Trained({"actor": self.actor}, rate=settings.rate, grad_clip=settings.grad_clip)
        self._seen, self._said = map(torch.from_numpy, demonstrations(cases, demonstrator))

    def planner(self, facts: dict[str, Any]) -> LearnedPlanner:
        """The clone."""
        return planner_of_network(self.name, self.actor, facts)

    def run_round(self, number: int, until: int, on_step: Callable[[int, str], None]) -> dict[str, float]:
        """Learn until so many demonstrated ticks were seen.

        Returns:
            Mean loss: Huber's, in units of 2 m/s^2.
        """
        generator = torch.Generator().manual_seed(seed_for(self.seed, "order", number) % MAX_SEED)
        losses: list[float] = []
        while self.steps < until:
            rows = torch.randint(len(self._seen), (self.settings.batch,), generator=generator)
            loss = torch.nn.functional.huber_loss(self.actor(self._seen[rows]), self._said[rows])
            self.trained.step(loss, min(self.steps / self.env_steps, 1.0))
            losses.append(float(loss.detach()))
            self.steps += self.settings.batch
            if len(losses) % 50 == 0:
                on_step(self.steps, f"loss {losses[-1]:.4f}")
        return {"loss": float(np.mean(losses)) if losses else math.nan}
