"""Simulated decisions of the Commotions model, the public way in."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.errors import UsageError
from giveway.core.predictions import QUANTILES
from giveway.predictors.commotions.config import Acceptance, Configuration, StepCount
from giveway.predictors.commotions.encounter import Encounters, encounters_from_distances, steps_made
from giveway.predictors.commotions.parameters import YIELD_PENALTY, Theta

Precision = Literal["float32", "float64"]
CHUNKS_PER_THREAD = 8
MIN_CHUNK = 256  # paths; below this threads cost more than they bring


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Outcome of every simulated path.

    Attributes:
        accepted: (N, n_paths) whether T entered the contested space before the horizon.
        t_accept_s: (N, n_paths) when it did, from t_0; for rejected paths the surrogate
            T_out + 2 d/v_base, d being the distance that was left, which the losses need. Mask with ``accepted``.
        path_steps: steps of δt simulated in all, the unit of work.
    """

    accepted: BoolArray
    t_accept_s: FloatArray
    path_steps: int

    @property
    def probability(self) -> FloatArray:
        """(N,) share of accepting paths."""
        return self.accepted.mean(axis=1)

    def quantiles_s(self) -> FloatArray:
        """(N, 9) quantiles of t_A over the accepting paths, linear between order statistics; NaN if there is none."""
        result = np.full((self.accepted.shape[0], len(QUANTILES)), np.nan)
        for row, (mask, times) in enumerate(zip(self.accepted, self.t_accept_s, strict=True)):
            if mask.any():
                result[row] = np.quantile(times[mask], QUANTILES)
        return result


def simulate(
    *,
    d_c: ArrayLike,
    d_a: ArrayLike,
    l_e: ArrayLike,
    l_t: ArrayLike,
    horizon_s: ArrayLike,
    theta: Mapping[str, float] | Theta,
    config: str | Configuration,
    n_paths: int,
    seed: int,
) -> Simulation:
    """Simulate N encounters n_paths times each.

    A path depends on the seed, the sample, its number and θ, not on batch, order or threads. Samples are told apart
    by their distances, equal ones by how many came before. For 64-bit values, own names of the random streams or a
    number of threads see :func:`simulate_encounters`.

    Args:
        d_c: (N, 2) distance of E's front to the contested space at the last two input instants (0.2 s apart) [m].
        d_a: (N, 2) the same for T.
        l_e: (N,) length of the contested space along the path of E [m].
        l_t: (N,) the same along the path of T [m].
        horizon_s: (N,) time until the gap closes [s].
        theta: parameters in natural units; keys as in
            :data:`~giveway.predictors.commotions.parameters.PARAMETER_NAMES`.
        config: a name such as ``"CM_AIJ11"`` or a configuration.
        n_paths: paths per sample.
        seed: any integer.

    Raises:
        UsageError: for inputs that make no sense, naming the sample and the value.

    Reference:
        Schumann et al., supplementary material, eqs. 14-21; Markkula et al., PNAS Nexus 2023. Deviations: docs/models.
    """
    _check_integers(n_paths=n_paths, seed=seed)
    configuration = config if isinstance(config, Configuration) else Configuration.from_name(config)
    encounters = encounters_from_distances(d_c=d_c, d_a=d_a, l_e=l_e, l_t=l_t, horizon_s=horizon_s)
    return simulate_encounters(encounters, Theta.checked(theta), configuration, num_paths=n_paths, seed=seed)


def _check_integers(**values: object) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise UsageError(f"{name} is no whole number", where=name, found=repr(value)[:80])


def default_threads() -> int:
    """What ``NUMBA_NUM_THREADS`` says; else the cores this process may use, 1 in a worker process among siblings."""
    told = os.environ.get("NUMBA_NUM_THREADS", "")
    if told.isdigit():
        return max(1, int(told))
    if multiprocessing.parent_process() is not None:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def simulate_encounters(
    encounters: Encounters,
    theta: Theta,
    config: Configuration,
    *,
    num_paths: int,
    seed: int,
    precision: Precision = "float32",
    threads: int | None = None,
    noise: Literal["random", "silent"] | FloatArray = "random",
    penalties: tuple[float, float] = (0.0, YIELD_PENALTY),
    step_count: StepCount = "integer",
    acceptance: Acceptance = "before_closing",
) -> Simulation:
    """As :func:`simulate`, from checked values.

    Args:
        encounters: N initial states.
        theta: θ, unchecked but for its ΔT.
        config: variant.
        num_paths: n_p, at least 1.
        seed: any integer.
        precision: of the values; motion and perception are computed in 64 bit either way.
        threads: None uses the cores this process may use.
        noise: ``"silent"`` sets all draws to 0; an array (steps, 2, 3) gives ε of every step and vehicle (E, T).
        penalties: u_ny/u_free of E and T.
        step_count: ``"float32"`` loses the last step of some horizons, as published.
        acceptance: ``"horizon"`` also accepts paths that enter after t_C within its last step, as published.

    Raises:
        UsageError: without paths, or if ΔT is no 2 to 5 steps.
    """
    from giveway.predictors.commotions.kernel import constants, rollout

    if num_paths < 1:
        raise UsageError("at least one path per sample is needed", where="n_paths", found=str(num_paths))
    num = encounters.num_samples
    accepted = np.zeros((num, num_paths), dtype=np.bool_)
    t_accept = np.zeros((num, num_paths))
    if num == 0:
        return Simulation(accepted=accepted, t_accept_s=t_accept, path_steps=0)
    known = constants.constants_of(theta, config, np.float32 if precision == "float32" else np.float64)
    base = encounters.base_speed(config)
    free = theta.v_free_rel * base
    word = seed % 2**64
    source, script = rollout.RANDOM, np.zeros((0, 2, 3))
    if isinstance(noise, np.ndarray):
        source, script = rollout.SCRIPTED, np.ascontiguousarray(noise, dtype=np.float64)
    elif noise == "silent":
        source = rollout.SILENT
    arguments = (
        num_paths,
        np.ascontiguousarray(encounters.chi),
        np.ascontiguousarray(encounters.v),
        np.ascontiguousarray(encounters.half_extent),
        free,
        np.ascontiguousarray(base[:, 1]),
        np.ascontiguousarray(steps_made(encounters.num_steps, step_count), dtype=np.int64),
        encounters.horizon_s,
        np.ascontiguousarray(encounters.key, dtype=np.uint64),
        np.array([theta.sigma_r0_pos_rel, theta.sigma_r0_speed_rel]),
        free if config.speed_prior == "free_speed" else np.ascontiguousarray(encounters.v),
        known.value,
        known.wide,
        known.sight,
        np.ascontiguousarray(known.ramps),
        known.zero_action,
        known.jerk,
        config.interactive,
        np.array(penalties),
        np.array([word % 2**32, word >> 32], dtype=np.uint32),
        source,
        script,
        accepted,
        t_accept,
    )
    jobs = num * num_paths
    workers = max(1, min(default_threads() if threads is None else threads, jobs // MIN_CHUNK))
    if workers == 1:
        path_steps = int(rollout.simulate_jobs(0, jobs, *arguments))
    else:
        edges = np.linspace(0, jobs, workers * CHUNKS_PER_THREAD + 1).astype(np.int64).tolist()
        with ThreadPoolExecutor(workers) as pool:
            steps = pool.map(lambda edge: int(rollout.simulate_jobs(*edge, *arguments)), itertools.pairwise(edges))
            path_steps = sum(steps)
    simulation = Simulation(accepted=accepted, t_accept_s=t_accept, path_steps=path_steps)
    return simulation if acceptance == "horizon" else before_closing(simulation, encounters)


def before_closing(simulation: Simulation, encounters: Encounters) -> Simulation:
    """The same paths, accepted only if T enters before the gap closes.

    The simulation ends at T_out, which is t_C rounded up to a step of 0.2 s. A path that enters in between came too
    late: a_pred = 1 iff χ_T(t_C) < (L_T + l)/2, interpolated linearly (Schumann et al., supplementary material, eq.
    17). Its time becomes T_out, that of a path that has nothing left to go.
    """
    if encounters.closes_s is None:
        return simulation
    late = simulation.accepted & (simulation.t_accept_s >= encounters.closes_s[:, None])
    return replace(
        simulation,
        accepted=simulation.accepted & ~late,
        t_accept_s=np.where(late, encounters.horizon_s[:, None], simulation.t_accept_s),
    )
