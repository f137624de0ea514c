"""The challenge metric of a log: its four terms, and the score in three variants."""

from __future__ import annotations

import math

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.case import Role
from giveway.core.log import DriveLog, last_known
from giveway.metrics.challenge import (
    AS_CODED,
    AS_DOCUMENTED,
    DEFAULT,
    RULES,
    ChallengeInputs,
    ChallengeRules,
    ChallengeTerms,
    challenge_terms,
    courtesy_costs,
    score_of,
)
from giveway.metrics.metric import Metric, MetricValue, metric, undefined
from giveway.metrics.shared import once_per_log
from giveway.metrics.speeds import SpeedRecord, jerk_of_speed, runs_of

TERMS = ("s_eff", "s_jer", "s_vel", "s_cou")
SOURCE = "INTERPRET challenge, closed-loop track (2020), metric document and evaluator"
WAITING = "the recorded ego makes no progress: left out of S_eff"


@once_per_log
def challenge_inputs(log: DriveLog) -> ChallengeInputs:
    """What the challenge metric needs, from one of our logs.

    Contacts that began when a car appeared, and contacts with pedestrians, are not collisions of the metric. Pairs are
    those the evaluator checked: both driven, or on replay with prediction.
    """
    rows = {str(car): i for i, car in enumerate(log.tracks.ids)}
    ego = str(log.tracks.ids[log.ego])
    counted = [c for c in log.collisions if not c.at_spawn and not c.vulnerable]
    hits = [c for c in counted if c.first == ego]
    checked = {car for car, i in rows.items() if log.roles[i] is not Role.REPLAY or log.predicted[i]}
    first = min((c.start_tick for c in hits), default=None)
    return ChallengeInputs(
        case_id=log.case.id,
        dt_s=log.tracks.dt_s,
        ego=_record(log, log.ego),
        targets={car: _record(log, rows[car]) if car in rows else None for car in log.case.right_of_way},
        reactive=frozenset(car for car, i in rows.items() if log.roles[i] is Role.REACTIVE),
        progress_m=last_known(log.ego_s),
        expected_progress_m=log.expected_progress_m,
        ego_left=log.ego_left,
        desired_speed_mps=log.case.desired_speed_mps,
        any_pair_collided=any(c.first in checked and c.second in checked for c in counted),
        ego_collided=bool(hits),
        ego_at_fault=any(c.first_at_fault for c in hits),
        first_ego_collision=first,
        progress_at_collision_m=math.nan if first is None else float(log.ego_s[first]),
        failed=log.failed,
    )


@once_per_log
def terms_of(log: DriveLog) -> dict[str, ChallengeTerms]:
    """Variant of the metric to the terms of a log."""
    return {name: challenge_terms(challenge_inputs(log), rules) for name, rules in RULES.items()}


@metric(
    name="s_eff",
    title="$S_{eff}$",
    formula="min(1, max(p, 0.1 m) / max(p_recorded, 0.1 m)), p the progress along the recorded path; 1 at its end",
    better="higher",
    range=(0.0, 1.0),
    of="drive",
    needs="recording",
    column="",
    reference=f"{SOURCE}; with a floor of 0.1 m, and undefined where the recorded ego waits (less than 1 m).",
)
def s_eff(log: DriveLog) -> MetricValue:
    """Efficiency of the ego in one case."""
    value = terms_of(log)[DEFAULT.name].efficiency
    return undefined(log.failed or WAITING) if math.isnan(value) else MetricValue(value=value)


@metric(
    name="s_jer",
    title="$S_{jer}$",
    formula="sqrt(mean over samples of j^2), j the second difference of the ego's speed",
    unit="m/s^3",
    better="lower",
    range=(0.0, math.inf),
    of="drive",
    items="ticks",
    column="",
    reference=SOURCE,
)
def s_jer(log: DriveLog) -> MetricValue:
    """Jerk of the ego in one case; its items are the jerks of all ticks."""
    ego = challenge_inputs(log).ego
    jerk = np.full(ego.speed.shape, np.nan)
    for a, b in runs_of(ego.present):
        jerk[a:b] = jerk_of_speed(ego.speed[a:b], log.tracks.dt_s)
    return _term(log, terms_of(log)[DEFAULT.name].jerk, jerk)


@metric(
    name="s_vel",
    title="$S_{vel}$",
    formula="sqrt(mean over samples of min(v - v_d, 0)^2), v_d the desired speed of the case",
    unit="m/s",
    better="lower",
    range=(0.0, math.inf),
    of="drive",
    items="ticks",
    column="",
    reference=f"{SOURCE}; v_d by site, where evaluator and document have one number (8 m/s).",
)
def s_vel(log: DriveLog) -> MetricValue:
    """Shortfall of the ego's speed in one case; its items are those of all ticks."""
    inputs = challenge_inputs(log)
    short = np.where(inputs.ego.present, np.minimum(inputs.ego.speed - inputs.desired_speed_mps, 0.0), np.nan)
    return _term(log, terms_of(log)[DEFAULT.name].velocity, short)


@metric(
    name="s_cou",
    title="$S_{cou}$",
    formula="sum over right-of-way cars of S_jer + S_vel of that car",
    better="lower",
    range=(0.0, math.inf),
    of="drive",
    items="cars",
    column="",
    reference=f"{SOURCE}; all right-of-way cars, where the document knows one. Cars that were never present cost 0.",
)
def s_cou(log: DriveLog) -> MetricValue:
    """Discomfort of the cars to which the ego owes courtesy."""
    total = _term(log, terms_of(log)[DEFAULT.name].courtesy)
    if log.failed:
        return total
    costs = courtesy_costs(challenge_inputs(log))
    per_car = np.array([math.nan if cost is None else cost for cost in costs.values()], dtype=np.float64)
    return MetricValue(value=total.value, per_item=per_car, mask=np.isfinite(per_car), labels=tuple(costs))


def _variant(rules: ChallengeRules, title: str, how: str, version: int = 1) -> Metric:
    """The score under one set of rules; its items are the four terms."""

    @metric(
        name=rules.name,
        title=title,
        formula="10 S_eff - S_jer - S_vel - S_cou",
        better="higher",
        range=(-math.inf, math.inf),
        of="drive",
        version=version,
        items="terms",
        needs="recording",
        column="",
        reference=f"{SOURCE}; {how}",
    )
    def score(log: DriveLog) -> MetricValue:
        terms = terms_of(log)[rules.name]
        value = score_of(*terms.four)
        items = np.array(terms.four)
        note = "" if math.isfinite(value) else log.failed or WAITING
        return MetricValue(value=value, per_item=items, mask=np.isfinite(items), labels=TERMS, note=note)

    return score


challenge = _variant(
    DEFAULT, "Score", "failed runs get the worst values, the ego's collisions count, waiting egos are left out."
)
challenge_coded = _variant(
    AS_CODED,
    "Score as coded",
    "as the evaluator computes it: failed runs are dropped, any pair of cars counts, v_d is 8 m/s everywhere.",
    version=2,
)
challenge_documented = _variant(
    AS_DOCUMENTED,
    "Score as printed",
    "as the document prints it: sums divided by n - 1, progress over recorded progress without any clamp and also for "
    "an ego that left, the reactive right-of-way car only; v_d is 8 m/s everywhere.",
    version=2,
)


def _term(log: DriveLog, value: float, steps: FloatArray | None = None) -> MetricValue:
    if math.isnan(value):
        return undefined(log.failed)
    return MetricValue(value=value, per_item=steps, mask=None if steps is None else np.isfinite(steps))


def _record(log: DriveLog, row: int) -> SpeedRecord:
    return SpeedRecord(speed=log.tracks.speed[row], present=log.tracks.observed[row])
