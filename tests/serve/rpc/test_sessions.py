from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from giveway.core.log import DriveLog
from giveway.core.predictions import Trajectories
from giveway.drive.driving import Drive, drive_cases
from giveway.planning.builtin import LatticePlanner
from giveway.predictors import make_predictor
from giveway.serve.rpc.client import Connection, predict_for
from giveway.sim.log_files import logs_below, read_log
from giveway.testing.motion import answer_of
from serve.rpc.conftest import SOURCE, Served, both_ways, short_case

Serve = Callable[..., Served]

OLD_CLIENT = """
import sys, time
import grpc
import simulator_pb2 as pb, simulator_pb2_grpc as stubs

stub = stubs.SimulatorServerStub(grpc.insecure_channel(sys.argv[1]))
real = idle = 0
while True:
    try:
        env = stub.FetchEnv(pb.FetchEnvRequest())
        if env.resp_code == 233:
            stub.PushMyTrajectory(pb.PushMyTrajectoryRequest())
            continue
        assert env.resp_code == 0 and len(env.my_traj.state) == 10
        last = env.my_traj.state[9]
        real, idle = real + (last.track_id != 0), idle + (last.agent_type == "233")
        mode = pb.Trajectory(state=[pb.State(track_id=last.track_id, x=last.x, y=last.y, psi_rad=last.psi_rad)] * 30)
        answer = stub.PushMyTrajectory(pb.PushMyTrajectoryRequest(pred_trajs=[mode], probability=[1.0]))
        assert answer.resp_code == 0, answer.msg
    except grpc.RpcError:
        break
print(real, idle)
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(str(files("giveway"))).parent), "GRPC_VERBOSITY": "NONE"}


def in_process(predictor: str, names: list[str]) -> list[DriveLog]:
    drives = drive_cases([short_case(n) for n in names], SOURCE, predictor=make_predictor(predictor), batch=2)
    return [drive.log for drive in drives if isinstance(drive, Drive)]


def logs_in(out: Path) -> dict[str, DriveLog]:
    logs = [read_log(path) for path in logs_below(out)]
    return {log.case.id: log for log in logs if log.meta["predictor"] != "recorded"}


@pytest.mark.parametrize(
    ("predictor", "more"), [("constant_velocity", ()), ("echo", ()), ("constant_velocity", ("--unary",))], ids=str
)
def test_a_client_process_gives_the_logs_of_a_run_in_process(
    serve: Serve, tmp_path: Path, predictor: str, more: tuple[str, ...]
) -> None:
    served = serve([short_case("one"), short_case("two")], deadline_s=30.0)
    command = [
        sys.executable,
        "-m",
        "giveway.serve.rpc.client",
        "--address",
        served.address,
        "--predictor",
        predictor,
        *more,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment(), check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "20 predictions in 2 cases, 0 refused\n"
    session = served.result()
    logs = logs_in(tmp_path / "out")
    expected = in_process(predictor, ["one", "two"])
    assert [logs[log.case.id].digest for log in expected] == [log.digest for log in expected]
    assert session.document["predictors"][0]["fallbacks"] == 0
    assert session.document["wire"]["counts"]["answered"] == 20
    assert session.document["wire"]["counts"].get("streams", 0) == (0 if more else 1)
    assert session.document["wire"]["goodbye"]


def test_the_two_predictors_do_not_drive_alike() -> None:
    (one,), (other,) = in_process("constant_velocity", ["one"]), in_process("echo", ["one"])
    assert one.digest != other.digest


def test_an_unmodified_client_of_2020_completes_a_case(serve: Serve, tmp_path: Path) -> None:
    protoc = pytest.importorskip("grpc_tools.protoc")
    proto = Path(str(files("giveway.serve.rpc").joinpath("simulator.proto")))
    outputs = [f"--python_out={tmp_path}", f"--grpc_python_out={tmp_path}"]
    assert protoc.main(["protoc", f"-I{proto.parent}", *outputs, str(proto)]) == 0
    (tmp_path / "old_client.py").write_text(OLD_CLIENT)
    served = serve([short_case("one"), short_case("two")], compat=True, deadline_s=None)
    client = subprocess.Popen(
        [sys.executable, str(tmp_path / "old_client.py"), served.address],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    session = served.result()
    served.server.stop()
    real, _ = client.communicate(timeout=30)[0].split()
    assert client.returncode == 0
    assert int(real) == 20
    logs = logs_in(tmp_path / "out")
    assert {name: log.digest for name, log in logs.items()} == {
        log.case.id: log.digest for log in in_process("echo", ["one", "two"])
    }
    assert session.document["wire"]["mode"] == "compat"


def test_a_stopped_session_is_resumed_by_the_next_server(serve: Serve, tmp_path: Path) -> None:
    names = ["one", "two"]
    first = serve([short_case("one")], deadline_s=30.0)
    predict_for(Connection(first.address), make_predictor("echo"))
    first.result()
    second = serve([short_case(name) for name in names], deadline_s=30.0)
    report = predict_for(Connection(second.address), make_predictor("echo"))
    session = second.result()
    assert report.cases == ("two",)
    assert (session.run.done, session.run.skipped) == (2, 2), "one case each, driven and recorded"
    assert set(logs_in(tmp_path / "out")) == set(names)


def test_sessions_of_other_names_and_rules_share_a_folder(serve: Serve, tmp_path: Path) -> None:
    for name, compat, deadline in (("a", False, 30.0), ("b", False, 30.0), ("b", False, 20.0), ("b", True, 20.0)):
        served = serve([short_case("one")], name=name, compat=compat, deadline_s=deadline)
        predict_for(Connection(served.address), make_predictor("echo"))
        session = served.result()
        assert (session.row["predictor"], session.row["cases"]) == (name, 1)
        assert session.run.done >= 1, "rules of the wire are part of what a drive is called by"
    assert len(session.document["predictors"]) == 4
    assert session.row["variant"] == "compat, deadline 20 s"


@both_ways
def test_one_server_drives_for_one_client_after_the_other(serve: Serve, tmp_path: Path, stream: bool) -> None:
    served = serve(deadline_s=30.0)
    predict_for(Connection(served.address, stream=stream), make_predictor("echo"))
    served.result()
    import threading

    results = []
    thread = threading.Thread(target=lambda: results.append(served.server.drive(tmp_path / "again")), daemon=True)
    thread.start()
    report = predict_for(Connection(served.address, stream=stream), make_predictor("constant_velocity"))
    thread.join(60)
    assert report.predicted == 10
    assert results[0].document["wire"]["counts"]["answered"] == 10


@both_ways
def test_several_modes_arrive_with_their_probabilities(serve: Serve, tmp_path: Path, stream: bool) -> None:
    class TwoModes:
        info = make_predictor("echo").info

        def predict(self, inputs, rng):
            one, other = (answer_of(make_predictor(name), inputs).states for name in ("echo", "constant_velocity"))
            weight = np.array([[0.25, 0.75]])
            return Trajectories.of_states(np.concatenate([one, other], axis=1), weight)

    served = serve(deadline_s=30.0)
    predict_for(Connection(served.address, stream=stream), TwoModes())
    served.result()
    log = logs_in(tmp_path / "out")["crossing"]
    assert log.predictions is not None
    assert log.predictions.states.shape[1] == 2
    assert np.array_equal(log.predictions.probability, np.tile([0.25, 0.75], (10, 1)))


def test_the_planner_is_named_in_the_log(serve: Serve, tmp_path: Path) -> None:
    served = serve(deadline_s=30.0, name="my-net", seed=5)
    predict_for(Connection(served.address), make_predictor("echo"))
    served.result()
    meta = logs_in(tmp_path / "out")["crossing"].meta
    info = LatticePlanner().info
    assert (meta["predictor"], meta["seed"], meta["planner_version"]) == ("my-net", 5, info.version)
