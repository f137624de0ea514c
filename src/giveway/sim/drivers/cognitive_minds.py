"""Minds of a batch of cars, over plain arrays: what they attend to, think and do, one decision per 0.2 s."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.predictors.commotions.agent import Minds, Pairs, ThetaTable, new_minds, think
from giveway.sim.drivers.cognitive_attention import Attention, Conflicts, Snapshot, attend, new_attention
from giveway.sim.drivers.cognitive_control import Ahead, Control, Rules, begin_plans, control_cars, new_control
from giveway.sim.drivers.cognitive_deadlock import Standing, nobody_stands, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class Cognition:
    """M minds and their cars; made by :func:`new_cognition`, arrays are changed in place.

    Attributes:
        table: parameters.
        rules: how they drive.
        conflicts: of every mind.
        minds: what they plan and value.
        pairs: what they believe about others.
        attention: whom they attend to.
        control: what their cars do.
        standing: who waits for whom.
        seed: of the noise.
    """

    table: ThetaTable
    rules: Rules
    conflicts: Conflicts
    minds: Minds
    pairs: Pairs
    attention: Attention
    control: Control
    standing: Standing
    seed: int = field(default=0)

    def decide(
        self,
        traffic: Snapshot,
        ahead: Ahead,
        decision: IntArray,
        active: BoolArray,
        *,
        noise: FloatArray | None = None,
        threads: int = 1,
    ) -> FloatArray:
        """Accelerations for the next 0.2 s.

        Everybody decides from ``traffic``, the instant before. A car depends on its case, never on the batch.

        Args:
            traffic: all cars.
            ahead: the road ahead of the M cars with a mind.
            decision: (M,) decisions since the start of the case, counting also those before the car was there.
            active: (M,) who decides.
            noise: (P, 3) draws instead of random ones, for tests.
            threads: that share the thinking.

        Returns:
            (M,) [m/s²]; of those who do not decide what they did before.
        """
        if self.rules.resolves:
            resolve(active, traffic, self.conflicts, self.attention, self.standing)
        attend(
            active, decision, traffic, self.conflicts, self.attention, self.minds, self.pairs, self.table, self.rules
        )
        begin_plans(active, self.attention, self.minds, self.control)
        think(self.minds, self.pairs, self.table, seed=self.seed, noise=noise, threads=threads)
        control_cars(active, traffic, self.conflicts, self.attention, self.minds, ahead, self.control, self.rules)
        return self.control.accel


def new_cognition(
    table: ThetaTable,
    conflicts: Conflicts,
    *,
    car: ArrayLike,
    theta: ArrayLike,
    jerk: ArrayLike,
    order: ArrayLike | None = None,
    rules: Rules | None = None,
    seed: int = 0,
) -> Cognition:
    """M minds at the start of their cases.

    Args:
        table: parameters.
        conflicts: of every mind.
        car: (M,) car of each.
        theta: (M,) row of the table.
        jerk: (M,) whether it controls jerk; pedestrians control speed.
        order: (M,) place of each in the natural order of names; None: as given.
        rules: how they drive; None for the defaults.
        seed: of the noise.
    """
    minds, pairs = new_minds(table, theta=theta, jerk=jerk)
    return Cognition(
        table=table,
        rules=Rules() if rules is None else rules,
        conflicts=conflicts,
        minds=minds,
        pairs=pairs,
        attention=new_attention(np.asarray(car, dtype=np.int64)),
        control=new_control(len(minds.theta)),
        standing=nobody_stands(
            np.asarray(car, dtype=np.int64), np.arange(len(minds.theta)) if order is None else np.asarray(order)
        ),
        seed=seed,
    )


def free_road(cognition: Cognition, base_speed: FloatArray) -> Ahead:
    """Nothing ahead; ``base_speed`` (M,) is that of the site [m/s]."""
    num = len(cognition.minds.theta)
    return Ahead(
        gap=np.full(num, np.inf),
        speed=np.zeros(num),
        free_speed=cognition.table.v_free_rel[cognition.minds.theta] * base_speed,
        limit=np.full(num, np.inf),
    )
