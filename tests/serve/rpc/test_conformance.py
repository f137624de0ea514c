"""The conformance run against real client processes, one that keeps the rules and several that do not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from giveway.serve.rpc.conformance import ConformanceServer, Transcript
from giveway.serve.rpc.server import ServerOptions
from giveway.serve.rpc.verdicts import RULES, Verdict, judge

BAD_CLIENT = """
import sys, time
from giveway.predictors import make_predictor
from giveway.serve.rpc.client import Connection, inputs_of, push_of

address, way, manner = sys.argv[1:]
connection, predictor = Connection(address, stream=way == "stream"), make_predictor("constant_velocity")
message, pushed = None, 0
while True:
    if manner == "opens streams":
        connection._hang_up()
    turn, message = connection.turn(message), None
    if manner == "dies" and pushed == 5:
        sys.exit()
    if manner == "gives up" and turn.pushed is not None and turn.pushed.resp_code != 0:
        sys.exit()
    env = turn.env
    if env.resp_code == 233:
        if manner != "leaves without a word":
            connection.say_goodbye()
        if manner == "goes on for ever":
            continue
        sys.exit()
    if env.resp_code == 2:
        if manner == "stops when idle":
            sys.exit()
        continue
    inputs = inputs_of(env, turn.about)
    message = push_of(predictor.predict(inputs, inputs.generator()), inputs, env.my_traj.state[-1].track_id)
    states = message.pred_trajs[0].state
    if manner == "29 states":
        del states[29]
    if manner == "probability 0.9":
        message.probability[0] = 0.9
    if manner == "foreign id":
        states[5].track_id += 1
    if manner == "site frame":
        for state in states:
            state.x += 1000.0
            state.y += 1000.0
    if manner == "degrees":
        for state in states:
            state.psi_rad *= 57.3
    if manner == "sleeps once" and pushed == 4:
        time.sleep(1.5)
    pushed += 1
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(str(files("giveway"))).parent), "GRPC_VERBOSITY": "NONE"}


def watched(command: list[str], *, deadline_s: float | None = 30.0, wait_s: float = 60.0) -> Transcript:
    server = ConformanceServer(ServerOptions(port=0), compat=False, deadline_s=deadline_s)
    client = subprocess.Popen(
        [word.replace("ADDRESS", f"127.0.0.1:{server.port}") for word in command],
        env=environment(),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        return server.watch(wait_s=wait_s, silence_s=8.0)
    finally:
        client.kill()
        client.wait()


def verdicts_on(way: str, manner: str, folder: Path, **options: float) -> dict[str, Verdict]:
    script = folder / "client.py"
    script.write_text(BAD_CLIENT)
    return {v.rule: v for v in judge(watched([sys.executable, str(script), "ADDRESS", way, manner], **options))}


@pytest.mark.parametrize(("more", "seen"), [((), "fetches and pushes on one stream"), (("--unary",), "calls")], ids=str)
def test_the_reference_client_passes_every_rule(more: tuple[str, ...], seen: str) -> None:
    verdicts = judge(watched([sys.executable, "-m", "giveway.serve.rpc.client", "--address", "ADDRESS", *more]))
    assert {v.rule: v.verdict for v in verdicts} == dict.fromkeys(RULES, "pass")
    assert verdicts[0].seen.endswith(seen)


@pytest.mark.parametrize(
    ("way", "manner", "rule", "seen"),
    [
        ("calls", "29 states", "length", "a mode with 29 states"),
        pytest.param("stream", "29 states", "length", "a mode with 29 states", marks=pytest.mark.slow),
        pytest.param("calls", "probability 0.9", "probabilities", "probabilities 0.9", marks=pytest.mark.slow),
        pytest.param("stream", "foreign id", "identity", "where car", marks=pytest.mark.slow),
        ("stream", "site frame", "frame", " m from the car"),
        pytest.param("calls", "stops when idle", "waiting", "no fetch came", marks=pytest.mark.slow),
        pytest.param("stream", "stops when idle", "waiting", "no fetch came", marks=pytest.mark.slow),
        ("calls", "gives up", "persistence", "no good push came"),
        ("stream", "gives up", "persistence", "no good push came"),
        pytest.param("calls", "leaves without a word", "goodbye", "not answered", marks=pytest.mark.slow),
        pytest.param("stream", "leaves without a word", "goodbye", "not answered", marks=pytest.mark.slow),
        pytest.param("calls", "goes on for ever", "goodbye", "more calls after the goodbye", marks=pytest.mark.slow),
        ("stream", "goes on for ever", "goodbye", "more calls after the goodbye"),
    ],
)
def test_a_client_that_breaks_a_rule_is_told_which_and_what_to_do(
    tmp_path: Path, way: str, manner: str, rule: str, seen: str
) -> None:
    verdicts = verdicts_on(way, manner, tmp_path)
    assert verdicts[rule].verdict == "FAIL"
    assert seen in verdicts[rule].seen
    assert verdicts[rule].hint
    blamed = {v.rule for v in verdicts.values() if v.verdict == "FAIL"}
    assert blamed <= {rule, "completeness"}


def test_a_slow_client_is_late_and_one_that_dies_is_missed(tmp_path: Path) -> None:
    late = verdicts_on("calls", "sleeps once", tmp_path, deadline_s=1.0)
    assert late["deadline"].verdict == "FAIL"
    assert "not within 1000 ms" in late["deadline"].seen
    dead = verdicts_on("stream", "dies", tmp_path)
    assert dead["completeness"].verdict == "FAIL"
    assert "fell silent after 1 cases" in dead["completeness"].seen
    assert dead["goodbye"].verdict == "not seen"


def test_degrees_are_only_a_warning(tmp_path: Path) -> None:
    verdicts = verdicts_on("stream", "degrees", tmp_path)
    assert verdicts["motion"].verdict == "warn"
    assert not [v for v in verdicts.values() if v.verdict == "FAIL"]


def test_a_stream_for_every_message_is_a_warning(tmp_path: Path) -> None:
    verdicts = verdicts_on("stream", "opens streams", tmp_path)
    assert verdicts["connects"].verdict == "warn"
    assert "keep one stream open" in verdicts["connects"].hint
    assert not [v for v in verdicts.values() if v.verdict == "FAIL"]


def test_the_command_prints_one_line_per_rule_and_ends_with_one_if_nobody_comes() -> None:
    command = [sys.executable, "-m", "giveway.cli.main", "drive", "serve", "--check", "127.0.0.1:0", "--wait", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment(), check=False)
    assert done.returncode == 1
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["verdict", "rule", "seen", "try"]
    assert len(lines) == len(RULES) + 1
    assert lines[0].split()[:5] == ["FAIL", "connects", "no", "call", "came"]
    done = subprocess.run(
        [*command, "--json"], capture_output=True, text=True, timeout=120, env=environment(), check=False
    )
    document = json.loads(done.stdout)
    assert document["ok"] is False
    assert [v["rule"] for v in document["result"]["verdicts"]] == list(RULES)


def test_a_check_address_without_port_is_bad_input() -> None:
    command = [sys.executable, "-m", "giveway.cli.main", "drive", "serve", "--check", "localhost"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment(), check=False)
    assert done.returncode == 2
    assert "127.0.0.1:50051" in done.stderr
