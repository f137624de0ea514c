"""One application of f_CM for many simulated cars."""

from __future__ import annotations

from typing import Any

import numpy as np

from giveway.core.kernels import njit
from giveway.predictors.commotions.kernel.constants import A_NEXT
from giveway.predictors.commotions.kernel.lanes import WIDTH, load
from giveway.predictors.commotions.kernel.mind import shift_plan, think
from giveway.predictors.commotions.kernel.rollout import RANDOM, SILENT, VEHICLE, draw, source_digest


def _build(digest: str) -> Any:
    @njit(cache=True, nogil=True, error_model="numpy")
    def step_groups(
        state: Any,
        mind: Any,
        counters: Any,
        penalty: Any,
        k: Any,
        wide: Any,
        sight: Any,
        ramps: Any,
        zero_action: int,
        jerk: bool,
        seed: Any,
        silent: bool,
        acceleration: Any,
    ) -> None:
        """Think once in every group of WIDTH cars; writes what each applies now and advances its plan.

        Args:
            state: (G, 2 VEHICLE) self at 0, other at VEHICLE.
            mind: (G, 3 |𝒰| WIDTH) accumulators.
            counters: (G, 4 WIDTH) key low, key high, path, 2 step + vehicle.
            penalty: (G, 2 WIDTH) u_ny/u_free of self, then of the other.
            k: constants of valuing, and ``wide``, ``sight``, ``ramps``, ``zero_action``, ``jerk`` as in ``think``.
            wide: see ``k``.
            sight: see ``k``.
            ramps: see ``k``.
            zero_action: see ``k``.
            jerk: see ``k``.
            seed: two words.
            silent: no noise.
            acceleration: (G, WIDTH) result [m/s²].
        """
        assert len(digest) > 0
        script, scratch = np.zeros((0, 2, 3)), np.zeros(3 * WIDTH)
        step = np.zeros(WIDTH)
        for group in range(state.shape[0]):
            e1, e2, e3 = draw(counters[group], 0, seed, SILENT if silent else RANDOM, script, scratch, step)
            own_penalty, other_penalty = load(penalty[group], 0), load(penalty[group], WIDTH)
            think(
                state[group],
                0,
                VEHICLE,
                mind[group],
                0,
                k,
                wide,
                sight,
                ramps,
                zero_action,
                jerk,
                own_penalty,
                other_penalty,
                e1,
                e2,
                e3,
            )
            for lane in range(WIDTH):
                acceleration[group, lane] = state[group, A_NEXT * WIDTH + lane]
            shift_plan(state[group], 0, ramps.shape[1], jerk)

    return step_groups


step_groups = _build(source_digest())
