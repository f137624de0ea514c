"""What a policy is worth while it is being trained: fixed scenes, no noise, no search, no perturbation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from giveway.core.seeds import seed_for
from giveway.generate.drivers.cars import CarDriver, PolicyDriver
from giveway.generate.driving import drive_scenes
from giveway.generate.evaluation.methods import SCORE
from giveway.generate.evaluation.results import TestResult, result_of
from giveway.generate.learning.policy import Policy
from giveway.generate.protocol import egos_of
from giveway.generate.several import each_ego, mean_of
from giveway.generate.worlds import Worlds, WorldSettings
from giveway.metrics import measure_campaign

EPISODES = 128


def policy_evaluation(
    settings: WorldSettings, *, seed: int, episodes: int = EPISODES
) -> Callable[[Policy], Mapping[str, float]]:
    """A function from a policy to its measures on scenes that training never starts from.

    Args:
        settings: of the worlds.
        seed: of the scenes.
        episodes: how many, for each planner.
    """
    kinds = [Worlds(kind, n_worlds=episodes) for kind in each_ego(settings)]

    def against(worlds: Worlds, policy: Policy) -> Mapping[str, float]:
        tests = random_tests(worlds, PolicyDriver(policy), seed=seed_for(seed, "evaluation"))
        found, graded = measure_campaign(tests), sum(test.is_graded for test in tests) / len(tests)
        keep = ("violation_rate", "at_fault_rate", "avoidable_rate", "near_miss_rate", "infeasible_share")
        return {**{name: found[name] for name in keep}, SCORE: graded - (found["violation_rate"] - graded)}

    return lambda policy: mean_of([against(worlds, policy) for worlds in kinds], egos_of(settings.ego))


def random_tests(worlds: Worlds, driver: CarDriver, *, seed: int) -> list[TestResult]:
    """One test per world on safe random scenes."""
    scenes, genes = worlds.space.sample(worlds.n_worlds, seed=seed)
    seeds = [seed_for(seed, "test", n) for n in range(worlds.n_worlds)]
    driven = drive_scenes(worlds, scenes, driver, seeds=seeds)
    return [
        result_of(one.record, number=n, genes=tuple(float(g) for g in genes[n]), triggers=0)
        for n, one in enumerate(driven)
    ]
