"""What a prediction costs over gRPC beyond the same prediction in process.

Prints JSON. The simulator's wait for each prediction is timed, with the predictor in process and with the reference
client in a process of its own, on a stream and with two calls per prediction, on the same cases in the same run; the
difference to the run in process is the overhead (target: below 2 ms on a stream, which the client uses by default).
Of the predictions of a run the median and the fastest tenth are given, because other work on the machine adds to the
first, and the processor time of server and client per prediction, to which it adds less. What the library alone
costs at that moment is shown by empty messages to an idle server in the same run: two calls, and there and back on an
open stream.
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

from giveway.core.histories import MotionInputs
from giveway.core.predictions import Prediction
from giveway.drive.bundled import bundled_set
from giveway.drive.driving import drive_cases
from giveway.predictors import make_predictor
from giveway.serve.rpc.exchange import Exchange
from giveway.serve.rpc.remote import RemotePredictor
from giveway.serve.rpc.server import PredictionServer, ServerOptions


class Timed:
    """Times another predictor per prediction, wall and processor."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.info = inner, inner.info
        self.wall_ms: list[float] = []
        self.cpu_s = 0.0
        self.predictions = 0

    def predict(self, inputs: MotionInputs, rng: Any) -> Prediction:
        """Asks the other one."""
        wall, cpu = time.perf_counter(), time.process_time()
        answer = self.inner.predict(inputs, rng)
        self.cpu_s += time.process_time() - cpu
        self.wall_ms.append(1000 * (time.perf_counter() - wall) / inputs.num_requests)
        self.predictions += inputs.num_requests
        return answer


def drive(cases: Any, source: Any, predictor: Any) -> Timed:
    timed = Timed(predictor)
    list(drive_cases(cases, source, predictor=timed, batch=1))
    return timed


def over_grpc(cases: Any, source: Any, name: str, *more: str) -> tuple[Timed, float]:
    """Drive with a client process; also its processor time [s], its start not counted."""
    exchange = Exchange(compat=False, deadline_s=None)
    server = PredictionServer(exchange, ServerOptions(port=0))
    server.start()
    command = [sys.executable, "-m", "giveway.serve.rpc.client", "--address", f"127.0.0.1:{server.port}"]
    before = _children_s()
    with subprocess.Popen([*command, "--predictor", name, *more], stdout=subprocess.DEVNULL):
        timed = drive(cases, source, RemotePredictor(exchange, cases))
        exchange.finish()
        exchange.wait_for_goodbye(30)
    server.stop()
    return timed, _children_s() - before


EMPTY_CALLS = """
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

EMPTY_STREAM = """
import queue, sys, time
import grpc
out = queue.SimpleQueue()
stream = grpc.insecure_channel(sys.argv[1]).stream_stream("/empty/Stream")(iter(out.get, None), wait_for_ready=True)
for k in range(1100):
    start = time.perf_counter()
    out.put(b"")
    next(stream)
    if k >= 100:
        print(1000 * (time.perf_counter() - start))
out.put(None)
"""


def empty_ms(client: str) -> dict[str, float]:
    """What messages cost that hold nothing and are answered by nothing."""
    import grpc

    calls = {
        "Call": grpc.unary_unary_rpc_method_handler(lambda message, _: message),
        "Stream": grpc.stream_stream_rpc_method_handler(lambda messages, _: messages),
    }
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("empty", calls),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    command = [sys.executable, "-c", client, f"127.0.0.1:{port}"]
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
    measured: dict[str, dict[str, list[float]]] = {
        way: {"median": [], "fastest_tenth": [], "cpu": []} for way in ("in_process", "stream", "calls")
    }
    empty = {"two_empty_calls_ms": empty_ms(EMPTY_CALLS), "empty_stream_round_trip_ms": empty_ms(EMPTY_STREAM)}
    start = _children_s()
    subprocess.run([sys.executable, "-c", "import giveway.serve.rpc.client, giveway.predictors.simple"], check=True)
    start = _children_s() - start
    for _ in range(options.repeat):
        runs = {
            "in_process": (drive(cases, source, make_predictor(options.predictor)), start),
            "stream": over_grpc(cases, source, options.predictor),
            "calls": over_grpc(cases, source, options.predictor, "--unary"),
        }
        for way, (timed, client_s) in runs.items():
            kept, cpu_s = measured[way], timed.cpu_s + max(client_s - start, 0.0)
            kept["median"].append(float(np.median(timed.wall_ms)))
            kept["fastest_tenth"].append(float(np.percentile(timed.wall_ms, 10)))
            kept["cpu"].append(1000 * cpu_s / timed.predictions)
    best = {way: {kind: min(values) for kind, values in kept.items()} for way, kept in measured.items()}
    overhead = {
        way: {kind: value - best["in_process"][kind] for kind, value in best[way].items()}
        for way in ("stream", "calls")
    }
    document = {
        "cases": len(cases),
        "in_process_ms": best["in_process"],
        "overhead_ms": overhead,
        **empty,
        "target_ms": 2.0,
        "met": overhead["stream"]["median"] < 2.0,
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
