"""Wall time of the 48 bundled cases (6 s each) with constant velocity, after warm-up, on two threads.

python benchmarks/drive_cases.py

Timed is everything between cases and logs in memory (preparing, predicting, planning, moving, finding collisions), and
the same with all metrics of all logs. Target: below 3 s.
"""

from __future__ import annotations

import json
import platform
import time

from giveway.drive.bundled import bundled_set
from giveway.drive.driving import Drive, drive_cases
from giveway.metrics import measure_log
from giveway.predictors import make_predictor


def main() -> None:
    cases, source = bundled_set()
    predictor = make_predictor("constant_velocity")
    walls: list[tuple[float, float]] = []
    cpu: list[tuple[float, float]] = []
    for _ in range(6):
        wall, spent = time.perf_counter(), time.process_time()
        drives = list(drive_cases(cases, source, predictor=predictor, threads=2))
        driven = time.perf_counter() - wall, time.process_time() - spent
        for drive in drives:
            assert isinstance(drive, Drive)
            measure_log(drive.log)
        walls.append((driven[0], time.perf_counter() - wall))
        cpu.append((driven[1], time.process_time() - spent))
    by_count = {}
    for count in (6, 12, 24, 48):
        start = time.process_time()
        list(drive_cases(cases[:count], source, predictor=predictor))
        by_count[count] = time.process_time() - start
    print(
        json.dumps(
            {
                "machine": platform.processor() or platform.machine(),
                "cases": len(cases),
                "best_wall_s": {"driven": min(w[0] for w in walls), "and_scored": min(w[1] for w in walls)},
                "best_cpu_s": {"driven": min(c[0] for c in cpu), "and_scored": min(c[1] for c in cpu)},
                "target_wall_s": 3.0,
                "cpu_s_by_cases": by_count,
                "simulated_s": sum(case.num_ticks for case in cases) / 10,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
