"""What clients call themselves cannot forge lines of what the server says."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from collections.abc import Callable

import pytest

from giveway.predictors import make_predictor
from giveway.serve.rpc.client import Connection, predict_for
from giveway.serve.rpc.exchange import Exchange, Tally
from giveway.serve.rpc.messages import FETCH
from giveway.serve.rpc.wire import PROTOCOL
from serve.rpc.conftest import Served

FORGED = "me\ncase a failed: nothing\x1b[2J\u2028x"


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """An HTTP/2 frame (RFC 9113, section 4.1)."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def header(name: bytes, value: bytes) -> bytes:
    """A literal header field, never indexed, without Huffman code (RFC 7541, section 6.2.3)."""
    return b"\x10" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call_by_hand(address: str, client: bytes) -> None:
    """A fetch whose metadata no gRPC library would send."""
    host, port = address.split(":")
    fields = {
        b":method": b"POST",
        b":scheme": b"http",
        b":path": FETCH.encode(),
        b":authority": b"x",
        b"content-type": b"application/grpc",
        b"te": b"trailers",
        b"giveway-protocol": PROTOCOL.encode(),
        b"giveway-client": client,
    }
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b""))
        headers = b"".join(header(name, value) for name, value in fields.items())
        connection.sendall(frame(1, 4, 1, headers) + frame(0, 1, 1, b"\x00" + struct.pack(">I", 0)))
        connection.settimeout(1.0)
        try:
            while connection.recv(65536):
                pass
        except TimeoutError:
            pass


@pytest.mark.parametrize("name", [FORGED.encode(), b"plain name", b"\x1b[31mred", b"a\r\nb"])
def test_a_name_with_control_characters_stays_on_its_line(serve: Callable[..., Served], name: bytes) -> None:
    served = serve(deadline_s=1.0, takeover_s=0.1)
    call_by_hand(served.address, name)
    with contextlib.closing(Connection(served.address)) as connection:
        predict_for(connection, make_predictor("echo"))
    document = served.result().document
    events = document["wire"]["events"]
    assert [e["kind"] for e in events].count("takeovers") == 1, "the name has to be said somewhere"
    assert all(event["text"].isprintable() for event in events), events
    assert "\\u001b" not in json.dumps(document)


def test_sentences_of_the_report_are_single_lines() -> None:
    tally = Tally()
    tally.add("busy", f"another client ({FORGED}) is connected")
    assert tally.sentences == [("busy", "another client (me\\x0acase a failed: nothing\\x1b[2J\\u2028x) is connected")]
    exchange = Exchange(compat=False, deadline_s=None)
    exchange.count_stream("a", instead_of=FORGED)
    assert all(text.isprintable() for _, text in exchange.tally.sentences)
    assert exchange.tally.sentences
