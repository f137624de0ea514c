"""One stage of a search: points in, losses out, recorded and replayed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import StoreError
from giveway.predictors.commotions.fitting.journal import Entry, Journal
from giveway.predictors.commotions.losses import Loss
from giveway.predictors.commotions.parameters import NUM_PARAMETERS, Box, Theta

Objective = Callable[[Theta], Loss]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How a fit is doing.

    Attributes:
        done: evaluations so far, over all stages.
        total: evaluations in all.
        loss: of the last point.
        best: smallest so far.
        acquisition: what the optimizer expected of the last point; None if it has no such number.
        seconds: since the start, without what was replayed.
        seconds_left: at the speed so far.
    """

    done: int
    total: int
    loss: float
    best: float
    acquisition: float | None
    seconds: float
    seconds_left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Evaluations of one stage.

    Attributes:
        initial: points of a scrambled Sobol sequence.
        further: points the optimizer chooses.
    """

    initial: int
    further: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.initial + self.further


@dataclass(slots=True, kw_only=True)
class Search:
    """Evaluates points of the unit cube of one box; the only thing an optimizer talks to.

    Attributes:
        objective: θ to loss.
        box: what the unit cube stands for.
        journal: where evaluations are kept and replayed from.
        stage: 0 or 1.
        budget: of this stage.
        seed: of everything random in this stage.
        total: evaluations of all stages.
        on_trace: called after every evaluation.
        inherited: how many of the points an earlier stage has evaluated.
    """

    objective: Objective
    box: Box
    journal: Journal
    stage: int
    budget: Budget
    seed: int
    total: int
    on_trace: Callable[[Trace], None] | None = None
    points: list[FloatArray] = field(default_factory=list[FloatArray])
    losses: list[Loss] = field(default_factory=list[Loss])
    inherited: int = 0
    _offset: int = -1
    _started: float = field(default_factory=time.monotonic)
    _fresh: int = 0
    _first: float = 0.0

    @property
    def left(self) -> int:
        """Evaluations that may still be made."""
        return self.budget.total - self.made

    @property
    def made(self) -> int:
        """Evaluations of this stage so far."""
        return len(self.points) - self.inherited

    @property
    def best(self) -> int:
        """Number of the point with the smallest observed loss."""
        return int(np.argmin([loss.mean for loss in self.losses]))

    def recorded(self) -> Entry | None:
        """The next evaluation if an earlier run made it already."""
        if self._offset < 0:
            before = [i for i, entry in enumerate(self.journal.entries) if entry.stage < self.stage]
            self._offset = len(before)
        index = self._offset + self.made
        return self.journal.entries[index] if index < len(self.journal.entries) else None

    def evaluate(self, point: FloatArray, note: Mapping[str, Any] | None = None) -> Loss:
        """Loss at a point, from the journal if it is there.

        Raises:
            StoreError: if the journal holds another point at this place.
        """
        entry = self.recorded()
        if entry is None:
            start = time.monotonic()
            loss = self.objective(self.box.decode(point))
            self.journal.append(
                Entry(
                    stage=self.stage,
                    point=tuple(float(x) for x in point),
                    loss=loss.mean,
                    error=loss.error,
                    seconds=time.monotonic() - start,
                    note=note or {},
                )
            )
            self._fresh += 1
            if self._fresh == 1:
                self._first = time.monotonic()
        else:
            if entry.point != tuple(float(x) for x in point):
                raise StoreError(
                    "the journal of this fit was made by another version or machine",
                    where=self.journal.path,
                    found=f"another point at evaluation {len(self.points)}",
                    hint="delete it to start again",
                )
            loss = Loss(mean=entry.loss, error=entry.error)
        self.points.append(np.asarray(point, dtype=np.float64))
        self.losses.append(loss)
        if self.on_trace is not None and entry is None:
            self.on_trace(self._trace(loss, note or {}))
        return loss

    def _trace(self, loss: Loss, note: Mapping[str, Any]) -> Trace:
        now = time.monotonic()
        # the first evaluation loads the kernel and tells nothing about the others
        each = (now - self._first) / (self._fresh - 1) if self._fresh > 1 else now - self._started
        done = self._offset + self.made
        acquisition = note.get("acquisition")
        return Trace(
            done=done,
            total=self.total,
            loss=loss.mean,
            best=min(x.mean for x in self.losses),
            acquisition=None if acquisition is None else float(acquisition),
            seconds=now - self._started,
            seconds_left=each * (self.total - done),
        )


class Optimizer(Protocol):
    """Spends the further evaluations of a stage; the initial ones are made already."""

    def __call__(self, search: Search) -> None:
        """Call ``search.evaluate`` until ``search.left`` is 0; everything random comes from ``search.seed``."""
        ...


def initial_points(num: int, seed: int) -> FloatArray:
    """(num, 14) scrambled Sobol points of the unit cube."""
    from scipy.stats import qmc

    power = max(1, int(np.ceil(np.log2(max(num, 2)))))
    return qmc.Sobol(NUM_PARAMETERS, scramble=True, rng=seed).random_base2(power)[:num]
