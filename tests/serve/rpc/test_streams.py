"""What is true of streams only: who may keep one open, what ends one, and when there is none."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable
from typing import Any

import grpc
import pytest

from giveway.core.errors import ProtocolError
from giveway.predictors import make_predictor
from giveway.serve.rpc.client import Connection, inputs_of, predict_for, push_of
from giveway.serve.rpc.messages import PREDICT, PredictRequest, PredictResponse
from giveway.serve.rpc.streams import MAX_STREAMS, OpenStream, OpenStreams
from giveway.serve.rpc.wire import PROTOCOL
from serve.rpc.conftest import Served, Talk

Serve = Callable[..., Served]

ECHO = make_predictor("echo")


def raw_stream(channel: grpc.Channel, messages: Iterable[bytes], client: str = "raw") -> Any:
    """A stream on which these bytes are said without waiting for answers."""
    call = channel.stream_stream(PREDICT, response_deserializer=PredictResponse.FromString)
    return call(iter(messages), metadata=[("giveway-protocol", PROTOCOL), ("giveway-client", client)], timeout=20)


def session_of(call: Any) -> str:
    """What the server sent to recognize the client of a stream."""
    return dict(call.initial_metadata())["giveway-session"]


def test_a_session_on_a_stream_is_one_stream_and_no_idle_chatter(serve: Serve) -> None:
    served = serve(deadline_s=30.0)
    connection = Connection(served.address)
    report = predict_for(connection, ECHO)
    counts = served.result().document["wire"]["counts"]
    assert (report.predicted, report.refused) == (10, ())
    assert connection.streams
    assert (counts["streams"], counts["answered"]) == (1, 10)
    assert "repeated_fetches" not in counts


def test_a_server_of_2020_offers_no_stream_and_the_client_makes_calls(serve: Serve) -> None:
    served = serve(deadline_s=None, compat=True)
    connection = Connection(served.address)
    report = predict_for(connection, ECHO)
    assert report.predicted == 10
    assert not connection.streams
    assert "streams" not in served.result().document["wire"]["counts"]


def test_the_server_says_its_rules_when_a_stream_is_opened_and_the_car_in_every_answer(serve: Serve) -> None:
    served = serve(deadline_s=1.5, seed=7)
    connection = Connection(served.address)
    turn = connection.turn()
    while turn.env.resp_code != 0:
        turn = connection.turn()
    expected = {"giveway-mode": "strict", "giveway-deadline-ms": "1500", "giveway-seed": "7"}
    expected |= {"giveway-case": "crossing", "giveway-car": "other", "giveway-tick": "0"}
    assert {key: turn.about[key] for key in expected} == expected


def test_messages_sent_ahead_are_answered_one_by_one(serve: Serve) -> None:
    served = serve(deadline_s=30.0)
    with grpc.insecure_channel(served.address) as channel:
        call = raw_stream(channel, [b""] * 3)
        answers, session = list(call), session_of(call)
    assert len(answers) == 3
    cars = [answer.env for answer in answers if answer.env.resp_code == 0]
    assert cars
    assert all(car == cars[0] for car in cars), "fetched again before its push, so the same car"
    predict_for(Connection(served.address, name="raw", session=session), ECHO)
    assert served.result().document["predictors"][0]["fallbacks"] == 0


@pytest.mark.parametrize("data", [b"\xff\xff\xff", b"\x10\x01"], ids=["no message", "unknown field"])
def test_bytes_of_another_protocol_get_a_sentence_and_the_stream_goes_on(serve: Serve, data: bytes) -> None:
    served = serve(deadline_s=30.0)
    with grpc.insecure_channel(served.address) as channel:
        call = raw_stream(channel, [data, b""])
        (refused, answered), session = call, session_of(call)
    assert (refused.pushed.resp_code, refused.env.resp_code) == (-1, -1)
    assert "does not follow simulator.proto" in refused.env.msg
    assert answered.env.resp_code in (0, 2)
    predict_for(Connection(served.address, name="raw", session=session), ECHO)
    assert served.result().document["wire"]["counts"]["unreadable"] == 1


def test_a_client_may_hang_up_after_any_message_and_come_back(serve: Serve) -> None:
    served = serve(deadline_s=30.0)
    session = None
    for _ in range(9):
        talk = Talk(served.address, stream=True, name="me", session=session)
        car = talk.fetch_car()
        inputs = inputs_of(car, {})
        prediction = ECHO.predict(inputs, inputs.generator())
        assert talk.push(push_of(prediction, inputs, car.my_traj.state[-1].track_id)).resp_code == 0
        session = talk.connection.session
        talk.connection.close()
    predict_for(Connection(served.address, name="me", session=session), ECHO)
    counts = served.result().document["wire"]["counts"]
    assert (counts["answered"], counts["streams"]) == (10, 10)


def test_silent_streams_neither_lock_others_out_nor_disturb_the_session(serve: Serve) -> None:
    served = serve(deadline_s=30.0, takeover_s=30.0)
    first = Talk(served.address, stream=True, name="first")
    car = first.fetch_car()
    with grpc.insecure_channel(served.address) as channel:
        nothing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        silent = [raw_stream(channel, iter(nothing.get, None), client=f"silent {k}") for k in range(3 * MAX_STREAMS)]
        for call in silent:
            call.initial_metadata()
        assert Talk(served.address, stream=False, name="third").fetch().resp_code == 3, "calls are still answered"
        assert first.fetch_car() == car, "the stream that holds the session is the last one to be ended"
        ended = [call for call in silent if not call.is_active()]
        assert len(ended) >= 2 * MAX_STREAMS
        assert {call.code() for call in ended} == {grpc.StatusCode.CANCELLED}
        predict_for(first.connection, ECHO)
        session = served.result()
        for _ in silent:
            nothing.put(None)
    assert session.document["predictors"][0]["fallbacks"] == 0
    counts = session.document["wire"]["counts"]
    assert counts["streams"] == 1 + 3 * MAX_STREAMS
    assert counts["streams_ended"] == 1 + 2 * MAX_STREAMS


def test_the_longest_silent_stream_is_ended_and_the_holders_last() -> None:
    ended: list[str] = []
    streams = OpenStreams(limit=2)

    def open_one(client: str, heard_at: float) -> OpenStream:
        stream = OpenStream(client=client, end=lambda: ended.append(client), heard_at=heard_at)
        streams.add(stream, keep="holder")
        return stream

    open_one("holder", 1.0)
    early = open_one("early", 2.0)
    open_one("late", 3.0)
    assert ended == ["early"]
    streams.remove(early)
    open_one("later", 4.0)
    assert ended == ["early", "late"]


def test_a_server_with_an_open_stream_stops_at_once(serve: Serve) -> None:
    served = serve(deadline_s=None)
    talk = Talk(served.address, stream=True)
    talk.fetch_car()
    began = time.monotonic()
    served.server.stop()
    served.thread.join(10)
    assert not served.thread.is_alive()
    assert time.monotonic() - began < 10
    with pytest.raises(grpc.RpcError):
        talk.fetch()


def test_a_client_does_not_wait_for_ever_for_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("giveway.serve.rpc.connection.CALL_TIMEOUT_S", 0.5)
    with pytest.raises(ProtocolError, match=r"did not answer within 0\.5 s"):
        Connection("127.0.0.1:1").turn()


def test_what_is_said_on_a_stream_has_the_bytes_of_the_specification() -> None:
    assert PredictRequest().SerializeToString() == b""
    message = PredictRequest()
    message.push.probability.append(1.0)
    assert message.SerializeToString() == b"\x0a\x0a\x12\x08" + b"\x00\x00\x00\x00\x00\x00\xf0\x3f"
