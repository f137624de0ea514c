"""A client's side of the wire: two calls per prediction, or one stream for all of them."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from giveway.core.errors import MissingDependencyError, ProtocolError
from giveway.serve.rpc.messages import (
    FETCH,
    PREDICT,
    PUSH,
    FetchEnvRequest,
    FetchEnvResponse,
    PredictRequest,
    PredictResponse,
    PushMyTrajectoryRequest,
    PushMyTrajectoryResponse,
)
from giveway.serve.rpc.wire import PROTOCOL

try:
    import grpc
except ImportError as error:
    raise MissingDependencyError("grpc", extra="rpc", purpose="predicting over gRPC") from error

CALL_TIMEOUT_S = 30.0
"""How long a client waits for an answer."""

OPTIONS = [("grpc.max_receive_message_length", 64 << 20)]
"""Episodes of planners hold routes and a map."""

SESSION = "giveway-session"
"""Metadata with which a server tells a client apart from others of its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a server said.

    Attributes:
        pushed: the answer to the push; None if nothing was pushed.
        env: the next car, or why there is none; None only after the goodbye.
        about: which prediction is asked for, by the names of the metadata of a fetch (``giveway-case``, ...).
    """

    pushed: Any
    env: Any
    about: Mapping[str, str]


class Connection:
    """A connection to a server.

    Args:
        address: host:port.
        token: shown to the server, if given.
        root_certificate: PEM of the authority that signed the server's certificate; None is without encryption.
        name: of this client, for reports; random if None.
        session: :attr:`session` of an earlier connection, to go on as the same client; None is a new one.
        stream: use one stream where the server offers it; False makes two calls per prediction.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        root_certificate: bytes | None = None,
        name: str | None = None,
        session: str | None = None,
        stream: bool = True,
    ) -> None:
        if root_certificate is None:
            self._channel = grpc.insecure_channel(address, OPTIONS)
        else:
            self._channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(root_certificate), OPTIONS)
        self._metadata = [("giveway-protocol", PROTOCOL), ("giveway-client", name or uuid.uuid4().hex)]
        if token is not None:
            self._metadata.append(("authorization", f"Bearer {token}"))
        if session is not None:
            self._metadata.append((SESSION, session))
        self._fetch = self._call(FETCH, FetchEnvRequest, FetchEnvResponse)
        self._push = self._call(PUSH, PushMyTrajectoryRequest, PushMyTrajectoryResponse)
        self.streams = stream
        """Whether turns go over a stream; False from the moment on at which a server turns out not to offer it."""
        self._stream: _Stream | None = None

    @property
    def session(self) -> str | None:
        """The secret by which the server recognizes this client; None before it has sent one."""
        return dict(self._metadata).get(SESSION)

    def _call(self, path: str, asked: Any, answered: Any) -> Callable[..., Any]:
        return self._channel.unary_unary(
            path, request_serializer=asked.SerializeToString, response_deserializer=answered.FromString
        )

    def turn(self, message: Any = None) -> Turn:
        """Push a prediction, if there is one, and fetch the next car.

        Args:
            message: what to push; None only fetches.

        Raises:
            grpc.RpcError: the connection broke or the server turned the client away. The next turn connects again.
            ProtocolError: the server does not answer, or ended the stream in the middle.
        """
        if self.streams:
            try:
                return self._turn_on_stream(message)
            except grpc.RpcError as error:
                if message is not None or _code(error) is not grpc.StatusCode.UNIMPLEMENTED:
                    raise
                self.streams = False
        pushed = None if message is None else self.push(message)
        env, about = self.fetch()
        return Turn(pushed=pushed, env=env, about=about)

    def _turn_on_stream(self, message: Any) -> Turn:
        if self._stream is None:
            self._stream = _Stream(self.stream_of(PREDICT, PredictRequest, PredictResponse), self._remember)
        try:
            return self._stream.turn(message)
        except BaseException:
            self._hang_up()
            raise

    def _hang_up(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def fetch(self) -> tuple[Any, Mapping[str, str]]:
        """The call FetchEnv: the answer and the server's metadata."""
        response, call = self._fetch.with_call(  # pyright: ignore[reportFunctionMemberAccess]
            FetchEnvRequest(), metadata=tuple(self._metadata), timeout=CALL_TIMEOUT_S, wait_for_ready=True
        )
        told = {str(key): str(value) for key, value in call.trailing_metadata()}
        self._remember(told)
        return response, told

    def _remember(self, told: Mapping[str, str]) -> None:
        """Keep the secret that the server has sent, for all calls to come."""
        if SESSION in told and (SESSION, told[SESSION]) not in self._metadata:
            self._metadata[:] = [pair for pair in self._metadata if pair[0] != SESSION] + [(SESSION, told[SESSION])]

    def stream_of(self, path: str, asked: Any, answered: Any) -> Callable[[Iterator[Any]], Any]:
        """A call that streams both ways, with the metadata of this client; iterating it gives the answers."""
        call = self._channel.stream_stream(
            path, request_serializer=asked.SerializeToString, response_deserializer=answered.FromString
        )
        return lambda messages: call(messages, metadata=tuple(self._metadata), wait_for_ready=True)

    def push(self, message: Any) -> Any:
        """The call PushMyTrajectory: the answer to a prediction."""
        return self._push(message, metadata=self._metadata, timeout=CALL_TIMEOUT_S)

    def say_goodbye(self) -> None:
        """The empty push after 233; a server in compat mode ends the call instead of answering."""
        with contextlib.suppress(grpc.RpcError):
            if self._stream is None:
                self.push(PushMyTrajectoryRequest())
            else:
                self._turn_on_stream(PushMyTrajectoryRequest())
        self._hang_up()

    def close(self) -> None:
        """Hang up."""
        self._hang_up()
        self._channel.close()


class _Stream:
    """An open stream: one message out, one message in.

    Args:
        call: opens it.
        remember: told what the server says when it is open.
    """

    def __init__(self, call: Callable[[Iterator[Any]], Any], remember: Callable[[Mapping[str, str]], None]) -> None:
        self._out: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._call = call(iter(self._out.get, None))
        self._remember = remember
        self._told: dict[str, str] | None = None
        self._asked_at: float | None = None
        self._gave_up = False
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="giveway-stream-watch", daemon=True).start()

    def turn(self, message: Any) -> Turn:
        """Say something and wait for the answer.

        Raises:
            grpc.RpcError: the stream broke.
            ProtocolError: the server ended it in the middle, or does not answer.
        """
        self._asked_at = time.monotonic()
        self._out.put(PredictRequest() if message is None else PredictRequest(push=message))
        try:
            answer = next(self._call, None)
        except grpc.RpcError as error:
            if not self._gave_up:
                raise
            what = f"the server did not answer within {CALL_TIMEOUT_S:g} s"
            raise ProtocolError(what, hint="is it running, and is this its address?") from error
        self._asked_at = None
        if answer is None:
            raise ProtocolError("the server ended the stream", hint="the next turn opens another one")
        if self._told is None:
            self._told = {str(key): str(value) for key, value in self._call.initial_metadata()}
            self._remember(self._told)
        about = self._told
        if answer.case_id:
            about = {
                **about,
                "giveway-case": answer.case_id,
                "giveway-car": answer.car_id,
                "giveway-tick": str(answer.tick),
            }
        return Turn(
            pushed=answer.pushed if answer.HasField("pushed") else None,
            env=answer.env if answer.HasField("env") else None,
            about=about,
        )

    def _watch(self) -> None:
        """End the stream when the server does not answer; the library has time limits for whole streams only."""
        while not self._closed.wait(1.0):
            asked_at = self._asked_at
            if asked_at is not None and time.monotonic() - asked_at > CALL_TIMEOUT_S:
                self._gave_up = True
                self._call.cancel()
                return

    def close(self) -> None:
        """Hang up."""
        self._closed.set()
        self._out.put(None)
        self._call.cancel()


def _code(error: grpc.RpcError) -> Any:
    code = getattr(error, "code", None)
    return code() if callable(code) else None
