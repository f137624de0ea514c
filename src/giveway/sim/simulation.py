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

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from giveway.core.arrays import AnyArray, FloatArray, IntArray
from giveway.core.errors import PredictionError
from giveway.core.histories import FUTURE_STEPS, HISTORY_STEPS, STATE_SIZE, MotionInputs
from giveway.core.predictions import Prediction
from giveway.planning.idm import IdmParameters
from giveway.planning.profiles import CHECK_STEPS, PLAN_STEPS, ROW_FACTS, ProfileParameters
from giveway.planning.protocol import Planner, Situation
from giveway.predictors.acceptance import AcceptedPredictions, accept
from giveway.sim.arrays import PAST, Driver, Forecast, Status
from giveway.sim.conflicts import routes_and_conflicts
from giveway.sim.foresight import foresee
from giveway.sim.packing import pack
from giveway.sim.plans import problem_of
from giveway.sim.prepare import PreparedCase
from giveway.sim.sight import gather_rows
from giveway.sim.step import advance

ORIGIN_M = np.array([1000.0, 1000.0])
"""Predictors see site coordinates minus this: the frame of the challenge's messages, and near zero for float32."""


class Simulation:
    """C cases stepped together.

    Args:
        cases: prepared cases.
        seed: root of all random streams (only stochastic predictors draw from them).
        idm: parameters of car-following cars.
        profiles: parameters of the default planner.
        planner: plans for every ego whose driver is EXTERNAL.
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
        threads: int = 1,
    ) -> None:
        self.cases = tuple(cases)
        self.seed = seed
        self.idm = idm or IdmParameters()
        self.profiles = profiles or ProfileParameters()
        self.planner = planner
        self.tick = 0
        self.fixed, self.moving = pack(self.cases)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._chunks = _chunks(len(self.cases), threads)
        agents = self.fixed.driver.shape[1]
        predicted = np.zeros(self.fixed.driver.shape, dtype=np.bool_)
        for c, case in enumerate(self.cases):
            predicted[c, : len(case.ids)] = case.predicted
        self._predicted = predicted
        self._names = _names(self.cases, agents)
        self._waiting_at = -1
        self._waiting = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self._no_forecast = Forecast(
            row=np.full((len(self.cases), agents), -1, dtype=np.int64),
            states=np.zeros((0, 1, FUTURE_STEPS, 3)),
            probability=np.zeros((0, 1)),
        )
        ticks = int(self.fixed.num_ticks.max())
        self.ego_plans = np.full((len(self.cases), ticks, PLAN_STEPS), np.nan)
        """(C, T, 50) arc length of the ego's plan made at each tick; NaN if it had none."""
        self._each(advance, self._no_forecast, -1, self.idm, self.profiles)

    @property
    def done(self) -> bool:
        """Every case has reached its end."""
        return self.tick >= int(self.fixed.num_ticks.max())

    def waiting(self) -> tuple[IntArray, IntArray]:
        """(R,) case and agent index of the cars to predict now: flagged, present, with an ego that can use it."""
        if self._waiting_at == self.tick:
            return self._waiting
        column = PAST + self.tick
        ego_here = self.moving.on[np.arange(len(self.cases)), self.fixed.ego, column]
        running = (self.fixed.num_ticks > self.tick) & ego_here
        case, agent = np.nonzero(self._predicted & self.moving.on[:, :, column] & running[:, None])
        self._waiting_at, self._waiting = self.tick, (case.astype(np.int64), agent.astype(np.int64))
        return self._waiting

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
            size=self.fixed.size[case, agent],
            **self._others(case, agent, filled=with_others),
            road=tuple(self._names[2][case]),
            origin_m=ORIGIN_M,
            case_ids=tuple(self._names[0][case]),
            car_ids=tuple(self._names[1][case, agent]),
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
            PredictionError: arrays of the wrong shape, or a plan from outside that cannot be driven.
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
        self._each(advance, forecast, self.tick, self.idm, self.profiles)
        self._keep_plans()
        self.tick += 1
        return accepted

    def situation(self, case: int, agent: int, forecast: Forecast | None = None) -> Situation:
        """What the planner of one car may know now."""
        fixed, moving, column = self.fixed, self.moving, PAST + self.tick
        told = self._no_forecast if forecast is None else forecast
        count = int(fixed.num_agents[case])
        most = count * max(told.probability.shape[1], 1)
        row_states, row_facts = np.empty((most, CHECK_STEPS, 4)), np.empty((most, ROW_FACTS))
        log = moving.log[case, :count, column]
        now = np.stack(
            [log[:, 0], log[:, 1], np.hypot(log[:, 2], log[:, 3]), np.cos(log[:, 4]), np.sin(log[:, 4])], axis=1
        )
        is_ego = bool(fixed.ego[case] == agent)
        rows = gather_rows(
            agent,
            count,
            column,
            is_ego,
            now,
            moving.log[case],
            moving.on[case],
            fixed.driver[case],
            fixed.size[case],
            fixed.hidden[case],
            fixed.favored[case],
            fixed.meets[case, agent],
            fixed.sketch,
            fixed.sketch_first[case],
            fixed.sketch_size[case],
            fixed.path_step[case],
            fixed.rec[case],
            fixed.rec_on[case],
            moving.plan_s[self.tick % 2, case],
            told.row[case],
            told.states,
            told.probability,
            row_states,
            row_facts,
        )
        present = moving.on[case, :count, column]
        first = int(fixed.path_first[case, agent])
        return Situation(
            path=fixed.path[first : first + int(fixed.path_size[case, agent])],
            path_step_m=float(fixed.path_step[case, agent]),
            s_m=float(moving.s[case, agent]),
            speed_mps=float(now[agent, 2]),
            accel_mps2=float(moving.accel[case, agent]),
            size_m=fixed.size[case, agent],
            desired_speed_mps=float(fixed.desired_speed[case, agent]),
            previous_s_m=moving.plan_s[self.tick % 2, case, agent],
            mode_states=row_states[:rows],
            mode_facts=row_facts[:rows],
            own=agent,
            states=now,
            present=present & ~fixed.hidden[case, :count] if is_ego else present,
            sizes=fixed.size[case, :count],
        )

    def close(self) -> None:
        """Release the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def _each(self, kernel: object, *args: object) -> None:
        """Run a kernel over all cases, chunk by chunk."""
        call = kernel
        assert callable(call)
        if self._pool is None:
            call(self.fixed, self.moving, *args, 0, len(self.cases))
            return
        jobs = [self._pool.submit(call, self.fixed, self.moving, *args, a, b) for a, b in self._chunks]
        for job in jobs:
            job.result()

    def _plan_outside(self, forecast: Forecast) -> None:
        """Let the planner decide for every ego that is driven from outside."""
        if self.planner is None:
            return
        rows = np.arange(len(self.cases))
        outside = self.fixed.driver[rows, self.fixed.ego] == Driver.EXTERNAL
        here = self.moving.status[rows, self.fixed.ego] == Status.PRESENT
        for case in np.flatnonzero(outside & here & (self.fixed.num_ticks > self.tick)).tolist():
            agent = int(self.fixed.ego[case])
            situation = self.situation(case, agent, forecast)
            plan = self.planner.plan(situation)
            problem = problem_of(plan, situation)
            if problem:
                where = f"planner {self.planner.info.name}, case {self.cases[case].case.id!r}, tick {self.tick}"
                raise PredictionError("the planner's answer cannot be driven", where=where, found=problem)
            self.moving.external_s[case, agent] = plan.s_m
            self.moving.external_v[case, agent] = plan.speed_mps

    def _keep_plans(self) -> None:
        half = 1 - self.tick % 2
        rows = np.arange(len(self.cases))
        driver = self.fixed.driver[rows, self.fixed.ego]
        here = self.moving.status[rows, self.fixed.ego] == Status.PRESENT
        planned = (driver != Driver.REPLAY) & (driver != Driver.FREE) & here & (self.fixed.num_ticks > self.tick)
        self.ego_plans[planned, self.tick] = self.moving.plan_s[half, rows, self.fixed.ego][planned]

    def _columns(self, case: IntArray, agent: IntArray) -> IntArray:
        """(R, 10) columns of the last ten states, the oldest one repeated for young cars."""
        now = PAST + self.tick
        return np.maximum(np.arange(now - HISTORY_STEPS + 1, now + 1), self.moving.first[case, agent][:, None])

    def _history(self, case: IntArray, agent: IntArray) -> FloatArray:
        history = self.moving.log[case[:, None], agent[:, None], self._columns(case, agent)]
        history[..., :2] -= ORIGIN_M
        return history

    def _others(self, case: IntArray, agent: IntArray, *, filled: bool) -> dict[str, FloatArray]:
        if not filled or case.size == 0:
            return {
                "others": np.zeros((case.size, 0, HISTORY_STEPS, STATE_SIZE)),
                "others_size": np.zeros((case.size, 0, 2)),
            }
        others = self._other_agents(agent)
        here = self.moving.on[case[:, None], others, PAST + self.tick]
        flat_case, flat_agent = np.repeat(case, others.shape[1]), others.ravel()
        history = self._history(flat_case, flat_agent).reshape(*others.shape, HISTORY_STEPS, STATE_SIZE)
        size = self.fixed.size[case[:, None], others]
        return {
            "others": np.where(here[..., None, None], history, np.nan),
            "others_size": np.where(here[..., None], size, np.nan),
        }

    def _other_agents(self, agent: IntArray) -> IntArray:
        """(R, A - 1) everybody else, in the order of the case."""
        rest = np.arange(self.fixed.driver.shape[1] - 1)[None, :]
        return rest + (rest >= agent[:, None])

    def _others_ids(self, case: IntArray, agent: IntArray) -> tuple[tuple[str, ...], ...]:
        return tuple(
            tuple(str(self.cases[c].ids[a]) if a < len(self.cases[c].ids) else "" for a in row.tolist())
            for c, row in zip(case.tolist(), self._other_agents(agent), strict=True)
        )

    def _conflicts(self, case: IntArray, agent: IntArray) -> dict[str, Any]:
        columns, others = self._columns(case, agent), self._other_agents(agent)
        route, conflict = routes_and_conflicts(self.fixed, self.moving, PAST + self.tick, case, agent, others, columns)
        return {"route": route - ORIGIN_M, "conflict": conflict}

    def _ages(self, case: IntArray, agent: IntArray) -> IntArray:
        everybody = np.concatenate([agent[:, None], self._other_agents(agent)], axis=1)
        return np.maximum(PAST + self.tick - self.moving.first[case[:, None], everybody], 0)

    def _future(self, case: IntArray, agent: IntArray) -> FloatArray:
        """(R, 30, 5) recording of replay cars, what all others will do if the ego keeps to its plan; straight on where
        that ends.
        """
        now = PAST + self.tick
        driven = ~np.isin(self.fixed.driver[case, agent], (Driver.REPLAY, Driver.FREE))
        future = np.full((case.size, FUTURE_STEPS, STATE_SIZE), np.nan)
        for row in np.flatnonzero(~driven).tolist():
            future[row] = self.fixed.rec[case[row], agent[row], now + 1 : now + 1 + FUTURE_STEPS]
        if driven.any():
            wanted = np.isin(np.arange(len(self.cases)), case[driven])
            ahead = foresee(
                self.fixed,
                self.moving,
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
        np.add(accepted.states[..., :2], ORIGIN_M, out=states[..., :2])
        states[..., 2] = accepted.states[..., 4]
        return Forecast(row=row, states=states, probability=accepted.probability)


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
