"""Wall time of 1 000 cases of 8 s with constant velocity and the default planner: growth with cases, two threads.

python benchmarks/standard_set.py [CASES.json DATA]

Without arguments the bundled cases, lengthened to 8 s where their recording allows it, repeated under other names.
Timed is everything between cases and logs in memory, without writing. Targets: below 60 s on two cores, linear in the
number of cases, two threads at least 1.8 times as fast as one.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from giveway.drive.bundled import bundled_set
from giveway.drive.case_sets import open_cases
from giveway.drive.driving import Drive, drive_cases
from giveway.predictors import make_predictor

NUM_CASES = 1000


def main() -> None:
    given = [Path(argument) for argument in sys.argv[1:3]]
    cases, source = open_cases(given[0], given[1]) if len(given) == 2 else bundled_set()
    many = [replace(cases[k % len(cases)], id=f"n{k}") for k in range(NUM_CASES)]
    predictor = make_predictor("constant_velocity")

    def wall(count: int, threads: int) -> tuple[float, float]:
        start = time.perf_counter()
        driven = list(drive_cases(many[:count], source, predictor=predictor, threads=threads))
        spent = time.perf_counter() - start
        return spent, sum(d.log.case.num_ticks for d in driven if isinstance(d, Drive)) / 10

    wall(len(cases[:64]), 1)
    two, simulated = wall(NUM_CASES, 2)
    one, _ = wall(NUM_CASES, 1)
    part, _ = wall(NUM_CASES // 4, 2)
    print(
        json.dumps(
            {
                "cases": NUM_CASES,
                "simulated_s": simulated,
                "two_threads_s": two,
                "two_threads_s_for_8_s_cases": two * 8.0 * NUM_CASES / simulated,
                "target_s": 60.0,
                "one_thread_s": one,
                "speedup_of_two": one / two,
                "target_speedup": 1.8,
                "four_times_the_cases_cost": two / part,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
