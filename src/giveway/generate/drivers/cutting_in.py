"""Scripted drivers who cut in: cars in the lanes beside the ego get ahead, slow down and drift into its path.

They demonstrate to a training what a failure that counts looks like. Gap to the ego (bumper to bumper) and distance
from its path shrink together,

    gap = gap_m + slower_mps / side_mps (distance - touch)

so that a car reaches the ego's path when the gap is ``gap_m``. It holds this line by its speed and by its lateral
speed; both are continuous in where everybody is now, so that a network can imitate them. A careful driver sees the
drift and has time to brake.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from giveway.core.arrays import FloatArray
from giveway.generate.driving import places
from giveway.generate.protocol import Scenes
from giveway.generate.worlds import CAR_SIZE_M, Worlds
from giveway.sim.bicycle import SPEED
from giveway.sim.drivers.actions import SIDE_SPEED_MPS

LANE_M = 3.5
TOUCH_M, NEAR_PATH_M = 1.9, 2.15
"""Distances between the middles of two cars side by side: about to touch, and the last decimeters before."""

OWN_LANE_M, FAR_M = 1.0, 5.0
"""Up to the first a car is in the ego's lane, from the second on more than one lane away."""

PEDAL_PER_MPS = 0.4
FASTER_MPS = 4.0
SLOWEST_MPS = 2.0
EARLY_M = 3.0
"""The drift begins when the gap is at most so much larger than the line asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutIn:
    """How to cut in; found by a search over scenes of the straight road (docs/generate/protocol.md).

    Attributes:
        slower_mps: how much slower than the ego the car becomes.
        gap_m: bumper distance at which it reaches the ego's path.
        side_mps: lateral speed of drifting over.
        last_mps: lateral speed of the last decimeters.
        along_gain: how firmly the line is held by the speed [1/s].
        across_gain: how firmly it is held by the lateral speed [1/s].
    """

    slower_mps: float = 2.01
    gap_m: float = 0.8
    side_mps: float = 0.91
    last_mps: float = 1.43
    along_gain: float = 0.46
    across_gain: float = 1.34


class CutInShape(NamedTuple):
    """The fields of :class:`CutIn` per world and car, (W, k) each."""

    slower_mps: FloatArray
    gap_m: FloatArray
    side_mps: FloatArray
    last_mps: FloatArray
    along_gain: FloatArray
    across_gain: FloatArray


AGAINST_IDM = CutIn(slower_mps=6.37, gap_m=-1.03, side_mps=0.32, last_mps=1.96, along_gain=0.48, across_gain=2.8)
"""A planner that reacts at once, but only to what is on its path: drift over slowly, dash at the end."""


def cut_in_against(ego: str) -> CutIn:
    """The manoeuvre that worked best against a planner in the search; the one for the default planner for others."""
    return AGAINST_IDM if ego == "idm" else CutIn()


class CutInDriver:
    """All cars that can cut in, the others come near or drive as usual; for worlds with lateral actions.

    Args:
        how: the manoeuvre; the one that suits the worlds' ego if None.
    """

    name = "cut_in"
    genes_per_car = 0

    def __init__(self, how: CutIn | CutInShape | None = None) -> None:
        self.how = how

    def begin(self, worlds: Worlds, scenes: Scenes, seeds: Sequence[int], genes: FloatArray) -> None:
        """Nothing to prepare."""

    def act(self, worlds: Worlds, observations: NDArray[np.float32], step: int) -> FloatArray:
        """What the cars do now."""
        return self(worlds, observations)

    def __call__(self, worlds: Worlds, observations: NDArray[np.float32]) -> FloatArray:
        """As :meth:`act`; a function of where everybody is now, so that it can be cloned."""
        how = self.how or cut_in_against(worlds.settings.ego)
        where = places(worlds)
        across = where[..., 1]
        off, towards = np.abs(across), -np.sign(across)
        gap = where[..., 0] - CAR_SIZE_M[0]
        usual = np.asarray(worlds.natural_actions(), dtype=np.float64)
        speed = worlds.state.car[:, 1 : 1 + worlds.n_cars, SPEED]
        ego = worlds.state.car[:, :1, SPEED]
        slower = np.minimum(how.slower_mps, np.maximum(ego - SLOWEST_MPS, 0.5))
        line = how.gap_m + slower / how.side_mps * np.clip(off - TOUCH_M, 0.0, LANE_M - TOUCH_M)
        pedal, side = _hold_line(how, gap, off, ego - speed, slower, line)
        near = ego + np.clip(0.3 * (line - gap), -FASTER_MPS, FASTER_MPS)
        same, far = off <= OWN_LANE_M, off >= FAR_M
        pedal = np.where(far, np.clip(PEDAL_PER_MPS * (near - speed), -1.0, 1.0), pedal)
        pedal = np.where(same, usual[..., 0], pedal)
        follows = (usual[..., 0] < -0.3) & (same | far | (gap <= 0.3))
        pedal = np.where(follows, np.minimum(pedal, usual[..., 0]), pedal)
        side = np.where(far, 0.5 * towards, towards * side)
        side = np.where(same, np.where(gap > EARLY_M, 0.5, usual[..., 1]), side)
        return np.stack([pedal, side], axis=-1)


def _hold_line(
    how: CutIn | CutInShape, gap: FloatArray, off: FloatArray, closing: FloatArray, slower: FloatArray, line: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Pedal, and lateral speed towards the ego as a share of the greatest one, of cars in the lanes beside it."""
    wanted = np.clip(slower + how.along_gain * (gap - line), -FASTER_MPS, 1.4 * slower)
    wanted = np.where(gap < -1.0, -FASTER_MPS, wanted)
    pedal = np.clip(PEDAL_PER_MPS * (closing - wanted), -1.0, 1.0)
    place = TOUCH_M + (gap - how.gap_m) * how.side_mps / slower
    drift = how.side_mps * np.clip(closing / slower, 0.0, 1.2) * (gap < line + EARLY_M)
    drift = np.clip(drift + how.across_gain * (off - place), -how.side_mps, 1.5 * how.side_mps)
    drift = np.where((off < NEAR_PATH_M) & (closing > 0.0), np.maximum(drift, how.last_mps), drift)
    drift = np.where((gap <= 0.2) | ((off > LANE_M - 0.05) & (drift < 0.0)), 0.0, drift)
    return pedal, np.clip(drift / SIDE_SPEED_MPS, -1.0, 1.0)
