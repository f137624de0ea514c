from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2

from giveway.serve.rpc import messages


def compiled(folder: Path) -> descriptor_pb2.FileDescriptorProto:
    protoc = pytest.importorskip("grpc_tools.protoc")
    out = folder / "simulator.binpb"
    source = files("giveway.serve.rpc").joinpath("simulator.proto")
    assert protoc.main(["protoc", f"-I{Path(str(source)).parent}", f"--descriptor_set_out={out}", str(source)]) == 0
    (found,) = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
    return found


def without_json_names(description: descriptor_pb2.FileDescriptorProto) -> descriptor_pb2.FileDescriptorProto:
    for message in description.message_type:
        for field in message.field:
            field.ClearField("json_name")
    return description


def test_the_classes_are_what_a_compiler_makes_of_the_specification(tmp_path: Path) -> None:
    assert without_json_names(compiled(tmp_path)) == messages.file_description()


def test_the_field_numbers_are_those_of_the_challenge() -> None:
    state = messages.State.DESCRIPTOR.fields_by_name
    assert {name: field.number for name, field in state.items()} == {
        "track_id": 1,
        "frame_id": 2,
        "timestamp_ms": 3,
        "agent_type": 4,
        "x": 5,
        "y": 6,
        "vx": 7,
        "vy": 8,
        "psi_rad": 9,
        "length": 10,
        "width": 11,
        "jerk": 12,
        "current_lanelet_id": 13,
        "s_of_current_lanelet": 14,
        "d_of_current_lanelet": 15,
    }
    response = messages.FetchEnvResponse.DESCRIPTOR.fields_by_name
    assert [(f, response[f].number) for f in ("resp_code", "msg", "map_name", "my_traj", "other_trajs")] == [
        ("resp_code", 1),
        ("msg", 2),
        ("map_name", 3),
        ("my_traj", 4),
        ("other_trajs", 5),
    ]
    assert messages.FETCH == "/service.SimulatorServer/FetchEnv"


def test_a_state_has_the_bytes_of_the_wire_format() -> None:
    state = messages.State(track_id=3, agent_type="car", x=1.0)
    assert state.SerializeToString() == b"\x08\x03\x22\x03car\x29" + b"\x00\x00\x00\x00\x00\x00\xf0\x3f"
