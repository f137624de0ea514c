"""Weights of the rewards of learning cars."""

from __future__ import annotations

from typing import NamedTuple


class RewardWeights(NamedTuple):
    """Weights of the full reward; design note 2.3.

    Attributes:
        potential: w_p.
        escape: w_e.
        naturalness: w_n.
        responsibility: w_r.
        contact: w_c.
        terminal: I.
        terminal_scale: multiplies I; 5 is what the artefact does.
        discount: gamma of the potential-based shaping.
        min_escape: below this share of free manoeuvres a scenario is unsolvable and the escape term is 0.
        near_miss_ttc_s: a time to collision below this is a near miss.
    """

    potential: float = 1.0
    escape: float = 0.2
    naturalness: float = 0.1
    responsibility: float = 0.5
    contact: float = 1.0
    terminal: float = 10.0
    terminal_scale: float = 1.0
    discount: float = 0.99
    min_escape: float = 0.05
    near_miss_ttc_s: float = 0.5


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
