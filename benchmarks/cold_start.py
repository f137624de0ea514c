"""What a first command costs on a new installation: processor time with an empty cache of compiled kernels.

python benchmarks/cold_start.py [--repeats 1] [-- drive run -p constant_velocity --limit 2]

Runs the command in a child process with an empty ``NUMBA_CACHE_DIR``, twice: cold, then warm. Prints JSON: user +
system seconds of both, kernels compiled, processor seconds of the compiler by stage (each without the stages inside
it), when the first line appeared and the longest silence on both channels [s of wall time]. ``--out`` is added.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

COMMAND = ["drive", "run", "-p", "constant_velocity", "--limit", "2"]
STAGES = {"native_lowering": "lowering", "nopython_type_inference": "inference"}
TIMES = "GIVEWAY_COLD_START_TIMES"
"""Where the child writes the times of the compiler; unset in the measurement of the whole, which it would slow down."""


def child(words: list[str]) -> None:
    """Run a command and write what Numba's events say about the compiler."""
    from numba.core import event

    seconds: dict[str, float] = defaultdict(float)
    count = 0
    stack: list[list[Any]] = []

    class Stopwatch(event.Listener):
        def on_start(self, event: Any) -> None:
            stack.append([time.process_time(), 0.0])

        def on_end(self, event: Any) -> None:
            nonlocal count
            began, inside = stack.pop()
            spent = time.process_time() - began
            if stack:
                stack[-1][1] += spent
            if event.kind == "numba:compile":
                count += event.data["dispatcher"].py_func.__module__.startswith("giveway.")
                stage = "other"
            elif event.kind == "numba:llvm_lock":
                stage = "llvm"
            else:
                stage = STAGES.get(event.data["name"].split(" [")[0], "other")
            seconds[stage] += spent - inside

    import giveway  # noqa: F401  # sets the environment of Numba before it is imported
    from giveway.cli.main import run

    for kind in ("numba:compile", "numba:run_pass", "numba:llvm_lock"):
        event.register(kind, Stopwatch())
    try:
        run(words)
    finally:
        found = {"kernels": count, **{stage: round(spent, 2) for stage, spent in sorted(seconds.items())}}
        Path(os.environ[TIMES]).write_text(json.dumps(found), encoding="utf-8")


def timed(words: list[str], cache: Path, times: Path | None = None) -> dict[str, float]:
    """Processor time, first line and longest silence of one command."""
    with tempfile.TemporaryDirectory() as folder:
        call = [sys.executable, "-m", "giveway"] if times is None else [sys.executable, __file__, "--child"]
        known = {**os.environ, "NUMBA_CACHE_DIR": str(cache)} | ({} if times is None else {TIMES: str(times)})
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        process = subprocess.Popen(
            [*call, *words, "--out", str(Path(folder) / "out")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=known,
        )
        assert process.stdout is not None
        lines = [began]
        while process.stdout.read1(65536):  # type: ignore[attr-defined]
            lines.append(time.monotonic())
        if process.wait():
            raise SystemExit(f"the command failed: {' '.join(words)}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines.append(time.monotonic())
    return {
        "processor_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
        "first_line_s": round(lines[1] - began, 2),
        "longest_silence_s": round(max(b - a for a, b in pairwise(lines)), 2),
    }


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("command", nargs="*", default=COMMAND)
    given = parser.parse_args()
    runs: list[dict[str, Any]] = []
    for _ in range(given.repeats):
        with tempfile.TemporaryDirectory() as folder:
            cold = timed(given.command, Path(folder) / "cache")
            warm = timed(given.command, Path(folder) / "cache")
            timed(given.command, Path(folder) / "again", times := Path(folder) / "times.json")
            runs.append({"cold": cold, "warm": warm, "compiler": json.loads(times.read_text(encoding="utf-8"))})
    print(json.dumps({"command": " ".join(given.command), "python": platform.python_version(), "runs": runs}, indent=1))


if __name__ == "__main__":
    main()
