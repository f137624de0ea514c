"""A reference client: runs any registered predictor, or planner, against a server.

``python -m giveway.serve.rpc.client --address 127.0.0.1:50051 --predictor constant_velocity``
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.errors import MissingDependencyError, ProtocolError
from giveway.core.histories import (
    HISTORY_STEPS,
    STATE_SIZE,
    MotionInputs,
)
from giveway.core.lanes import LaneMap
from giveway.core.predictions import Prediction
from giveway.predictors.acceptance import on_drive_grid
from giveway.predictors.protocol import FittedPredictor
from giveway.serve.rpc.connection import Connection
from giveway.serve.rpc.messages import PushMyTrajectoryRequest
from giveway.serve.rpc.remote_planner import plan_for
from giveway.serve.rpc.wire import BUSY, IDLE, OK, OVER, mode_of

try:
    import grpc
except ImportError as error:
    raise MissingDependencyError("grpc", extra="rpc", purpose="predicting over gRPC") from error

ORIGIN_M = (1000.0, 1000.0)
"""What the wire's frame lies off the site's."""

BUSY_S = 0.2
"""How long to wait before asking again while another client is connected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReport:
    """What a client did in one session.

    Attributes:
        predicted: pushes that were taken.
        refused: sentences of pushes that were not.
        cases: in the order they came.
    """

    predicted: int
    refused: tuple[str, ...]
    cases: tuple[str, ...]


def inputs_of(response: Any, metadata: Mapping[str, str], roads: Mapping[str, LaneMap] | None = None) -> MotionInputs:
    """What a predictor is given for one fetch answer; the numbers are those of a run in process.

    Args:
        response: a fetch answer that asks for a prediction.
        metadata: of the answer, or what the stream said about it.
        roads: lane maps by site name, for predictors that want them.
    """
    cars = [response.my_traj, *response.other_trajs]
    states = np.array([(s.x, s.y, s.vx, s.vy, s.psi_rad) for car in cars for s in car.state], dtype=np.float64)
    states = states.reshape(len(cars), HISTORY_STEPS, STATE_SIZE)
    sizes = np.array([(car.state[-1].length, car.state[-1].width) for car in cars], dtype=np.float64)
    return MotionInputs(
        history=states[:1],
        size=sizes[:1],
        others=states[None, 1:],
        others_size=sizes[None, 1:],
        road=((roads or {}).get(response.map_name),),
        origin_m=np.array(ORIGIN_M),
        case_ids=(metadata.get("giveway-case", ""),),
        car_ids=(metadata.get("giveway-car", str(response.my_traj.state[-1].track_id)),),
        tick=np.array([int(metadata.get("giveway-tick", "0"))]),
        seed=int(metadata.get("giveway-seed", "0")),
    )


def push_of(prediction: Prediction, inputs: MotionInputs, track_id: int) -> Any:
    """The message for a prediction of one car.

    Raises:
        PredictionError: another kind of prediction than trajectories of 3 s.
    """
    message = PushMyTrajectoryRequest()
    states, weights = on_drive_grid(prediction, inputs)
    for mode, probability in zip(states[0], weights[0], strict=True):
        message.pred_trajs.append(mode_of(mode, track_id))
        message.probability.append(float(probability))
    return message


def predict_for(
    connection: Connection, predictor: FittedPredictor, *, roads: Mapping[str, LaneMap] | None = None
) -> ClientReport:
    """Answer a server until its session is over.

    Args:
        connection: to the server.
        predictor: any trajectory predictor that needs no true future.
        roads: lane maps by site name.

    Raises:
        ProtocolError: the server refused the client or answered what the protocol does not know.
    """
    if "future" in predictor.info.reads:
        raise ProtocolError(
            f"{predictor.info.title} needs the true future", found="a server never sends it", hint="giveway drive run"
        )
    predicted, refused, cases = 0, list[str](), list[str]()
    message: Any = None
    while True:
        turn = connection.turn(message)
        env, message = turn.env, None
        if turn.pushed is not None and turn.pushed.resp_code == OK:
            predicted += 1
        elif turn.pushed is not None:
            refused.append(turn.pushed.msg)
        if env.resp_code == OVER:
            connection.say_goodbye()
            return ClientReport(predicted=predicted, refused=tuple(refused), cases=tuple(cases))
        if env.resp_code == BUSY:
            time.sleep(BUSY_S)
        elif env.resp_code not in (OK, IDLE):
            raise ProtocolError("the server refused this client", found=env.msg)
        elif env.resp_code == OK and env.my_traj.state[-1].track_id:
            inputs = inputs_of(env, turn.about, roads)
            if not cases or cases[-1] != inputs.case_ids[0]:
                cases.append(inputs.case_ids[0])
            answer = predictor.predict(inputs, inputs.generator())
            message = push_of(answer, inputs, env.my_traj.state[-1].track_id)


def main(argv: list[str] | None = None) -> None:
    """The command line of this module."""
    import argparse
    import os
    import sys

    from giveway.core.errors import GivewayError
    from giveway.planning import make_planner
    from giveway.predictors import make_predictor

    parser = argparse.ArgumentParser(
        prog="python -m giveway.serve.rpc.client", description="Predict or plan for a Give Way server."
    )
    parser.add_argument("--address", default="127.0.0.1:50051")
    parser.add_argument("--predictor", default="constant_velocity", help="registered name or package.module:Class")
    parser.add_argument("--checkpoint", type=Path, help="for predictors that were trained")
    parser.add_argument("--planner", help="drive the ego instead: registered name, NAME:FILE or package.module:Class")
    parser.add_argument("--token-env", help="environment variable that holds the token")
    parser.add_argument("--root-certificate", type=Path, help="PEM file; encrypts")
    parser.add_argument("--unary", action="store_true", help="two calls per prediction, although a stream is faster")
    options = parser.parse_args(argv)
    try:
        connection = Connection(
            options.address,
            token=os.environ.get(options.token_env) if options.token_env else None,
            root_certificate=options.root_certificate.read_bytes() if options.root_certificate else None,
            stream=not options.unary,
        )
        if options.planner:
            driven = plan_for(connection, make_planner(options.planner))
            said = f"{driven.planned} plans in {len(driven.episodes)} cases, {len(driven.failed)} failed"
        else:
            report = predict_for(connection, make_predictor(options.predictor, options.checkpoint))
            said = f"{report.predicted} predictions in {len(report.cases)} cases, {len(report.refused)} refused"
        connection.close()
    except grpc.RpcError as error:
        code, detail = getattr(error, "code", None), getattr(error, "details", None)
        sys.stderr.write(f"the server at {options.address} does not answer: {code and code()} {detail and detail()}\n")
        sys.exit(2)
    except (GivewayError, OSError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.exit(2)
    sys.stdout.write(f"{said}\n")


if __name__ == "__main__":
    main()
