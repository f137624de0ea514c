"""Between arrays and messages: what a car to predict looks like on the wire, and what may come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import ProtocolError
from giveway.core.histories import FUTURE_STEPS, HISTORY_STEPS, STATE_SIZE, MotionInputs
from giveway.predictors.acceptance import MAX_MODES, row_faults
from giveway.serve.rpc.messages import FetchEnvResponse, Trajectory

OK, REFUSED, IDLE, BUSY, OVER = 0, -1, 2, 3, 233
"""Response codes; see ``simulator.proto``."""

PROTOCOL = "1"
"""Version of the strict protocol; clients say it in the metadata of every call."""

IDLE_TYPE = "233"
"""Agent type of the idle answer of 2020."""

LARGEST_ID = 2**64 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One car to predict.

    Attributes:
        case: case identifier.
        car: identifier in the recording.
        tick: of the case.
        track_id: the car on the wire.
        response: the answer to a fetch.
    """

    case: str
    car: str
    tick: int
    track_id: int
    response: Any

    @property
    def name(self) -> str:
        """For sentences."""
        return f"car {self.track_id} at tick {self.tick} of case {self.case}"


def track_ids(ids: Iterable[str]) -> dict[str, int]:
    """Numbers for the cars of a case.

    The identifiers themselves where all of them are distinct positive integers, as in INTERACTION; else 1, 2, ... in
    alphabetical order.
    """
    names = sorted(ids)
    numbers = [int(name) if name.isascii() and name.isdecimal() else 0 for name in names]
    if len(set(numbers)) == len(names) and all(0 < number <= LARGEST_ID for number in numbers):
        return dict(zip(names, numbers, strict=True))
    return {name: number for number, name in enumerate(names, 1)}


def request_of(
    inputs: MotionInputs, row: int, numbers: Mapping[str, int], site: str, made: dict[str, Any] | None = None
) -> Request:
    """The message that asks for one row of the inputs.

    Args:
        inputs: with the other cars filled in.
        row: which one.
        numbers: identifier to number on the wire.
        site: name of the map.
        made: trajectories of cars of the same case and tick, by identifier; filled here and used again.
    """
    car = inputs.car_ids[row]
    assert inputs.age_ticks is not None
    ages, known = inputs.age_ticks[row].tolist(), {} if made is None else made
    present = np.isfinite(inputs.others[row, :, -1, 0]).tolist()
    response = FetchEnvResponse(resp_code=OK, msg="predict my_traj", map_name=site)
    if car not in known:
        known[car] = _trajectory(inputs.history[row], inputs.size[row], numbers[car], ages[0])
    response.my_traj.CopyFrom(known[car])
    others: list[Any] = []
    for other, name in enumerate(inputs.others_ids[row]):
        if not name or not present[other]:
            continue
        if name not in known:
            history, size = inputs.others[row, other], inputs.others_size[row, other]
            known[name] = _trajectory(history, size, numbers[name], ages[1 + other])
        others.append(known[name])
    response.other_trajs.extend(others)
    case, tick = inputs.case_ids[row], int(inputs.tick[row])
    return Request(case=case, car=car, tick=tick, track_id=numbers[car], response=response)


def _trajectory(history: FloatArray, size: FloatArray, track_id: int, age: int) -> Any:
    """The message of a car's last ten states."""
    trajectory = Trajectory()
    length, width = size.tolist()
    for back, (x, y, vx, vy, heading) in enumerate(history.tolist(), 1 - HISTORY_STEPS):
        frame = max(age + back, 0)
        trajectory.state.add(
            track_id=track_id,
            frame_id=frame,
            timestamp_ms=100 * frame,
            agent_type="car",
            x=x,
            y=y,
            vx=vx,
            vy=vy,
            psi_rad=heading,
            length=length,
            width=width,
        )
    return trajectory


def idle_response(*, compat: bool, msg: str = "no car waits for a prediction") -> Any:
    """Nothing to do at the moment."""
    if not compat:
        return FetchEnvResponse(resp_code=IDLE, msg=msg)
    response = FetchEnvResponse(resp_code=OK, msg=msg)
    for _ in range(HISTORY_STEPS):
        response.my_traj.state.add(agent_type=IDLE_TYPE)
    return response


def prediction_of(push: Any, track_id: int) -> tuple[FloatArray, FloatArray]:
    """The modes of a push.

    Args:
        push: the message.
        track_id: of the car that was asked for.

    Returns:
        (K, 30, 5) states and (K,) probabilities, as sent.

    Raises:
        ProtocolError: what is wrong, in one sentence.
    """
    modes = len(push.pred_trajs)
    if not 1 <= modes <= MAX_MODES:
        raise ProtocolError(f"a push needs 1 to {MAX_MODES} modes, this one has {modes}")
    if len(push.probability) != modes:
        raise ProtocolError(f"{modes} modes need {modes} probabilities, found {len(push.probability)}")
    states = np.empty((modes, FUTURE_STEPS, STATE_SIZE))
    for k, mode in enumerate(push.pred_trajs):
        if len(mode.state) != FUTURE_STEPS:
            raise ProtocolError(f"mode {k} has {len(mode.state)} states, {FUTURE_STEPS} are needed")
        foreign = {s.track_id for s in mode.state} - {track_id}
        if foreign:
            raise ProtocolError(f"mode {k} is about car {min(foreign)}, but car {track_id} was asked for")
        states[k] = [(s.x, s.y, s.vx, s.vy, s.psi_rad) for s in mode.state]
    probability = np.array(push.probability, dtype=np.float64)
    (fault,) = row_faults(states[None], probability[None])
    if fault:
        raise ProtocolError(f"the prediction cannot be used: {fault}")
    return states, probability


def mode_of(states: FloatArray, track_id: int) -> Any:
    """One mode of a push, for clients."""
    trajectory = Trajectory()
    for x, y, vx, vy, heading in states.tolist():
        trajectory.state.add(track_id=track_id, x=x, y=y, vx=vx, vy=vy, psi_rad=heading)
    return trajectory
