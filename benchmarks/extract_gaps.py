"""Extraction of left turns, positions to samples: compiled over all samples against plain Python per sample.

Both do the same: 1D description, characteristic times, constant prediction time at a given gap size, admission,
resampling. The plain version is the reference of the tests. Prints JSON; ratios are of processor time in one run.

    python benchmarks/extract_gaps.py [--samples 3000]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from giveway.gaps.extract import SampleRules, gaps_from, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.profile import CLEAN
from giveway.gaps.raw import OneSample, RawGaps, line_boundary, stack

RATE_HZ = 97.0
DELTA_T_S = 3.0


def plain_module():
    path = Path(__file__).parent.parent / "tests" / "gaps" / "plain_extraction.py"
    specification = importlib.util.spec_from_file_location("plain_extraction", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def left_turns(num: int) -> RawGaps:
    """Trials as in L-GAP: E at constant speed, T waits, turns before or after it."""
    rng = np.random.default_rng(0)
    samples = []
    for i in range(num):
        tta, distance = rng.choice([4.0, 5.0, 6.0]), rng.choice([90.0, 120.0, 150.0])
        time_s = np.arange(0, tta + 4, 1 / RATE_HZ)
        start = rng.uniform(0.5, 2.5) if rng.random() < 0.5 else tta + 0.5
        way = rng.uniform(1.0, 1.5) * np.maximum(time_s - start, 0) ** 2
        turn = np.clip(way / 8, 0, np.pi / 2)
        target = np.stack([6 - 8 * np.sin(turn), 1.75 - np.maximum(way - 4, 0)], axis=1)
        ego = np.stack([distance / tta * (time_s - tta), np.full(len(time_s), -1.75)], axis=1)
        samples.append(
            OneSample(
                sample_id=f"{i}", group="", location="", time_s=time_s, xy=np.stack([ego, target], axis=1), constants={}
            )
        )
    return stack(samples, roles=("E", "T"), vulnerable=(), boundary=line_boundary(num, (0.0, 1.0), 0.0))


def fast(raw: RawGaps) -> int:
    found = gaps_from(EXTRACTIONS.get("lgap"), raw, CLEAN)
    rules = SampleRules(choice="constant", num_input=8, delta_t_s=DELTA_T_S)
    return samples_at(found, rules, CLEAN).samples.num_samples


def plain(raw: RawGaps, module) -> int:
    kept = 0
    for i in range(raw.num_samples):
        rows = slice(raw.offset[i], raw.offset[i + 1])
        time_s = raw.time_s[rows].tolist()
        ego, target = raw.xy[rows, 0].tolist(), raw.xy[rows, 1].tolist()
        valid, d_c, d_a = module.describe(time_s, ego, target, True)
        found = module.times_of(time_s, valid, d_c, d_a, True)
        result = module.sample_at(time_s, ego, target, d_c, d_a, found, "constant", DELTA_T_S, 8, 8, True)
        kept += not isinstance(result, str)
    return kept


def seconds(work: Callable[[], int], repeats: int) -> tuple[float, int]:
    """Least processor time of several calls, and what the last one returned."""
    best, result = float("inf"), 0
    for _ in range(repeats):
        began = time.process_time()
        result = work()
        best = min(best, time.process_time() - began)
    return best, result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=3000)
    count = parser.parse_args().samples
    module = plain_module()
    fast(left_turns(20))
    rows = []
    for num in (count // 4, count // 2, count):
        raw = left_turns(num)
        fast_s, kept = seconds(lambda raw=raw: fast(raw), 5)
        rows.append({"samples": num, "kept": kept, "fast_s": round(fast_s, 4)})
    plain_s, kept = seconds(lambda: plain(raw, module), 1)
    assert kept == rows[-1]["kept"], "both must keep the same samples"
    growth = rows[-1]["fast_s"] / rows[0]["fast_s"]
    print(
        json.dumps(
            {
                "benchmark": "extract_gaps",
                "rows_per_sample": round(len(raw.time_s) / count, 1),
                "sizes": rows,
                "plain_s": round(plain_s, 3),
                "ratio": round(plain_s / rows[-1]["fast_s"], 1),
                "required_ratio": 30,
                "time_for_4_times_the_samples": round(growth, 2),
                "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "cpu": platform.machine()},
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
