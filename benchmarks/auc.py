"""AUC of a million samples against one NumPy sort of the same million numbers.

Target: at most 1.5 times the sort. Prints JSON with the ratio at three sizes, for scores without and with many ties;
all times are the best of several, in processor time.

    python benchmarks/auc.py
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable

import numpy as np

from giveway.stats.mann_whitney import mann_whitney


def best_cpu_s(function: Callable[[], object], repeats: int = 9) -> float:
    times: list[float] = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return min(times)


def measure(num_samples: int, *, tied: bool) -> dict[str, object]:
    rng = np.random.default_rng(0)
    accepted = rng.uniform(size=num_samples) < 0.3
    score = rng.uniform(size=num_samples)
    p = np.round(score, 2) if tied else score
    sort_s = best_cpu_s(lambda: np.sort(p))
    auc_s = best_cpu_s(lambda: mann_whitney(accepted, p))
    return {"samples": num_samples, "tied": tied, "sort_s": sort_s, "auc_s": auc_s, "ratio": auc_s / sort_s}


def main() -> None:
    rows = [measure(n, tied=tied) for n in (10**4, 10**5, 10**6) for tied in (False, True)]
    worst = max(float(str(r["ratio"])) for r in rows if r["samples"] == 10**6)
    print(
        json.dumps(
            {
                "benchmark": "auc",
                "target_ratio": 1.5,
                "ratio": worst,
                "ok": worst <= 1.5,
                "rows": rows,
                "numpy": np.__version__,
                "machine": platform.machine(),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
