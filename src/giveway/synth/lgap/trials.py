"""The left-turn trials: two cars at a crossing of the library, in the simulator.

Frame of a trial: the oncoming car (protocol's E, files' ``bot``) drives along +x at y = -w/2, the human
(protocol's T, files' ``ego``) comes from +x at y = +w/2, stops, and turns towards -y.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.case import TICK_S
from giveway.core.seeds import stream
from giveway.roads.library.four_way import four_way_road
from giveway.roads.routes import poses_along
from giveway.sim.drivers.human import DRAWS, Humans
from giveway.sim.drivers.people import MAX_ACCEL_MPS2, MIN_ACCEL_MPS2, Population, draw_boldness, draw_drivers
from giveway.sim.state import DriverCode, Static
from giveway.synth.traffic import Habits, Motion, Place, drive, place_of, worlds_of

LANE_WIDTH_M = 3.5
ARM_M, MOUTH_M = 170.0, 5.25
"""Length of the arms, and where the turn begins: on a radius of 7 m."""
LEFT_FROM_EAST, STRAIGHT_FROM_WEST = 5, 10
"""Ways of the crossing that the human and the oncoming car take."""
HUMAN, BOT = 0, 1
SIZE_M = (4.2, 1.8)
START_M = 16.0
"""Distance along x from the center at which a trial begins."""
RECORDED_M = 10.0
"""Only what happens within this distance of the center is in the files."""
SPAWN_SPEED_MPS = 0.8
DISTANCES_M = (90.0, 120.0, 150.0)
TTAS_S = (4.0, 5.0, 6.0)
TRIALS_PER_SESSION = 9
SESSIONS = 4
DESIRED_MPS = 7.5
APPROACH_TICKS, TICKS = 110, 200
NEVER_TICK = 10**6
BRISK_MPS2 = 0.7
"""By so much more than elsewhere people accelerate who sit in a simulator [m/s²]."""
URGENCY_PER_S = 0.2
"""Those who take a shorter gap accelerate harder [m/s² per second less than the longest]."""
PROMPT = (0.3, 0.95)
"""Share of the reaction time of other places, drawn for each trial: people have been waiting for the car to appear. The
median time of a decision to go is then 0.46 s; the mean of the authors' model of these trials is 0.49 to 0.64 s."""
BACK_M = 0.25
"""How far before their line people wait, at boldness 0 [m]."""
HABITS = Habits(stop_s=0.4, false_starts=0.15, margin_s=0.4)
PEOPLE = Population(critical_gap_s=4.45, between=0.09, within=0.1, speed_bias=0.5, reference_mps=24.0)
"""Distance counts as much as time: by the model that its authors fitted to these trials (Zgonnikov, Abbink, Markkula
2022) 17, 45 and 74 % turn before a car that is 90, 120 and 150 m and 5 s away, 51, 74 and 94 % before one that is 150 m
and 4, 5 and 6 s away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """N trials of K ticks of 0.1 s.

    Attributes:
        key: (N, 4) subj_id, session, route, intersection_no.
        distance_m: (N,) distance condition.
        tta_s: (N,) time condition.
        boldness: (N,) trait of the subject.
        probability: (N,) of acceptance; 0 where this driver could not make it.
        accepted: (N,) whether the human turns first.
        spawn_s: (N,) the oncoming car appears.
        spawn_x_m: (N,) where it appears.
        respond_s: (N,) the human steps on the throttle.
        s_m: (N, K) position of the human along its route at each tick [m].
        v_mps: (N, K) speed at each tick [m/s].
        offset_m: (N,) lateral offset of the human.
    """

    key: IntArray
    distance_m: FloatArray
    tta_s: FloatArray
    boldness: FloatArray
    probability: FloatArray
    accepted: BoolArray
    spawn_s: FloatArray
    spawn_x_m: FloatArray
    respond_s: FloatArray
    s_m: FloatArray
    v_mps: FloatArray
    offset_m: FloatArray

    @property
    def bot_speed_mps(self) -> FloatArray:
        """(N,) constant speed of the oncoming car."""
        return self.distance_m / self.tta_s


@cache
def crossing() -> Place:
    """Route 0 of the human, route 1 of the oncoming car."""
    road = four_way_road(yielding=(), arm_m=ARM_M, mouth_m=MOUTH_M, lane_width_m=LANE_WIDTH_M)
    return place_of(road, ways=(LEFT_FROM_EAST, STRAIGHT_FROM_WEST))


def simulate_trials(seed: int, count: int) -> Trials:
    """Draw conditions, drivers and decisions, and drive.

    The oncoming car appears when the human has slowed down, so each trial is driven twice: until then without it.
    """
    key, condition = _keys_and_conditions(seed, count)
    subject = key[:, 0] - key[0, 0]
    boldness = draw_boldness(stream(seed, "lgap", "boldness"), int(subject.max()) + 1)[subject]
    drivers = draw_drivers(stream(seed, "lgap", "drivers"), boldness)
    share = PROMPT[0] + (PROMPT[1] - PROMPT[0]) * stream(seed, "lgap", "prompt").random(count)
    rng = stream(seed, "lgap", "trials")
    distance, tta = np.take(DISTANCES_M, condition % 3), np.take(TTAS_S, condition // 3)
    more = BRISK_MPS2 + URGENCY_PER_S * (max(TTAS_S) - tta)
    accel = np.clip(drivers.accel_mps2 + more, MIN_ACCEL_MPS2, MAX_ACCEL_MPS2)
    pace = np.clip(1.45 + 0.06 * boldness + 0.04 * rng.standard_normal(count), 1.2, 1.7)
    back = np.clip(BACK_M - 0.2 * boldness + 0.3 * rng.standard_normal(count), 0.1, 2.5)
    offset = 0.1 * np.clip(rng.standard_normal(count), -2, 2)
    approach = np.clip(5.0 + 0.5 * boldness + 0.4 * rng.standard_normal(count), 3.5, 7.0)
    traits = np.stack([boldness, share * drivers.reaction_s, accel, pace, back], axis=1)
    draws = rng.random((count, DRAWS))
    s, v = _states(drive(*_worlds(traits, draws, approach), APPROACH_TICKS), count)
    path = crossing().paths[0]
    xy = poses_along(path, s, offset[:, None])[0]
    slow = (v < SPAWN_SPEED_MPS) & (xy[..., 0] < np.sqrt(RECORDED_M**2 - LANE_WIDTH_M**2 / 4) - 0.3)
    spawn = np.argmax(slow, axis=1)
    at_spawn = xy[np.arange(count), spawn]
    spawn_x = at_spawn[:, 0] - np.sqrt(distance**2 - (at_spawn[:, 1] + LANE_WIDTH_M / 2) ** 2)
    static, own = _worlds(traits, draws, approach)
    static.spawn_tick[:, BOT] = spawn
    static.start_lane[:, BOT, 0] = spawn_x + ARM_M
    static.start[:, BOT, 3] = distance / tta
    s, v = _states(drive(static, own, TICKS), count)
    return Trials(
        key=key,
        distance_m=distance,
        tta_s=tta,
        boldness=boldness,
        probability=own.decided[:, HUMAN, 0, 4],
        accepted=own.start_at[:, HUMAN] < spawn * TICK_S - spawn_x * tta / distance,
        spawn_s=spawn * TICK_S,
        spawn_x_m=spawn_x,
        respond_s=np.minimum(own.start_at[:, HUMAN], (TICKS - 1) * TICK_S),
        s_m=s,
        v_mps=v,
        offset_m=offset,
    )


def _worlds(traits: FloatArray, draws: FloatArray, approach: FloatArray) -> tuple[Static, Humans]:
    """One world per trial; the oncoming car never appears yet."""
    count = len(traits)
    static, own = worlds_of(
        crossing(), np.tile([0, 1], (count, 1)), np.repeat(traits[:, None], 2, axis=1),
        np.repeat(draws[:, None], 2, axis=1), PEOPLE, HABITS,
    )  # fmt: skip
    static.driver[:, BOT] = int(DriverCode.CONSTANT_SPEED)
    static.size[:] = SIZE_M
    static.desired_speed[:] = DESIRED_MPS
    static.spawn_tick[:, BOT] = NEVER_TICK
    static.start_lane[:, HUMAN, 0] = ARM_M - START_M
    static.start[:, HUMAN, 3] = approach
    return static, own


def _states(motion: Motion, count: int) -> tuple[FloatArray, FloatArray]:
    """(N, K) position along the route and speed of the humans."""
    human = motion.vehicle % 2 == HUMAN
    return motion.s_m[human].reshape(count, -1), motion.v_mps[human].reshape(count, -1)


def _keys_and_conditions(seed: int, count: int) -> tuple[IntArray, IntArray]:
    rng = stream(seed, "lgap", "conditions")
    per_subject = TRIALS_PER_SESSION * SESSIONS
    trial = np.arange(count)
    subject = 501 + trial // per_subject
    session = 1 + trial % per_subject // TRIALS_PER_SESSION
    number = 1 + trial % TRIALS_PER_SESSION
    blocks = -(-count // TRIALS_PER_SESSION)
    order = np.argsort(rng.random((blocks, TRIALS_PER_SESSION)), axis=1, kind="stable")
    route = 1 + np.argsort(rng.random((blocks, 4)), axis=1, kind="stable")[:, 0]
    key = np.stack([subject, session, np.repeat(route, TRIALS_PER_SESSION)[:count], number], axis=1)
    return key, order.ravel()[:count]
