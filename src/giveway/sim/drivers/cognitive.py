"""Driver ``cognitive``: cars and pedestrians moved by Commotions minds, each with its own parameters.

Routes give conflicts (section 3.1 of the note on closed loops), conflicts give partners, minds decide at even ticks and
hold what they decided for two (3.3). θ of a car is drawn from a file of drivers by the stream ("theta", case, roll-out,
car), its noise depends on seed, case, roll-out, car, partner and the number of the decision since the start of the
case: never on the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.boxes import VULNERABLE
from giveway.core.log import LogEvent
from giveway.predictors.commotions.agent import theta_table
from giveway.predictors.commotions.population import DEFAULT_FILE, Population, read_population
from giveway.sim.area_tables import natural_key
from giveway.sim.drivers.base import Batch, Driver
from giveway.sim.drivers.cognitive_attention import Snapshot
from giveway.sim.drivers.cognitive_conflicts import WorldConflicts, conflicts_of_world, join_conflicts
from giveway.sim.drivers.cognitive_control import Ahead, Rules
from giveway.sim.drivers.cognitive_log import MOST_CASES, thoughts_of
from giveway.sim.drivers.cognitive_minds import Cognition, free_road, new_cognition
from giveway.sim.drivers.cognitive_motion import look_ahead, take_snapshot, wake, write_plans
from giveway.sim.state import DriverCode

WALKING_MPS = 1.5  # speed of the site for pedestrians
WALKER_LENGTH_M = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """Minds of a batch and where they are.

    Attributes:
        cognition: the minds.
        world: (M,) world of each.
        car: (M,) agent of each.
        worlds: conflicts and paths of each world.
        ahead: the road ahead of each; changed in place.
        watched: (W, A) has a mind or shares an area with somebody who has.
        rec_s: (W, A, L) place of recorded positions along the recorded path [m].
        seen: everybody, cars numbered world * A + agent; changed in place.
        speed: (M,) at the last decision [m/s].
        decided: (M,) whether there was one yet.
    """

    cognition: Cognition
    world: IntArray
    car: IntArray
    worlds: tuple[WorldConflicts, ...]
    ahead: Ahead
    watched: BoolArray
    rec_s: FloatArray
    seen: Snapshot
    speed: FloatArray
    decided: BoolArray


class Cognitive(Driver, name="cognitive", title="Commotions mind", needs=("route", "map")):
    """Minds that look, think and accelerate.

    Args:
        drivers: a file of drivers or its content; the one that is shipped if not given.
        rules: how minds drive; their bounds come from the file if not given.
        threads: that share the thinking.
        keeps_thoughts: whether logs tell what minds thought; None: in batches of at most 50 cases.
    """

    def __init__(
        self,
        drivers: Path | Population = DEFAULT_FILE,
        *,
        rules: Rules | None = None,
        threads: int = 1,
        keeps_thoughts: bool | None = None,
    ) -> None:
        self.population = drivers if isinstance(drivers, Population) else read_population(drivers)
        low, high = self.population.bounds_mps2
        self.rules = rules or Rules(low_mps2=low, high_mps2=high)
        self.threads = threads
        self.keeps_thoughts = keeps_thoughts

    def reset(self, batch: Batch, mine: BoolArray, worlds: BoolArray, own: Heads | None) -> Heads:
        """Minds of all cars ``mine``; those of worlds that go on keep what they know."""
        world, car = np.nonzero(mine)
        found = tuple(
            conflicts_of_world(batch, w, mine[w]) if own is None or worlds[w] else own.worlds[w]
            for w in range(len(worlds))
        )
        walks = np.isin(batch.kinds, VULNERABLE)
        cognition = new_cognition(
            theta_table(self.population.theta, self.population.config),
            join_conflicts(batch, found, world, car, mine.shape[1]),
            car=world * mine.shape[1] + car,
            theta=[self._theta(batch, w, i) for w, i in zip(world.tolist(), car.tolist(), strict=True)],
            jerk=~walks[world, car],
            order=natural_order([str(batch.ids[w, i]) for w, i in zip(world, car, strict=True)]),
            rules=self.rules,
            seed=batch.seed,
        )
        base = site_speeds(batch, walks)
        watched = mine.copy()
        watched.ravel()[cognition.conflicts.other] = True
        rec_s = np.full((*mine.shape, max(batch.static.rec.shape[2], 1)), np.nan)
        for w, conflicts in enumerate(found):
            rec_s[w, : len(conflicts.line), : conflicts.rec_s.shape[1]] = conflicts.rec_s
        heads = Heads(
            cognition=cognition,
            world=world,
            car=car,
            worlds=found,
            ahead=free_road(cognition, base[world, car]),
            watched=watched,
            rec_s=rec_s,
            seen=Snapshot(
                s=np.full(mine.size, np.nan),
                speed=np.zeros(mine.size),
                accel=np.zeros(mine.size),
                length=np.where(walks, WALKER_LENGTH_M, batch.static.size[..., 0]).ravel(),
                jerk=(~walks).astype(np.int64).ravel(),
                base_speed=base.ravel(),
                present=np.zeros(mine.size, dtype=np.bool_),
            ),
            speed=np.zeros(len(world)),
            decided=np.zeros(len(world), dtype=np.bool_),
        )
        if own is not None:
            _go_on(own, heads, ~worlds)
        return heads

    def decide(self, batch: Batch, mine: BoolArray, own: Heads) -> None:
        """Think at even ticks, hold at odd ones."""
        state, world, car, accel = batch.state, own.world, own.car, own.cognition.control.accel
        here, active, tick = wake(state, mine, world, car, own.decided, own.speed)
        if active.any():
            look_ahead(batch.static, state, world, car, active, own.ahead, own.cognition.rules.idm)
            take_snapshot(batch.static, state, own.watched, own.rec_s, own.seen)
            own.seen.accel[own.cognition.attention.car] = accel  # 0 before the first decision
            own.cognition.decide(own.seen, own.ahead, tick // 2, active, threads=self.threads)
            self._note(batch, own, active)
        write_plans(state, batch.decisions, world, car, here, tick, own.speed, accel, own.ahead.free_speed)

    def _note(self, batch: Batch, own: Heads, active: BoolArray) -> None:
        """Keep what was thought, and tell who was let go."""
        for m in np.flatnonzero(active & own.cognition.standing.freed).tolist() if batch.events else ():
            w, i = int(own.world[m]), int(own.car[m])
            text = "goes first: it and those it waited for stood and waited for each other for 2 s"
            batch.events[w].append(
                LogEvent(tick=int(batch.state.tick[w]), kind="deadlock", car=str(batch.ids[w, i]), text=text)
            )
        wanted = len(batch.episodes) <= MOST_CASES if self.keeps_thoughts is None else self.keeps_thoughts
        if wanted and batch.thoughts:
            for w in np.unique(own.world[active]).tolist():
                batch.thoughts[w].append(thoughts_of(batch, own, np.flatnonzero(active & (own.world == w))))

    def _theta(self, batch: Batch, w: int, i: int) -> int:
        return self.population.draw(batch.seed, batch.episodes[w], batch.roll_out, str(batch.ids[w, i]))


def natural_order(names: list[str]) -> IntArray:
    """(M,) places of names in their natural order: 9 before 10."""
    place = {name: n for n, name in enumerate(sorted(set(names), key=natural_key))}
    return np.array([place[name] for name in names], dtype=np.int64)


def site_speeds(batch: Batch, walks: BoolArray) -> FloatArray:
    """(W, A) speed of the site: what driven cars want, what the ego wants for cars on replay, 1.5 m/s for walkers."""
    static = batch.static
    ego = static.desired_speed[np.arange(len(static.ego)), static.ego][:, None]
    wanted = np.where(static.driver == DriverCode.REPLAY, ego, static.desired_speed)
    return np.where(walks, WALKING_MPS, wanted)


def _go_on(before: Heads, after: Heads, stays: BoolArray) -> None:
    """Copy what the minds of worlds that were not reset know."""
    old, new = np.flatnonzero(stays[before.world]), np.flatnonzero(stays[after.world])
    shift = after.cognition.conflicts.first[new] - before.cognition.conflicts.first[old]
    a, b = before.cognition, after.cognition
    for source, target in ((a.minds, b.minds), (a.attention, b.attention), (a.control, b.control)):
        for values, room in zip(source, target, strict=True):
            room[new] = values[old]
    b.standing.stood[new], b.standing.locked[new] = a.standing.stood[old], a.standing.locked[old]
    for m, n in zip(old.tolist(), new.tolist(), strict=True):
        first, last = a.conflicts.first[m : m + 2]
        b.conflicts.waived[b.conflicts.first[n] : b.conflicts.first[n + 1]] = a.conflicts.waived[first:last]
    b.attention.car[new] = after.world[new] * after.rec_s.shape[1] + after.car[new]
    known = b.attention.conflict[new] >= 0
    b.attention.conflict[new] += np.where(known, shift[:, None], 0)
    b.attention.rival[new] += np.where(b.attention.rival[new] >= 0, shift, 0)
    slots = a.attention.conflict.shape[1]
    for values, room in zip(a.pairs, b.pairs, strict=True):
        room.reshape(-1, slots, *room.shape[1:])[new] = values.reshape(-1, slots, *values.shape[1:])[old]
    after.speed[new], after.decided[new] = before.speed[old], before.decided[old]
