"""Driving a batch of scenes to their ends, with pushes added to the drivers' actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import FloatArray
from giveway.generate.drivers.cars import CarDriver
from giveway.generate.episodes import drive_episodes
from giveway.generate.objective.arrays import Fact
from giveway.generate.perturbation import Moment, Perturbation
from giveway.generate.protocol import EpisodeRecord, Outcome, Scenes
from giveway.generate.worlds import Worlds
from giveway.sim.bicycle import HEADING, X, Y


@dataclass(frozen=True, slots=True, kw_only=True)
class Driven:
    """One episode with what the perturbation did in it.

    Attributes:
        record: the episode.
        triggers: seconds with a car near the ego.
        moment: when it could be pushed.
    """

    record: EpisodeRecord
    triggers: int = 0
    moment: Moment | None = None


def drive_scenes(
    worlds: Worlds,
    scenes: Scenes,
    driver: CarDriver,
    *,
    seeds: Sequence[int],
    genes: FloatArray | None = None,
    perturbation: Perturbation | None = None,
) -> list[Driven]:
    """Drive one episode per world.

    Args:
        worlds: as many as there are scenes.
        scenes: where everybody starts.
        driver: of the learning cars.
        seeds: one per scene.
        genes: (N, k, genes_per_car) for drivers that a search steers.
        perturbation: layer over the driver's actions; None for none.
    """
    if genes is None:
        genes = np.zeros((scenes.num_scenes, worlds.n_cars, driver.genes_per_car))
    driver.begin(worlds, scenes, seeds, genes)
    step = 0

    def act(worlds: Worlds, seen: NDArray[np.float32]) -> FloatArray:
        nonlocal step
        wanted = driver.act(worlds, seen, step)
        if perturbation is not None:
            running = worlds.judged.outcome == int(Outcome.RUNNING)
            driving = worlds.state.present[:, 1 : 1 + worlds.n_cars] & running[:, None]
            ttc_s = worlds.judged.facts[:, Fact.MIN_TTC]
            wanted = perturbation.apply(step, wanted, places(worlds), driving, ttc_s)
        step += 1
        return wanted

    records = drive_episodes(worlds, act, scenes=scenes)
    if perturbation is None:
        return [Driven(record=record) for record in records]
    failed = np.array([record.outcome.is_failure for record in records])
    moments = perturbation.moments(failed, [len(record.actions) for record in records])
    return [
        Driven(record=record, triggers=triggers, moment=moment)
        for record, triggers, moment in zip(records, perturbation.triggers, moments, strict=True)
    ]


def places(worlds: Worlds) -> FloatArray:
    """(W, k, 2) learning cars relative to the ego, along and across its heading [m]."""
    state = worlds.state.car
    ego, cars = state[:, :1], state[:, 1 : 1 + worlds.n_cars]
    dx, dy = cars[..., X] - ego[..., X], cars[..., Y] - ego[..., Y]
    cos, sin = np.cos(ego[..., HEADING]), np.sin(ego[..., HEADING])
    return np.stack([cos * dx + sin * dy, -sin * dx + cos * dy], axis=-1)
