"""What one simulated driver saw, believed, valued and did: the inside of one path, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.errors import UsageError
from giveway.predictors.commotions.config import Configuration, StepCount
from giveway.predictors.commotions.encounter import Encounters
from giveway.predictors.commotions.parameters import DT_S, Derived, Theta
from giveway.predictors.commotions.reference.random import random_noise
from giveway.predictors.commotions.reference.rollout import EGO, TARGET, Thought, roll_out
from giveway.predictors.commotions.simulation import simulate_encounters

NUM_PATHS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What happened in the head of one vehicle at S steps.

    Attributes:
        observed: (S,) noisy observation of the other's distance to the conflict point, z [m].
        estimate: (S, 2) filtered distance and speed of the other [m, m/s].
        deviation: (S, 2) standard deviations of that estimate.
        percept: (S, 2) draw the decision is based on.
        p_first: (S, U) probability that the other passes first, for every own action; NaN where it can do neither.
        advantage: (S, U) accumulated value of every action minus that of doing nothing.
        action: (S,) action done, 0 where none [m/s² or m/s].
        act: (S,) whether it acted.
    """

    observed: FloatArray
    estimate: FloatArray
    deviation: FloatArray
    percept: FloatArray
    p_first: FloatArray
    advantage: FloatArray
    action: FloatArray
    act: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One path of one encounter.

    Attributes:
        config: variant.
        theta: θ.
        path: number of the path.
        seed: of the noise.
        time_s: (S,) since t_0 [s].
        chi: (S, 2) distance of the centers of E and T to the conflict point [m].
        v: (S, 2) speeds [m/s].
        a: (S, 2) accelerations applied [m/s²].
        half_extent: (2,) of the contested space for E and T [m].
        horizon_s: when the gap closes [s].
        accepted: of this path.
        t_accept_s: of this path; NaN if rejected.
        threshold: advantage needed to act.
        target: what T thought.
        ego: what E thought; None if it does not think.
        probability: share of accepting paths among ``num_paths``.
        quantile_s: (9,) deciles of their acceptance times.
        num_paths: paths behind these two.
    """

    config: Configuration
    theta: Theta
    path: int
    seed: int
    time_s: FloatArray
    chi: FloatArray
    v: FloatArray
    a: FloatArray
    half_extent: FloatArray
    horizon_s: float
    accepted: bool
    t_accept_s: float
    threshold: float
    target: Head
    ego: Head | None
    probability: float
    quantile_s: FloatArray
    num_paths: int


def explain(
    encounters: Encounters,
    index: int,
    theta: Theta,
    config: Configuration,
    *,
    path: int = 0,
    seed: int = 0,
    num_paths: int = NUM_PATHS,
    step_count: StepCount = "integer",
) -> Explanation:
    """Look into one path; it is the path of that number in a simulation with this seed.

    Args:
        encounters: where the encounter is taken from.
        index: which.
        theta: θ.
        config: variant.
        path: 0 to num_paths - 1.
        seed: of the noise.
        num_paths: for the share of acceptance shown beside it.
        step_count: ``"float32"`` loses the last step of some horizons, as published.

    Raises:
        UsageError: as :func:`check_path`, and for a ΔT that cannot be simulated.
    """
    check_path(encounters, index, path=path, num_paths=num_paths)
    one = encounters.take(slice(index, index + 1))
    rates = simulate_encounters(
        one, theta, config, num_paths=num_paths, seed=seed, precision="float64", step_count=step_count
    )
    noise = random_noise(one.key, np.full(1, path), seed)
    rollout = roll_out(one, theta, config, noise, step_count=step_count)
    steps = int(rollout.open[0].sum())
    thoughts = rollout.thoughts[:steps]
    return Explanation(
        config=config,
        theta=theta,
        path=path,
        seed=seed,
        time_s=np.arange(steps) * DT_S,
        chi=rollout.chi[0, :steps],
        v=rollout.v[0, :steps],
        a=rollout.a[0, :steps],
        half_extent=one.half_extent[0],
        horizon_s=float(one.horizon_s[0]),
        accepted=bool(rollout.accepted[0]),
        t_accept_s=float(rollout.t_accept_s[0]) if rollout.accepted[0] else float("nan"),
        threshold=Derived.of(theta).threshold,
        target=_head([t[TARGET] for t in thoughts], config),
        ego=_head([t for t in (x[EGO] for x in thoughts) if t is not None], config) if config.interactive else None,
        probability=float(rates.probability[0]),
        quantile_s=rates.quantiles_s()[0],
        num_paths=num_paths,
    )


def check_path(encounters: Encounters, index: int, *, path: int, num_paths: int = NUM_PATHS) -> None:
    """Whether there is something to look into; worth asking before a fit.

    Raises:
        UsageError: if there is no such path, or the horizon has no step.
    """
    if not 0 <= path < num_paths:
        raise UsageError("there is no such path", where="path", found=str(path), hint=f"0 to {num_paths - 1}")
    if encounters.num_steps[index] == 0:
        raise UsageError("the gap closes at once, there is nothing to look into", where="horizon", found="0 steps")


def _head(thoughts: list[Thought], config: Configuration) -> Head:
    zero = config.action_set.index(0.0)
    choice: IntArray = np.array([t.choice[0] for t in thoughts])
    act = np.array([t.act[0] for t in thoughts], dtype=np.bool_)
    values = np.stack([t.values[0] for t in thoughts])
    covariance = np.stack([t.belief.covariance[0] for t in thoughts])
    constant = np.array([t.behaviors.constant[0] for t in thoughts])
    return Head(
        observed=np.array([t.observed[0] for t in thoughts]),
        estimate=np.stack([t.belief.mean[0] for t in thoughts]),
        deviation=np.sqrt(np.maximum(0.0, np.stack([covariance[:, 0, 0], covariance[:, 1, 1]], axis=1))),
        percept=np.stack([t.percept[0] for t in thoughts]),
        p_first=np.where(constant[:, None], np.nan, np.stack([t.probability[0, :, 0] for t in thoughts])),
        advantage=values - values[:, zero : zero + 1],
        action=np.where(act, np.array(config.action_set)[choice], 0.0),
        act=act,
    )
