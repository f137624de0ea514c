"""A running batch of cases: ask what must be predicted, step, repeat.

::

    simulation = Simulation(cases)
    while not simulation.done:
        inputs = simulation.requests()
        simulation.step(predictor.predict(inputs, inputs.generator()))
    logs = simulation.logs()

Where the predictions come from makes no difference: a predictor in this process and a client on the wire are given
the same numbers and what they answer is inspected by the same function.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from giveway.core.errors import UsageError
from giveway.core.histories import FUTURE_STEPS, HISTORY_STEPS, STATE_SIZE, MotionInputs
from giveway.core.predictions import Prediction
from giveway.core.seeds import seed_for
from giveway.planning.idm import CLEAN, PAPER, IdmParameters
from giveway.planning.profiles import LATTICE_2, ProfileParameters
from giveway.planning.protocol import Planner, Situation
from giveway.predictors.acceptance import AcceptedPredictions, accept
from giveway.sim.compiling import DirectCalls
from giveway.sim.conflicts import routes_and_conflicts
from giveway.sim.drivers import DRIVERS
from giveway.sim.drivers.base import Batch, Driver
from giveway.sim.drivers.external import EpisodeFacts, ExternalEgos
from giveway.sim.drivers.hosts import make_host
from giveway.sim.foresight import foresee
from giveway.sim.packing import pack
from giveway.sim.prepare import PreparedCase
from giveway.sim.sight import ORIGIN_M as ORIGIN
from giveway.sim.situations import Names, situation_of
from giveway.sim.slots import copied_traffic_worlds, copied_worlds, load_traffic, load_world
from giveway.sim.state import (
    PAST,
    DriverCode,
    Forecast,
    Status,
    empty_decisions,
    empty_state,
    no_forecast,
)
from giveway.sim.step import advance, begin
from giveway.sim.traffic import react

ORIGIN_M = np.full(2, ORIGIN)
"""Predictors see site coordinates minus this: the frame of the challenge's messages, and near zero for float32."""
_BACK = np.arange(1 - HISTORY_STEPS, 1)


class Simulation:
    """Cases stepped together, one world each.

    Args:
        cases: prepared cases.
        seed: root of all random streams (only stochastic predictors draw from them).
        idm: parameters of car-following cars where traffic does not react, and of an ego that follows.
        profiles: parameters of the lattice that drives the ego; version 3 if not given.
        planner: plans for every ego whose driver is EXTERNAL, each case with an instance of its own.
        deadline_s: for one answer of the planner; it then lives in a process of its own. None: in this one.
        warm_up_s: added to the deadline of its first answer.
        drivers: drivers of cars that the compiled step does not know, by name; the registered ones if not given.
        roll_out: number of the roll-out, for drivers that draw random numbers.
        choices: cases that :meth:`reset` can begin in a world; none if not given.
        threads: cases are spread over this many; never changes a result.
    """

    def __init__(
        self,
        cases: Sequence[PreparedCase],
        *,
        seed: int = 0,
        idm: IdmParameters | None = None,
        profiles: ProfileParameters | None = None,
        planner: Planner | None = None,
        deadline_s: float | None = None,
        warm_up_s: float = 20.0,
        drivers: Mapping[str, Driver] | None = None,
        roll_out: int = 0,
        choices: Sequence[PreparedCase] = (),
        threads: int = 1,
    ) -> None:
        self.cases = list(cases)
        self.choices = tuple(choices or cases)
        self.seed = seed
        self.idm = idm or PAPER
        self.profiles = profiles or LATTICE_2
        self._library, self._traffic_library, columns = pack(self.choices)
        self.static, self.traffic = self._library, self._traffic_library
        if choices:
            self.static = copied_worlds(self._library, self._numbers())
            self.traffic = copied_traffic_worlds(self._traffic_library, self._numbers())
        self.state = empty_state(self.static, columns, plans=int(self._library.num_ticks.max()))
        self.decisions = empty_decisions(self.static)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._chunks = _chunks(len(self.cases), threads)
        self._call = DirectCalls()
        agents = self.static.driver.shape[1]
        predicted = np.zeros(self.static.driver.shape, dtype=np.bool_)
        for c, case in enumerate(self.cases):
            predicted[c, : len(case.ids)] = case.predicted
        self._predicted = predicted
        self._flagged = np.nonzero(predicted)
        self._names = _names(self.cases, agents)
        self._rows = np.arange(len(self.cases))
        self._asked: tuple[IntArray, IntArray, dict[str, Any]] | None = None
        self._waiting_at = -1
        self._waiting: tuple[IntArray, IntArray] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self._no_forecast = no_forecast(self.static, FUTURE_STEPS)
        self._reacts = bool(self._traffic_library.reacts.any())
        self._in_step = not choices  # all worlds have the same clock
        self._last_tick = int(self.static.num_ticks.max())
        self.tick = 0
        """Ticks since the start of the batch; worlds that are over stay where they are."""
        everyone = np.ones(len(self.cases), dtype=np.bool_)
        begin(self.static, self.state, everyone)
        self.batch = self._batch(roll_out)
        self._drivers = [
            (driver, mine, driver.reset(self.batch, mine, everyone, None))
            for driver, mine in self._outside_drivers(drivers or {})
        ]
        self._outside = self.static.driver[self._rows, self.static.ego] == DriverCode.EXTERNAL
        self._outside &= np.array([not case.driver_name[case.ego] for case in self.cases], dtype=np.bool_)
        hosted = planner is not None and bool(self._outside.any())
        self.egos = self._hosted(planner, deadline_s, warm_up_s) if planner is not None and hosted else None
        """Planners in Python, and what they did wrong."""

    def reset(self, numbers: Mapping[int, int]) -> None:
        """Begin other episodes in some worlds while the others go on.

        Predictions are asked for in batches that begin together; here nobody is predicted.

        Args:
            numbers: world to the number of one of ``choices``.

        Raises:
            UsageError: there are no choices.
        """
        if self.static is self._library:
            raise UsageError(
                "worlds begin again only with cases to choose from", where="Simulation", found="no choices"
            )
        worlds = np.zeros(len(self.cases), dtype=np.bool_)
        for w, number in numbers.items():
            worlds[w] = True
            load_world(self.static, self._library, w, number)
            load_traffic(self.traffic, self._traffic_library, w, number)
            self._load_names(w, self.choices[number])
        self.state.ego_plans[worlds], self.state.ego_emergency[worlds] = np.nan, False
        self.decisions.accel[worlds], self.decisions.postponed[worlds] = np.nan, False
        begin(self.static, self.state, worlds)
        self._drivers = [
            (driver, mine, driver.reset(self.batch, mine, worlds, own)) for driver, mine, own in self._drivers
        ]

    @property
    def done(self) -> bool:
        """Every case has reached its end."""
        return self.tick >= (self._last_tick if self._in_step else int(self.static.num_ticks.max()))

    def waiting(self) -> tuple[IntArray, IntArray]:
        """(R,) case and agent index of the cars to predict now: flagged, present, with an ego that can use it."""
        if self._waiting_at == self.tick:
            return self._waiting
        case, agent = self._flagged
        here = self.state.on[:, :, PAST + self.tick]
        running = (self.static.num_ticks > self.tick) & here[self._rows, self.static.ego]
        asked = here[case, agent] & running[case]
        self._waiting_at, self._waiting = self.tick, (case, agent) if asked.all() else (case[asked], agent[asked])
        return self._waiting

    def _identity(self, case: IntArray, agent: IntArray) -> dict[str, Any]:
        """Sizes, roads and names of cars; made anew only where other cars are asked for than before."""
        before = self._asked
        if before is None or not (
            before[0] is case or (np.array_equal(before[0], case) and np.array_equal(before[1], agent))
        ):
            facts = {
                "size": self.static.size[case, agent],
                "road": tuple(self._names[2][case]),
                "case_ids": tuple(self._names[0][case]),
                "car_ids": tuple(self._names[1][case, agent]),
            }
            self._asked = before = case, agent, facts
        return before[2]

    def requests(self, reads: Collection[str] = ()) -> MotionInputs:
        """What must be predicted from the current state.

        Args:
            reads: what the predictor looks at, see :data:`giveway.predictors.protocol.READS`: the histories of
                ``others``; ``distances`` for routes and conflicts, with the others; the ``future`` if the ego keeps to
                its plan, for the oracle only.
        """
        case, agent = self.waiting()
        with_others = "others" in reads or "distances" in reads
        return MotionInputs(
            history=self._history(case, agent),
            **self._identity(case, agent),
            **self._others(case, agent, filled=with_others),
            origin_m=ORIGIN_M,
            tick=np.full(case.size, self.tick, dtype=np.int64),
            seed=self.seed,
            future=self._future(case, agent) if "future" in reads else None,
            others_ids=self._others_ids(case, agent) if with_others else (),
            age_ticks=self._ages(case, agent) if with_others else None,
            **(self._conflicts(case, agent) if "distances" in reads else {}),
        )

    def step(self, predictions: Prediction | AcceptedPredictions | None = None) -> AcceptedPredictions | None:
        """Move every case that is not finished by one tick.

        Args:
            predictions: answers to :meth:`requests` made at this tick, row by row; None if there is nobody to ask, in
                which case the ego sees cars without prediction.

        Returns:
            The predictions as they were used.

        Raises:
            PredictionError: arrays of the wrong shape.
        """
        accepted: AcceptedPredictions | None = None
        forecast = self._no_forecast
        if predictions is not None and self.waiting()[0].size:
            if isinstance(predictions, AcceptedPredictions):
                accepted = predictions
            else:
                accepted = accept(predictions, self.requests())
            forecast = self.forecast_of(accepted)
        self._plan_outside(forecast)
        self._ask_drivers()
        if self._reacts:
            self._each(react, self.decisions, self.traffic, CLEAN)
        self._each(advance, self.decisions, forecast, self.idm, self.profiles)
        self.tick = self.tick + 1 if self._in_step and not self.done else int(self.state.tick.max())
        return accepted

    def situation(self, case: int, agent: int, forecast: Forecast | None = None) -> Situation:
        """What the planner of one car may know now."""
        told = self._no_forecast if forecast is None else forecast
        return situation_of(self.static, self.state, self.decisions, told, case, agent, self._names_of(case))

    def close(self) -> None:
        """Release the threads, and end the process of the planners if there is one."""
        if self._pool is not None:
            self._pool.shutdown()
        if self.egos is not None:
            self.egos.close()

    def _each(self, kernel: object, *args: object) -> None:
        """Run a kernel over all cases, chunk by chunk."""
        call = self._call
        if self._pool is None:
            call(kernel, self.static, self.state, *args, 0, len(self.cases))
            return
        jobs = [self._pool.submit(call, kernel, self.static, self.state, *args, a, b) for a, b in self._chunks[1:]]
        call(kernel, self.static, self.state, *args, *self._chunks[0])
        for job in jobs:
            job.result()

    def _batch(self, roll_out: int) -> Batch:
        kinds = np.zeros(self.static.driver.shape, dtype=np.int64)
        for c, case in enumerate(self.cases):
            kinds[c, : len(case.ids)] = case.kind
        return Batch(
            static=self.static,
            state=self.state,
            decisions=self.decisions,
            episodes=[case.case.id for case in self.cases],
            ids=self._names[1],
            kinds=kinds,
            paths=[case.paths for case in self.cases],
            roads=[case.road for case in self.cases],
            traffic=self.traffic if self.traffic.reacts.any() else None,
            seed=self.seed,
            roll_out=roll_out,
            events=[[] for _ in self.cases],
            thoughts=[[] for _ in self.cases],
        )

    def _numbers(self) -> list[int]:
        """Number of the choice that each world begins with."""
        number = {id(case): n for n, case in enumerate(self.choices)}
        return [number[id(case)] for case in self.cases]

    def _load_names(self, w: int, prepared: PreparedCase) -> None:
        """What a world is called that begins another case."""
        self.cases[w] = prepared
        count, batch = len(prepared.ids), self.batch
        batch.ids[w], batch.kinds[w], self._predicted[w] = "", 0, False  # ids are the names of requests, too
        batch.ids[w, :count], batch.kinds[w, :count] = prepared.ids.tolist(), prepared.kind
        self._predicted[w, :count] = prepared.predicted
        self._flagged = np.nonzero(self._predicted)
        self._names[0][w], self._names[2][w] = prepared.case.id, prepared.road
        batch.episodes[w], batch.paths[w], batch.roads[w] = prepared.case.id, prepared.paths, prepared.road
        self._asked = None
        batch.events[w].clear()
        batch.thoughts[w].clear()
        for driver, mine, _ in self._drivers:
            mine[w] = False
            mine[w, :count] = [name == driver.info.name for name in prepared.driver_name]

    def _outside_drivers(self, given: Mapping[str, Driver]) -> Iterator[tuple[Driver, BoolArray]]:
        """Drivers that the compiled step does not know, with the cars (C, A) that they move."""
        names = sorted({name for case in self.choices for name in case.driver_name if name})
        for name in names:
            mine = np.zeros(self.static.driver.shape, dtype=np.bool_)
            for c, case in enumerate(self.cases):
                mine[c, : len(case.ids)] = [n == name for n in case.driver_name]
            yield given[name] if name in given else DRIVERS.get(name)(), mine

    def _ask_drivers(self) -> None:
        """Let drivers that the compiled step does not know decide for their cars."""
        for driver, mine, own in self._drivers:
            if driver.kernel is not None:
                self._each(driver.kernel, self.decisions, mine, own)
            else:
                here = mine & self.state.present & self.batch.running[:, None]
                if here.any():
                    driver.decide(self.batch, here, own)

    def _hosted(self, planner: Planner, deadline_s: float | None, warm_up_s: float) -> ExternalEgos:
        """Planners for the egos of driver EXTERNAL, each in its episode."""
        host = make_host(planner, deadline_s=deadline_s, warm_up_s=warm_up_s)
        egos = ExternalEgos(host, self.static, self.state, self.decisions)
        for c in np.flatnonzero(self._outside).tolist():
            prepared = self.cases[c]
            seed = seed_for(self.seed, "planner", prepared.case.id)
            goal = float(prepared.start_s[prepared.ego]) + prepared.expected_progress_m
            egos.begin(c, EpisodeFacts(names=self._names_of(c), seed=seed, goal_m=goal))
        return egos

    def _names_of(self, case: int) -> Names:
        prepared = self.cases[case]
        return Names(episode=prepared.case.id, cars=tuple(prepared.ids.tolist()), map=prepared.road)

    def _plan_outside(self, forecast: Forecast) -> None:
        """Let planners decide for every ego that is driven from outside; the case of one that fails ends here."""
        if self.egos is None:
            return
        here = self.state.status[self._rows, self.static.ego] == Status.PRESENT
        running = self._outside & here & (self.static.num_ticks > self.state.tick)
        self.egos.decide(np.flatnonzero(running).tolist(), forecast)
        failed = list(self.egos.findings)
        self.static.num_ticks[failed] = np.minimum(self.static.num_ticks[failed], self.state.tick[failed])
        self._last_tick = int(self.static.num_ticks.max())

    def _columns(self, case: IntArray, agent: IntArray) -> IntArray:
        """(R, 10) columns of the last ten states, the oldest one repeated for young cars."""
        return np.maximum(PAST + self.tick + _BACK, self.state.first[case, agent][:, None])

    def _history(self, case: IntArray, agent: IntArray) -> FloatArray:
        history = self.state.log[case[:, None], agent[:, None], self._columns(case, agent)]
        for axis in range(2):  # numpy is slow on a last axis of two
            history[..., axis] -= ORIGIN_M[axis]
        return history

    def _others(self, case: IntArray, agent: IntArray, *, filled: bool) -> dict[str, FloatArray]:
        if not filled or case.size == 0:
            return {
                "others": np.zeros((case.size, 0, HISTORY_STEPS, STATE_SIZE)),
                "others_size": np.zeros((case.size, 0, 2)),
            }
        others = self._other_agents(agent)
        here = self.state.on[case[:, None], others, PAST + self.tick]
        flat_case, flat_agent = np.repeat(case, others.shape[1]), others.ravel()
        history = self._history(flat_case, flat_agent).reshape(*others.shape, HISTORY_STEPS, STATE_SIZE)
        size = self.static.size[case[:, None], others]
        return {
            "others": np.where(here[..., None, None], history, np.nan),
            "others_size": np.where(here[..., None], size, np.nan),
        }

    def _other_agents(self, agent: IntArray) -> IntArray:
        """(R, A - 1) everybody else, in the order of the case."""
        rest = np.arange(self.static.driver.shape[1] - 1)[None, :]
        return rest + (rest >= agent[:, None])

    def _others_ids(self, case: IntArray, agent: IntArray) -> tuple[tuple[str, ...], ...]:
        return tuple(
            tuple(str(self.cases[c].ids[a]) if a < len(self.cases[c].ids) else "" for a in row.tolist())
            for c, row in zip(case.tolist(), self._other_agents(agent), strict=True)
        )

    def _conflicts(self, case: IntArray, agent: IntArray) -> dict[str, Any]:
        columns, others = self._columns(case, agent), self._other_agents(agent)
        route, conflict = routes_and_conflicts(self.static, self.state, PAST + self.tick, case, agent, others, columns)
        return {"route": route - ORIGIN_M, "conflict": conflict}

    def _ages(self, case: IntArray, agent: IntArray) -> IntArray:
        everybody = np.concatenate([agent[:, None], self._other_agents(agent)], axis=1)
        return np.maximum(PAST + self.tick - self.state.first[case[:, None], everybody], 0)

    def _future(self, case: IntArray, agent: IntArray) -> FloatArray:
        """(R, 30, 5) recording of replay cars, what all others will do if the ego keeps to its plan; straight on where
        that ends.
        """
        now = PAST + self.tick
        driven = ~np.isin(self.static.driver[case, agent], (DriverCode.REPLAY, DriverCode.ACTIONS))
        driven |= self.traffic.reacts[case] & self.traffic.may_react[case, agent]
        future = np.full((case.size, FUTURE_STEPS, STATE_SIZE), np.nan)
        for row in np.flatnonzero(~driven).tolist():
            future[row] = self.static.rec[case[row], agent[row], now + 1 : now + 1 + FUTURE_STEPS]
        if driven.any():
            wanted = np.isin(np.arange(len(self.cases)), case[driven])
            ahead = foresee(
                self.static,
                self.state,
                self.decisions,
                self.traffic,
                self.tick,
                FUTURE_STEPS,
                wanted,
                idm=self.idm,
                profiles=self.profiles,
                nothing=self._no_forecast,
            )
            future[driven] = ahead[case[driven], agent[driven]]
        future[..., :2] -= ORIGIN_M
        return _extended(self._history(case, agent)[:, -1], future)

    def forecast_of(self, accepted: AcceptedPredictions) -> Forecast:
        """Answers to this tick's requests as the planners see them."""
        case, agent = self.waiting()
        row = self._no_forecast.row.copy()
        row[case, agent] = np.arange(case.size)
        states = np.empty((*accepted.states.shape[:3], 3))
        for axis in range(2):
            np.add(accepted.states[..., axis], ORIGIN_M[axis], out=states[..., axis])
        states[..., 2] = accepted.states[..., 4]
        return Forecast(row=row, states=states, probability=np.ascontiguousarray(accepted.probability))


def _names(cases: Sequence[PreparedCase], agents: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Case identifiers (C,), car identifiers (C, A) and roads (C,), to be picked by index."""
    case_ids, roads = np.empty(len(cases), dtype=object), np.empty(len(cases), dtype=object)
    car_ids = np.full((len(cases), agents), "", dtype=object)
    for c, case in enumerate(cases):
        case_ids[c], roads[c] = case.case.id, case.road
        car_ids[c, : len(case.ids)] = case.ids.tolist()
    return case_ids, car_ids, roads


def _extended(current: FloatArray, future: FloatArray) -> FloatArray:
    """Straight on at the last known velocity where the future is missing."""
    last = current
    for step in range(future.shape[1]):
        missing = np.isnan(future[:, step, 0])
        moved = last.copy()
        moved[:, :2] += 0.1 * last[:, 2:4]
        future[:, step] = np.where(missing[:, None], moved, future[:, step])
        last = future[:, step]
    return future


def _chunks(count: int, parts: int) -> list[tuple[int, int]]:
    edges = np.linspace(0, count, min(parts, count) + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(edges.tolist())]
