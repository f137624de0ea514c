"""What a prediction costs over gRPC beyond the same prediction in process.

Prints JSON. The simulator's wait for each prediction is timed, with the predictor in process and with the reference
client in a process of its own, on the same cases in the same run; the difference is the overhead (target: below 2 ms).
Of the calls of a run the median and the fastest tenth are given, because other work on the machine adds to the first,
and the processor time of server and client per prediction, to which it adds less. Two calls with an empty message, to
an idle server in the same run, show what the library alone costs at that moment.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from giveway.drive.bundled import bundled_set
from giveway.drive.driving import drive_cases
from giveway.models.motion import MotionInputs, MotionPrediction, make_predictor
from giveway.rpc.exchange import Exchange
from giveway.rpc.remote import RemotePredictor
from giveway.rpc.server import PredictionServer, ServerOptions


class Timed:
    """Times another predictor per prediction, wall and processor."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.info = inner, inner.info
        self.wall_ms: list[float] = []
        self.cpu_s = 0.0
        self.predictions = 0

    def predict(self, inputs: MotionInputs) -> MotionPrediction:
        """Asks the other one."""
        wall, cpu = time.perf_counter(), time.process_time()
        answer = self.inner.predict(inputs)
        self.cpu_s += time.process_time() - cpu
        self.wall_ms.append(1000 * (time.perf_counter() - wall) / inputs.num_requests)
        self.predictions += inputs.num_requests
        return answer


def drive(cases: Any, source: Any, predictor: Any) -> Timed:
    timed = Timed(predictor)
    list(drive_cases(cases, source, predictor=timed, batch=1))
    return timed


def over_grpc(cases: Any, source: Any, name: str) -> tuple[Timed, float]:
    """Drive with a client process; also its processor time [s], its start not counted."""
    exchange = Exchange(compat=False, deadline_s=None)
    server = PredictionServer(exchange, ServerOptions(port=0))
    server.start()
    command = [sys.executable, "-m", "giveway.rpc.client", "--address", f"127.0.0.1:{server.port}"]
    before = _children_s()
    with subprocess.Popen([*command, "--predictor", name], stdout=subprocess.DEVNULL):
        timed = drive(cases, source, RemotePredictor(exchange, cases))
        exchange.finish()
        exchange.wait_for_goodbye(30)
    server.stop()
    return timed, _children_s() - before


EMPTY_CLIENT = """
import sys, time
import grpc
call = grpc.insecure_channel(sys.argv[1]).unary_unary("/empty/Call")
for _ in range(100):
    call(b"", wait_for_ready=True)
for _ in range(1000):
    start = time.perf_counter()
    call(b"")
    call(b"")
    print(1000 * (time.perf_counter() - start))
"""


def two_empty_calls_ms() -> dict[str, float]:
    """What two calls cost that do nothing."""
    import grpc

    calls = {"Call": grpc.unary_unary_rpc_method_handler(lambda message, _: message)}
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("empty", calls),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    command = [sys.executable, "-c", EMPTY_CLIENT, f"127.0.0.1:{port}"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    server.stop(0).wait()
    times = np.array(printed.split(), dtype=np.float64)
    return {"median": float(np.median(times)), "fastest_tenth": float(np.percentile(times, 10))}


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--predictor", default="constant_velocity")
    options = parser.parse_args()
    cases, source = bundled_set()
    cases = cases[: options.cases]
    drive(cases[:1], source, make_predictor(options.predictor))
    local: dict[str, list[float]] = {"median": [], "fastest_tenth": [], "cpu": []}
    remote: dict[str, list[float]] = {"median": [], "fastest_tenth": [], "cpu": []}
    empty = two_empty_calls_ms()
    start = _children_s()
    subprocess.run([sys.executable, "-c", "import giveway.rpc.client, giveway.models.motion.simple"], check=True)
    start = _children_s() - start
    for _ in range(options.repeat):
        inside = drive(cases, source, make_predictor(options.predictor))
        outside, client_s = over_grpc(cases, source, options.predictor)
        for kept, timed, cpu in ((local, inside, 0.0), (remote, outside, max(client_s - start, 0.0))):
            kept["median"].append(float(np.median(timed.wall_ms)))
            kept["fastest_tenth"].append(float(np.percentile(timed.wall_ms, 10)))
            kept["cpu"].append(1000 * (timed.cpu_s + cpu) / timed.predictions)
    overhead = {kind: min(remote[kind]) - min(local[kind]) for kind in local}
    document = {
        "cases": len(cases),
        "in_process_ms": {kind: min(values) for kind, values in local.items()},
        "grpc_ms": {kind: min(values) for kind, values in remote.items()},
        "overhead_ms": overhead,
        "two_empty_calls_ms": empty,
        "target_ms": 2.0,
        "met": overhead["median"] < 2.0,
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
