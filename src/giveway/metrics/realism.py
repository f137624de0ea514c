"""Are the simulated cars human-like? Likelihood of what was recorded under what was simulated.

For each car and feature, the simulated values of all roll-outs and steps fill a histogram (additive smoothing 0.1);
the feature's likelihood is exp(mean log probability of the recorded values), time steps taken as independent, and the
meta score is their weighted mean. Features that need a map or a conflict area drop out without one, and the rest is
rescaled.

Two sets of weights. ``FEATURES``, for cars that steer: those of the 2025 sim-agents challenge; there are no traffic
lights here, so their weight goes to off-road. ``PATH_FIXED``, for cars that keep to their recorded path: what the path
already decides is replaced by the order of cars at conflict areas and the time of passing them.

An estimate depends on the number of roll-outs (an event that never happens has probability 0.917 after one and 0.997
after 32), so scores from different numbers of roll-outs must not be compared.

Reference:
    Montali et al. (2023), The Waymo Open Sim Agents Challenge; 2025 configuration. Differs in: roll-outs of a
    deterministic simulator are few, so per-car likelihoods are averaged over cars, not over scenes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray, IntArray
from giveway.core.boxes import nearest_agents
from giveway.core.case import Role
from giveway.core.log import DriveLog
from giveway.core.tracks import Tracks
from giveway.metrics.comfort import smoothed
from giveway.metrics.courtesy import ALTERED
from giveway.metrics.metric import MetricValue, metric, undefined
from giveway.metrics.safety import footprint_rows, times_to_collision

SMOOTHING = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """Attributes:
    low: lower end of the histogram.
    high: upper end; values beyond either end count in the outermost bin.
    bins: number of bins.
    weight: in the meta score.
    kind: a histogram over steps, whether something ever happened, or one histogram over roll-outs per conflict area.
    """

    low: float
    high: float
    bins: int
    weight: float
    kind: Literal["steps", "ever", "areas"] = "steps"


FEATURES = {
    "speed": Feature(low=0.0, high=25.0, bins=10, weight=0.05),
    "accel": Feature(low=-12.0, high=12.0, bins=11, weight=0.05),
    "turn_rate": Feature(low=-0.628, high=0.628, bins=11, weight=0.05),
    "turn_accel": Feature(low=-3.14, high=3.14, bins=11, weight=0.05),
    "distance": Feature(low=-5.0, high=40.0, bins=10, weight=0.10),
    "collision": Feature(low=0.0, high=1.0, bins=2, weight=0.25, kind="ever"),
    "ttc": Feature(low=0.0, high=5.0, bins=10, weight=0.10),
    "road_edge": Feature(low=-20.0, high=40.0, bins=10, weight=0.05),
    "off_road": Feature(low=0.0, high=1.0, bins=2, weight=0.30, kind="ever"),
}
"""Feature to its histogram, for cars that steer; weights add up to 1."""

PATH_FIXED = {
    **{name: replace(FEATURES[name], weight=0.10) for name in ("speed", "accel")},
    **{name: replace(FEATURES[name], weight=0.15) for name in ("distance", "ttc")},
    "collision": FEATURES["collision"],
    "order": Feature(low=0.0, high=1.0, bins=2, weight=0.15, kind="areas"),
    "passing": Feature(low=-5.0, high=5.0, bins=20, weight=0.10, kind="areas"),
}
"""The same for cars on their recorded path: ``order``, whether the car enters an area before the other one (1, else 0);
``passing``, when it enters it, against the recording [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Realism:
    """Attributes:
    score: weighted mean likelihood, 0 to 1; NaN without a car to judge.
    likelihood: feature to mean likelihood; missing ones could not be computed.
    num_cars: how many cars were judged.
    num_roll_outs: how many roll-outs filled the histograms; scores compare only where it is the same.
    """

    score: float
    likelihood: dict[str, float]
    num_cars: int
    num_roll_outs: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the features of all cars of a scene have in common.

    Attributes:
        gap_m: (A, T) distance to the nearest agent; NaN where absent.
        boxes: (A, T, 7) footprints, see :func:`~giveway.metrics.safety.footprint_rows`.
    """

    gap_m: FloatArray
    boxes: FloatArray


def surroundings_of(tracks: Tracks) -> Surroundings:
    """Distances and footprints of everybody."""
    return Surroundings(gap_m=nearest_agents(tracks).distance, boxes=footprint_rows(tracks))


def features_of(
    tracks: Tracks, row: int, outside_m: FloatArray, around: Surroundings | None = None
) -> dict[str, FloatArray]:
    """Feature to values of one car; empty where it is absent throughout or no map is known.

    Args:
        tracks: everybody.
        row: which car.
        outside_m: (T,) signed distance of its outermost corner from the road edge; NaN without a map.
        around: of these tracks, if more than one car is looked at.
    """
    here = tracks.observed[row]
    speed, dt_s = tracks.speed[row, here], tracks.dt_s
    if speed.size < 3:
        return {}
    near = around or surroundings_of(tracks)
    turn = np.unwrap(tracks.heading[row, here])
    gap, edge = near.gap_m[row, here], outside_m[here]
    ttc = times_to_collision(tracks, row, near.boxes)[here]
    found = {
        "speed": speed,
        "accel": smoothed(speed, dt_s, window=5, order=2, derivative=1),
        "turn_rate": smoothed(turn, dt_s, window=5, order=2, derivative=1),
        "turn_accel": smoothed(turn, dt_s, window=5, order=2, derivative=2),
        "distance": np.minimum(gap, FEATURES["distance"].high),
        "collision": np.array([float((gap <= 0.0).any())]),
        "ttc": np.minimum(ttc, FEATURES["ttc"].high),
    }
    if not np.isnan(edge).all():
        known = edge[~np.isnan(edge)]
        found |= {"road_edge": known, "off_road": np.array([float((known > 0.0).any())])}
    return found


def likelihood(simulated: FloatArray, recorded: FloatArray, feature: Feature) -> float:
    """Exp of the mean log probability of the recorded values under the smoothed histogram of the simulated ones."""
    edges = np.linspace(feature.low, feature.high, feature.bins + 1)

    def bins(values: FloatArray) -> IntArray:
        return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, feature.bins - 1).astype(np.int64)

    counts = np.bincount(bins(simulated), minlength=feature.bins) + SMOOTHING
    probability = counts / counts.sum()
    return float(elementary.exp(elementary.log(probability[bins(recorded)]).mean()))


def car_likelihoods(
    runs: Sequence[Mapping[str, FloatArray]],
    human: Mapping[str, FloatArray],
    features: Mapping[str, Feature] = FEATURES,
) -> dict[str, float]:
    """Feature to likelihood of one car; features that the recording or a roll-out lacks are missing.

    Of a feature with conflict areas, (K,) values per roll-out, the geometric mean over areas.

    Args:
        runs: per roll-out, the features.
        human: those of the recording.
        features: weights and histograms.
    """
    found: dict[str, float] = {}
    for name, feature in features.items():
        if name not in human or not human[name].size or not all(name in run for run in runs):
            continue
        if feature.kind == "areas":
            table = np.stack([run[name] for run in runs])
            each = [likelihood(table[:, k], human[name][k : k + 1], feature) for k in range(human[name].size)]
            found[name] = float(elementary.exp(elementary.log(np.array(each)).mean()))
        else:
            found[name] = likelihood(np.concatenate([run[name] for run in runs]), human[name], feature)
    return found


def meta_score(likelihoods: Mapping[str, float], features: Mapping[str, Feature] = FEATURES) -> float:
    """Weighted mean of the likelihoods there are, weights rescaled; NaN without any."""
    weight = sum(features[name].weight for name in likelihoods)
    return sum(features[name].weight * value for name, value in likelihoods.items()) / weight if weight else math.nan


def realism(
    simulated: Sequence[Sequence[Mapping[str, FloatArray]]],
    recorded: Sequence[Mapping[str, FloatArray]],
    features: Mapping[str, Feature] = FEATURES,
) -> Realism:
    """Meta score over cars: likelihoods are averaged over cars, then weighted.

    Args:
        simulated: per roll-out, per car, the features.
        recorded: per car, the features of the recording.
        features: weights and histograms.
    """
    cars: list[dict[str, float]] = []
    for car, human in enumerate(recorded):
        runs = [rollout[car] for rollout in simulated if rollout[car]]
        if human and runs:
            cars.append(car_likelihoods(runs, human, features))
    return mean_realism(cars, features, num_roll_outs=len(simulated))


def mean_realism(
    cars: Sequence[Mapping[str, float]], features: Mapping[str, Feature] = FEATURES, *, num_roll_outs: int
) -> Realism:
    """Realism of cars with these likelihoods."""
    values = {name: [car[name] for car in cars if name in car] for name in features}
    means = {name: float(np.mean(found)) for name, found in values.items() if found}
    return Realism(score=meta_score(means, features), likelihood=means, num_cars=len(cars), num_roll_outs=num_roll_outs)


def realism_of(log: DriveLog) -> Realism:
    """How like the recording the driven cars drove; nobody is judged from another start than the recorded one."""
    if log.case.is_altered:
        return realism([], [])
    cars = [i for i, role in enumerate(log.roles) if role in (Role.REACTIVE, Role.IDM)]
    driven = [features_of(log.tracks, i, log.outside_m[i]) for i in cars]
    human = [features_of(log.recorded, i, log.recorded_outside_m[i]) for i in cars]
    return realism([driven], human)


@metric(
    name="realism",
    title="Realism",
    formula="weighted mean over features of exp(mean log probability of recorded values under simulated ones)",
    better="higher",
    range=(0.0, 1.0),
    of="drive",
    items="features",
    needs="recording",
    reference="Montali et al. (2023), Waymo Open Sim Agents Challenge, weights of 2025; averaged over cars.",
)
def realism_score(log: DriveLog) -> MetricValue:
    """Likelihood of the recorded motion of the cars that the simulator drives."""
    found = realism_of(log)
    if np.isnan(found.score):
        return undefined(ALTERED if log.case.is_altered else "the simulator drives no car but the ego")
    values = np.array(list(found.likelihood.values()))
    mask = np.ones(values.shape, dtype=np.bool_)
    return MetricValue(value=found.score, per_item=values, mask=mask, labels=tuple(found.likelihood))
