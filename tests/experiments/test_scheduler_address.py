from __future__ import annotations

import socket
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from giveway.cli.main import run
from giveway.core.errors import ClusterError
from giveway.experiments.scheduler_address import Deadline, try_address


@pytest.fixture
def silent_port() -> Generator[int]:
    """A port that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_closed_port_is_tried_twice_and_named() -> None:
    address = f"tcp://127.0.0.1:{closed_port()}"
    with pytest.raises(ClusterError, match="cannot reach the scheduler") as caught:
        try_address(address, Deadline())
    assert address in str(caught.value)
    assert "tried twice" in str(caught.value)


def test_a_port_that_says_nothing_ends_at_the_deadline(silent_port: int) -> None:
    began = time.monotonic()
    with pytest.raises(ClusterError, match="cannot reach") as caught:
        try_address(f"tcp://127.0.0.1:{silent_port}", Deadline(1.0))
    assert "says nothing" in str(caught.value)
    assert time.monotonic() - began < 30  # Dask alone waits for ever


@pytest.mark.parametrize(
    ("address", "reason"),
    (
        ("tcp://no.such.host.invalid:8786", "cannot be resolved"),
        ("tcp://127.0.0.1", "has no port"),
        ("tcp://127.0.0.1:99999", "ort"),
    ),
)
def test_an_address_that_leads_nowhere_is_one_sentence(address: str, reason: str) -> None:
    with pytest.raises(ClusterError, match="cannot reach the scheduler") as caught:
        try_address(address, Deadline())
    assert reason in str(caught.value)


def test_a_command_asks_the_scheduler_before_it_makes_recordings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["gaps", "run", "--preset", "quick", "--out", str(tmp_path / "R"), "--engine", "dask"]
    with pytest.raises(SystemExit) as ended:
        run([*line, "--scheduler", f"tcp://127.0.0.1:{closed_port()}"])
    assert ended.value.code == 2
    assert "cannot reach the scheduler" in capsys.readouterr().err
    assert not (tmp_path / "R").exists()
