"""Simulation of whole encounters: lanes are filled with paths, finished ones are replaced at once."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.kernels import njit
from giveway.predictors.commotions.kernel import blocks
from giveway.predictors.commotions.kernel.constants import (
    A_NEXT,
    CHI,
    NUM_STATE_ROWS,
    P11,
    P12,
    P22,
    V_FREE,
    X1,
    X2,
    A,
    C,
    V,
)
from giveway.predictors.commotions.kernel.functions import normal_pair, philox
from giveway.predictors.commotions.kernel.lanes import WIDTH, anywhere, load, store
from giveway.predictors.commotions.kernel.mind import shift_plan, think
from giveway.predictors.commotions.parameters import DT_S

RANDOM, SILENT, SCRIPTED = range(3)
"""Where noise comes from: the counter-based generator, nowhere, a table of (step, vehicle, 3)."""

VEHICLE = NUM_STATE_ROWS * WIDTH  # elements of the state of one vehicle
IDLE = -1


def source_digest() -> str:
    """Of all files a compiled kernel depends on; Numba's cache itself watches only the file of the kernel."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted([*folder.glob("*.py"), folder.parent / "parameters.py"]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@njit
def seat(state: Any, mind: Any, lane: int, chi: Any, v: Any, c: Any, v_free: Any, prior: Any, seen: Any) -> None:
    """1.2, 1.3: put a fresh path into a lane; ``seen`` (2,) is the speed that the prior's spread is relative to."""
    for vehicle in range(2):
        at, other = vehicle * VEHICLE + lane, 1 - vehicle
        for row in range(NUM_STATE_ROWS):
            state[at + row * WIDTH] = 0.0
        state[at + CHI * WIDTH] = chi[vehicle]
        state[at + V * WIDTH] = v[vehicle]
        state[at + C * WIDTH] = c[vehicle]
        state[at + V_FREE * WIDTH] = v_free[vehicle]
        distance = abs(chi[other])
        state[at + X1 * WIDTH] = distance
        state[at + X2 * WIDTH] = v_free[other]
        state[at + P11 * WIDTH] = (prior[0] * distance) ** 2
        state[at + P12 * WIDTH] = 0.0
        state[at + P22 * WIDTH] = (prior[1] * seen[other]) ** 2
    for at in range(lane, mind.shape[0], WIDTH):
        mind[at] = 0.0


@njit(forceinline=True)
def draw(counters: Any, vehicle: int, seed: Any, source: int, script: Any, scratch: Any, step: Any) -> Any:
    """2.5: ε₁, ε₂, ε₃ of every lane, from (sample, path, vehicle, step) alone."""
    if source == RANDOM:
        w0, w1, w2, w3 = philox(
            load(counters, 0),
            load(counters, WIDTH),
            load(counters, 2 * WIDTH),
            load(counters, 3 * WIDTH) + np.uint32(vehicle),
            seed[0],
            seed[1],
        )
        e1, e2 = normal_pair(w0, w1)
        e3, _ = normal_pair(w2, w3)
        return e1, e2, e3
    for lane in range(WIDTH):
        for i in range(3):
            scratch[i * WIDTH + lane] = 0.0
            if source == SCRIPTED and step[lane] < script.shape[0]:
                scratch[i * WIDTH + lane] = script[int(step[lane]), vehicle, i]
    return load(scratch, 0), load(scratch, WIDTH), load(scratch, 2 * WIDTH)


def _build(digest: str) -> Any:
    @njit(cache=True, nogil=True, error_model="numpy")
    def simulate_jobs(
        first_job: int,
        last_job: int,
        num_paths: int,
        chi: Any,
        v: Any,
        c: Any,
        v_free: Any,
        v_base: Any,
        num_steps: Any,
        horizon: Any,
        key: Any,
        prior: Any,
        seen: Any,
        k: Any,
        wide: Any,
        sight: Any,
        ramps: Any,
        zero_action: int,
        jerk: bool,
        interactive: bool,
        penalty: Any,
        seed: Any,
        source: int,
        script: Any,
        accepted: Any,
        t_accept: Any,
    ) -> int:
        """Paths ``first_job`` to ``last_job`` of the list (sample 0 path 0, sample 0 path 1, ...).

        Returns the number of path steps made.
        """
        assert len(digest) > 0  # a free variable, hence part of the key of the cache
        length = ramps.shape[1]
        state = np.zeros(2 * VEHICLE, dtype=np.float64)
        memory = 3 * ramps.shape[0] * WIDTH
        mind = np.zeros(2 * memory, dtype=k.dtype)
        counters = np.zeros(4 * WIDTH, dtype=np.uint32)
        scratch = np.zeros(3 * WIDTH, dtype=np.float64)
        job = np.full(WIDTH, IDLE, dtype=np.int64)
        step = np.zeros(WIDTH, dtype=np.float64)
        limit = np.full(WIDTH, np.inf)  # number of steps of the path in a lane
        remaining = np.zeros(WIDTH, dtype=np.float64)  # d at the step before
        next_job, active, path_steps = first_job, 0, 0
        free = WIDTH
        for lane in range(WIDTH):  # harmless content for lanes that never get a path
            seat(state, mind, lane, chi[0], v[0], c[0], v_free[0], prior, seen[0])
        while True:
            # refill
            if free > 0:
                for lane in range(WIDTH):
                    while job[lane] == IDLE and next_job < last_job:
                        sample, path = next_job // num_paths, next_job % num_paths
                        d = chi[sample, 1] - c[sample, 1]
                        if num_steps[sample] == 0 or d < 0.0:
                            accepted[sample, path] = False
                            t_accept[sample, path] = horizon[sample] + 2.0 * d / v_base[sample]
                        else:
                            seat(
                                state,
                                mind,
                                lane,
                                chi[sample],
                                v[sample],
                                c[sample],
                                v_free[sample],
                                prior,
                                seen[sample],
                            )
                            counters[lane] = np.uint32(key[sample] & np.uint64(0xFFFFFFFF))
                            counters[WIDTH + lane] = np.uint32(key[sample] >> np.uint64(32))
                            counters[2 * WIDTH + lane] = np.uint32(path)
                            counters[3 * WIDTH + lane] = np.uint32(0)
                            job[lane], step[lane] = next_job, 0.0
                            limit[lane], remaining[lane] = num_steps[sample], d
                            active += 1
                        next_job += 1
                free = 0
            if active == 0:
                break
            # 2.1: think from snapshots, then move
            e1, e2, e3 = draw(counters, 1, seed, source, script, scratch, step)
            think(
                state,
                VEHICLE,
                0,
                mind,
                memory,
                k,
                wide,
                sight,
                ramps,
                zero_action,
                jerk,
                penalty[1],
                penalty[0],
                e1,
                e2,
                e3,
            )
            if interactive:
                e1, e2, e3 = draw(counters, 0, seed, source, script, scratch, step)
                think(
                    state,
                    0,
                    VEHICLE,
                    mind,
                    0,
                    k,
                    wide,
                    sight,
                    ramps,
                    zero_action,
                    jerk,
                    penalty[0],
                    penalty[1],
                    e1,
                    e2,
                    e3,
                )
            for vehicle in range(2):
                at = vehicle * VEHICLE
                a = load(state, at + A_NEXT * WIDTH)
                moved, speed = blocks.advance(load(state, at + CHI * WIDTH), load(state, at + V * WIDTH), a)
                store(state, at + A * WIDTH, a)
                store(state, at + CHI * WIDTH, moved)
                store(state, at + V * WIDTH, speed)
                shift_plan(state, at, length, jerk)
            path_steps += active
            # 1.4, 5.1: close
            before, count = load(remaining, 0), load(step, 0) + 1.0
            d = load(state, VEHICLE + CHI * WIDTH) - load(state, VEHICLE + C * WIDTH)
            store(remaining, 0, d)
            store(step, 0, count)
            store(counters, 3 * WIDTH, load(counters, 3 * WIDTH) + np.uint32(2))
            if anywhere((d < 0.0) | (count >= load(limit, 0))):
                store(scratch, 0, before)
                for lane in range(WIDTH):
                    d_now = remaining[lane]
                    if job[lane] == IDLE or (d_now >= 0.0 and step[lane] < limit[lane]):
                        continue
                    sample, path = job[lane] // num_paths, job[lane] % num_paths
                    accepted[sample, path] = d_now < 0.0
                    if d_now < 0.0:
                        t_accept[sample, path] = DT_S * (step[lane] - 1.0 + scratch[lane] / (scratch[lane] - d_now))
                    else:
                        t_accept[sample, path] = horizon[sample] + 2.0 * d_now / v_base[sample]
                    job[lane], limit[lane] = IDLE, np.inf
                    free += 1
                    active -= 1
        return path_steps

    return simulate_jobs


simulate_jobs = _build(source_digest())
