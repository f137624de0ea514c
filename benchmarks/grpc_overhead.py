"""What a prediction costs over gRPC beyond the same prediction in process.

Prints JSON: wall time per prediction of the same cases with the same predictor, in process and with a client process,
both one case after the other, best of several; the difference is the overhead (target: below 2 ms).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from giveway.drive.bundled import bundled_set
from giveway.drive.runs import run_predictor
from giveway.models.motion import make_predictor
from giveway.planning.builtin import DefaultPlanner
from giveway.rpc.server import ServerOptions
from giveway.rpc.sessions import SessionOptions, SessionServer


def in_process(cases: object, source: object, name: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run = run_predictor(
            cases, source, predictor=make_predictor(name), planner=DefaultPlanner(), out=Path(folder), batch=1
        )
        return (time.perf_counter() - began) / run.predictions


def over_grpc(cases: object, source: object, name: str) -> tuple[float, float]:
    options = SessionOptions(planner=DefaultPlanner(), deadline_s=None)
    server = SessionServer(cases, source, session=options, server=ServerOptions(port=0))
    server.start()
    address = f"127.0.0.1:{server.port}"
    client = subprocess.Popen(
        [sys.executable, "-m", "giveway.rpc.client", "--address", address, "--predictor", name],
        stdout=subprocess.DEVNULL,
    )
    with tempfile.TemporaryDirectory() as folder:
        session = server.drive(Path(folder))
    client.wait(30)
    server.stop()
    wire = session.document["wire"]
    return wire["session_s"] / session.run.predictions, wire["latency_ms"]["median"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--predictor", default="constant_velocity")
    options = parser.parse_args()
    cases, source = bundled_set()
    cases = cases[: options.cases]
    in_process(cases[:1], source, options.predictor)
    local, remote, latency = [], [], []
    for _ in range(options.repeat):
        local.append(in_process(cases, source, options.predictor))
        wall, median = over_grpc(cases, source, options.predictor)
        remote.append(wall)
        latency.append(median)
    overhead = 1000 * (min(remote) - min(local))
    print(
        json.dumps(
            {
                "cases": len(cases),
                "in_process_ms_per_prediction": 1000 * min(local),
                "grpc_ms_per_prediction": 1000 * min(remote),
                "overhead_ms_per_prediction": overhead,
                "fetch_to_push_ms_median": min(latency),
                "target_ms": 2.0,
                "met": overhead < 2.0,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
