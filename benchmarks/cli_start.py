"""Processor time (user and system) of starting commands that compute nothing, in child processes.

python benchmarks/cli_start.py
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys

LINES = ("--help", "--version", "gaps --help", "gaps run --help", "drive run --help", "generate run --help")
REPETITIONS = 7
LIMIT_S = 0.15
"""``giveway --help`` must stay below this."""


def processor_time_s(line: str) -> float:
    """User and system time of one call."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "giveway", *line.split()], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Median and largest of a few calls each, the first one (which may compile bytecode) left out."""
    rows = {}
    for line in LINES:
        times = [processor_time_s(line) for _ in range(REPETITIONS + 1)][1:]
        rows[f"giveway {line}"] = {"median_s": round(statistics.median(times), 4), "max_s": round(max(times), 4)}
    ok = rows["giveway --help"]["median_s"] <= LIMIT_S
    print(json.dumps({"ok": ok, "limit_s": LIMIT_S, "repetitions": REPETITIONS, "commands": rows}, indent=2))
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
