"""Contacts of two boxes: where the first one was touched, and who is to blame; compiled."""

from __future__ import annotations

import math
from enum import IntEnum

from giveway.core._box_kernels import pair_overlaps  # pyright: ignore[reportUnknownVariableType]
from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit
from giveway.generate.protocol import Fault

EGO_FRONT = int(Fault.EGO_FRONT)
EGO_STOPPED_OBJECT = int(Fault.EGO_STOPPED_OBJECT)
EGO_LATERAL = int(Fault.EGO_LATERAL)
CAR_REAR = int(Fault.CAR_REAR)
CAR_LATERAL = int(Fault.CAR_LATERAL)
UNCLEAR = int(Fault.UNCLEAR)

STANDING_MPS = 0.2


class Side(IntEnum):
    """Where a box was touched."""

    FRONT = 0
    REAR = 1
    LEFT = 2
    RIGHT = 3


FRONT, REAR, LEFT, RIGHT = int(Side.FRONT), int(Side.REAR), int(Side.LEFT), int(Side.RIGHT)


@njit(nogil=True)
def fill_box(x: float, y: float, heading: float, length: float, width: float, out: FloatArray) -> None:
    """Row of seven numbers as in :mod:`giveway.core.boxes`."""
    out[0] = x
    out[1] = y
    out[2] = math.cos(heading)
    out[3] = math.sin(heading)
    out[4] = 0.5 * length
    out[5] = 0.5 * width
    out[6] = 0.0


@njit(nogil=True)
def boxes_touch(a: FloatArray, b: FloatArray) -> bool:
    """Whether two boxes share a point; far ones cost little."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    reach = a[4] + a[5] + b[4] + b[5]
    if dx * dx + dy * dy > reach * reach:
        return False
    return pair_overlaps(a, b)


@njit(nogil=True)
def _gaps(a: FloatArray, b: FloatArray) -> tuple[float, float, float, float]:
    """Gap along and across box a to the bounding rectangle of b in a's axes, and where b's middle lies there."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    along, across = dx * a[2] + dy * a[3], dy * a[2] - dx * a[3]
    same, turned = abs(a[2] * b[2] + a[3] * b[3]), abs(a[2] * b[3] - a[3] * b[2])
    return (
        abs(along) - a[4] - b[4] * same - b[5] * turned,
        abs(across) - a[5] - b[4] * turned - b[5] * same,
        along,
        across,
    )


@njit(nogil=True)
def touched_side(a_before: FloatArray, b_before: FloatArray, a: FloatArray, b: FloatArray) -> int:
    """Side of box a that met box b during the last step.

    In the axes of a the boxes meet when the second of the two gaps (along, across) closes; gaps are taken to change
    evenly over the step. If both were closed before (rotating boxes), the shallower overlap decides.
    """
    along_before, across_before, _, _ = _gaps(a_before, b_before)
    along, across, u, v = _gaps(a, b)
    when_along = along_before / max(along_before - along, 1e-9) if along_before > 0.0 else -1.0
    when_across = across_before / max(across_before - across, 1e-9) if across_before > 0.0 else -1.0
    lengthwise = when_along > when_across if max(when_along, when_across) >= 0.0 else along > across
    if lengthwise:
        return FRONT if u > 0.0 else REAR
    return LEFT if v > 0.0 else RIGHT


@njit(nogil=True)
def in_one_lane(d: float, turn: float, length: float, width: float, half_lane: float) -> bool:
    """Whether a box lies between the lines of its lane."""
    reach = 0.5 * length * abs(math.sin(turn)) + 0.5 * width * abs(math.cos(turn))
    return abs(d) + reach <= half_lane


@njit(nogil=True)
def blame(side: int, ego_in_lane: bool, car_speed: float, car_turn: float, ego_speed: float) -> int:
    """Class of fault of a contact of the ego with another car; codes of :class:`giveway.generate.protocol.Fault`.

    The ego is at fault if it hits something that stands, if it touches with its front, or if it is touched at its side
    while it is not fully in one lane. It is not if it is hit from behind, or at its side while in its lane, or by a car
    that drives against the direction of its lane.

    Args:
        side: where the ego was touched.
        ego_in_lane: it lies between the lines of one lane.
        car_speed: of the other car before contact [m/s].
        car_turn: its heading relative to its lane [rad].
        ego_speed: before contact [m/s].
    """
    if side == REAR:
        return CAR_REAR
    if abs(car_turn) > 0.5 * math.pi and car_speed > STANDING_MPS:
        return CAR_LATERAL
    if car_speed <= STANDING_MPS:
        return EGO_STOPPED_OBJECT if ego_speed > STANDING_MPS else UNCLEAR
    if side == FRONT:
        return EGO_FRONT if ego_speed > STANDING_MPS else CAR_LATERAL
    return CAR_LATERAL if ego_in_lane else EGO_LATERAL
