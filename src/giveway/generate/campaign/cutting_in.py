"""A scripted driver who cuts in: one car at a time gets ahead in the lane beside the ego, slows down and moves over.

It demonstrates to a training what a failure that counts looks like. The lane change begins when the time until the gap
to the ego has shrunk to ``gap_m`` equals the time that the way to the ego's path takes, so that a careful driver, who
sees the car leave its lane, still has time to brake.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import FloatArray, IntArray
from giveway.generate.campaign.driving import places
from giveway.generate.environment.driving import SIDE_SPEED_MPS
from giveway.generate.protocol import Scenes
from giveway.generate.worlds import Worlds
from giveway.sim.free_motion import SPEED

CAR_LENGTH_M, TOUCH_M, NEAR_PATH_M = 4.5, 1.9, 2.15
LANE_M = 3.5
GAIN = 0.4
"""Pedal per m/s of difference to the wanted speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutIn:
    """How to cut in; found by a search over 96 scenes of the straight road (docs/generate/protocol.md).

    Attributes:
        slower_mps: how much slower than the ego the car becomes.
        gap_m: bumper distance at which it wants to reach the ego's path.
        side: lateral speed of moving over, as a share of 2 m/s.
        late_s: how much earlier than needed it begins.
        ahead_m: distance ahead at which it waits.
        last_side: lateral speed of the last few decimeters.
    """

    slower_mps: float = 2.6
    gap_m: float = 2.8
    side: float = 0.55
    late_s: float = 0.02
    ahead_m: float = 24.8
    last_side: float = 0.21


AGAINST_IDM = CutIn(slower_mps=5.0, gap_m=0.4, side=0.25, late_s=0.3, ahead_m=22.0, last_side=0.7)
"""A planner that reacts at once, but only to what is on its path: drift over slowly, dash at the end."""


def cut_in_against(ego: str) -> CutIn:
    """The manoeuvre that worked best against a planner in the search; the one for the default planner for others."""
    return AGAINST_IDM if ego == "idm" else CutIn()


class CutInDriver:
    """One car cuts in, the others drive as usual; for worlds with lateral actions.

    Args:
        how: the manoeuvre.
    """

    name = "cut_in"
    genes_per_car = 0

    def __init__(self, how: CutIn | None = None) -> None:
        self.how = how or CutIn()

    def begin(self, worlds: Worlds, scenes: Scenes, seeds: Sequence[int], genes: FloatArray) -> None:
        """Nothing to prepare."""

    def act(self, worlds: Worlds, observations: NDArray[np.float32], step: int) -> FloatArray:
        """Ordinary driving, except for the car whose turn it is."""
        return self(worlds, observations)

    def __call__(self, worlds: Worlds, observations: NDArray[np.float32]) -> FloatArray:
        """As :meth:`act`; a function of where everybody is now, so that it can be cloned."""
        where = places(worlds)
        along, across = where[..., 0], where[..., 1]
        usual = np.asarray(worlds.natural_actions(), dtype=np.float64)
        rows, who = np.arange(len(along)), self._turn(along, across)
        actions = usual.copy()
        wanted = self._wanted(worlds, along, across, usual)
        actions[rows, who] = wanted[rows, who]
        return actions

    def _turn(self, along: FloatArray, across: FloatArray) -> IntArray:
        """(W,) the car that is best placed."""
        beside = np.abs(np.abs(across) / LANE_M - 1.0)
        cost = np.abs(along - self.how.ahead_m) + 6.0 * beside + np.where(along < -5.0, 10.0, 0.0)
        return cost.argmin(axis=1)

    def _wanted(self, worlds: Worlds, along: FloatArray, across: FloatArray, usual: FloatArray) -> FloatArray:
        how = self.how
        speed = worlds.moving.state[:, 1 : 1 + worlds.n_cars, SPEED]
        ego = worlds.moving.state[:, :1, SPEED]
        gap, closing, off = along - CAR_LENGTH_M, ego - speed, np.abs(across)
        beside, ahead, same = (off > 1.0) & (off < 5.0), gap > 0.3, off <= 1.0
        slow = np.where(gap > how.ahead_m, ego - 1.2 * how.slower_mps, ego - how.slower_mps)
        target = np.where(ahead, slow, ego + 4.0)
        target = np.where(beside, target, ego + np.clip(0.3 * (how.ahead_m - gap), -4.0, 4.0))
        pedal = np.where(same, usual[..., 0], np.clip(GAIN * (target - speed), -1.0, 1.0))
        follow = (usual[..., 0] < -0.3) & ~(beside & ahead)
        pedal = np.where(follow, np.minimum(pedal, usual[..., 0]), pedal)
        until = (gap - how.gap_m) / np.maximum(closing, 0.3)
        needs = (off - TOUCH_M) / (SIDE_SPEED_MPS * how.side)
        over = beside & ahead & (until < needs + how.late_s) & (closing > 0.5)
        towards = -np.sign(across)
        side = np.where(over, towards * np.where(off < NEAR_PATH_M, how.last_side, how.side), usual[..., 1])
        side = np.where(off >= 5.0, 0.5 * towards, side)
        side = np.where(same & (gap > 3.0), 0.5, side)
        return np.stack([pedal, side], axis=-1)
