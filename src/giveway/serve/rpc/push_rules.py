"""What must be true of every prediction a client pushes, one row per rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray
from giveway.core.frames import wrap_angle
from giveway.core.histories import FUTURE_STEPS, STEP_S
from giveway.predictors.acceptance import LARGEST, MAX_MODES, PROBABILITY_TOLERANCE
from giveway.serve.rpc.wire import Request

FRAME_M = 5.0
"""The first predicted position, 0.1 s ahead, may be this far from the current one, and what 30 m/s add to it."""

VELOCITY_MPS = 2.0
HEADING_RAD = 0.5
MOVING_MPS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRule:
    """One rule.

    Attributes:
        name: short name.
        fault: what is wrong with a push for a request, in a few words; empty if nothing is.
        good: what is true of all pushes if none has a fault.
        hint: what to do.
        only_warns: a fault works, but is probably not what its author wants.
    """

    name: str
    fault: Callable[[Any, Request], str]
    good: str
    hint: str
    only_warns: bool = False


def numbers_of(push: Any) -> FloatArray:
    """All numbers of a push that are used, one after the other, and its probabilities."""
    states = [v for mode in push.pred_trajs for s in mode.state for v in (s.x, s.y, s.vx, s.vy, s.psi_rad)]
    return np.array([*states, *push.probability], dtype=np.float64)


def _modes(push: Any, _: Request) -> str:
    return "" if 1 <= len(push.pred_trajs) <= MAX_MODES else f"{len(push.pred_trajs)} modes"


def _length(push: Any, _: Request) -> str:
    wrong = [len(mode.state) for mode in push.pred_trajs if len(mode.state) != FUTURE_STEPS]
    return f"a mode with {wrong[0]} states" if wrong else ""


def _identity(push: Any, request: Request) -> str:
    foreign = [s.track_id for mode in push.pred_trajs for s in mode.state if s.track_id != request.track_id]
    return f"a state of car {foreign[0]} where car {request.track_id} was asked for" if foreign else ""


def _probabilities(push: Any, _: Request) -> str:
    if len(push.probability) != len(push.pred_trajs):
        return f"{len(push.probability)} probabilities for {len(push.pred_trajs)} modes"
    total = sum(push.probability)
    bad = any(p < 0 for p in push.probability) or not abs(total - 1) < PROBABILITY_TOLERANCE
    return f"probabilities {', '.join(f'{p:.3g}' for p in push.probability[:6])}" if bad else ""


def _numbers(push: Any, _: Request) -> str:
    numbers = numbers_of(push)
    bad = numbers[~(np.abs(numbers) <= LARGEST)]
    return f"the number {bad[0]:g}" if bad.size else ""


def _frame(push: Any, request: Request) -> str:
    now = request.response.my_traj.state[-1]
    starts = np.array([(mode.state[0].x, mode.state[0].y) for mode in push.pred_trajs if mode.state])
    far = np.hypot(*(starts - (now.x, now.y)).T) if starts.size else np.zeros(0)
    allowed = FRAME_M + STEP_S * 30.0
    return f"a prediction begins {far.max():.0f} m from the car" if far.size and not far.max() <= allowed else ""


def _motion(push: Any, _: Request) -> str:
    for mode in push.pred_trajs:
        states = np.array([(s.x, s.y, s.vx, s.vy, s.psi_rad) for s in mode.state])
        if len(states) < 2 or not (np.abs(states) <= LARGEST).all():
            continue
        moved = np.diff(states[:, :2], axis=0) / STEP_S
        off = float(np.median(np.hypot(*(moved - states[1:, 2:4]).T)))
        if off > VELOCITY_MPS:
            return f"vx, vy differ from the positions' differences by {off:.1f} m/s"
        fast = np.hypot(*moved.T) > MOVING_MPS
        turn = np.abs(wrap_angle(elementary.arctan2(moved[:, 1], moved[:, 0]) - states[1:, 4]))
        if fast.any() and float(np.median(turn[fast])) > HEADING_RAD:
            return f"psi_rad differs from the direction of motion by {np.median(turn[fast]):.1f} rad"
    return ""


PUSH_RULES = (
    PushRule(
        name="modes",
        fault=_modes,
        good=f"1 to {MAX_MODES} modes each",
        hint="fill pred_trajs with at least one trajectory",
    ),
    PushRule(
        name="length",
        fault=_length,
        good=f"{FUTURE_STEPS} states per mode",
        hint=f"predict 3 s: {FUTURE_STEPS} states, 0.1 s apart, the first one 0.1 s from now",
    ),
    PushRule(
        name="identity",
        fault=_identity,
        good="right track_id",
        hint="copy track_id from my_traj into every state",
    ),
    PushRule(
        name="probabilities",
        fault=_probabilities,
        good="adding up to 1",
        hint=f"one value >= 0 per mode, adding up to 1 within {PROBABILITY_TOLERANCE:g}",
    ),
    PushRule(
        name="numbers",
        fault=_numbers,
        good="all finite",
        hint=f"x, y, vx, vy, psi_rad within {LARGEST:g}",
    ),
    PushRule(
        name="frame",
        fault=_frame,
        good="beginning at the car",
        hint="answer in the frame of the question: site coordinates minus 1000 m on both axes, meters, x before y",
    ),
    PushRule(
        name="motion",
        fault=_motion,
        good="velocities and headings fit",
        hint="psi_rad in radians from +x; vx, vy in m/s",
        only_warns=True,
    ),
)
"""In the order in which they are printed."""
