"""Weights of the rewards of learning cars."""

from __future__ import annotations

from typing import NamedTuple


class RewardWeights(NamedTuple):
    """Weights of the graded reward (see :mod:`giveway.generate.objective.graded`).

    Attributes:
        incident: I, pays the growth of the grade G.
        near_miss: G after a near miss.
        avoidable: G of a failure of grade C.
        obliged: G of a failure of grade B.
        at_fault: G of a failure of grade A.
        potential: w_p.
        naturalness: B_n, the most that a whole episode of unnatural driving costs.
        responsibility: B_r, the most that a whole episode of unsafe gaps costs.
        penalty: P, once: for leaving the road, for violating in a contact with another car than the ego, and for
            violating in a contact of grade D.
        discount: gamma of the potential-based shaping.
        near_miss_ttc_s: a time to collision of the ego below this is a near miss.
    """

    incident: float = 10.0
    near_miss: float = 0.1
    avoidable: float = 0.4
    obliged: float = 0.8
    at_fault: float = 1.0
    potential: float = 1.0
    naturalness: float = 2.0
    responsibility: float = 1.0
    penalty: float = 3.0
    discount: float = 0.99
    near_miss_ttc_s: float = 0.5


class V1Weights(NamedTuple):
    """Weights of the reward of release 0.1 (see :mod:`giveway.generate.objective.v1`), for comparison.

    Attributes:
        potential: w_p.
        escape: w_e.
        naturalness: w_n.
        responsibility: w_r.
        contact: w_c.
        terminal: I.
        terminal_scale: multiplies I; 5 is what the published code does.
        min_escape: below this share of free maneuvers a scenario is unsolvable and the escape term is 0.
    """

    potential: float = 1.0
    escape: float = 0.2
    naturalness: float = 0.1
    responsibility: float = 0.5
    contact: float = 1.0
    terminal: float = 10.0
    terminal_scale: float = 1.0
    min_escape: float = 0.05


class LegacyWeights(NamedTuple):
    """Weights of the artefact's reward; design note 1.1.

    Attributes:
        approach: for having come nearer, or minus it.
        safety: multiplies -10 for a crash and -100 for leaving the road.
        stage: multiplies the shared stage reward.
        finish: multiplies I.
        terminal: I.
        capture_m: d_cap.
        limit_m: d_lim.
        max_speed_mps: v_max.
    """

    approach: float = 0.7
    safety: float = 0.4
    stage: float = 0.01
    finish: float = 5.0
    terminal: float = 10.0
    capture_m: float = 3.5
    limit_m: float = 8.0
    max_speed_mps: float = 30.0 / 3.6
