"""Whether parameters that predict people also drive: three gates before a file of drivers is written.

On a crossing one mind with priority comes at 8 m/s, 2 to 8 s away, the other, 12 m away at 4 m/s, has to yield.

1. P(yielder first) does not fall with the time gap, within two standard errors of each difference.
2. Both are in the area at once in at most 5 % of the runs, with the guard off.
3. In at most 2 % nobody has entered after 15 s, with deadlocks not resolved.

A good loss is not a good driver: parameters fitted to decisions before the first entry have not seen what comes after.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from giveway.core.seeds import seed_for
from giveway.predictors.commotions.agent import theta_table
from giveway.predictors.commotions.config import Configuration
from giveway.predictors.commotions.parameters import BASE_SPEED_MPS, VEHICLE_LENGTH_M, Theta
from giveway.sim.drivers.cognitive_control import DECISION_S, Rules
from giveway.sim.drivers.cognitive_crossing import Approach, Crossings, cross

TIME_GAPS_S = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
PRIORITY_SPEED_MPS, YIELDER_SPEED_MPS, YIELDER_FRONT_M, AREA_M = 8.0, 4.0, 12.0, 3.6
END_S = 15.0
MAX_BOTH_INSIDE, MAX_NOBODY, ERRORS = 0.05, 0.02, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """What the gates found for one parameter set.

    Attributes:
        time_gap_s: of the car with priority [s].
        p_yielder_first: share of runs in which the car that has to yield enters first, per time gap.
        both_inside: share of runs with both in the area at once.
        nobody: share of runs in which nobody entered within 15 s.
        runs: per time gap.
        rises: gate 1.
        passed: all three.
    """

    time_gap_s: tuple[float, ...]
    p_yielder_first: tuple[float, ...]
    both_inside: float
    nobody: float
    runs: int
    rises: bool
    passed: bool

    def document(self) -> dict[str, Any]:
        """For a file of drivers."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def gates(
    theta: Theta,
    config: Configuration,
    *,
    bounds_mps2: tuple[float, float] = (-8.0, 3.0),
    runs: int = 2000,
    seed: int = 0,
) -> Gates:
    """Drive the grid of time gaps and judge.

    Args:
        theta: θ of both minds.
        config: variant; its control is that of both.
        bounds_mps2: of the accelerations.
        runs: per time gap.
        seed: of the noise.
    """
    table = theta_table([theta], config)
    rules = Rules(low_mps2=bounds_mps2[0], high_mps2=bounds_mps2[1], guard=False, resolves=False)
    grid = [
        cross(_approach(gap, runs, config.jerk), table, rules=rules, decisions=round(END_S / DECISION_S), seed=seed)
        for gap in TIME_GAPS_S
    ]
    first = np.array([found.first(1).mean() for found in grid])
    both = float(np.mean([found.both_inside.mean() for found in grid]))
    nobody = float(np.mean([_nobody(found) for found in grid]))
    rises = not_falling(first, runs)
    return Gates(
        time_gap_s=TIME_GAPS_S,
        p_yielder_first=tuple(first.tolist()),
        both_inside=both,
        nobody=nobody,
        runs=runs,
        rises=rises,
        passed=rises and both <= MAX_BOTH_INSIDE and nobody <= MAX_NOBODY,
    )


def not_falling(share: np.ndarray[Any, np.dtype[np.float64]], runs: int) -> bool:
    """Whether no later share lies more than two standard errors of the difference below an earlier one."""
    variance = share * (1 - share) / runs
    fall = share[:, None] - share[None, :]  # row before column
    error = np.sqrt(variance[:, None] + variance[None, :])
    return bool((np.triu(fall, 1) <= ERRORS * error).all())


def _nobody(found: Crossings) -> float:
    return float(np.isinf(found.entry_s).all(axis=1).mean())


def _approach(gap_s: float, runs: int, jerk: bool) -> Approach:
    def every(first: float, second: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.tile([first, second], (runs, 1))

    names = np.arange(2 * runs, dtype=np.uint64) + np.uint64(seed_for(0, "gates", gap_s) % 2**63)
    return Approach(
        front_m=every(PRIORITY_SPEED_MPS * gap_s, YIELDER_FRONT_M),
        speed=every(PRIORITY_SPEED_MPS, YIELDER_SPEED_MPS),
        area_m=every(AREA_M, AREA_M),
        length_m=every(VEHICLE_LENGTH_M, VEHICLE_LENGTH_M),
        theta=0,
        jerk=jerk,
        base_speed=every(BASE_SPEED_MPS, BASE_SPEED_MPS),
        priority=1,
        key=names.reshape(runs, 2),
    )
