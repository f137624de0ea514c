"""Wall time of the 48 bundled cases (6 s each) with constant velocity, after warm-up, on two threads.

python benchmarks/drive_cases.py

Timed is everything between cases and logs in memory (preparing, predicting, planning, moving, finding collisions),
and, apart
from that, scoring them.
"""

from __future__ import annotations

import json
import platform
import time

from giveway.drive.bundled import bundled_set
from giveway.drive.driving import Drive, drive_cases
from giveway.drive.scoring import score_log
from giveway.models.motion import make_predictor


def main() -> None:
    cases, source = bundled_set()
    predictor = make_predictor("constant_velocity")
    walls: list[float] = []
    cpu: list[float] = []
    logs = []
    for _ in range(5):
        wall, spent = time.perf_counter(), time.process_time()
        drives = list(drive_cases(cases, source, predictor=predictor, threads=2))
        walls.append(time.perf_counter() - wall)
        cpu.append(time.process_time() - spent)
        logs = [drive.log for drive in drives if isinstance(drive, Drive)]
    start = time.process_time()
    for log in logs:
        score_log(log)
    scoring = time.process_time() - start
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
                "best_wall_s": min(walls),
                "best_cpu_s": min(cpu),
                "scoring_cpu_s": scoring,
                "cpu_s_by_cases": by_count,
                "simulated_s": sum(case.num_ticks for case in cases) / 10,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
