"""The gRPC server: admits calls, hands them to the exchange."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from giveway.core.errors import MissingDependencyError, UsageError
from giveway.core.logs import one_line
from giveway.serve.rpc.connection import SESSION
from giveway.serve.rpc.exchange import Exchange
from giveway.serve.rpc.messages import (
    PLANNER_SERVICE,
    SERVICE,
    FetchEnvRequest,
    FetchEnvResponse,
    PlanRequest,
    PlanResponse,
    PredictRequest,
    PredictResponse,
    PushMyTrajectoryRequest,
    PushMyTrajectoryResponse,
)
from giveway.serve.rpc.plan_exchange import PlanExchange
from giveway.serve.rpc.streams import OpenStream, OpenStreams
from giveway.serve.rpc.wire import OVER, PROTOCOL, REFUSED

try:
    import grpc
except ImportError as error:
    raise MissingDependencyError("grpc", extra="rpc", purpose="serving predictors over gRPC") from error

MAX_MESSAGE_BYTES = 1 << 20
THREADS = 16
LOOPBACK = ("127.0.0.1", "localhost", "::1")
OTHER_PROTOCOL = (
    "this message does not follow simulator.proto; a client of the variant with a 'tag' field cannot connect"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Where and to whom the server speaks.

    Attributes:
        host: address to listen on.
        port: 0 picks a free one.
        token: clients must show it; None lets everybody in.
        tls_cert: file with the certificate chain (PEM), with ``tls_key``; None is without encryption.
        tls_key: file with its private key (PEM).
        max_message_bytes: larger messages are refused by the transport.
    """

    host: str = "127.0.0.1"
    port: int = 50051
    token: str | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    max_message_bytes: int = MAX_MESSAGE_BYTES

    def warnings(self) -> list[str]:
        """What a careful person should know about these options."""
        if self.host in LOOPBACK:
            return []
        found: list[str] = []
        if self.token is None:
            found.append(
                f"everybody who can reach {self.host}:{self.port} may connect; --token-env NAME asks for a token"
            )
        if self.tls_cert is None:
            found.append("messages are not encrypted; --tls-cert FILE --tls-key FILE encrypts them")
        return found


class PredictionServer:
    """Serves an exchange.

    Args:
        exchange: where cars are handed out.
        options: address and admission.
        seed: told to clients, for stochastic predictors.

    Raises:
        UsageError: the address cannot be used, or the certificate cannot be read.
    """

    def __init__(self, exchange: Exchange | PlanExchange, options: ServerOptions, *, seed: int = 0) -> None:
        self._exchange: Any = exchange
        self._token = options.token
        self._secrets = _Secrets()
        self._seed = seed
        self._streams = OpenStreams()
        self._server = grpc.server(
            ThreadPoolExecutor(THREADS, thread_name_prefix="giveway-rpc"),
            options=[
                ("grpc.max_receive_message_length", options.max_message_bytes),
                ("grpc.max_metadata_size", 16 << 10),
                ("grpc.so_reuseport", 0),
            ],
            maximum_concurrent_rpcs=64,
        )
        service, calls = self._calls()
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, calls),))
        self.port = self._bind(options)

    def _calls(self) -> tuple[str, dict[str, Any]]:
        """Name of the service that fits the exchange, and its calls."""
        if isinstance(self._exchange, PlanExchange):
            plan = grpc.stream_stream_rpc_method_handler(
                self._plan, request_deserializer=_reader(PlanRequest), response_serializer=_bytes_of
            )
            return PLANNER_SERVICE, {"Plan": plan}
        calls: dict[str, Any] = {
            "FetchEnv": grpc.unary_unary_rpc_method_handler(
                self._fetch, request_deserializer=_reader(FetchEnvRequest), response_serializer=_bytes_of
            ),
            "PushMyTrajectory": grpc.unary_unary_rpc_method_handler(
                self._push, request_deserializer=_reader(PushMyTrajectoryRequest), response_serializer=_bytes_of
            ),
        }
        if not self._exchange.compat:
            calls["Predict"] = grpc.stream_stream_rpc_method_handler(
                self._predict, request_deserializer=_reader(PredictRequest), response_serializer=_bytes_of
            )
        return SERVICE, calls

    def _bind(self, options: ServerOptions) -> int:
        host = f"[{options.host}]" if ":" in options.host else options.host
        address = f"{host}:{options.port}"
        try:
            if options.tls_cert is None and options.tls_key is None:
                return self._server.add_insecure_port(address)
            return self._server.add_secure_port(address, _credentials(options))
        except RuntimeError as error:
            raise UsageError(
                "the server cannot listen on this address",
                where=address,
                found="it is in use, not an address of this machine, or the certificate does not fit its key",
                hint="another --port, or --port 0 for a free one",
            ) from error

    def start(self) -> None:
        """Begin to answer."""
        self._server.start()

    def stop(self, grace_s: float = 0.5) -> None:
        """Let running calls end, then stop."""
        self._exchange.close()
        self._server.stop(grace_s).wait()

    def _fetch(self, message: Any, context: grpc.ServicerContext) -> Any:
        client = self._client(context)
        exchange = self._exchange
        if message is UNREADABLE or (not exchange.compat and message.ByteSize()):
            sentence = exchange.refuse_unreadable(OTHER_PROTOCOL if message is UNREADABLE else _UNKNOWN_FIELDS)
            return FetchEnvResponse(resp_code=REFUSED, msg=sentence)
        response, request = exchange.fetch(client, context.is_active)
        metadata = self._metadata(client)
        if request is not None:
            metadata += [("giveway-case", request.case), ("giveway-tick", str(request.tick))]
            if request.car.isascii() and request.car.isprintable():
                metadata.append(("giveway-car", request.car))
        context.set_trailing_metadata(tuple(metadata))
        return response

    def _push(self, message: Any, context: grpc.ServicerContext) -> Any:
        client = self._client(context)
        if message is UNREADABLE:
            sentence = self._exchange.refuse_unreadable(OTHER_PROTOCOL)
            return PushMyTrajectoryResponse(resp_code=REFUSED, msg=sentence)
        is_goodbye = self._exchange.is_goodbye(message)
        response = self._exchange.push(client, message)
        if self._exchange.compat and is_goodbye:
            # The server of 2020 was gone by now, and its clients end by this error.
            context.abort(grpc.StatusCode.UNAVAILABLE, "the session is over")
        return response

    def _predict(self, messages: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        """One session on one stream: every message is a push, if it holds one, and a fetch."""
        client = self._client(context)
        stream = self._opened(client, context, lambda: None)
        if stream is None:
            return
        for message in messages:
            stream.hear()
            answer = self._turn(client, message, context)
            yield answer
            if not answer.HasField("env"):
                return

    def _plan(self, messages: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        """One session of a planner: every message is an answer, if it holds one, and asks for the next situation."""
        client, own = self._client(context), object()
        stream = self._opened(client, context, lambda: self._exchange.lost(own))
        if stream is None:
            return
        for message in messages:
            stream.hear()
            if message is UNREADABLE:
                sentence = self._exchange.refuse_unreadable(OTHER_PROTOCOL)
                yield PlanResponse(resp_code=REFUSED, msg=sentence)
                continue
            answer = self._exchange.turn(own, client, message, context.is_active)
            yield answer
            if answer.resp_code == OVER:
                return

    def _opened(self, client: str, context: grpc.ServicerContext, at_end: Callable[[], object]) -> OpenStream | None:
        """A stream that was opened, counted and told what clients are told; None if it is over already."""
        stream = OpenStream(client=client, end=context.cancel)

        def ended() -> None:
            self._streams.remove(stream)
            at_end()

        if not context.add_callback(ended):
            return None
        other = self._streams.add(stream, keep=self._exchange.holder)
        self._exchange.count_stream(client, instead_of=other.client if other else "")
        context.send_initial_metadata(tuple(self._metadata(client)))
        return stream

    def _turn(self, client: str, message: Any, context: grpc.ServicerContext) -> Any:
        """The answer to one message of a stream."""
        exchange, answer = self._exchange, PredictResponse()
        if message is UNREADABLE or (not message.HasField("push") and message.ByteSize()):
            sentence = exchange.refuse_unreadable(OTHER_PROTOCOL)
            answer.pushed.resp_code = answer.env.resp_code = REFUSED
            answer.pushed.msg = answer.env.msg = sentence
            return answer
        if message.HasField("push"):
            is_goodbye = exchange.is_goodbye(message.push)
            answer.pushed.CopyFrom(exchange.push(client, message.push))
            if is_goodbye:
                return answer
        response, request = exchange.fetch(client, context.is_active)
        answer.env.CopyFrom(response)
        if request is not None:
            answer.case_id, answer.car_id, answer.tick = request.case, request.car, request.tick
        return answer

    def _metadata(self, client: str) -> list[tuple[str, str]]:
        """What clients are told once, or with every fetch."""
        exchange = self._exchange
        return [
            (SESSION, self._secrets.of(client)),
            ("giveway-protocol", PROTOCOL),
            ("giveway-mode", "compat" if exchange.compat else "strict"),
            ("giveway-deadline-ms", str(round(1000 * (exchange.deadline_s or 0)))),
            ("giveway-seed", str(self._seed)),
        ]

    def _client(self, context: grpc.ServicerContext) -> str:
        """Who calls; ends the call if the token or, in strict mode, the version of the protocol is wrong."""
        metadata = {str(key): value for key, value in context.invocation_metadata() or ()}
        if self._token is not None:
            shown = metadata.get("authorization", "")
            shown = shown if isinstance(shown, str) else ""
            if not hmac.compare_digest(shown.encode(), f"Bearer {self._token}".encode()):
                self._exchange.tally.add("unauthenticated")
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "metadata 'authorization: Bearer TOKEN' is needed")
        spoken = metadata.get("giveway-protocol", "")
        if not self._exchange.compat and spoken != PROTOCOL:
            sentence = self._exchange.refuse_version(_other_version(str(spoken)))
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, sentence)
        known = self._secrets.client(str(metadata.get(SESSION, "")))
        if known:
            return known
        name = metadata.get("giveway-client", "")
        return f"{one_line(name[:64])} at {context.peer()}" if isinstance(name, str) and name else context.peer()


def _other_version(spoken: str) -> str:
    found = f"this client says {spoken[:20]!r}" if spoken else "this client says none"
    return (
        f"the server is strict and needs the metadata 'giveway-protocol: {PROTOCOL}', {found}; "
        "for clients of the 2020 challenge start it with --compat"
    )


class _Secrets:
    """What clients show to be recognized on another connection: a random text each, the last ones of which count."""

    LIMIT = 64

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of_client: OrderedDict[str, str] = OrderedDict()

    def of(self, client: str) -> str:
        """The secret of a client."""
        with self._lock:
            secret = self._of_client.setdefault(client, secrets.token_urlsafe(24))
            self._of_client.move_to_end(client)
            while len(self._of_client) > self.LIMIT:
                self._of_client.popitem(last=False)
            return secret

    def client(self, secret: str) -> str:
        """The client whose secret this is; empty if it is nobody's."""
        with self._lock:
            shown = secret.encode()
            return next((c for c, own in self._of_client.items() if hmac.compare_digest(own.encode(), shown)), "")


UNREADABLE = object()
"""Stands for a message that does not parse; None would end the call inside the library."""

_UNKNOWN_FIELDS = "FetchEnvRequest must be empty; a client of the variant with a 'tag' field cannot connect"


def _reader(kind: Any) -> Callable[[bytes], Any]:
    """Parses a message, or gives UNREADABLE back, so that the handler can answer with a sentence."""
    from google.protobuf.message import DecodeError

    def read(data: bytes) -> Any:
        try:
            return kind.FromString(data)
        except DecodeError:
            return UNREADABLE

    return read


def _bytes_of(message: Any) -> bytes:
    return message.SerializeToString()


def _credentials(options: ServerOptions) -> grpc.ServerCredentials:
    if options.tls_cert is None or options.tls_key is None:
        raise UsageError("encryption needs a certificate and its key", hint="give both --tls-cert and --tls-key")
    try:
        chain, key = options.tls_cert.read_bytes(), options.tls_key.read_bytes()
    except OSError as error:
        raise UsageError("the certificate cannot be read", where=error.filename, found=error.strerror) from error
    return grpc.ssl_server_credentials([(key, chain)])
