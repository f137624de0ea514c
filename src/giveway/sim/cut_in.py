"""Whether an automated ego is obliged to cope with a cut-in: UN Regulation No. 157, paragraph 5.2.5.2.

It is if (a) the cutting car is slower and keeps its longitudinal speed, (b) its lateral movement is visible for 0.72 s
before the reference point, (c) there the time to collision exceeds v_rel / (2 x 6 m/s^2) + 0.35 s. The reference point
is reached when the outside of the nearer front tire is 0.3 m beyond the lane marking. Values published for other rules
have 0.25 s instead of 0.35 s: they must not be mixed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.sim.bicycle import WHEELBASE_SHARE
from giveway.sim.rss import D0, GAP_LON, LATERAL_MPS, S0, TURN0, U0, V0, Law

VISIBLE_S = 0.72
BRAKE_MPS2 = 6.0
DELAY_S = 0.35
BEYOND_LINE_M = 0.3
KEEPS_SPEED_MPS = 1.0
"""A car whose longitudinal speed stays within this from its first lateral movement to the contact keeps it: our reading
of (a)."""


def ttc_limit(closing_mps: float) -> float:
    """Time to collision at the reference point above which a cut-in must be avoided, v_rel / 12 + 0.35 s [s]."""
    return closing_mps / (2.0 * BRAKE_MPS2) + DELAY_S


@dataclass(frozen=True, slots=True, kw_only=True)
class CutIn:
    """A car that came into the ego's lane ahead of it.

    Attributes:
        keeps_speed: (a).
        visible: (b).
        far_enough: (c).
        numbers: visible_s, ttc_s, ttc_limit_s.
    """

    keeps_speed: bool
    visible: bool
    far_enough: bool
    numbers: Mapping[str, float]

    @property
    def obliged(self) -> bool:
        """All three hold."""
        return self.keeps_speed and self.visible and self.far_enough

    @property
    def text(self) -> str:
        """For the sentence of a verdict."""
        n = self.numbers
        held = ", ".join(f"{letter} {'holds' if holds else 'fails'}" for letter, holds in self._points())
        return (
            f"cut-in (R157): visible {n['visible_s']:.1f} s, TTC {n['ttc_s']:.2f} s against {n['ttc_limit_s']:.2f} s; "
            f"{held}"
        )

    def _points(self) -> tuple[tuple[str, bool], ...]:
        return (("(a)", self.keeps_speed), ("(b)", self.visible), ("(c)", self.far_enough))


def cut_in_of(related: FloatArray, size: FloatArray, ego: int, law: Law, dt: float, half_lane_m: float) -> CutIn | None:
    """The cut-in before a contact; None if the other car did not come into the ego's lane from beside, ahead of it.

    Args:
        related: (n, 15) see :func:`giveway.sim.rss.relate`; the last tick is the contact.
        size: (2, 2) of both cars [m].
        ego: 0 or 1.
        law: constants.
        dt: length of a tick [s].
        half_lane_m: from the middle of the ego's lane to its marking; the ego is in the middle at the first tick.
    """
    other = 1 - ego
    middle = related[0, D0 + ego]
    side = math.copysign(1.0, related[0, D0 + other] - middle)
    turn = related[:, TURN0 + other]
    axle = 0.5 * WHEELBASE_SHARE * size[other, 0]
    tire = side * (related[:, D0 + other] - middle) + side * axle * np.sin(turn) - 0.5 * size[other, 1] * np.cos(turn)
    inside = np.flatnonzero(half_lane_m - tire >= BEYOND_LINE_M)
    if inside.size == 0 or inside[0] == 0 or related[inside[0], S0 + other] < related[inside[0], S0 + ego]:
        return None
    at = int(inside[0])
    still = np.flatnonzero(related[: at + 1, U0 + other] <= LATERAL_MPS)
    visible_s = (at - (int(still[-1]) + 1 if still.size else 0)) * dt
    seen = at - round(visible_s / dt)
    speed, closing = related[seen:, V0 + other], float(related[at, V0 + ego] - related[at, V0 + other])
    gap = float(related[at, GAP_LON])
    ttc = gap / closing if closing > 0.0 and gap > 0.0 else (math.inf if gap > 0.0 else 0.0)
    return CutIn(
        keeps_speed=closing > 0.0 and float(np.abs(speed - speed[0]).max()) <= KEEPS_SPEED_MPS,
        visible=visible_s >= VISIBLE_S - 1e-9,
        far_enough=ttc > ttc_limit(max(closing, 0.0)),
        numbers={"visible_s": visible_s, "ttc_s": ttc, "ttc_limit_s": ttc_limit(max(closing, 0.0))},
    )
