"""Between planners and messages: episodes and situations out, answers back, every number as it is."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from giveway.core.errors import ProtocolError
from giveway.core.lanes import LaneMap
from giveway.planning.limits import MotionBounds
from giveway.planning.protocol import Answer, Control, Episode, Plan, Situation, Trajectory
from giveway.roads.json_maps import map_bytes, road_from_plain
from giveway.serve.rpc.messages import EpisodeMessage, PlanRequest, SituationMessage
from giveway.sim.drivers.hosts import Fault, Finding, Reply

MAX_POINTS = 500
"""Of a trajectory."""

NUMBERS = ("time_s", "s_m", "speed_mps", "accel_mps2", "desired_speed_mps", "path_step_m")
WHOLE = ("tick", "own", "route")
ARRAYS = (
    "size_m", "previous_s_m", "states", "present", "sizes", "has_priority", "history", "history_present", "lane",
    "mode_states", "mode_facts",
)  # fmt: skip
BOOLEAN = ("present", "has_priority", "history_present")


def fill(message: Any, values: Any) -> None:
    """Write an array."""
    array = np.asarray(values, dtype=np.float64)
    message.shape.extend(array.shape)
    message.values.extend(array.ravel().tolist())


def array_of(message: Any) -> Any:
    """Read an array.

    Raises:
        ProtocolError: the shape does not fit the number of values.
    """
    shape = tuple(message.shape)
    if len(shape) > 4 or math.prod(shape) != len(message.values):
        raise ProtocolError(f"an array of shape {shape} with {len(message.values)} values")
    return np.array(message.values, dtype=np.float64).reshape(shape)


def episode_message(episode: Episode) -> Any:
    """What a planner is told when an episode begins."""
    message = EpisodeMessage(
        id=episode.id,
        seed=episode.seed % 2**64,
        route_step_m=episode.route_step_m,
        map_json="" if episode.map is None else map_bytes(episode.map).decode(),
        dt_s=episode.dt_s,
        goal_m=episode.goal_m,
        route_numbers=list(episode.routes),
    )
    fill(message.route, episode.route)
    fill(message.size_m, episode.size_m)
    fill(message.limits, list(episode.limits))
    for table in episode.routes.values():
        fill(message.routes.add(), table)
    return message


def episode_of(message: Any) -> Episode:
    """The inverse of :func:`episode_message`."""
    return Episode(
        id=message.id,
        seed=message.seed,
        route=array_of(message.route),
        route_step_m=message.route_step_m,
        map=road_from_plain(json.loads(message.map_json)) if message.map_json else None,
        size_m=array_of(message.size_m),
        limits=MotionBounds(*array_of(message.limits).tolist()),
        dt_s=message.dt_s,
        goal_m=message.goal_m,
        routes={number: array_of(table) for number, table in zip(message.route_numbers, message.routes, strict=True)},
    )


def situation_message(seen: Situation, *, with_path: bool) -> Any:
    """What a planner is told at a tick; the path only where it is another one than before."""
    message = SituationMessage(episode=seen.episode, ids=seen.ids)
    for name in (*NUMBERS, *WHOLE):
        setattr(message, name, getattr(seen, name))
    for name in (*ARRAYS, *(("path",) if with_path else ())):
        fill(getattr(message, name), getattr(seen, name))
    return message


def situation_of(message: Any, path: Any, road: LaneMap | None) -> Situation:
    """The inverse of :func:`situation_message`.

    Args:
        message: with or without a path.
        path: of the situation before; used if the message has none.
        road: map of the episode.
    """
    arrays: dict[str, Any] = {name: array_of(getattr(message, name)) for name in ARRAYS}
    arrays |= {name: arrays[name] != 0.0 for name in BOOLEAN}
    plain: Mapping[str, Any] = {name: getattr(message, name) for name in (*NUMBERS, *WHOLE, "episode")}
    if message.HasField("path"):
        path = array_of(message.path)
    return Situation(**arrays, **plain, path=path, map=road, ids=tuple(message.ids))


def answer_message(number: int, answer: Answer | Finding) -> Any:
    """What a client says to a situation."""
    message = PlanRequest(number=number)
    if isinstance(answer, Finding):
        message.fault, message.msg = str(answer.fault), answer.sentence
    elif isinstance(answer, Plan):
        fill(message.plan.s_m, answer.s_m)
        message.plan.speed_mps = answer.speed_mps
        if answer.offset_m is not None:
            fill(message.plan.offset_m, answer.offset_m)
        if answer.route is not None:
            message.plan.route.append(answer.route)
    elif isinstance(answer, Trajectory):
        fill(message.trajectory, answer.states)
    else:
        message.control.accel_mps2, message.control.steer_rate_radps = answer.accel_mps2, answer.steer_rate_radps
    return message


def reply_of(message: Any) -> Reply:
    """What a client said; nothing in it is trusted."""
    kinds = [name for name in ("plan", "trajectory", "control") if message.HasField(name)]
    if message.fault:
        fault = Fault.INVALID if message.fault == str(Fault.INVALID) else Fault.RAISED
        return fault, message.msg[:500] or "the client gave no reason", None
    if len(kinds) != 1:
        found = " and ".join(kinds) or "nothing"
        return Fault.INVALID, f"an answer holds one of plan, trajectory, control and fault, this one {found}", None
    try:
        return None, "", _answer(message, kinds[0])
    except ProtocolError as error:
        return Fault.INVALID, error.what, None


def _answer(message: Any, kind: str) -> Answer:
    if kind == "control":
        control = message.control
        return Control(accel_mps2=control.accel_mps2, steer_rate_radps=control.steer_rate_radps)
    if kind == "trajectory":
        states = array_of(message.trajectory)
        if len(states) > MAX_POINTS:
            raise ProtocolError(f"a trajectory of {len(states)} points; at most {MAX_POINTS}")
        return Trajectory(states=states)
    plan = message.plan
    return Plan(
        s_m=array_of(plan.s_m),
        speed_mps=plan.speed_mps,
        offset_m=array_of(plan.offset_m) if plan.HasField("offset_m") else None,
        route=int(plan.route[0]) if plan.route else None,
    )
