"""The order check: every label is compared with the order in which T and E passed, told by their whole tracks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.tracks import Tracks
from giveway.roads.path_conflicts import DrivenPath, driven_path, order_of, path_conflict

Verdict = Literal["agrees", "reversed", "no_conflict", "same_lane", "unobserved"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

MAX_REVERSED = 0.01
"""Largest share of reversed labels among the observed ones that ``order_check = "enforce"`` lets pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Who passed first.

    Attributes:
        status: ``no_conflict`` and ``same_lane`` if the paths say so, ``unobserved`` if one of them was not seen to
            reach the place, else ``agrees``, which stands for "observed" until a label is compared.
        t_target_s, t_other_s: when the fronts reached the contested place; NaN unless observed.
        place: where T's path enters it, in the coordinates of the recording; NaN without a conflict.
    """

    status: Verdict
    t_target_s: float = np.nan
    t_other_s: float = np.nan
    place: tuple[float, float] = (np.nan, np.nan)


def order_between(target: DrivenPath | None, other: DrivenPath | None, *, near_s: float) -> Order:
    """Order of passage of two paths; of several passages of E the one nearest in time to ``near_s``."""
    if target is None or other is None:
        return Order(status="unobserved")
    found = path_conflict(target, other)
    if found.status != "conflict":
        return Order(status=found.status)
    times = [order_of(target, other, found, k) for k in range(len(found.passages))]
    t_target, t_other = min(times, key=lambda t: abs(t[1] - near_s) if np.isfinite(t[1]) else np.inf)
    observed = np.isfinite(t_target) and np.isfinite(t_other)
    if not observed:
        return Order(status="unobserved", place=found.place)
    return Order(status="agrees", t_target_s=t_target, t_other_s=t_other, place=found.place)


class OrderBook:
    """Orders of passage in one scene; paths are made once."""

    def __init__(self, tracks: Tracks) -> None:
        self._tracks = tracks
        self._paths: dict[int, DrivenPath | None] = {}

    def between(self, target: int, other: int, *, near_s: float) -> Order:
        """See :func:`order_between`, of rows of the tracks."""
        return order_between(self._path(target), self._path(other), near_s=near_s)

    def _path(self, row: int) -> DrivenPath | None:
        if row not in self._paths:
            self._paths[row] = driven_path(self._tracks, row)
        return self._paths[row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """Orders of N candidates: code of :data:`VERDICTS`, and times [s]."""

    status: IntArray
    t_target_s: FloatArray
    t_other_s: FloatArray

    def take(self, index: IntArray) -> Orders:
        """Some of them."""
        return Orders(status=self.status[index], t_target_s=self.t_target_s[index], t_other_s=self.t_other_s[index])

    def verdicts(self, accepted: BoolArray) -> IntArray:
        """(N,) codes of :data:`VERDICTS` under these labels."""
        wrong = (self.status == 0) & ((self.t_target_s < self.t_other_s) != accepted)
        return np.where(wrong, VERDICTS.index("reversed"), self.status)


def orders_from(orders: list[Order | None]) -> Orders:
    """Arrays of orders; None is not observed."""
    filled = [order or Order(status="unobserved") for order in orders]
    return Orders(
        status=np.array([VERDICTS.index(o.status) for o in filled], dtype=np.int64),
        t_target_s=np.array([o.t_target_s for o in filled], dtype=float),
        t_other_s=np.array([o.t_other_s for o in filled], dtype=float),
    )


def counts_of(verdicts: IntArray) -> Mapping[str, int]:
    """Verdict to number of samples."""
    return {name: int((verdicts == code).sum()) for code, name in enumerate(VERDICTS)}


def too_many_reversed(counts: Mapping[str, int]) -> bool:
    """Whether more than 1 % of the observed labels are reversed."""
    observed = counts["agrees"] + counts["reversed"]
    return counts["reversed"] > MAX_REVERSED * observed
