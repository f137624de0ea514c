"""What training adds: failures by grade of trained cars, of the policy they began as and of cars that never learned.

Every driver drives the same held-out scenes, which no training and no choice of a policy has used (trainings draw
theirs from other streams). A trained policy is the best round of its folder by its own evaluation.

    giveway generate train --algorithm mappo --policy SHIPPED --planner idm --out T/idm-0 ...
    python benchmarks/generate_learners.py --road straight --planner idm --scenes 512 T/idm-*

Printed as JSON: shares of grade A, B, C, D and C or better with 95 % Wilson intervals, unnaturalness c per step, and
pairs of scenes in which only one of two drivers succeeds, with the normal score of their difference.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.seeds import seed_for, stream
from giveway.generate.drivers.cars import CarDriver, PolicyDriver, baseline
from giveway.generate.driving import drive_scenes
from giveway.generate.learning.policy import load_policy
from giveway.generate.policies import shipped_file
from giveway.generate.protocol import EpisodeRecord
from giveway.generate.worlds import Worlds, WorldSettings

TOGETHER = 256


def driven(worlds: Worlds, driver: CarDriver, scenes: int, seed: int) -> list[EpisodeRecord]:
    """Episodes of held-out scenes, the same ones for every driver."""
    found: list[EpisodeRecord] = []
    for first in range(0, scenes, TOGETHER):
        starts, _ = worlds.space.sample(TOGETHER, seed=seed, names=("held out", first))
        seeds = [seed_for(seed, "held out", first + n) for n in range(TOGETHER)]
        drawn = stream(seed, "held out genes", first).uniform(size=(TOGETHER, worlds.n_cars, driver.genes_per_car))
        found += [one.record for one in drive_scenes(worlds, starts, driver, seeds=seeds, genes=drawn)]
    return found[:scenes]


def wilson(count: int, n: int, z: float = 1.96) -> list[float]:
    """Interval of a share."""
    p, q = count / n, z * z / n
    half = z * math.sqrt(p * (1.0 - p) / n + q / (4.0 * n))
    return [round((p + q / 2.0 + sign * half) / (1.0 + q), 4) for sign in (-1.0, 1.0)]


def facts(records: list[EpisodeRecord]) -> tuple[dict[str, Any], np.ndarray]:
    """Shares of a driver, and which episodes reached grade C or better."""
    grades = np.array([str(r.ending.grade) if r.outcome.is_failure else "" for r in records])
    success = np.isin(grades, ["A", "B", "C"])
    return {
        "grades": {name: round(float((grades == name).mean()), 4) for name in "ABCD"},
        "C_or_better": round(float(success.mean()), 4),
        "interval": wilson(int(success.sum()), len(records)),
        "D_of_contacts": round(float((grades == "D").sum() / max((grades != "").sum(), 1)), 3),
        "near_misses": round(float(np.mean([r.near_miss for r in records])), 4),
        "unnaturalness": round(float(np.mean([r.unnaturalness for r in records])), 4),
        "infeasible": round(float(np.mean([r.infeasible_share for r in records])), 5),
    }, success


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainings", nargs="*", type=Path)
    parser.add_argument("--road", default="straight")
    parser.add_argument("--planner", default="idm")
    parser.add_argument("--scenes", type=int, default=512)
    parser.add_argument("--prior", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=777)
    args = parser.parse_args()
    settings = WorldSettings(road=args.road, ego=args.planner, actions="lateral", prior=args.prior)
    worlds = Worlds(settings, n_worlds=TOGETHER)
    drivers: dict[str, CarDriver] = {
        "ordinary": baseline("idm"),
        "random": baseline("random_actions"),
        "search": baseline("maneuver"),
        "script": baseline("cut_in"),
        "shipped": PolicyDriver(load_policy(shipped_file(args.planner))),
    }
    drivers |= {path.name: PolicyDriver(load_policy(path)) for path in args.trainings}
    found = {name: facts(driven(worlds, driver, args.scenes, args.seed)) for name, driver in drivers.items()}
    pairs: dict[str, Any] = {}
    for name in (path.name for path in args.trainings):
        for other in ("script", "shipped", "search", "random"):
            mine, theirs = found[name][1], found[other][1]
            only, lost = int((mine & ~theirs).sum()), int((theirs & ~mine).sum())
            score = (only - lost) / math.sqrt(only + lost) if only + lost else 0.0
            pairs[f"{name} against {other}"] = {"only": only, "lost": lost, "z": round(score, 2)}
    shown = {"road": args.road, "planner": args.planner, "scenes": args.scenes}
    print(json.dumps({**shown, "drivers": {n: one for n, (one, _) in found.items()}, "pairs": pairs}, indent=1))


if __name__ == "__main__":
    main()
