"""Bands in which results must lie before they are believed; design note 2.6."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from giveway.generate.bench import HEADLINE, measured
from giveway.generate.evaluation.comparison import compare
from giveway.generate.failures import StoredCampaign

RANDOM_FAILURES = (0.05, 0.15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One claim and what was found.

    Attributes:
        ego: planner under test.
        claim: in words.
        value: what was measured, pooled over seeds.
        bound: what it is compared with.
        holds: whether the claim holds.
        seeds: how many runs it is from.
    """

    ego: str
    claim: str
    value: float
    bound: float
    holds: bool
    seeds: int


def sanity_bands(campaigns: Sequence[StoredCampaign]) -> list[Band]:
    """Check the bands on campaigns of ``no_attack``, ``random_actions``, ``random_search`` and ``policy``."""
    failures, headline = measured(campaigns, "violation_rate"), measured(campaigns, HEADLINE)
    infeasible, others = measured(campaigns, "infeasible_share"), measured(campaigns, "grade_d_rate")
    bands: list[Band] = []
    for ego in failures:
        bands += _bands(ego, failures[ego], headline[ego], infeasible[ego], others[ego])
    return bands


def _bands(
    ego: str,
    failures: Mapping[str, Sequence[float]],
    headline: Mapping[str, Sequence[float]],
    infeasible: Mapping[str, Sequence[float]],
    others: Mapping[str, Sequence[float]],
) -> list[Band]:
    found: list[Band] = []
    if "no_attack" in failures:
        value = _mean(failures["no_attack"])
        claim = "no attack: failures below 2 % of tests"
        found.append(
            Band(ego=ego, claim=claim, value=value, bound=0.02, holds=value < 0.02, seeds=len(failures["no_attack"]))
        )
    if "random_actions" in failures:
        value = _mean(failures["random_actions"])
        claim = "random actions: failures in 5 to 15 % of tests"
        holds = RANDOM_FAILURES[0] <= value <= RANDOM_FAILURES[1]
        bound = RANDOM_FAILURES[1]
        seeds = len(failures["random_actions"])
        found.append(Band(ego=ego, claim=claim, value=value, bound=bound, holds=holds, seeds=seeds))
    if "policy" in failures:
        runs, count = failures["policy"], len(failures["policy"])
        share = sum(others["policy"]) / sum(runs) if sum(runs) > 0 else math.nan
        claim = "trained: at most 20 % of failures not the ego's (grade D)"
        found.append(Band(ego=ego, claim=claim, value=share, bound=0.2, holds=share <= 0.2, seeds=count))
        steps = _mean(infeasible["policy"])
        claim = "trained: below 1 % infeasible steps"
        found.append(Band(ego=ego, claim=claim, value=steps, bound=0.01, holds=steps < 0.01, seeds=count))
        rate = _mean(runs)
        claim = "trained: cars do not simply ram (failures below 95 % of tests)"
        found.append(Band(ego=ego, claim=claim, value=rate, bound=0.95, holds=0.0 < rate < 0.95, seeds=count))
    if "policy" in headline and "random_search" in headline:
        pair = compare({name: headline[name] for name in ("policy", "random_search")}, "policy")[0]
        claim = f"trained beats random search on the headline ({pair.mean_first:.3f} to {pair.mean_second:.3f}, A)"
        holds = pair.significant and pair.a > 0.5
        found.append(Band(ego=ego, claim=claim, value=pair.a, bound=0.5, holds=holds, seeds=pair.seeds[0]))
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
