"""Processor time of synthesizing recordings, per minute of recording (L-GAP: per trial, Leeds: per participant).

    python benchmarks/synthesize.py [--before SRC] [--repeats 3]

With ``--before``, the folder of sources of another version, both are measured in turn and the ratio after / before is
printed. Kernels are compiled before anything is measured. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

SIZES = {
    "interaction": (1, 5.0, 15.0),
    "interaction_cases": (1, 2.0, 6.0),
    "round": (2, 5.0, 10.0),
    "ind": (1, 3.0, 3.0),
    "highd": (1, 3.0, 3.0),
    "lgap": (180, None, 180.0),
    "leeds": (12, None, 12.0),
}
"""Dataset to size, minutes, and by what the time is divided."""

MEASURE = """
import json, sys, tempfile, time
from pathlib import Path
from giveway.synth.protocol import synthesize
sizes, repeats = json.loads(sys.argv[1]), int(sys.argv[2])
found = {name: [] for name in sizes}
for seed in range(-1, repeats):  # the first round compiles
    for name, (count, minutes, units) in sizes.items():
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            synthesize(name, Path(folder) / "data", seed=max(seed, 0), count=count, minutes=minutes)
            if seed >= 0:
                found[name].append((time.process_time() - start) / units)
print(json.dumps({name: sorted(values)[len(values) // 2] for name, values in found.items()}))
"""


def measure(source: Path, repeats: int) -> dict[str, float]:
    """Median seconds per unit with the sources in a folder."""
    call = [sys.executable, "-c", MEASURE, json.dumps(SIZES), str(repeats)]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(call, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    document: dict[str, object] = {}
    after = measure(Path(__file__).resolve().parents[1] / "src", options.repeats)
    document["seconds_per_unit"] = {name: round(value, 4) for name, value in after.items()}
    if options.before:
        before = measure(options.before.resolve(), options.repeats)
        document["before"] = {name: round(value, 4) for name, value in before.items()}
        document["ratio"] = {name: round(after[name] / before[name], 2) for name in SIZES}
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
