"""What the reward of the Gymnasium ego pays: for standing, for chance, for people, for planners.

python benchmarks/ego_reward.py [--cases FILE --data FOLDER] [--split test] [--max-cases 300] [--planner ppo:FILE ...]
"""

from __future__ import annotations

import argparse
import json
import zlib
from pathlib import Path

import numpy as np

from giveway.drive.case_sets import open_cases
from giveway.drive.driving import Drive, drive_cases, humans
from giveway.planning import make_planner
from giveway.planning.base import Planner
from giveway.planning.protocol import Plan, Situation
from giveway.predictors import make_predictor
from giveway.sim.views.acting import plan_of_accel, reward_of_log


class Standing(Planner, name="standing"):
    """Brakes comfortably and stands."""

    def plan(self, situation: Situation) -> Plan:
        """See the class."""
        return plan_of_accel(-3.0, situation, bounded=False)


class Chance(Planner, name="random"):
    """Draws an acceleration from the whole range at each tick."""

    def plan(self, situation: Situation) -> Plan:
        """See the class."""
        rng = np.random.default_rng([zlib.crc32(situation.episode.encode()), situation.tick])
        return plan_of_accel(rng.uniform(-8.0, 3.0), situation, bounded=False)


class Hesitant(Planner, name="slow"):
    """Drives at a third of the speed limit of the case."""

    def plan(self, situation: Situation) -> Plan:
        """See the class."""
        wanted = (situation.desired_speed_mps / 3.0 - situation.speed_mps) / 1.0
        return plan_of_accel(float(np.clip(wanted, -3.0, 2.0)), situation, bounded=False)


class Reckless(Planner, name="reckless"):
    """Takes the speed of the path as if nobody else were there."""

    def plan(self, situation: Situation) -> Plan:
        """See the class."""
        ahead = situation.s_m + np.arange(0.0, 30.0, 2.0)
        rows = np.minimum(ahead / situation.path_step_m, len(situation.path) - 1).astype(int)
        curves = np.sqrt(situation.path[rows, 5] ** 2 + 2.0 * 1.5 * (ahead - situation.s_m))
        wanted = min(float(curves.min()), situation.desired_speed_mps) - situation.speed_mps
        low, high = situation.accel_mps2 - 0.3, situation.accel_mps2 + 0.3
        return plan_of_accel(float(np.clip(np.clip(wanted, -3.0, 1.5), low, high)), situation, bounded=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--max-cases", type=int)
    parser.add_argument("--traffic", default="clean", choices=["clean", "paper"])
    parser.add_argument("--planner", nargs="*", default=[])
    options = parser.parse_args()
    cases, source = open_cases(options.cases, options.data, None)
    if options.max_cases is not None and len(cases) > options.max_cases:
        cases = [cases[i] for i in np.linspace(0, len(cases) - 1, options.max_cases).astype(int)]
    drivers = [Standing(), Hesitant(), Chance(), Reckless(), *map(make_planner, ("constant_speed", "idm", "lattice"))]
    drivers += [make_planner(name) for name in options.planner]
    rows: dict[str, list[dict[str, float]]] = {}
    for planner in drivers:
        drives = drive_cases(
            cases, source, predictor=make_predictor("constant_velocity"), planner=planner, traffic=options.traffic
        )
        rows[planner.info.name] = [reward_of_log(drive.log) for drive in drives if isinstance(drive, Drive)]
    replayed = drive_cases(cases, source, predictor=None, everyone_replays=True, traffic="paper")
    rows["recorded"] = [reward_of_log(humans(drive.log)) for drive in replayed if isinstance(drive, Drive)]
    table = {
        name: {"cases": len(found), **{part: round(float(np.mean([f[part] for f in found])), 3) for part in found[0]}}
        for name, found in rows.items()
    }
    print(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
