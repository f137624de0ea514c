"""Who holds a session and what ends it, on a clock that the test sets."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

import grpc
import numpy as np
import pytest

from giveway.serve.rpc.connection import Connection
from giveway.serve.rpc.exchange import Exchange, ServerClosed
from giveway.serve.rpc.messages import FetchEnvResponse, PushMyTrajectoryRequest
from giveway.serve.rpc.server import PredictionServer, ServerOptions
from giveway.serve.rpc.wire import BUSY, OK, REFUSED, Request, mode_of

REQUEST = Request(case="crossing", car="other", tick=0, track_id=7, response=FetchEnvResponse(msg="predict my_traj"))

PREDICTION = PushMyTrajectoryRequest(pred_trajs=[mode_of(np.ones((30, 5)), 7)], probability=[1.0])


class Clock:
    """Shows what it was set to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def held(clock: Clock) -> Iterator[Callable[..., Exchange]]:
    """Exchanges with one car, in the hands of client ``first``."""
    made: list[tuple[Exchange, threading.Thread]] = []

    def make(*, deadline_s: float | None) -> Exchange:
        exchange = Exchange(compat=False, deadline_s=deadline_s, clock=clock)

        def ask() -> None:
            with contextlib.suppress(ServerClosed):
                exchange.ask([REQUEST])

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        made.append((exchange, thread))
        assert exchange.fetch("first")[1] is REQUEST
        return exchange

    yield make
    for exchange, thread in made:
        exchange.close()
        thread.join(10)


def test_nobody_takes_over_while_the_deadline_of_a_car_in_hand_runs(
    held: Callable[..., Exchange], clock: Clock
) -> None:
    exchange = held(deadline_s=30.0)
    clock.now_s += 29.9
    assert exchange.fetch("second")[0].resp_code == BUSY
    assert exchange.push("second", PREDICTION).resp_code == REFUSED
    assert exchange.push("first", PREDICTION).resp_code == OK
    assert exchange.tally.count["takeovers"] == 0


def test_a_car_without_a_deadline_stays_in_hand_for_a_minute_of_silence(
    held: Callable[..., Exchange], clock: Clock
) -> None:
    exchange = held(deadline_s=None)
    clock.now_s += 59.0
    assert exchange.fetch("second")[0].resp_code == BUSY
    clock.now_s += 2.0
    assert exchange.fetch("second")[1] is REQUEST
    assert exchange.tally.count["takeovers"] == 1


def test_a_client_without_a_car_in_hand_is_followed_after_two_seconds_of_silence(
    held: Callable[..., Exchange], clock: Clock
) -> None:
    exchange = held(deadline_s=None)
    assert exchange.push("first", PREDICTION).resp_code == OK
    exchange.finish()
    clock.now_s += 1.9
    assert exchange.fetch("second")[0].resp_code == BUSY
    clock.now_s += 0.2
    assert exchange.fetch("second")[0].msg == "the session is over"


def test_a_late_prediction_is_not_the_goodbye(clock: Clock) -> None:
    exchange = Exchange(compat=False, deadline_s=1.0, clock=clock)
    exchange.finish()
    answer = exchange.push("first", PREDICTION)
    assert (answer.resp_code, exchange.tally.count["unexpected_pushes"]) == (REFUSED, 1)
    assert "no car is waiting" in answer.msg
    assert not exchange.wait_for_goodbye(0.0)
    assert exchange.push("first", PushMyTrajectoryRequest()).msg == "goodbye"
    assert exchange.wait_for_goodbye(0.0)


@pytest.mark.parametrize("stream", [False, True], ids=["calls", "stream"])
def test_after_a_late_prediction_a_strict_client_is_told_that_the_session_is_over(stream: bool) -> None:
    exchange = Exchange(compat=False, deadline_s=1.0)
    exchange.finish()
    with serving(exchange) as address:
        turn = Connection(address, stream=stream).turn(PREDICTION)
    assert turn.pushed.resp_code == REFUSED
    assert turn.env.resp_code == 233


def test_in_compat_a_late_prediction_is_thrown_away_and_the_empty_push_ends_the_session() -> None:
    exchange = Exchange(compat=True, deadline_s=1.0)
    exchange.finish()
    with serving(exchange) as address:
        connection = Connection(address, stream=False)
        assert connection.push(PREDICTION).resp_code == OK
        assert not exchange.wait_for_goodbye(0.0)
        with pytest.raises(grpc.RpcError) as caught:
            connection.push(PushMyTrajectoryRequest())
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert exchange.wait_for_goodbye(0.0)


@contextlib.contextmanager
def serving(exchange: Exchange) -> Iterator[str]:
    """The address of a server of this exchange."""
    server = PredictionServer(exchange, ServerOptions(port=0))
    server.start()
    try:
        yield f"127.0.0.1:{server.port}"
    finally:
        server.stop()
