"""Egos that see others late, with errors or not far enough, but are driven by a compiled planner: nothing is asked.

The worlds are copied as the impaired planner is shown them, the compiled step drives the ego in the copy, and the plan
that it makes there is driven in the worlds (the step itself notes its speed in ``Decisions``). What is shown is what
:mod:`giveway.planning.impaired` shows, to the bit; only whether a car is too far away to matter within five seconds is
asked of the present place of the ego, not of its past one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.case import TICK_S
from giveway.generate.egos import Ego
from giveway.planning.idm import IdmParameters
from giveway.planning.impaired import (
    DELAY_S,
    HORIZON_S,
    MODE_STEP_S,
    POSITION_SD_M,
    SPEED_SD_MPS,
    DelayedPlanner,
    NoisyPlanner,
)
from giveway.planning.profiles import CHECK_EVERY, CHECK_STEPS, PLAN_STEPS
from giveway.sim.bicycle import SPEED, X, Y
from giveway.sim.compiling import DirectCalls
from giveway.sim.drivers.external import EpisodeFacts
from giveway.sim.drivers.hosts import Finding
from giveway.sim.sight import all_straight_on
from giveway.sim.state import PAST, Decision, Decisions, Forecast, State, Static, copied, no_forecast
from giveway.sim.step import advance

TOLD = PLAN_STEPS + 2
"""Length of what is predicted; its last two steps, by which it would go on, are never reached and must be numbers."""
KEPT = round(DELAY_S / TICK_S) + 1
"""Ticks that the delayed ego remembers."""


class ImpairedEgos:
    """Decides for all egos of a batch; stands in for :class:`giveway.sim.drivers.external.ExternalEgos`.

    Args:
        ego: what is wrong with its sight, and the compiled planner that decides.
        static: of the batch; the ego in row 0, nobody foreseen.
        state: of the batch.
        decisions: of the batch; those of the egos are written.
    """

    def __init__(self, ego: Ego, static: Static, state: State, decisions: Decisions) -> None:
        assert ego.sees is not None
        self.findings: dict[int, Finding] = {}
        """Compiled planners do nothing wrong."""
        self._sees, self._parameters = ego.sees, (ego.idm or IdmParameters(), ego.profiles)
        self._static, self._state, self._decisions = static, state, decisions
        driver = static.driver.copy()
        driver[:, 0] = int(ego.decides)
        self._seen_static = static._replace(driver=driver, hidden=static.hidden.copy())
        self._seen = copied(state)
        worlds, agents = static.driver.shape
        self._forecast = no_forecast(static, TOLD)
        if ego.sees is not DelayedPlanner:
            self._forecast = Forecast(
                row=np.arange(worlds * agents).reshape(worlds, agents),
                states=np.zeros((worlds * agents, 1, TOLD, 3)),
                probability=np.ones((worlds * agents, 1)),
            )
        self._modes = np.empty((worlds, agents, CHECK_STEPS, 4))
        self._cars, self._logs = np.empty((KEPT, *state.car.shape)), np.empty((KEPT, worlds, agents, 5))
        self._there = np.zeros((KEPT, worlds, agents), dtype=np.bool_)
        self._rngs = [np.random.default_rng(0)] * worlds
        self._call = DirectCalls()

    def begin(self, w: int, facts: EpisodeFacts) -> None:
        """An episode begins in a world that the simulator has begun."""
        self._seen.ego_memory[w] = self._state.ego_memory[w]
        self._decisions.kind[w, 0] = int(Decision.ALONG)
        self._rngs[w] = np.random.default_rng(facts.seed)

    def decide(self, worlds: Iterable[int], forecast: Forecast) -> None:
        """Let the egos of some worlds decide about the coming tick; those of others plan on, and nobody listens."""
        rows: IntArray = np.array(list(worlds), dtype=np.int64)
        seen, state, tick = self._seen, self._state, self._state.tick[rows]
        column = (PAST + tick) % state.log.shape[2]
        for name in State._fields:
            if name not in ("log", "on", "ego_memory"):
                np.copyto(getattr(seen, name), getattr(state, name))
        cars, logs, there = state.car[rows], state.log[rows, :, column], state.present[rows]
        if self._sees is DelayedPlanner:
            cars, logs, there = self._late(rows, tick, cars, logs, there)
        elif self._sees is NoisyPlanner:
            self._noisy(rows, cars, logs)
        else:
            self._near(rows, cars, logs)
        seen.car[rows, 1:], seen.present[rows, 1:] = cars[:, 1:], there[:, 1:]
        seen.log[rows, :, column] = logs
        self._call(
            advance, self._seen_static, seen, self._decisions, self._forecast, *self._parameters, 0, len(state.tick)
        )
        self._decisions.along_s[rows, 0] = seen.plan_s[1 - tick % 2, rows, 0]

    def _late(
        self, rows: IntArray, tick: IntArray, cars: FloatArray, logs: FloatArray, there: BoolArray
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """As everybody was a second ago; at the beginning, at first."""
        now, old = tick % KEPT, np.maximum(tick - KEPT + 1, 0) % KEPT
        self._cars[now, rows], self._logs[now, rows], self._there[now, rows] = cars, logs, there
        return self._cars[old, rows], self._logs[old, rows], self._there[old, rows]

    def _noisy(self, rows: IntArray, cars: FloatArray, logs: FloatArray) -> None:
        """Shift cars, change speeds, and what is predicted of them."""
        size = (cars.shape[1], 3)
        errors = np.array([self._rngs[w].standard_normal(size) for w in rows.tolist()]).reshape(len(rows), *size)
        errors *= (POSITION_SD_M, POSITION_SD_M, SPEED_SD_MPS)
        errors[:, 0] = 0.0
        modes = self._modes[: len(rows)]
        all_straight_on(logs, modes)
        ahead = MODE_STEP_S * np.arange(1, CHECK_STEPS + 1) * errors[..., 2:]
        modes[..., :2] += errors[..., None, :2] + ahead[..., None] * modes[..., 2:]
        cars[..., [X, Y, SPEED]] += errors
        cars[..., SPEED] = np.maximum(cars[..., SPEED], 0.0)
        self._predict(rows, modes, logs)

    def _near(self, rows: IntArray, cars: FloatArray, logs: FloatArray) -> None:
        """Hide who is far, and what is predicted beyond the horizon."""
        away = np.hypot(*np.moveaxis(cars[..., [X, Y]] - cars[:, :1, [X, Y]], 2, 0))
        reach = HORIZON_S * self._static.desired_speed[rows, :1] + self._static.size[rows, :1, 0]
        self._seen_static.hidden[rows] = self._static.hidden[rows] | (away > reach)
        modes = self._modes[: len(rows)]
        all_straight_on(logs, modes)
        modes[:, :, round(HORIZON_S / MODE_STEP_S) :] = np.nan
        self._predict(rows, modes, logs)

    def _predict(self, rows: IntArray, modes: FloatArray, logs: FloatArray) -> None:
        """Give the planner these modes: a prediction is read at each second tick."""
        worlds, agents = self._static.driver.shape
        states = self._forecast.states.reshape(worlds, agents, TOLD, 3)
        at = CHECK_EVERY * np.arange(1, CHECK_STEPS + 1) - 1
        states[rows[:, None, None], np.arange(agents)[:, None], at, :2] = modes[..., :2]
        states[rows[:, None, None], np.arange(agents)[:, None], at, 2] = logs[..., None, 4]

    def close(self) -> None:
        """Nothing was started."""
