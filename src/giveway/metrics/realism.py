"""Are the simulated cars human-like? Likelihood of what was recorded under what was simulated.

For each car and feature, the simulated values of all roll-outs and steps fill a histogram (additive smoothing 0.1);
the feature's likelihood is exp(mean log probability of the recorded values), time steps taken as independent, and the
meta score is their weighted mean. Weights are those of the 2025 sim-agents challenge; there are no traffic lights here,
so their weight goes to off-road. Features that need a map drop out without one, and the rest is rescaled.

Reference:
    Montali et al. (2023), The Waymo Open Sim Agents Challenge; 2025 configuration. Differs in: roll-outs of a
    deterministic simulator are few, so per-car likelihoods are averaged over cars, not over scenes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from giveway.metrics.safety import closeness

SMOOTHING = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """Attributes:
    low: lower end of the histogram.
    high: upper end; values beyond either end count in the outermost bin.
    bins: number of bins.
    weight: in the meta score.
    kind: a histogram over steps, or whether something ever happened.
    """

    low: float
    high: float
    bins: int
    weight: float
    kind: Literal["steps", "ever"] = "steps"


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
"""Feature to its histogram; weights add up to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Realism:
    """Attributes:
    score: weighted mean likelihood, 0 to 1; NaN without a car to judge.
    likelihood: feature to mean likelihood; missing ones could not be computed.
    num_cars: how many cars were judged.
    """

    score: float
    likelihood: dict[str, float]
    num_cars: int


def features_of(tracks: Tracks, row: int, outside_m: FloatArray) -> dict[str, FloatArray]:
    """Feature to values of one car; empty where it is absent throughout or no map is known.

    Args:
        tracks: everybody.
        row: which car.
        outside_m: (T,) signed distance of its outermost corner from the road edge; NaN without a map.
    """
    here = tracks.observed[row]
    speed, dt_s = tracks.speed[row, here], tracks.dt_s
    if speed.size < 3:
        return {}
    turn = np.unwrap(tracks.heading[row, here])
    gap = nearest_agents(tracks).distance[row, here]
    close = closeness(tracks, row)
    ttc = np.minimum(close.ttc_s[here], FEATURES["ttc"].high)
    edge = outside_m[here]
    found = {
        "speed": speed,
        "accel": smoothed(speed, dt_s, window=5, order=2, derivative=1),
        "turn_rate": smoothed(turn, dt_s, window=5, order=2, derivative=1),
        "turn_accel": smoothed(turn, dt_s, window=5, order=2, derivative=2),
        "distance": np.minimum(gap, FEATURES["distance"].high),
        "collision": np.array([float(close.min_gap_m <= 0.0)]),
        "ttc": ttc,
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


def realism(simulated: Sequence[Sequence[dict[str, FloatArray]]], recorded: Sequence[dict[str, FloatArray]]) -> Realism:
    """Meta score over cars.

    Args:
        simulated: per roll-out, per car, the features.
        recorded: per car, the features of the recording.
    """
    values: dict[str, list[float]] = {name: [] for name in FEATURES}
    judged = 0
    for car, human in enumerate(recorded):
        runs = [rollout[car] for rollout in simulated if rollout[car]]
        if not human or not runs:
            continue
        judged += 1
        for name, feature in FEATURES.items():
            if name in human and all(name in run for run in runs):
                values[name].append(likelihood(np.concatenate([run[name] for run in runs]), human[name], feature))
    means = {name: float(np.mean(found)) for name, found in values.items() if found}
    weight = sum(FEATURES[name].weight for name in means)
    score = sum(FEATURES[name].weight * value for name, value in means.items()) / weight if weight else float("nan")
    return Realism(score=score, likelihood=means, num_cars=judged)


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
