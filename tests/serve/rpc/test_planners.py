"""Planners from outside: client processes that drive the ego over gRPC."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from giveway.drive.driving import Drive, drive_cases
from giveway.drive.spec import predictor_of
from giveway.planning import make_planner
from giveway.planning.protocol import Control, Episode, Plan, Situation, Trajectory
from giveway.roads.json_maps import map_bytes
from giveway.serve.rpc.planner_wire import (
    answer_message,
    episode_message,
    episode_of,
    reply_of,
    situation_message,
    situation_of,
)
from giveway.sim.log_files import logs_below, read_log
from giveway.testing.drive_scenes import crossing_scene
from serve.rpc.conftest import SOURCE, Served, short_case

Serve = Callable[..., Served]

OWN = '''
import os, time
import numpy as np
import giveway
from giveway.planning.protocol import Plan

class Own(giveway.Planner, name="own"):
    """Keeps state: brakes more with every tick, and looks at everything it is told."""

    def reset(self, episode):
        self.ticks, self.episode = 0, episode
        self.lanes = len(episode.map.lanes) if episode.map is not None else 0

    def plan(self, situation):
        assert situation.episode == self.episode.id and situation.tick == self.ticks
        self.ticks += 1
        near = np.nansum(situation.mode_states) + situation.history[situation.history_present].sum()
        accel = -0.1 * self.ticks + 0.1 * np.sin(near + self.episode.seed % 7 + self.lanes)
        speed = max(situation.speed_mps + 0.1 * accel, 0.0)
        first = situation.s_m + 0.05 * (situation.speed_mps + speed)
        return Plan(s_m=first + 0.1 * speed * np.arange(50), speed_mps=speed)

class Raises(Own, name="raises"):
    def plan(self, situation):
        if situation.tick == 3:
            raise ValueError("no idea")
        return super().plan(situation)

class Jumps(Own, name="jumps"):
    def plan(self, situation):
        plan = super().plan(situation)
        return plan if situation.tick < 3 else Plan(s_m=plan.s_m + 5.0, speed_mps=plan.speed_mps)

class Sleeps(Own, name="sleeps"):
    def plan(self, situation):
        if situation.tick == 3:
            time.sleep(1.5)
        return super().plan(situation)

class Dies(Own, name="dies"):
    def plan(self, situation):
        if situation.tick == 3:
            os.kill(os.getpid(), 9)
        return super().plan(situation)
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_planner.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_planner", raising=False)
    return tmp_path


def client(module: Path, address: str, planner: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path(str(files("giveway"))).parent), str(module)])
    return subprocess.Popen(
        [sys.executable, "-m", "giveway.serve.rpc.client", "--address", address, "--planner", f"own_planner:{planner}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "GRPC_VERBOSITY": "NONE"},
    )


def driven(serve: Serve, module: Path, planner: str, **session: Any) -> tuple[Any, subprocess.Popen[str], str]:
    """A session with one client process; the session, the process and what it printed."""
    served = serve(predictor=predictor_of("constant_velocity", None), name="own", **session)
    process = client(module, served.address, planner)
    printed, _ = process.communicate(timeout=120)
    return served.result(), process, printed


def test_a_planner_over_the_wire_drives_the_same_bytes_as_in_process(
    serve: Serve, module: Path, tmp_path: Path
) -> None:
    cases = [short_case("one", 2.0), short_case("two", 1.0)]
    session, process, printed = driven(serve, module, "Own", cases=cases)
    assert process.returncode == 0
    assert printed == "30 plans in 2 cases, 0 failed\n", session.row["failed_cases"]
    predictor = predictor_of("constant_velocity", None).model
    here = drive_cases(cases, SOURCE, predictor=predictor, planner=make_planner("own_planner:Own"))
    logs = {log.case.id: log for log in map(read_log, logs_below(tmp_path / "out")) if log.meta["planner"] == "own"}
    for drive in here:
        assert isinstance(drive, Drive)
        there = logs[drive.log.case.id]
        assert there.tracks.xy.tobytes() == drive.log.tracks.xy.tobytes()
        assert there.plans.tobytes() == drive.log.plans.tobytes()
    assert session.document["wire"]["counts"]["answered"] == 30


@pytest.mark.parametrize(
    ("planner", "sentence"),
    [
        ("Raises", "tick 3: raised: ValueError: no idea"),
        ("Jumps", "tick 3: invalid: a plan that jumps"),
        ("Sleeps", "tick 3: hung: no answer within 0.5 s"),
        ("Dies", "tick 3: raised: the client's stream ended during the episode"),
    ],
)
def test_a_planner_that_fails_is_a_finding_and_its_sentence_that_of_the_case(
    serve: Serve, module: Path, planner: str, sentence: str
) -> None:
    session, process, _ = driven(serve, module, planner, cases=[short_case()], deadline_s=0.5, warm_up_s=60.0)
    (reason,) = session.row["failed_cases"].values()
    assert sentence in reason
    assert process.returncode == (-9 if planner == "Dies" else 0)


def test_the_next_case_is_driven_by_the_next_client_when_one_dies(serve: Serve, module: Path) -> None:
    served = serve([short_case("one"), short_case("two")], predictor=predictor_of("echo", None), name="own")
    client(module, served.address, "Dies").communicate(timeout=120)
    client(module, served.address, "Own").communicate(timeout=120)
    session = served.result()
    assert list(session.row["failed_cases"]) == ["one"]


def test_what_is_said_over_the_wire_is_what_was_meant() -> None:
    rng = np.random.default_rng(0)
    road = crossing_scene().road
    episode = Episode(
        id="e", seed=2**63 + 5, route=rng.normal(size=(7, 6)), route_step_m=0.5, map=road, size_m=np.array([4.5, 1.8]),
        goal_m=3.0, routes={4: rng.normal(size=(3, 6))},
    )  # fmt: skip
    back = episode_of(episode_message(episode))
    assert (back.id, back.seed, back.limits, back.goal_m) == ("e", 2**63 + 5, episode.limits, 3.0)
    assert back.routes[4].tobytes() == episode.routes[4].tobytes()
    assert road is not None
    assert back.map is not None
    assert map_bytes(back.map) == map_bytes(road)
    for answer in (
        Plan(s_m=rng.normal(size=50), speed_mps=0.1, offset_m=rng.normal(size=50), route=0),
        Trajectory(states=rng.normal(size=(4, 4))),
        Control(accel_mps2=0.1, steer_rate_radps=-0.2),
    ):
        fault, _, read = reply_of(answer_message(3, answer))
        assert fault is None
        assert repr(read) == repr(answer)


def test_answers_that_no_planner_gives_are_refused_with_a_sentence() -> None:
    message = answer_message(1, Control(accel_mps2=0.0, steer_rate_radps=0.0))
    message.plan.speed_mps = 1.0
    assert "plan and control" in reply_of(message)[1]
    message = answer_message(1, Trajectory(states=np.zeros((501, 4))))
    assert "501 points" in reply_of(message)[1]
    message.trajectory.shape[0] = 7
    assert "shape" in reply_of(message)[1]


def test_situations_keep_every_number() -> None:
    rng = np.random.default_rng(0)
    seen = Situation(
        path=rng.normal(size=(5, 6)), path_step_m=0.25, s_m=1.5, speed_mps=2.5, accel_mps2=-0.5,
        size_m=np.array([4.5, 1.8]), desired_speed_mps=8.0, previous_s_m=rng.normal(size=50),
        mode_states=np.full((2, 25, 4), np.nan), mode_facts=rng.normal(size=(2, 5)), own=1,
        states=rng.normal(size=(3, 5)), present=np.array([True, False, True]), sizes=rng.normal(size=(3, 2)),
        episode="e", tick=7, time_s=0.7, history=rng.normal(size=(3, 20, 5)),
        history_present=rng.normal(size=(3, 20)) > 0, route=2, lane=np.zeros(3),
        has_priority=np.array([False, True, False]), ids=("a", "b", "c"),
    )  # fmt: skip
    back = situation_of(situation_message(seen, with_path=True), None, None)
    for name in Situation.__dataclass_fields__:
        mine, theirs = getattr(seen, name), getattr(back, name)
        if isinstance(mine, np.ndarray):
            assert (mine.dtype, mine.shape, mine.tobytes()) == (theirs.dtype, theirs.shape, theirs.tobytes()), name
        else:
            assert mine == theirs, name
