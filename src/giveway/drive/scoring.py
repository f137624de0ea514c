"""From a log to numbers: everything that is said about one drive."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from giveway.core.histories import FUTURE_STEPS
from giveway.metrics.driving_challenge import ChallengeInputs, SpeedRecord, runs_of
from giveway.metrics.driving_comfort import Comfort, comfort
from giveway.metrics.driving_courtesy import CourtesyCost, courtesy_cost
from giveway.metrics.driving_gated import GatedScore, gated_score
from giveway.metrics.driving_open_loop import displacement_errors
from giveway.metrics.driving_realism import Realism, features_of, realism
from giveway.metrics.driving_safety import Closeness, closeness
from giveway.sim.cases import Role
from giveway.sim.collisions import Collision
from giveway.sim.logs import DriveLog


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveScore:
    """Everything that is said about one drive, apart from the challenge metric, whose variants share one input.

    Attributes:
        case_id: which case.
        challenge: input of all variants of the challenge metric.
        gated: nuPlan-style score.
        close: how close it came.
        comfort: None if the ego was never there long enough.
        courtesy: cost of each right-of-way car; empty if the case alters starts.
        realism: of the driven background cars; not judged if the case alters starts.
        altered: a car started elsewhere than in the recording, so differences to the recording say nothing.
        ego_collisions: contact episodes of the ego with cars, without those that began with an appearance.
        at_fault: how many of them the ego is to blame for.
        vulnerable_collisions: contacts of the ego with pedestrians or cyclists.
        other_collisions: contacts between other agents.
        spawn_contacts: contacts that began with an appearance.
        errors: mean displacement errors of the predictions against what the cars then did, by role.
        fallbacks: predictions that had to be replaced.
        predictions: predictions asked for.
    """

    case_id: str
    challenge: ChallengeInputs
    gated: GatedScore
    close: Closeness
    comfort: Comfort | None
    courtesy: tuple[CourtesyCost, ...]
    realism: Realism
    ego_collisions: int
    at_fault: int
    vulnerable_collisions: int
    other_collisions: int
    spawn_contacts: int
    errors: dict[str, float]
    fallbacks: int
    predictions: int
    altered: bool = False

    def measurements(self) -> dict[str, float]:
        """Scalars for tables, NaN where undefined."""
        courtesy = list(self.courtesy)
        unknown = math.nan if self.altered else 0.0
        values = {
            "gated_score": self.gated.score,
            "ego_collisions": float(self.ego_collisions),
            "at_fault_collisions": float(self.at_fault),
            "other_collisions": float(self.other_collisions),
            "min_ttc_s": self.close.min_ttc_s,
            "post_encroachment_s": self.close.post_encroachment_s,
            "min_gap_m": self.close.min_gap_m,
            "rms_jerk_smoothed": math.nan if self.comfort is None else self.comfort.rms_jerk,
            "comfortable": math.nan if self.comfort is None else float(self.comfort.is_comfortable),
            "speed_limit_compliance": self.gated.terms["speed_limit"],
            "progress": self.gated.terms["progress"],
            "courtesy_jerk": sum((c.jerk_mps3 for c in courtesy), unknown),
            "courtesy_delay_s": sum((c.delay_s for c in courtesy), unknown),
            "courtesy_imposed_decel": max((c.imposed_decel_mps2 for c in courtesy), default=unknown),
            "realism": self.realism.score,
            "fallbacks": float(self.fallbacks),
            "predictions": float(self.predictions),
            **self.errors,
        }
        return {name: value if math.isfinite(value) else math.nan for name, value in values.items()}


def failed_inputs(case_id: str, reason: str) -> ChallengeInputs:
    """Input of the challenge metric for a run that did not finish."""
    nothing = SpeedRecord(speed=np.zeros(0), present=np.zeros(0, dtype=np.bool_))
    return ChallengeInputs(
        case_id=case_id, dt_s=0.1, ego=nothing, targets={}, progress_m=0.0, expected_progress_m=0.0, failed=reason
    )


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
    known = log.ego_s[~np.isnan(log.ego_s)]
    first = min((c.start_tick for c in hits), default=None)
    return ChallengeInputs(
        case_id=log.case.id,
        dt_s=log.tracks.dt_s,
        ego=_record(log, log.ego),
        targets={car: _record(log, rows[car]) if car in rows else None for car in log.case.right_of_way},
        progress_m=float(known[-1]) if known.size else 0.0,
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


def score_log(log: DriveLog) -> DriveScore:
    """Everything about one drive."""
    tracks, ego = log.tracks, log.ego
    close = closeness(tracks, ego)
    felt = _comfort(log)
    mine, others, spawned = _sort_collisions(log)
    return DriveScore(
        case_id=log.case.id,
        challenge=challenge_inputs(log),
        gated=gated_score(
            at_fault=any(c.first_at_fault for c in mine),
            outside_m=log.outside_m[ego],
            human_outside_m=log.recorded_outside_m[ego],
            progress_m=log.ego_s,
            expected_progress_m=log.expected_progress_m,
            left_early=log.ego_left,
            ttc_s=close.ttc_s,
            speed=tracks.speed[ego],
            limit_mps=log.limit_mps,
            is_comfortable=felt is None or felt.is_comfortable,
            dt_s=tracks.dt_s,
        ),
        close=close,
        comfort=felt,
        courtesy=_courtesy(log),
        realism=_realism(log),
        ego_collisions=sum(not c.vulnerable for c in mine),
        at_fault=sum(c.first_at_fault for c in mine),
        vulnerable_collisions=sum(c.vulnerable for c in mine),
        other_collisions=len(others),
        spawn_contacts=len(spawned),
        errors=prediction_errors(log),
        fallbacks=log.num_fallbacks,
        predictions=0 if log.predictions is None else int(log.predictions.tick.size),
        altered=log.case.is_altered,
    )


def prediction_errors(log: DriveLog) -> dict[str, float]:
    """Mean displacement errors of the predictions, all together and by role of the predicted car; NaN without any."""
    names = ("ade", "fde", "min_ade", "min_fde")
    told = log.predictions
    if told is None:
        return {f"{name}_m": math.nan for name in names}
    steps = told.tick[:, None] + np.arange(1, FUTURE_STEPS + 1)
    inside = steps < log.tracks.num_instants
    at = np.minimum(steps, log.tracks.num_instants - 1)
    truth = log.tracks.xy[told.agent[:, None], at]
    known = inside & log.tracks.observed[told.agent[:, None], at]
    errors = displacement_errors(told.states[..., :2], told.probability, np.where(known[..., None], truth, 0.0), known)
    found = {f"{name}_m": _mean(errors[name]) for name in names}
    for role in (Role.REPLAY, Role.REACTIVE):
        rows = np.array([log.roles[a] is role for a in told.agent.tolist()], dtype=np.bool_)
        found[f"ade_{role}_m"] = _mean(errors["ade"][rows])
    return found


def details(score: DriveScore) -> dict[str, Any]:
    """Everything that is not a scalar, in JSON's types."""
    return {
        "gates": score.gated.gates,
        "terms": score.gated.terms,
        "forgiven": list(score.gated.forgiven),
        "courtesy": [asdict(cost) for cost in score.courtesy],
        "realism": score.realism.likelihood,
        "comfort": {} if score.comfort is None else score.comfort.extremes,
    }


def _record(log: DriveLog, row: int) -> SpeedRecord:
    return SpeedRecord(speed=log.tracks.speed[row], present=log.tracks.observed[row])


def _sort_collisions(log: DriveLog) -> tuple[list[Collision], list[Collision], list[Collision]]:
    ego = str(log.tracks.ids[log.ego])
    spawned = [c for c in log.collisions if c.at_spawn]
    real = [c for c in log.collisions if not c.at_spawn]
    return [c for c in real if c.first == ego], [c for c in real if c.first != ego], spawned


def _comfort(log: DriveLog) -> Comfort | None:
    runs = runs_of(log.tracks.observed[log.ego])
    longest = max(runs, key=lambda run: run[1] - run[0], default=(0, 0))
    if longest[1] - longest[0] < 3:
        return None
    part = slice(*longest)
    return comfort(log.tracks.speed[log.ego, part], log.tracks.heading[log.ego, part], log.tracks.dt_s)


def _courtesy(log: DriveLog) -> tuple[CourtesyCost, ...]:
    """Differences to the recording; none from another start."""
    if log.case.is_altered:
        return ()
    rows = {str(car): i for i, car in enumerate(log.tracks.ids)}
    costs = [courtesy_cost(log.tracks, log.recorded, rows[car]) for car in log.case.right_of_way if car in rows]
    return tuple(cost for cost in costs if cost is not None)


def _realism(log: DriveLog) -> Realism:
    """How like the recording the driven cars drove; nobody is judged from another start."""
    if log.case.is_altered:
        return realism([], [])
    cars = [i for i, role in enumerate(log.roles) if role in (Role.REACTIVE, Role.IDM)]
    driven = [features_of(log.tracks, i, log.outside_m[i]) for i in cars]
    human = [features_of(log.recorded, i, log.recorded_outside_m[i]) for i in cars]
    return realism([driven], human)


def _mean(values: Any) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan
