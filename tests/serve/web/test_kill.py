"""kill -9 under load: what was acknowledged is there, once."""

from __future__ import annotations

import http.client
import json
import random
import re
import sqlite3
import threading
import time
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from giveway.serve.web.server import is_loopback
from giveway.study.rehearsal import enroll_token
from giveway.study.workspace import open_study
from support.servers import RunningServer, running_server
from support.studies import synthetic_study

NO_LIMITS = {"joins_per_minute": 10**6, "answers_per_second": 1e6}


class Browser:
    """As much of a browser as saving answers takes."""

    def __init__(self, address: str, token: str) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
        self.cookies = {"gw_rater": token}
        self.headers = {"Content-Type": "application/json"}
        page = self.ask("GET", "/rate")[1].decode()
        found = re.search(r'form-token" content="([^"]+)"', page)
        if found:
            self.headers["X-CSRF"] = found[1]

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        cookie = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        self.connection.request(method, path, body, {**self.headers, "Cookie": cookie})
        answer = self.connection.getresponse()
        for name, value in re.findall(r"(gw_\w+)=([^;]+)", answer.headers.get("set-cookie", "")):
            self.cookies[name] = value
        return answer.status, answer.read()

    def close(self) -> None:
        self.connection.close()


def rate(address: str, token: str, pending: dict[int, dict], acknowledged: list[str], positions: list[int]) -> None:
    """Answer until the server dies; what was not acknowledged stays in ``pending`` and is sent again with its id."""
    browser = None
    try:
        browser = Browser(address, token)
        while positions or pending:
            if not pending:
                position = positions.pop(0)
                pending[position] = {
                    "id": str(uuid.uuid4()),
                    "position": position,
                    "rating": 3,
                    "rt_ms": 1,
                    "plays": 1,
                    "played_ms": 1,
                    "visible_ms": 1,
                }
            position, answer = next(iter(pending.items()))
            status, _ = browser.ask("POST", "/api/answers", json.dumps(answer).encode())
            if status == 200:
                acknowledged.append(answer["id"])
                del pending[position]
    except (OSError, http.client.HTTPException):
        pass
    finally:
        if browser is not None:
            browser.close()


def stored_ids(folder: Path) -> list[str]:
    connection = sqlite3.connect(folder / "study.sqlite")
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [row[0] for row in connection.execute("select id from answers")]
    finally:
        connection.close()


@pytest.mark.parametrize("rounds", [2, pytest.param(15, marks=pytest.mark.slow)])
def test_kill_9_loses_and_doubles_nothing(rounds: int, tmp_path: Path) -> None:
    folder = synthetic_study(tmp_path / "study", num_clips=36, limits=NO_LIMITS)
    study = open_study(folder)
    tokens = [enroll_token(study) for _ in range(6 if rounds < 5 else 20)]
    study.engine.dispose()
    rng = random.Random(rounds)
    positions = {token: list(range(42)) for token in tokens}
    pending: dict[str, dict[int, dict]] = {token: {} for token in tokens}
    acknowledged: list[str] = []
    for number in range(rounds + 1):
        with running_server(folder) as server:
            threads = [
                threading.Thread(target=rate, args=(server.address, t, pending[t], acknowledged, positions[t]))
                for t in tokens
            ]
            for thread in threads:
                thread.start()
            if number < rounds:
                kill_in_the_middle(server, acknowledged, rng)
            for thread in threads:
                thread.join(60)
        ids = stored_ids(folder)
        assert set(acknowledged) <= set(ids), "an acknowledged answer is lost"
        assert len(ids) == len(set(ids))
    assert not any(pending.values())
    assert len(ids) == len(tokens) * 42


def kill_in_the_middle(server: RunningServer, acknowledged: list[str], rng: random.Random) -> None:
    """Wait until answers flow, then a random moment longer."""
    enough, deadline = len(acknowledged) + 10, time.monotonic() + 30
    while len(acknowledged) < enough and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2 * rng.random())
    server.process.kill()
    server.process.wait()


def test_stopping_politely_and_starting_again_loses_nothing(tmp_path: Path) -> None:
    folder = synthetic_study(tmp_path / "study", limits=NO_LIMITS)
    study = open_study(folder)
    token = enroll_token(study)
    study.engine.dispose()
    acknowledged: list[str] = []
    positions = list(range(5))
    with running_server(folder) as server:
        rate(server.address, token, {}, acknowledged, positions)
    assert len(acknowledged) == 5
    assert sorted(stored_ids(folder)) == sorted(acknowledged)
    assert token not in server.log.read_text()
    with running_server(folder) as server:
        browser = Browser(server.address, token)
        status, session = browser.ask("GET", "/api/session")
        browser.close()
    assert status == 200
    assert json.loads(session)["items"][0]["position"] == 5


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("192.168.1.2", False)],
)
def test_addresses_that_others_can_reach_are_recognized(host: str, own: bool) -> None:
    assert is_loopback(host) is own
