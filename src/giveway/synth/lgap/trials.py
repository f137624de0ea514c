"""The left-turn trials: who decides what, and how the two cars move.

Frame of a trial: the oncoming car (protocol's E, files' ``bot``) drives along +x at y = -w/2, the human
(protocol's T, files' ``ego``) comes from +x at y = +w/2 and turns towards -y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.seeds import stream
from giveway.roads.library.shapes import arc, line
from giveway.synth.humans import MAX_ACCEL_MPS2, MIN_ACCEL_MPS2, Population, draw_boldness, draw_drivers
from giveway.synth.paths import STEP_M, Path, smooth_path

LANE_WIDTH_M = 3.5
TURN_RADIUS_M = 7.0
START_M = 16.0
"""Distance along x from the center at which a trial begins."""
RECORDED_M = 10.0
"""Only what happens within this distance of the center is in the files."""
SPAWN_SPEED_MPS = 1.0
DISTANCES_M = (90.0, 120.0, 150.0)
TTAS_S = (4.0, 5.0, 6.0)
TRIALS_PER_SESSION = 9
SESSIONS = 4
SAFE_DISTANCE_M = 5.1
"""Nobody turns if the centers of the cars would come closer than this; the files call 5 m a go."""
FINE_S = 0.01
DURATION_S = 20.0
URGENCY_PER_S = 0.3
"""Those who take a shorter gap accelerate harder [m/s² per second less than the longest]."""
TURN_SPEED_MPS = 6.8
PEOPLE = Population(critical_gap_s=5.2, between=0.1, within=0.06, speed_bias=0.2, reference_mps=22.0)
FALSE_START_SHARE = 0.15
"""Of those who wait: they start and think better of it."""
FALSE_START_S = (0.35, 0.85)
"""How long they accelerate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """N trials on a fine common time grid.

    Attributes:
        key: (N, 4) subj_id, session, route, intersection_no.
        distance_m: (N,) distance condition.
        tta_s: (N,) time condition.
        boldness: (N,) trait of the subject.
        probability: (N,) of acceptance; 0 where this driver could not make it.
        accepted: (N,) what was drawn.
        spawn_s: (N,) the oncoming car appears.
        spawn_x_m: (N,) where it appears.
        respond_s: (N,) the human steps on the throttle.
        s_m: (N, K) position of the human along the path every :data:`FINE_S`.
        v_mps: (N, K) speed.
        a_mps2: (N, K) acceleration.
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
    a_mps2: FloatArray
    offset_m: FloatArray

    @property
    def bot_speed_mps(self) -> FloatArray:
        """(N,) constant speed of the oncoming car."""
        return self.distance_m / self.tta_s


def turning_path() -> Path:
    """The human's way, from :data:`START_M` before the center to the far side of the crossing."""
    half = LANE_WIDTH_M / 2
    corner = -half + TURN_RADIUS_M
    return smooth_path(
        line((START_M, half), (corner, half)),
        arc(TURN_RADIUS_M, np.pi / 2, np.pi, spacing_m=STEP_M) + np.array([corner, half - TURN_RADIUS_M]),
        line((-half, half - TURN_RADIUS_M), (-half, half - TURN_RADIUS_M - 40.0)),
        sigma_m=0.8,
    )


def simulate_trials(seed: int, count: int) -> Trials:
    """Draw conditions, drivers and decisions, and move the humans."""
    path = turning_path()
    key, condition = _keys_and_conditions(seed, count)
    subject = key[:, 0] - key[0, 0]
    boldness = draw_boldness(stream(seed, "lgap", "boldness"), int(subject.max()) + 1)[subject]
    drivers = draw_drivers(stream(seed, "lgap", "drivers"), boldness)
    rng = stream(seed, "lgap", "trials")
    distance = np.take(DISTANCES_M, condition % 3)
    tta = np.take(TTAS_S, condition // 3)
    stop = START_M - np.clip(4.5 - 0.3 * boldness + 0.5 * rng.standard_normal(count), 3.6, 7.0)
    creep = np.clip(0.12 + 0.12 * boldness + 0.08 * rng.standard_normal(count), 0.0, 0.45)
    accel = np.clip(drivers.accel_mps2 + URGENCY_PER_S * (max(TTAS_S) - tta), MIN_ACCEL_MPS2, MAX_ACCEL_MPS2)
    offset = 0.1 * np.clip(rng.standard_normal(count), -2, 2)
    approach = np.clip(5.0 + 0.5 * boldness + 0.4 * rng.standard_normal(count), 3.5, 7.0)
    never = np.full(count, np.inf)
    waiting = _move(approach, stop, creep, accel, go_s=never)
    spawn = _spawn_step(waiting[0], waiting[1])
    rows = np.arange(count)
    at_spawn = path.at(waiting[0][rows, spawn], offset)[0]
    spawn_s = spawn * FINE_S
    spawn_x = at_spawn[:, 0] - np.sqrt(distance**2 - (at_spawn[:, 1] + LANE_WIDTH_M / 2) ** 2)
    speed = distance / tta
    go_s = spawn_s + drivers.reaction_s
    going = _move(approach, stop, creep, accel, go_s=go_s)
    closest = _closest(path, going[0], offset, spawn_s, spawn_x, speed)
    possible = closest > SAFE_DISTANCE_M
    probability = np.where(possible, PEOPLE.probability(tta, speed, boldness), 0.0)
    accepted = rng.random(count) < probability
    passed_s = spawn_s + (2.0 - spawn_x) / speed
    respond = np.where(accepted, go_s, passed_s + 0.5 * drivers.reaction_s)
    hesitates = ~accepted & (rng.random(count) < FALSE_START_SHARE)
    begins = np.where(hesitates, go_s, np.inf)
    ends = begins + FALSE_START_S[0] + (FALSE_START_S[1] - FALSE_START_S[0]) * rng.random(count)
    s, v, a = _move(approach, stop, creep, accel, go_s=respond, false_start_s=(begins, ends))
    return Trials(
        key=key,
        distance_m=distance,
        tta_s=tta,
        boldness=boldness,
        probability=probability,
        accepted=accepted,
        spawn_s=spawn_s,
        spawn_x_m=spawn_x,
        respond_s=respond,
        s_m=s,
        v_mps=v,
        a_mps2=a,
        offset_m=offset,
    )


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


def _move(
    approach: FloatArray,
    stop: FloatArray,
    creep: FloatArray,
    accel: FloatArray,
    *,
    go_s: FloatArray,
    false_start_s: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Approach, stop or creep, then go at ``go_s``: s, v, a of shape (N, K), limited in acceleration and jerk.

    Between the two times of ``false_start_s``, (N,) each, they accelerate as well, and brake afterwards.
    """
    begins, ends = false_start_s or (np.full(approach.size, np.inf), np.full(approach.size, np.inf))
    steps = int(DURATION_S / FINE_S) + 1
    s = np.zeros((steps, approach.size))
    v, a = np.zeros_like(s), np.zeros_like(s)
    v[0] = approach
    for k in range(steps - 1):
        left = stop - s[k]
        wanted = np.where(left > 0, np.sqrt(2 * 1.6 * np.maximum(left, 0)) + creep, np.where(left > -1.2, creep, 0))
        held = np.clip((np.minimum(wanted, approach) - v[k]) / 0.35, -3.5, 1.0)
        freed = accel * (1 - elementary.power(v[k] / TURN_SPEED_MPS, 4.0))
        now = k * FINE_S
        command = np.where((now >= go_s) | ((now >= begins) & (now < ends)), freed, held)
        jerk = np.clip((command - a[k]) / FINE_S, -9.0, 5.0)
        a[k + 1] = a[k] + jerk * FINE_S
        v[k + 1] = v[k] + (a[k] + a[k + 1]) / 2 * FINE_S
        halted = v[k + 1] <= 0
        v[k + 1][halted] = 0.0
        a[k + 1][halted] = np.maximum(a[k + 1][halted], 0.0)
        s[k + 1] = s[k] + (v[k] + v[k + 1]) / 2 * FINE_S
    return s.T, v.T, a.T


def _spawn_step(s: FloatArray, v: FloatArray) -> IntArray:
    inside = s > START_M - np.sqrt(RECORDED_M**2 - LANE_WIDTH_M**2 / 4) + 0.3
    return np.argmax(inside & (v < SPAWN_SPEED_MPS), axis=1)


def _closest(
    path: Path, s: FloatArray, offset: FloatArray, spawn_s: FloatArray, spawn_x: FloatArray, speed: FloatArray
) -> FloatArray:
    """(N,) smallest distance of the two centers while the human is within 10 m of the middle."""
    coarse = slice(None, None, 10)
    time = np.arange(s.shape[1])[coarse] * FINE_S
    human = path.at(s[:, coarse], offset[:, None])[0]
    bot_x = spawn_x[:, None] + speed[:, None] * (time - spawn_s[:, None])
    apart = np.hypot(human[..., 0] - bot_x, human[..., 1] + LANE_WIDTH_M / 2)
    counts = (time >= spawn_s[:, None]) & (np.hypot(human[..., 0], human[..., 1]) < RECORDED_M + 3)
    return np.where(counts, apart, np.inf).min(axis=1)
