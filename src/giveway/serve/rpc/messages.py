"""The messages of ``simulator.proto`` as Python classes, without generated code.

Generated code is tied to the release of protobuf that made it. The few messages here are described by a table instead,
and a test compiles the ``.proto`` file and compares the two descriptions. They live in a pool of their own, so
that a program may load the challenge's generated code beside them.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from giveway.core.errors import MissingDependencyError

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError as error:
    raise MissingDependencyError("google.protobuf", extra="rpc", purpose="talking to predictors over gRPC") from error

SERVICE = "service.SimulatorServer"
FETCH = f"/{SERVICE}/FetchEnv"
PUSH = f"/{SERVICE}/PushMyTrajectory"
PREDICT = f"/{SERVICE}/Predict"
PLANNER_SERVICE = "service.PlannerServer"
PLAN = f"/{PLANNER_SERVICE}/Plan"

PROTO_NAME = "simulator.proto"

_FIELDS: dict[str, tuple[str, ...]] = {
    "State": (
        *("uint64 track_id", "uint64 frame_id", "uint64 timestamp_ms", "string agent_type"),
        *("double x", "double y", "double vx", "double vy", "double psi_rad", "double length", "double width"),
        *("double jerk", "uint64 current_lanelet_id", "double s_of_current_lanelet", "double d_of_current_lanelet"),
    ),
    "Trajectory": ("repeated State state",),
    "FetchEnvRequest": (),
    "FetchEnvResponse": (
        *("int32 resp_code", "string msg", "string map_name", "Trajectory my_traj", "repeated Trajectory other_trajs"),
    ),
    "PushMyTrajectoryRequest": ("repeated Trajectory pred_trajs", "repeated double probability"),
    "PushMyTrajectoryResponse": ("int32 resp_code", "string msg"),
    "PredictRequest": ("PushMyTrajectoryRequest push",),
    "PredictResponse": (
        *("PushMyTrajectoryResponse pushed", "FetchEnvResponse env", "string case_id", "string car_id", "uint64 tick"),
    ),
    "Array": ("repeated uint64 shape", "repeated double values"),
    "Episode": (
        *("string id", "uint64 seed", "Array route", "double route_step_m", "string map_json", "Array size_m"),
        *("Array limits", "double dt_s", "double goal_m", "repeated uint64 route_numbers", "repeated Array routes"),
    ),
    "Situation": (
        *("string episode", "uint64 tick", "double time_s", "uint64 own", "repeated string ids", "double s_m"),
        *("double speed_mps", "double accel_mps2", "double desired_speed_mps", "Array size_m", "Array previous_s_m"),
        *("Array states", "Array present", "Array sizes", "Array has_priority", "Array history"),
        *("Array history_present", "Array lane", "uint64 route", "Array path", "double path_step_m"),
        *("Array mode_states", "Array mode_facts"),
    ),
    "Plan": ("Array s_m", "double speed_mps", "Array offset_m", "repeated uint64 route"),
    "Control": ("double accel_mps2", "double steer_rate_radps"),
    "PlanRequest": ("uint64 number", "Plan plan", "Array trajectory", "Control control", "string fault", "string msg"),
    "PlanResponse": ("int32 resp_code", "string msg", "uint64 number", "Episode begins", "Situation situation"),
}
"""Message to fields, numbered from 1 in this order."""

_SERVICES = {
    "SimulatorServer": {
        "FetchEnv": ("FetchEnvRequest", "FetchEnvResponse"),
        "PushMyTrajectory": ("PushMyTrajectoryRequest", "PushMyTrajectoryResponse"),
        "Predict": ("stream PredictRequest", "stream PredictResponse"),
    },
    "PlannerServer": {"Plan": ("stream PlanRequest", "stream PlanResponse")},
}


def file_description() -> descriptor_pb2.FileDescriptorProto:
    """What a compiler makes of ``simulator.proto``."""
    field_type = descriptor_pb2.FieldDescriptorProto
    scalars = {"double": field_type.TYPE_DOUBLE, "uint64": field_type.TYPE_UINT64}
    scalars |= {"int32": field_type.TYPE_INT32, "string": field_type.TYPE_STRING}
    description = descriptor_pb2.FileDescriptorProto(name=PROTO_NAME, package="service", syntax="proto3")
    for name, fields in _FIELDS.items():
        message = description.message_type.add(name=name)
        for number, text in enumerate(fields, 1):
            *repeated, kind, field = text.split()
            entry = message.field.add(name=field, number=number)
            entry.label = field_type.LABEL_REPEATED if repeated else field_type.LABEL_OPTIONAL
            entry.type = scalars.get(kind, field_type.TYPE_MESSAGE)
            if kind not in scalars:
                entry.type_name = f".service.{kind}"
    calls = [(service, *call) for service, methods in _SERVICES.items() for call in methods.items()]
    services = {name: description.service.add(name=name) for name in _SERVICES}
    for service_name, name, (asked, answered) in calls:
        service = services[service_name]
        *from_client, asked = asked.split()
        *from_server, answered = answered.split()
        call = service.method.add(name=name, input_type=f".service.{asked}", output_type=f".service.{answered}")
        call.options.SetInParent()
        if from_client:
            call.client_streaming = True
        if from_server:
            call.server_streaming = True
    return description


def proto_text() -> str:
    """The specification, as shipped."""
    return files("giveway.serve.rpc").joinpath(PROTO_NAME).read_text(encoding="utf-8")


_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(file_description())


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"service.{name}"))


State = _message("State")
Trajectory = _message("Trajectory")
FetchEnvRequest = _message("FetchEnvRequest")
FetchEnvResponse = _message("FetchEnvResponse")
PushMyTrajectoryRequest = _message("PushMyTrajectoryRequest")
PushMyTrajectoryResponse = _message("PushMyTrajectoryResponse")
PredictRequest = _message("PredictRequest")
PredictResponse = _message("PredictResponse")
Array = _message("Array")
EpisodeMessage = _message("Episode")
SituationMessage = _message("Situation")
PlanRequest = _message("PlanRequest")
PlanResponse = _message("PlanResponse")
