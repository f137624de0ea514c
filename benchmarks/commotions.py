"""Speed of the Commotions kernel against eager PyTorch with the same equations, in one run. Prints JSON.

    python benchmarks/commotions.py                 # small grid
    python benchmarks/commotions.py --full          # N in 200, 1000, 3000; n_p in 10, 100; JC, AC; IM, NM

Times are CPU seconds of one thread (machines are shared); the best of several runs counts. Two threads are measured by
the wall clock, best of several pairs run in turn.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from commotions_fit import TYPICAL, encounters

from giveway.models.commotions import Configuration
from giveway.models.commotions.simulation import simulate_encounters

VARIANTS = ("CM_IIJ11", "CM_INJ11", "CM_IIA11", "CM_INA11")
PAIRS_PER_CHUNK = 20_000  # eager PyTorch is fed pieces of this many paths, its fastest size here

_FIRST_CALL = """
import time, resource
from giveway.models.commotions import simulate
from giveway.models.commotions.parameters import Box
import numpy as np
theta = Box.full().decode(np.full(14, 0.5)).as_dict()
start, cpu = time.perf_counter(), time.process_time()
simulate(d_c=[[42, 40]], d_a=[[5.2, 5]], l_e=[4], l_t=[4], horizon_s=[4], theta=theta, config="CM_IIJ11", n_paths=10,
         seed=0, precision={precision!r})
print(time.perf_counter() - start, time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def best_of(function: Callable[[], Any], repeats: int, clock: Callable[[], float]) -> tuple[float, Any]:
    """Smallest time of several calls, and the last result."""
    best, result = float("inf"), None
    for _ in range(repeats):
        start = clock()
        result = function()
        best = min(best, clock() - start)
    return best, result


def compare(name: str, num: int, paths: int, repeats: int, peer_paths: int) -> dict:
    """Kernel and peer on the same encounters; the peer's time is scaled from the paths it ran to all."""
    import torch
    from commotions_torch import simulate

    torch.set_num_threads(1)
    config, scene = Configuration.from_name(name), encounters(num, 3)
    row: dict[str, Any] = {"config": name, "samples": num, "paths": paths}
    part = max(1, min(num, peer_paths // paths))
    piece = scene.take(slice(0, part))
    for precision, dtype in (("float32", torch.float32), ("float64", torch.float64)):
        seconds, outcome = best_of(
            lambda p=precision: simulate_encounters(
                scene, TYPICAL, config, num_paths=paths, seed=1, precision=p, threads=1
            ),
            repeats,
            time.process_time,
        )
        peer_seconds, (accepted, _, steps) = best_of(
            lambda d=dtype: simulate(piece, TYPICAL, config, num_paths=paths, seed=1, dtype=d), 2, time.process_time
        )
        per_step, peer_per_step = seconds / outcome.path_steps, peer_seconds / steps
        row[precision] = {
            "kernel_cpu_s": round(seconds, 4),
            "kernel_us_per_path_step": round(1e6 * per_step, 3),
            "torch_us_per_path_step": round(1e6 * peer_per_step, 2),
            "torch_paths": part * paths,
            "ratio": round(peer_per_step / per_step, 1),
            "path_steps": outcome.path_steps,
            "accepted_kernel": round(float(outcome.accepted[:part].mean()), 4),
            "accepted_torch": round(float(accepted.mean()), 4),
        }
    return row


def same_paths() -> dict:
    """Share of equal decisions of kernel and peer without noise, 64 bit: they compute the same model."""
    import torch
    from commotions_torch import simulate

    result = {}
    for name in VARIANTS:
        config, scene = Configuration.from_name(name), encounters(400, 4)
        ours = simulate_encounters(
            scene, TYPICAL, config, num_paths=1, seed=0, precision="float64", noise="silent", threads=1
        )
        accepted, t, _ = simulate(scene, TYPICAL, config, num_paths=1, seed=0, dtype=torch.float64, silent=True)
        same = (accepted == ours.accepted) & (abs(t - ours.t_accept_s) < 1e-6)
        result[name] = float(same.mean())
    return result


def two_threads(repeats: int) -> dict:
    """Wall time of one and of two threads, in turn."""
    config, scene = Configuration.from_name("CM_IIJ11"), encounters(1000, 3)
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(repeats):
        for threads in best:
            start = time.perf_counter()
            simulate_encounters(scene, TYPICAL, config, num_paths=100, seed=1, threads=threads)
            best[threads] = min(best[threads], time.perf_counter() - start)
    return {"one_s": best[1], "two_s": best[2], "speedup": round(best[1] / best[2], 2)}


def first_call(precision: str) -> dict:
    """Wall and CPU seconds of the first call in a new process with a warm cache, and its memory."""
    command = [sys.executable, "-c", _FIRST_CALL.format(precision=precision)]
    subprocess.run(command, check=True, capture_output=True)
    rows = [
        [float(x) for x in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]
        for _ in range(3)
    ]
    wall, cpu, memory = min(rows)
    return {"wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "memory_mb": round(memory, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peer-paths", type=int, default=PAIRS_PER_CHUNK)
    arguments = parser.parse_args()
    grid = (
        [(num, paths) for num in (200, 1000, 3000) for paths in (10, 100)]
        if arguments.full
        else [(200, 10), (200, 100)]
    )
    first = {p: first_call(p) for p in ("float32", "float64")}
    # the largest case before torch is imported, so that memory is the kernel's own
    simulate_encounters(encounters(3000, 3), TYPICAL, Configuration.from_name("CM_IIJ11"), num_paths=100, seed=1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    threads = two_threads(arguments.repeats)
    rows = []
    for name in VARIANTS:
        for num, paths in grid:
            rows.append(compare(name, num, paths, arguments.repeats, arguments.peer_paths))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    result = {
        "machine": platform.processor() or platform.machine(),
        "same_paths_as_torch": same_paths(),
        "first_call": first,
        "memory_mb_3000x100": round(memory, 1),
        "two_threads": threads,
        "rows": rows,
        "lowest_ratio": {p: min(r[p]["ratio"] for r in rows) for p in ("float32", "float64")},
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
