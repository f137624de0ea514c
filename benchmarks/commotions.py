"""Speed of the Commotions kernel against eager PyTorch with the same equations, in one run. Prints JSON.

    python benchmarks/commotions.py                             # small grid
    python benchmarks/commotions.py --full                      # N in 200, 1000, 3000; n_p in 10, 100; JC, AC; IM, NM
    python benchmarks/commotions.py --full --keep FILE.jsonl --limit-s 150    # in pieces; exit code 3: call again
    python benchmarks/commotions.py --full --cases 1000x100 --precisions float32          # a part, rows only

Times are CPU seconds of one thread (machines are shared); the best of several runs counts. Kernel and peer of one row
run in turn, so that both meet the same machine. Two threads are measured by the wall clock, best of several pairs.
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
from functools import partial
from pathlib import Path
from typing import Any

from commotions_fit import TYPICAL

from giveway.predictors.commotions import Configuration
from giveway.predictors.commotions.simulation import simulate_encounters
from support.encounters import random_encounters

PRECISIONS = ("float32", "float64")
VARIANTS = ("CM_IIJ11", "CM_INJ11", "CM_IIA11", "CM_INA11")
PAIRS_PER_CHUNK = 20_000  # eager PyTorch is fed pieces of this many paths, its fastest size here

SHORT_REPEATS = 40  # of wall times, which need a moment in which both cores are free
PUBLISHED_S = 13.4  # the published implementation on 2 cores, N = 200, n_p = 100, JC-IM; from its measurement, not ours
PUBLISHED_US = (76.0, 96.0)  # its CPU time per path step, likewise

_FIRST_CALL = """
import time, resource
import numpy as np
from giveway.predictors.commotions import Configuration
from giveway.predictors.commotions.encounter import encounters_from_distances
from giveway.predictors.commotions.parameters import Box
from giveway.predictors.commotions.simulation import simulate_encounters
start, cpu = time.perf_counter(), time.process_time()
scene = encounters_from_distances(d_c=[[42, 40]], d_a=[[5.2, 5]], l_e=[4], l_t=[4], horizon_s=[4])
simulate_encounters(scene, Box.full().decode(np.full(14, 0.5)), Configuration.from_name("CM_IIJ11"), num_paths=10,
                    seed=0, precision={precision!r})
print(time.perf_counter() - start, time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def in_turn(functions: dict[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Smallest CPU time of several calls of each function, and the last results."""
    best, results = dict.fromkeys(functions, float("inf")), {}
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.process_time()
            results[name] = function()
            best[name] = min(best[name], time.process_time() - start)
    return best, results


def compare(name: str, num: int, paths: int, repeats: int, peer_paths: int, precisions: list[str]) -> dict:
    """Kernel and peer on the same encounters; the peer runs at most so many paths, and time per path step counts."""
    import torch
    from commotions_torch import simulate

    torch.set_num_threads(1)
    config, scene = Configuration.from_name(name), random_encounters(num, 3)
    row: dict[str, Any] = {"config": name, "samples": num, "paths": paths}
    part = max(1, min(num, peer_paths // paths))
    piece = scene.take(slice(0, part))
    for precision in precisions:
        dtype = torch.float32 if precision == "float32" else torch.float64
        best, results = in_turn(
            {
                "kernel": lambda p=precision: simulate_encounters(
                    scene, TYPICAL, config, num_paths=paths, seed=1, precision=p, threads=1
                ),
                "torch": lambda d=dtype: simulate(piece, TYPICAL, config, num_paths=paths, seed=1, dtype=d),
            },
            repeats,
        )
        outcome, (accepted, _, steps) = results["kernel"], results["torch"]
        per_step, peer_per_step = best["kernel"] / outcome.path_steps, best["torch"] / steps
        row[precision] = {
            "kernel_cpu_s": round(best["kernel"], 4),
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
        config, scene = Configuration.from_name(name), random_encounters(400, 4)
        ours = simulate_encounters(
            scene, TYPICAL, config, num_paths=1, seed=0, precision="float64", noise="silent", threads=1
        )
        accepted, t, _ = simulate(scene, TYPICAL, config, num_paths=1, seed=0, dtype=torch.float64, silent=True)
        same = (accepted == ours.accepted) & (abs(t - ours.t_accept_s) < 1e-6)
        result[name] = float(same.mean())
    return result


def two_threads(repeats: int) -> dict:
    """One and two threads in turn: wall time, and CPU time, whose ratio bounds the speed-up where cores are shared."""
    config, scene = Configuration.from_name("CM_IIJ11"), random_encounters(400, 3)
    wall, cpu = {1: float("inf"), 2: float("inf")}, {1: float("inf"), 2: float("inf")}
    for _ in range(repeats):
        for threads in wall:
            start, clock = time.perf_counter(), time.process_time()
            simulate_encounters(scene, TYPICAL, config, num_paths=100, seed=1, threads=threads)
            wall[threads] = min(wall[threads], time.perf_counter() - start)
            cpu[threads] = min(cpu[threads], time.process_time() - clock)
    return {
        "one_wall_s": round(wall[1], 3),
        "two_wall_s": round(wall[2], 3),
        "speedup_wall": round(wall[1] / wall[2], 2),
        "speedup_if_both_cores_were_free": round(2 * cpu[1] / cpu[2], 2),
    }


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


def largest_case() -> float:
    """MB of a process that has simulated 3000 samples 100 times, and has not imported torch."""
    simulate_encounters(random_encounters(3000, 3), TYPICAL, Configuration.from_name("CM_IIJ11"), num_paths=100, seed=1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def against_published(repeats: int) -> dict:
    """Wall time of N = 200, n_p = 100, JC-IM on two threads beside the published absolute figure."""
    config, scene = Configuration.from_name("CM_IIJ11"), random_encounters(200, 3)
    result: dict[str, Any] = {"published_wall_s": PUBLISHED_S, "published_us_per_path_step": PUBLISHED_US}
    for precision in ("float32", "float64"):
        wall, cpu, steps = float("inf"), float("inf"), 1
        for _ in range(repeats):
            for threads in (1, 2):
                start, clock = time.perf_counter(), time.process_time()
                steps = simulate_encounters(
                    scene, TYPICAL, config, num_paths=100, seed=1, precision=precision, threads=threads
                ).path_steps
                if threads == 2:
                    wall = min(wall, time.perf_counter() - start)
                else:
                    cpu = min(cpu, time.process_time() - clock)
        result[precision] = {
            "path_steps": steps,
            "wall_two_threads_s": round(wall, 4),
            "ratio_wall": round(PUBLISHED_S / wall, 1),
            "cpu_us_per_path_step": round(1e6 * cpu / steps, 3),
            "ratio_per_path_step": [round(us * 1e-6 * steps / cpu, 1) for us in PUBLISHED_US],
        }
    return result


def linearity(rows: list[dict]) -> dict:
    """Time per path step in the largest case over that in the smallest, per configuration; 1 is linear in N n_p."""
    found = {}
    for name in VARIANTS:
        mine = sorted((r for r in rows if r["config"] == name), key=lambda r: r["samples"] * r["paths"])
        if len(mine) > 1:
            small, large = (r["float32"]["kernel_us_per_path_step"] for r in (mine[0], mine[-1]))
            found[name] = round(large / small, 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peer-paths", type=int, default=PAIRS_PER_CHUNK)
    parser.add_argument("--cases", nargs="+", default=[], metavar="NxP", help="only these sizes, only the comparison")
    parser.add_argument("--precisions", nargs="+", default=list(PRECISIONS), choices=PRECISIONS)
    parser.add_argument("--keep", type=Path, help="results so far; what is there is not measured again")
    parser.add_argument("--limit-s", type=float, default=float("inf"), help="stop after this time")
    arguments = parser.parse_args()
    until = time.monotonic() + arguments.limit_s
    grid = (
        [(num, paths) for num in (200, 1000, 3000) for paths in (10, 100)]
        if arguments.full
        else [(200, 10), (200, 100)]
    )
    if arguments.cases:
        grid = [(num, paths) for num, paths in grid if f"{num}x{paths}" in arguments.cases]
    comparisons: dict[str, Callable[[], Any]] = {
        f"{name} {num} {paths}": partial(
            compare, name, num, paths, arguments.repeats, arguments.peer_paths, arguments.precisions
        )
        for num, paths in grid
        for name in VARIANTS
    }
    tasks: dict[str, Callable[[], Any]] = {
        "first_call": lambda: {p: first_call(p) for p in ("float32", "float64")},
        "memory_mb_3000x100": largest_case,
        "two_threads": lambda: two_threads(SHORT_REPEATS),
        "against_published": lambda: against_published(SHORT_REPEATS),
        **comparisons,
        "same_paths_as_torch": same_paths,
    }
    if arguments.cases:
        tasks = comparisons
    kept = arguments.keep.read_text().splitlines() if arguments.keep and arguments.keep.exists() else []
    done: dict[str, Any] = dict(json.loads(line) for line in kept)
    for task, measure in tasks.items():
        if task in done:
            continue
        if time.monotonic() > until:
            raise SystemExit(3)
        done[task] = measure()
        line = json.dumps([task, done[task]])
        print(line, file=sys.stderr, flush=True)
        if arguments.keep:
            with arguments.keep.open("a") as file:
                file.write(line + "\n")
    rows = [done[f"{name} {num} {paths}"] for num, paths in grid for name in VARIANTS]
    result = {
        "machine": platform.processor() or platform.machine(),
        **{task: done[task] for task in tasks if " " not in task},
        "rows": rows,
        "lowest_ratio": {p: min(r[p]["ratio"] for r in rows) for p in arguments.precisions},
        "per_path_step_largest_over_smallest": linearity(rows) if "float32" in arguments.precisions else {},
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
