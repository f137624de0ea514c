"""Version 3 of the lattice beside version 2: a thousand cases with constant velocity, in one run, on two threads.

python benchmarks/planner_versions.py [CASES]

The bundled cases, repeated under other names, are driven in reacting traffic in batches of 256; both planners take
turns. Timed is everything between cases and logs in memory. Targets: version 3 below 60 s for 1000 cases of 8 s, and at
least 0.9 of the cases per second of version 2.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace

from giveway.drive.bundled import bundled_set
from giveway.drive.driving import Drive, drive_cases
from giveway.planning import make_planner
from giveway.predictors import make_predictor

SECONDS = 8.0
PLANNERS = ("lattice-2", "lattice")


def main(count: int) -> None:
    known, source = bundled_set()
    longest = [replace(case, end_s=case.start_s + SECONDS, ego_end_m=None) for case in known]
    cases = [replace(longest[n % len(known)], id=f"{longest[n % len(known)].id}-{n}") for n in range(count)]
    predictor = make_predictor("constant_velocity")
    wall: dict[str, float] = dict.fromkeys(PLANNERS, 0.0)
    cpu: dict[str, float] = dict.fromkeys(PLANNERS, 0.0)
    driven = 0
    for name in PLANNERS:  # compiled, and the areas of all cases known
        list(drive_cases(cases[:64], source, predictor=predictor, planner=make_planner(name), threads=2))
    for first in range(0, count, 256):
        part = cases[first : first + 256]
        for name in PLANNERS if (first // 256) % 2 == 0 else PLANNERS[::-1]:
            began, spent = time.perf_counter(), time.process_time()
            found = list(
                drive_cases(part, source, predictor=predictor, planner=make_planner(name), threads=2, batch=256)
            )
            wall[name] += time.perf_counter() - began
            cpu[name] += time.process_time() - spent
            driven += sum(isinstance(result, Drive) for result in found)
    document = {
        "cases": count,
        "driven": driven // len(PLANNERS),
        "seconds_each": SECONDS,
        "wall_s": wall,
        "cpu_s": cpu,
        "throughput_ratio_wall": wall["lattice-2"] / wall["lattice"],
        "throughput_ratio_cpu": cpu["lattice-2"] / cpu["lattice"],
        "targets": {"lattice_wall_s_per_1000": 60.0, "throughput_ratio": 0.9},
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
