"""``giveway drive serve`` as a process: stopped, killed, reconnected to, and left by its client."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from giveway.cli.main import run
from giveway.drive.bundled import bundled_set
from giveway.predictors import make_predictor
from giveway.serve.rpc import sessions
from giveway.serve.rpc.client import Connection, inputs_of, predict_for, push_of
from giveway.sim.case_files import write_cases
from giveway.sim.log_files import logs_below, read_log
from giveway.testing.drive_scenes import crossing_case

PER_CASE = 120
"""Predictions of a bundled case: two cars, 60 ticks."""

DYING_CLIENT = """
import os, sys
from giveway.serve.rpc.client import Connection

connection = Connection(sys.argv[1], stream=sys.argv[2] == "stream")
while connection.turn().env.resp_code != 0:
    pass
os.kill(os.getpid(), 9)
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(str(files("giveway"))).parent), "GRPC_VERBOSITY": "NONE"}


@contextlib.contextmanager
def serving(*args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process and its address."""
    command = [sys.executable, "-m", "giveway.cli.main", "drive", "serve", "--port", "0", "--once", *args]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True
    )
    try:
        assert process.stderr is not None
        first = next(line for line in process.stderr if line.startswith("listening on"))
        yield process, first.split(",")[0].split()[-1]
    finally:
        process.kill()
        process.communicate()


def answer(connection: Connection, count: int) -> None:
    """Fetch and push so many cars."""
    predictor, message = make_predictor("echo"), None
    while count:
        turn, message = connection.turn(message), None
        if turn.pushed is not None:
            assert turn.pushed.resp_code == 0
            count -= 1
        if turn.env.resp_code == 0:
            track = turn.env.my_traj.state[-1].track_id
            inputs = inputs_of(turn.env, turn.about)
            message = push_of(predictor.predict(inputs, inputs.generator()), inputs, track)


def wait_for_logs(out: Path, count: int) -> None:
    until = time.monotonic() + 30
    while len(logs_below(out)) < count and time.monotonic() < until:
        time.sleep(0.05)


def test_a_killed_server_leaves_finished_cases_readable_and_goes_on_when_started_again(tmp_path: Path) -> None:
    out = tmp_path / "R"
    with serving("--limit", "2", "--out", str(out), "--deadline-ms", "0") as (process, address):
        answer(Connection(address), PER_CASE + 30)
        wait_for_logs(out, 1)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    (finished,) = logs_below(out)
    log = read_log(finished)
    assert log.case.id == "merge-00"
    assert log.predictions is not None
    with serving("--limit", "2", "--out", str(out), "--deadline-ms", "0", "--json") as (process, address):
        report = predict_for(Connection(address), make_predictor("echo"))
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert report.cases == ("merge-01",)
    document = json.loads(printed)["result"]
    assert document["predictors"][0]["cases"] == 2
    assert {read_log(folder).case.id for folder in logs_below(out)} == {"merge-00", "merge-01"}
    assert read_log(finished).digest == log.digest


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_server_ends_with_a_summary(tmp_path: Path, how: signal.Signals) -> None:
    out = tmp_path / "R"
    with serving("--limit", "2", "--out", str(out), "--deadline-ms", "0") as (process, address):
        answer(Connection(address), PER_CASE + 30)
        wait_for_logs(out, 1)
        process.send_signal(how)
        printed, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "1 of 2 cases finished" in errors
    assert f"answered {PER_CASE + 30}" in errors
    assert printed == ""
    assert "Traceback" not in errors
    assert json.loads((out / "wire.json").read_text())["counts"]["answered"] == PER_CASE + 30
    assert len(logs_below(out)) == 1


@pytest.mark.parametrize("way", ["stream", pytest.param("calls", marks=pytest.mark.slow)])
def test_a_client_killed_between_fetch_and_push_costs_one_prediction_and_the_next_goes_on(
    tmp_path: Path, way: str
) -> None:
    script = tmp_path / "dying.py"
    script.write_text(DYING_CLIENT)
    out = tmp_path / "R"
    with serving("--limit", "1", "--out", str(out), "--deadline-ms", "5000", "--json") as (process, address):
        dying = subprocess.run([sys.executable, str(script), address, way], env=environment(), timeout=60, check=False)
        assert dying.returncode == -signal.SIGKILL
        time.sleep(5.5)
        predict_for(Connection(address, name="next"), make_predictor("echo"))
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    document = json.loads(printed)["result"]
    assert document["wire"]["counts"]["takeovers"] == 1
    assert document["predictors"][0]["fallbacks"] == document["wire"]["counts"]["late"] >= 1
    (log,) = (log for log in map(read_log, logs_below(out)) if log.predictions is not None)
    first = next(event for event in log.events if event.kind == "fallback")
    assert (first.tick, first.text) == (0, "no prediction within 5000 ms")


@pytest.fixture
def one_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second session is a mistake, and nobody waits for goodbyes."""
    drive, driven = sessions.SessionServer.drive, []

    def drive_once(self: sessions.SessionServer, *args: Any, **more: Any) -> sessions.Session:
        assert not driven, "another session began"
        driven.append(self)
        return drive(self, *args, **more)

    monkeypatch.setattr(sessions, "GOODBYE_S", 0.0)
    monkeypatch.setattr(sessions.SessionServer, "drive", drive_once)


@pytest.mark.usefixtures("one_session")
def test_a_server_ends_when_a_session_asked_nothing_because_every_case_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_cases(tmp_path / "cases.json", [replace(crossing_case(), dataset="interaction")])
    with pytest.raises(SystemExit) as stop:
        run(["drive", "serve", "--cases", str(tmp_path / "cases.json"), "--port", "0"])
    said = capsys.readouterr()
    assert stop.value.code == 1
    assert "case crossing" in said.err and "UsageError: these cases need recordings" in said.err
    assert "no client was asked for anything" in said.err


@pytest.mark.usefixtures("one_session")
def test_a_server_ends_when_no_car_of_any_case_is_to_be_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = bundled_set()[0][0]
    write_cases(tmp_path / "cases.json", [replace(case, cars=(case.ego,), end_s=case.start_s + 0.2)])
    with pytest.raises(SystemExit) as stop:
        run(["drive", "serve", "--cases", str(tmp_path / "cases.json"), "--port", "0"])
    assert stop.value.code in (0, None)
    assert "no client was asked for anything" in capsys.readouterr().err


@pytest.mark.parametrize("deadline", ["inf", "nan", "1e300"])
def test_a_deadline_that_is_no_time_is_refused(deadline: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        run(["drive", "serve", "--limit", "1", "--port", "0", "--once", "--deadline-ms", deadline, "--name", "!"])
    assert stop.value.code == 2
    assert "--deadline-ms" in capsys.readouterr().err
