"""Many raters at once against a real server on loopback.

    python benchmarks/study_load.py --database sqlite --raters 500
    python benchmarks/study_load.py --database postgres --raters 1000

Every rater fetches the next clip and answers every 5 s for a bounded time; one answer in fifty is sent twice, as
after a lost reply. Prints JSON: latency of saving an answer, errors, and answers lost or doubled by comparing every
acknowledged id with the database afterwards. The load generator runs on the same cores as the server.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import random
import re
import statistics
import sys
import tempfile
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import select

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from giveway.study.rehearsal import enroll_token
from giveway.study.tables import answers
from giveway.study.workspace import open_study
from support.postgres import temporary_postgres
from support.servers import running_server
from support.studies import synthetic_study

LIMIT_S = 0.25


@dataclass
class Tally:
    """What the raters saw."""

    started_s: list[float] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
    statuses: Counter = field(default_factory=Counter)
    acknowledged: set[str] = field(default_factory=set)
    clip_bytes: int = 0


class Connection:
    """One keep-alive HTTP/1.1 connection; as little work per request as possible."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.cookies: dict[str, str] = {}

    async def open(self) -> None:
        """Connect."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)

    async def request(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None):
        """Status and body of the reply."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", f"Content-Length: {len(body)}"]
        lines.append("Cookie: " + "; ".join(f"{k}={v}" for k, v in self.cookies.items()))
        lines += [f"{k}: {v}" for k, v in (headers or {}).items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await self.writer.drain()
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        status = int(head.split(" ", 2)[1])
        for cookie in re.findall(r"(?im)^set-cookie: ([^=]+)=([^;]*)", head):
            self.cookies[cookie[0]] = cookie[1]
        length = int(re.search(r"(?im)^content-length: (\d+)", head)[1])
        return status, await self.reader.readexactly(length)


async def rater(
    token: str, host: str, port: int, stop: float, pause_s: float, ramp_s: float, tally: Tally, rng: random.Random
) -> None:
    connection = Connection(host, port)
    connection.cookies["gw_rater"] = token
    await asyncio.sleep(rng.random() * ramp_s)
    await connection.open()
    _, page = await connection.request("GET", "/rate")
    form_token = re.search(rb'name="form-token" content="([^"]+)"', page)[1].decode()
    _, session = await connection.request("GET", "/api/session")
    headers = {"Content-Type": "application/json", "X-CSRF": form_token}
    for item in json.loads(session)["items"]:
        if time.monotonic() >= stop:
            break
        if "clip" in item:
            status, content = await connection.request("GET", f"/clips/{item['clip']}.json")
            tally.clip_bytes += len(content)
            tally.statuses[f"clip {status}"] += 1
        due = time.monotonic() + pause_s * rng.uniform(0.8, 1.2)
        answer = {
            "id": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
            "position": item["position"],
            "rating": rng.randint(1, 5),
            "rt_ms": 5000,
            "plays": 1,
            "played_ms": 5000,
            "visible_ms": 5000,
        }
        for _ in range(2 if rng.random() < 0.02 else 1):
            started = time.perf_counter()
            status, _ = await connection.request("POST", "/api/answers", json.dumps(answer).encode(), headers)
            tally.started_s.append(started)
            tally.latencies_s.append(time.perf_counter() - started)
            tally.statuses[f"answer {status}"] += 1
            if status == 200:
                tally.acknowledged.add(answer["id"])
        await asyncio.sleep(max(0.0, due - time.monotonic()))
    connection.writer.close()


async def load(tokens: list[str], host: str, port: int, seconds: float, pause_s: float, ramp_s: float) -> Tally:
    tally = Tally()
    stop = time.monotonic() + ramp_s + seconds
    await asyncio.gather(
        *(rater(t, host, port, stop, pause_s, ramp_s, tally, random.Random(n)) for n, t in enumerate(tokens))
    )
    return tally


def measure(folder: Path, url: str | None, raters: int, seconds: float, pause_s: float, ramp_s: float) -> dict:
    study = open_study(folder, url=url)
    tokens = [enroll_token(study) for _ in range(raters)]
    with running_server(folder, database=url, quiet=True) as server:
        process = server.process
        host, port = server.address.removeprefix("http://").split(":")
        before = os.times()
        started, begin = time.monotonic(), time.perf_counter()
        tally = asyncio.run(load(tokens, host, int(port), seconds, pause_s, ramp_s))
        elapsed = time.monotonic() - started
        generator_cpu = sum(os.times()[:2]) - sum(before[:2])
        ticks = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        server_cpu = (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")
    with study.engine.connect() as connection:
        stored = Counter(connection.execute(select(answers.c.id)).scalars().all())
        places = Counter(tuple(row) for row in connection.execute(select(answers.c.rater_id, answers.c.position)).all())
    ordered = sorted(tally.latencies_s)
    pairs = list(zip(tally.started_s, tally.latencies_s, strict=True))
    steady = sorted(latency for at, latency in pairs if at - begin >= ramp_s)
    slow = Counter(int(at - begin) for at, latency in pairs if latency > LIMIT_S)
    errors = sum(n for name, n in tally.statuses.items() if not name.endswith(" 200"))
    return {
        "database": study.engine.dialect.name,
        "raters": raters,
        "seconds": round(elapsed, 1),
        "answers_acknowledged": len(tally.acknowledged),
        "answers_per_s": round(len(ordered) / elapsed, 1),
        "errors": errors,
        "statuses": dict(tally.statuses),
        "lost": len(tally.acknowledged - stored.keys()),
        "doubled": sum(n > 1 for n in stored.values()) + sum(n > 1 for n in places.values()),
        "save_ms": quantiles_ms(ordered),
        "save_ms_after_arrival": quantiles_ms(steady),
        "slow_saves_by_second": dict(sorted(slow.items())),
        "server_cpu_share": round(server_cpu / elapsed, 2),
        "generator_cpu_share": round(generator_cpu / elapsed, 2),
        "machine_load": [round(v, 1) for v in os.getloadavg()],
    }


def quantiles_ms(ordered: list[float]) -> dict[str, float]:
    return {
        "p50": round(1000 * statistics.median(ordered), 1),
        "p99": round(1000 * ordered[int(0.99 * (len(ordered) - 1))], 1),
        "max": round(1000 * ordered[-1], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--raters", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--ramp", type=float, default=20.0, help="seconds over which raters arrive")
    parser.add_argument("--pause", type=float, default=5.0)
    options = parser.parse_args()
    raters, seconds = min(options.raters, 2000), min(options.seconds, 300.0)
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        folder = synthetic_study(Path(temporary) / "study", num_clips=36, seconds=5.0)
        url = stack.enter_context(temporary_postgres()) if options.database == "postgres" else None
        result = measure(folder, url, raters, seconds, options.pause, min(options.ramp, 120.0))
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    print(json.dumps({"benchmark": "study_load", **machine, **result}, indent=2))


if __name__ == "__main__":
    main()
