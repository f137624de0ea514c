"""What each part of generation contributes: layers of the sandwich, cooperation, reward x algorithm x noise.

    python benchmarks/generate_ablations.py sandwich --out A --planner idm --seeds 10 --budget 100
    python benchmarks/generate_ablations.py cooperation --out A --planner idm --scenes 512 --policy T/idm-*
    python benchmarks/generate_ablations.py learners --out A --planner idm --env-steps 300000 --seeds 3

Everything is kept below ``--out`` and not computed again. Printed as JSON:

sandwich     share of tests with a failure of grade C or better of all layers, of the policy alone, and of all but one
             layer; differences paired by seed with 95 % intervals: what is lost without a layer, what one adds alone.
cooperation  of failures of grade C or better, the share that remains if all cars but the one in contact drive as usual,
             minus the share that remains under jitter (starts moved by 5 cm and 0.1 m/s): a negative difference is
             cooperation, with a bootstrap interval over failures.
learners     {v1, graded} x {matd3, mappo} x {white, held noise} from the same policy, on held-out scenes.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from generate_learners import driven, facts

from giveway.core.files import write_text
from giveway.core.seeds import seed_for, stream
from giveway.generate.arena import paired_gain, standings
from giveway.generate.bench import finished_campaigns
from giveway.generate.drivers.cars import CarDriver, PolicyDriver
from giveway.generate.drivers.cutting_in import CutInDriver
from giveway.generate.driving import drive_scenes
from giveway.generate.learning.policy import load_policy
from giveway.generate.policies import shipped_file
from giveway.generate.protocol import EpisodeRecord, Scenes
from giveway.generate.run import run_campaigns
from giveway.generate.spec import CampaignSpec, TrainingSpec
from giveway.generate.train import train
from giveway.generate.worlds import Worlds, WorldSettings
from giveway.stats.bootstrap import bootstrap

LAYERS = {"search": "no_search", "policy": "no_policy", "perturbation": "no_perturbation"}
ALONE = {"search": "no_perturbation", "perturbation": "no_search"}
JITTERS, TOGETHER = 4, 256


def sandwich(args: argparse.Namespace) -> dict[str, Any]:
    """Remove one layer of three, and add one to the policy."""
    methods = ("sandwich", "policy", *LAYERS.values())
    spec = CampaignSpec(
        method=methods, planner=args.planner, road=args.road, campaigns=args.seeds, budget=args.budget, tracks=False,
        policies={"full": tuple(args.policy)} if args.policy else {}, prior=args.prior,
    )  # fmt: skip
    run_campaigns(spec, args.out / "sandwich")
    campaigns = finished_campaigns(spec, args.out / "sandwich")
    rows = {row.attacker: row for row in standings(campaigns)}
    shares = {
        name: {
            int(c.params["seed"]): (sum(r.failed and r.grade in "ABC" for r in c.results), len(c.results))
            for c in campaigns
            if c.params["method"] == name
        }
        for name in methods
    }
    return {
        "C_or_better": {name: [round(x, 4) for x in (row.found, row.low, row.high)] for name, row in rows.items()},
        "kinds": {name: row.kinds for name, row in rows.items()},
        "lost_without": {layer: _gain(shares["sandwich"], shares[name]) for layer, name in LAYERS.items()},
        "added_to_policy": {layer: _gain(shares[name], shares["policy"]) for layer, name in ALONE.items()},
    }


def _gain(first: dict[int, tuple[int, int]], second: dict[int, tuple[int, int]]) -> list[float]:
    return [round(x, 4) for x in paired_gain(first, second)]


class Alone:
    """A driver whose cars drive as usual, but for one per world.

    Args:
        driver: of that one.
        who: (W,) its number.
    """

    genes_per_car = 0

    def __init__(self, driver: CarDriver, who: np.ndarray) -> None:
        self.driver, self.who, self.name = driver, who, f"{driver.name} alone"

    def begin(self, worlds: Worlds, scenes: Scenes, seeds: Sequence[int], genes: np.ndarray) -> None:
        """As the driver."""
        self.driver.begin(worlds, scenes, seeds, genes)

    def act(self, worlds: Worlds, observations: np.ndarray, step: int) -> np.ndarray:
        """Its action for one car, ordinary driving for the others."""
        out = np.array(worlds.natural_actions(), dtype=np.float64)
        rows = np.arange(worlds.n_worlds)
        out[rows, self.who] = self.driver.act(worlds, observations, step)[rows, self.who]
        return out


def cooperation(args: argparse.Namespace) -> dict[str, Any]:
    """Remove the cars that do not touch the ego, against jitter."""
    settings = WorldSettings(road=args.road, ego=args.planner, actions="lateral")
    worlds = Worlds(settings, n_worlds=TOGETHER)
    drivers: dict[str, CarDriver] = {"script": CutInDriver(), "shipped": _policy(shipped_file(args.planner))}
    drivers |= {path.name: _policy(path) for path in args.policy}
    found: dict[str, Any] = {}
    for name, driver in drivers.items():
        file = args.out / f"cooperation-{args.road}-{args.planner}-{name}-{args.scenes}.json"
        if not file.is_file():
            write_text(file, json.dumps(_cooperation(worlds, driver, args.scenes)))
        found[name] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _policy(path: Path) -> PolicyDriver:
    return PolicyDriver(load_policy(path))


def _cooperation(worlds: Worlds, driver: CarDriver, count: int) -> dict[str, Any]:
    records = [r for r in driven(worlds, driver, count, 778) if _found(r) and r.ending.other.startswith("car")]
    if not records:
        return {"failures": 0}
    small = Worlds(worlds.settings, n_worlds=len(records))
    scenes = Scenes.join([r.scene for r in records])
    who = np.array([int(r.ending.other.removeprefix("car")) - 1 for r in records])
    seeds = [seed_for(778, "cooperation", n) for n in range(len(records))]
    alone = np.array([_found(d.record) for d in drive_scenes(small, scenes, Alone(driver, who), seeds=seeds)])
    jittered = np.mean([_again(small, driver, scenes, seeds, n) for n in range(JITTERS)], axis=0)
    change = bootstrap(lambda at: float((alone - jittered)[at].mean()), len(records), rng=stream(1, "cooperation"))
    return {
        "failures": len(records),
        "alone": round(float(alone.mean()), 3),
        "jitter": round(float(jittered.mean()), 3),
        "alone_minus_jitter": [round(x, 3) for x in (change.estimate, change.low, change.high)],
    }


def _found(record: EpisodeRecord) -> bool:
    return record.outcome.is_failure and str(record.ending.grade) in ("A", "B", "C")


def _again(worlds: Worlds, driver: CarDriver, scenes: Scenes, seeds: Sequence[int], n: int) -> np.ndarray:
    rng = stream(5, "jitter", n)
    moved = replace(
        scenes,
        s=scenes.s + rng.uniform(-0.05, 0.05, scenes.s.shape),
        speed=np.maximum(scenes.speed + rng.uniform(-0.1, 0.1, scenes.speed.shape), 0.0),
    )
    return np.array([_found(d.record) for d in drive_scenes(worlds, moved, driver, seeds=seeds)], dtype=np.float64)


def learners(args: argparse.Namespace) -> dict[str, Any]:
    """All eight combinations from one policy; every training is kept and goes on."""
    clone = shipped_file(args.planner)
    worlds = Worlds(
        WorldSettings(road=args.road, ego=args.planner, actions="lateral", prior=args.prior), n_worlds=TOGETHER
    )
    begun, before = facts(driven(worlds, _policy(clone), args.scenes, 777))
    found: dict[str, Any] = {"clone": begun["C_or_better"]}
    for algorithm, seed, reward, noise in itertools.product(
        ("mappo", "matd3"), range(args.seeds), ("graded", "v1"), ("held", "gaussian")
    ):
        name = f"{reward}-{algorithm}-{noise}"
        place = args.out / "learners" / f"{name}-{args.env_steps}-{seed}"
        own: dict[str, Any] = {"actor_rate": 1.5e-4} if algorithm == "mappo" else {"actor_rate": 1e-4, "batch": 384}
        if algorithm == "matd3":
            own |= {"noise_scale": 0.12, "noise_floor": 0.12, "critic_first": 200, "noise_hold": 3.0}
            own |= {"update_every": args.update_every, "normalize_observations": True, "shared_actor": True}
        spec = TrainingSpec(
            planner=args.planner, road=args.road, algorithm=algorithm, reward=reward, policy=clone, prior=args.prior,
            worlds=256, env_steps=args.env_steps, round_steps=max(args.env_steps // 3, 100), seed=seed,
            learning={**own, "noise": noise},
        )  # fmt: skip
        file = place.with_suffix(".json")
        if not file.is_file():
            train(spec, place, force=True)
            last, success = facts(driven(worlds, _policy(place), args.scenes, 777))
            both = {"only": int((success & ~before).sum()), "lost": int((before & ~success).sum())}
            write_text(file, json.dumps({**last, **both}))
        one = json.loads(file.read_text(encoding="utf-8"))
        found.setdefault(name, []).append({n: one[n] for n in ("C_or_better", "unnaturalness", "only", "lost")})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"sandwich": sandwich, "cooperation": cooperation, "learners": learners}
    parser.add_argument("part", choices=parts)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--road", default="straight")
    parser.add_argument("--planner", default="idm")
    parser.add_argument("--policy", type=Path, nargs="*", default=[])
    parser.add_argument("--prior", type=Path, default=None)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--scenes", type=int, default=512)
    parser.add_argument("--env-steps", type=int, default=300_000)
    parser.add_argument("--update-every", type=int, default=10, help="steps per update of MATD3")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    found = parts[args.part](args)
    print(json.dumps({"part": args.part, "road": args.road, "planner": args.planner, **found}, indent=1))


if __name__ == "__main__":
    main()
