"""What minds cost: 1000 cases of 8 s with four cars that meet at a crossing, driven by minds and by IDM.

python benchmarks/minds.py

Both drive the same cases among twelve cars on replay, with the default planner for the ego, one thread, in one run,
taking turns; CPU time of stepping, best of several: in clean traffic, where IDM gives way as minds do, and beside it
where nobody reacts and IDM only follows. Prints JSON; ratios matter, seconds do not.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from dataclasses import replace
from typing import Any

import numpy as np

from giveway.core.case import Car, Case, Role
from giveway.planning.profiles import LATTICE_3
from giveway.predictors.commotions.population import read_population
from giveway.sim.drivers.cognitive import Cognitive
from giveway.sim.prepare import PreparedCase, prepare
from giveway.sim.simulation import Simulation
from giveway.testing.drive_scenes import DrivenCar, scene_of

TICKS = 80
ROUNDS = 3


def crossing(driver: str, *, reacts: bool) -> PreparedCase:
    """An ego and four cars from four sides, and twelve cars on replay beside them."""
    ends = {"w": (-1, 0), "e": (1, 0), "s": (0, -1), "n": (0, 1)}
    cars, cast = [], []
    for k, (x, y) in enumerate(ends.values()):
        side = (-1.75 * y, 1.75 * x)
        start = (1000 + 45 * x + side[0], 1000 + 45 * y + side[1])
        cars.append(DrivenCar(id=f"m{k}", points=(start, (start[0] - 110 * x, start[1] - 110 * y)), speed_mps=7.0 + k))
        cast.append(Car(id=f"m{k}", role=Role.IDM, driver=driver))
    cars.append(DrivenCar(id="ego", points=((930.0, 998.25), (1040.0, 998.25)), speed_mps=8.0))
    cast.append(Car(id="ego", role=Role.EGO))
    for k in range(12):
        cars.append(DrivenCar(id=f"r{k}", points=((900.0, 1030.0 + 5 * k), (1100.0, 1030.0 + 5 * k)), speed_mps=9.0))
    scene = scene_of(cars, duration_s=20.0)
    case = Case(
        id="bench",
        dataset="testing",
        recording="bench",
        site="bench",
        tracks_sha256=next(iter(scene.provenance.files.values())),
        start_s=1.0,
        end_s=1.0 + TICKS / 10,
        cars=tuple(cast),
    )
    return prepare(case, scene, reacts=reacts)


def cases_of(driver: str, count: int, *, reacts: bool) -> list[PreparedCase]:
    """The same scene under many names, so that each case has its own noise."""
    one = crossing(driver, reacts=reacts)
    return [replace(one, case=replace(one.case, id=f"bench-{k}")) for k in range(count)]


def drive(cases: list[PreparedCase]) -> dict[str, Any]:
    """CPU seconds of starting and of stepping, and how often minds thought."""
    begun = time.process_time()
    mind = Cognitive(read_population(), keeps_thoughts=False)
    simulation = Simulation(cases, drivers={"cognitive": mind}, seed=1, profiles=LATTICE_3)
    started = time.process_time()
    while not simulation.done:
        simulation.step()
    return {"start_s": started - begun, "step_s": time.process_time() - started}


def compare(count: int, *, reacts: bool) -> dict[str, Any]:
    """Best CPU seconds of both drivers, and what minds cost more."""
    sets = {driver: cases_of(driver, count, reacts=reacts) for driver in ("idm", "cognitive")}
    for cases in sets.values():
        drive(cases[:2])  # compile
    runs: dict[str, list[dict[str, Any]]] = {driver: [] for driver in sets}
    for _ in range(ROUNDS):
        for driver, cases in sets.items():
            runs[driver].append(drive(cases))
    best = {driver: {key: min(run[key] for run in found) for key in found[0]} for driver, found in runs.items()}
    more = best["cognitive"]["step_s"] - best["idm"]["step_s"]
    return {
        "best": best,
        "minds_cost_percent": 100 * more / best["idm"]["step_s"],
        "us_per_decision": 1e6 * more / (count * 4 * TICKS // 2),
        "agent_steps_per_cpu_s": {d: count * 17 * TICKS / best[d]["step_s"] for d in best},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    count = parser.parse_args().cases
    print(
        json.dumps(
            {
                "cases": count,
                "ticks": TICKS,
                "minds_per_case": 4,
                "clean_traffic": compare(count, reacts=True),
                "nobody_gives_way": compare(count, reacts=False),
                "target_minds_cost_percent": 20,
                "machine": platform.processor() or platform.machine(),
                "numpy": np.__version__,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
