"""What minds believed and did, for logs and replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from giveway.core.arrays import FloatArray, IntArray
from giveway.core.log import LoggedMinds
from giveway.predictors.commotions.kernel.agents import OTHER, SLOTS
from giveway.predictors.commotions.kernel.constants import THRESHOLD
from giveway.sim.drivers.base import Batch
from giveway.sim.drivers.cognitive_conflicts import Line

if TYPE_CHECKING:
    from giveway.sim.drivers.cognitive import Heads

MOST_CASES = 50
"""Thoughts of a batch with more cases are not kept unless asked for."""


def thoughts_of(batch: Batch, own: Heads, mind: IntArray) -> LoggedMinds:
    """The last decision of the minds (N,) of one world; call right after it."""
    cognition, w = own.cognition, int(own.world[mind[0]])
    slot = cognition.attention.partner[mind]
    thinks = slot >= 0
    pair = mind * SLOTS + np.maximum(slot, 0)
    row = np.maximum(cognition.attention.conflict[mind, np.maximum(slot, 0)], 0)
    pairs, table, conflicts = cognition.pairs, cognition.table, cognition.conflicts
    if not thinks.any() and not conflicts.other.size:
        other, span, priority = np.zeros(len(mind), dtype=np.int64), np.zeros((len(mind), 4)), np.zeros(len(mind))
        merges = np.zeros(len(mind), dtype=np.bool_)
    else:
        other, span = conflicts.other[row] % own.rec_s.shape[1], conflicts.span[row]
        priority, merges = conflicts.priority[row], conflicts.merges[row]

    def known(values: FloatArray) -> FloatArray:
        mask = thinks.reshape(-1, *(1,) * (values.ndim - 1))
        return np.where(mask, values, np.nan)

    scene, spread = pairs.scene[pair], np.sqrt(np.maximum(pairs.filter[pair][:, [2, 4]], 0.0))
    percept, middle = pairs.percept[pair, 1], 0.5 * (span[:, 2] + span[:, 3])
    lines = own.worlds[w].line
    ghost = np.array(
        [_ghost(lines[j], m - x, d) for j, m, x, d in zip(other, middle, percept, spread[:, 0], strict=True)]
    )
    area = np.array([_points(lines[i], s[:2]).ravel() for i, s in zip(own.car[mind], span, strict=True)])
    return LoggedMinds(
        tick=np.full(len(mind), int(batch.state.tick[w])),
        agent=own.car[mind],
        partner=np.where(thinks, other, -1),
        merges=merges & thinks,
        priority=np.where(thinks, priority, 0).astype(np.int64),
        own=known(scene[:, [0, 1, 3]]),
        other=known(scene[:, [OTHER, OTHER + 1, OTHER + 3]]),
        observed=known(pairs.percept[pair, 0]),
        estimate=known(pairs.filter[pair, :2]),
        deviation=known(spread),
        percept=known(pairs.percept[pair, 1:]),
        possible=pairs.possible[pair] & thinks[:, None],
        p_first=known(pairs.p_first[pair]),
        advantage=known(cognition.minds.advantage[mind]),
        actions=np.tile(table.actions, (len(mind), 1)),
        threshold=known(table.value[cognition.minds.theta[mind], cognition.minds.jerk[mind], THRESHOLD]),
        action=known(table.actions[cognition.minds.choice[mind]]),
        acted=cognition.minds.acted[mind] & thinks,
        wish=cognition.control.wish[mind].copy(),
        follow=cognition.control.follow[mind].copy(),
        guard=cognition.control.guard[mind].copy(),
        accel=cognition.control.accel[mind].copy(),
        regime=cognition.control.regime[mind].astype(np.int64),
        area=known(area),
        ghost=known(ghost),
    )


def joined_minds(parts: Sequence[LoggedMinds]) -> LoggedMinds | None:
    """One table; None without any decision."""
    if not parts:
        return None
    columns: dict[str, Any] = {
        f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(LoggedMinds)
    }
    return LoggedMinds(**columns)


def _points(line: Line | None, s: FloatArray) -> FloatArray:
    """(K, 2) points of a route at arc lengths, clamped to its ends; NaN without a route."""
    if line is None:
        return np.full((len(s), 2), np.nan)
    at = line.step_m * np.arange(len(line.xy))
    return np.stack([np.interp(s, at, line.xy[:, axis]) for axis in (0, 1)], axis=1)


def _ghost(line: Line | None, s: float, spread: float) -> FloatArray:
    """(6,) where a car is taken to be, and both ends of one standard deviation."""
    return _points(line, np.array([s, s - spread, s + spread])).ravel()
