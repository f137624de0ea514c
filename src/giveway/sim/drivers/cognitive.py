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
from giveway.predictors.commotions.agent import theta_table
from giveway.predictors.commotions.population import DEFAULT_FILE, Population, read_population
from giveway.roads.routes import project
from giveway.sim.bicycle import ACCEL, SPEED
from giveway.sim.drivers.base import Batch, Driver
from giveway.sim.drivers.cognitive_attention import Snapshot
from giveway.sim.drivers.cognitive_conflicts import WorldConflicts, conflicts_of_world, join_conflicts
from giveway.sim.drivers.cognitive_control import DECISION_S, Ahead, Rules
from giveway.sim.drivers.cognitive_log import MOST_CASES, thoughts_of
from giveway.sim.drivers.cognitive_minds import Cognition, free_road, new_cognition
from giveway.sim.drivers.cognitive_motion import look_ahead, write_plans
from giveway.sim.state import LANE_S, PAST, DriverCode

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
        rec_s: (W, A, L) place of recorded positions along the recorded path [m].
        recorded: (W, A) cars that have no path but the recorded one.
        length: (W, A) lengths as minds take them [m].
        jerk: (W, A) control that minds expect of everybody.
        base_speed: (W, A) speed of the site for everybody [m/s].
        speed: (M,) at the last decision [m/s].
        decided: (M,) whether there was one yet.
    """

    cognition: Cognition
    world: IntArray
    car: IntArray
    worlds: tuple[WorldConflicts, ...]
    ahead: Ahead
    rec_s: FloatArray
    recorded: BoolArray
    length: FloatArray
    jerk: IntArray
    base_speed: FloatArray
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
            rules=self.rules,
            seed=batch.seed,
        )
        base = site_speeds(batch, walks)
        rec_s, recorded = np.full((*mine.shape, max(batch.static.rec.shape[2], 1)), np.nan), np.zeros_like(mine)
        for w, conflicts in enumerate(found):
            rec_s[w, : len(conflicts.path), : conflicts.rec_s.shape[1]] = conflicts.rec_s
            recorded[w, : len(conflicts.path)] = [path is None for path in batch.paths[w]]
        heads = Heads(
            cognition=cognition,
            world=world,
            car=car,
            worlds=found,
            ahead=free_road(cognition, base[world, car]),
            rec_s=rec_s,
            recorded=recorded,
            length=np.where(walks, WALKER_LENGTH_M, batch.static.size[..., 0]),
            jerk=(~walks).astype(np.int64),
            base_speed=base,
            speed=np.zeros(len(world)),
            decided=np.zeros(len(world), dtype=np.bool_),
        )
        if own is not None:
            _go_on(own, heads, ~worlds)
        return heads

    def decide(self, batch: Batch, mine: BoolArray, own: Heads) -> None:
        """Think at even ticks, hold at odd ones."""
        state, world, car = batch.state, own.world, own.car
        here, tick = mine[world, car], state.tick[world]
        active = here & (tick % 2 == 0)
        if active.any():
            look_ahead(batch.static, state, world, car, active, own.ahead, own.cognition.rules.idm)
            own.cognition.decide(snapshot(batch, own), own.ahead, tick // 2, active, threads=self.threads)
            own.speed[active] = state.car[..., SPEED][world, car][active]
            own.decided[active] = True
            self._note(batch, own, active)
        late = here & ~own.decided  # appeared at an odd tick
        own.speed[late] = state.car[..., SPEED][world, car][late]
        accel = np.where(own.decided, own.cognition.control.accel, 0.0)
        write_plans(state, batch.decisions, world, car, here, tick % 2 == 1, own.speed, accel, own.ahead.free_speed)

    def _note(self, batch: Batch, own: Heads, active: BoolArray) -> None:
        """Keep what was thought."""
        wanted = len(batch.episodes) <= MOST_CASES if self.keeps_thoughts is None else self.keeps_thoughts
        if wanted and batch.thoughts:
            for w in np.unique(own.world[active]).tolist():
                batch.thoughts[w].append(thoughts_of(batch, own, np.flatnonzero(active & (own.world == w))))

    def _theta(self, batch: Batch, w: int, i: int) -> int:
        return self.population.draw(batch.seed, batch.episodes[w], batch.roll_out, str(batch.ids[w, i]))


def site_speeds(batch: Batch, walks: BoolArray) -> FloatArray:
    """(W, A) speed of the site: what driven cars want, what the ego wants for cars on replay, 1.5 m/s for walkers."""
    static = batch.static
    ego = static.desired_speed[np.arange(len(static.ego)), static.ego][:, None]
    wanted = np.where(static.driver == DriverCode.REPLAY, ego, static.desired_speed)
    return np.where(walks, WALKING_MPS, wanted)


def snapshot(batch: Batch, own: Heads) -> Snapshot:
    """Everybody before the tick, cars numbered world * A + agent."""
    state, static = batch.state, batch.static
    rows, agents = np.ogrid[: len(state.tick), : static.driver.shape[1]]
    replayed, column = static.driver == DriverCode.REPLAY, (PAST + state.tick)[:, None]
    s = np.where(replayed, own.rec_s[rows, agents, np.minimum(column, own.rec_s.shape[2] - 1)], state.lane[..., LANE_S])
    accel = np.where(replayed, _recorded_accel(state.log, column), state.car[..., ACCEL])
    for w, i in zip(*np.nonzero(state.present & ~replayed & own.recorded), strict=True):
        path = own.worlds[w].path[i]  # handed over: its route in the simulator may begin elsewhere
        s[w, i] = np.nan if path is None else project(path, state.car[w, i, :2])[0]
    accel[own.world, own.car] = np.where(own.decided, own.cognition.control.accel, 0.0)
    return Snapshot(
        s=s.ravel(),
        speed=np.ascontiguousarray(state.car[..., SPEED]).ravel(),
        accel=accel.ravel(),
        length=own.length.ravel(),
        jerk=own.jerk.ravel(),
        base_speed=own.base_speed.ravel(),
        present=(state.present & np.isfinite(s)).ravel(),
    )


def _recorded_accel(log: FloatArray, column: IntArray) -> FloatArray:
    """Change of speed over the last 0.2 s (W, A) [m/s²]; 0 where the car was not there."""
    rows, agents = np.ogrid[: log.shape[0], : log.shape[1]]
    now, before = (log[rows, agents, (column - back) % log.shape[2], 2:4] for back in (0, 2))
    change = (np.hypot(now[..., 0], now[..., 1]) - np.hypot(before[..., 0], before[..., 1])) / DECISION_S
    return np.where(np.isfinite(change), change, 0.0)


def _go_on(before: Heads, after: Heads, stays: BoolArray) -> None:
    """Copy what the minds of worlds that were not reset know."""
    old, new = np.flatnonzero(stays[before.world]), np.flatnonzero(stays[after.world])
    shift = after.cognition.conflicts.first[new] - before.cognition.conflicts.first[old]
    a, b = before.cognition, after.cognition
    for source, target in ((a.minds, b.minds), (a.attention, b.attention), (a.control, b.control)):
        for values, room in zip(source, target, strict=True):
            room[new] = values[old]
    b.attention.car[new] = after.world[new] * after.length.shape[1] + after.car[new]
    known = b.attention.conflict[new] >= 0
    b.attention.conflict[new] += np.where(known, shift[:, None], 0)
    b.attention.rival[new] += np.where(b.attention.rival[new] >= 0, shift, 0)
    slots = a.attention.conflict.shape[1]
    for values, room in zip(a.pairs, b.pairs, strict=True):
        room.reshape(-1, slots, *room.shape[1:])[new] = values.reshape(-1, slots, *values.shape[1:])[old]
    after.speed[new], after.decided[new] = before.speed[old], before.decided[old]
