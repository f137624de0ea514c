from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from giveway.core.remaining_time import RemainingTime, duration
from giveway.experiments.progress import describe

SCRIPT = """
from giveway.experiments import default_progress
progress = default_progress()
print(type(progress).__name__)
with progress:
    progress.start(total=4, skipped=1, workers=2)
    progress.update(done=1, failed=0, current="gaps lgap LR_1D")
    progress.update(done=1, failed=1, current="gaps lgap LR_2D", problem="gaps lgap CV: ValueError: [no] markup")
    progress.update(done=2, failed=1, current="gaps lgap [bold]LR_2D")
"""


def test_times_are_written_for_people() -> None:
    assert [duration(s) for s in (0.4, 59, 61, 3600, 7500)] == ["0 s", "59 s", "1 min 1 s", "1 h 0 min", "2 h 5 min"]


def test_a_line_tells_share_failures_rate_and_time_left() -> None:
    assert describe(9, 1, 10, 40, 5.0, 10.0) == "20/40 (50 %), 1 failed, 2 cells/s, 10 s left"
    assert describe(9, 1, 10, 40, 5.0) == "20/40 (50 %), 1 failed, 2 cells/s"
    assert describe(0, 0, 0, 0, 0.0) == "0/0 (0 %), 0 cells/s"


def test_a_slow_first_cell_promises_no_hour_for_two_minutes() -> None:
    remaining = RemainingTime()
    promised = []
    for finished in range(1, 101):
        remaining.add(finished, 30.0 + 0.9 * finished)  # half a minute of compiling, then 0.9 s a cell
        promised.append(remaining.left_s(100))
    assert promised[:3] == [None] * 3
    assert promised[-1] is None
    truth = [0.9 * (100 - n) for n in range(4, 100)]
    assert promised[3:-1] == pytest.approx(truth, rel=0.01)


def test_the_pace_follows_a_run_that_becomes_slower() -> None:
    remaining = RemainingTime()
    for finished in range(1, 21):
        remaining.add(finished, 0.1 * finished if finished <= 10 else 1.0 + 5.0 * (finished - 10))
    assert remaining.left_s(40) == pytest.approx(100.0)


def test_a_pipe_gets_plain_lines() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "LineProgress"
    assert "\x1b" not in done.stderr
    assert "4 cells, 1 done before, 2 workers" in done.stderr
    assert "failed: gaps lgap CV: ValueError: [no] markup" in done.stderr


@pytest.mark.skipif(not hasattr(pty, "openpty"), reason="needs a terminal")
def test_a_terminal_gets_a_bar_that_shows_text_as_it_is() -> None:
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=child, env=environment)
    os.close(child)
    shown = b""
    while True:
        try:
            part = os.read(parent, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(parent)
    out, _ = process.communicate()
    assert process.returncode == 0
    assert out.decode().strip() == "BarProgress"
    text = shown.decode()
    assert "4/4" in text
    assert "1 failed" in text
    assert "[bold]LR_2D" in text
    assert "ValueError: [no] markup" in text
