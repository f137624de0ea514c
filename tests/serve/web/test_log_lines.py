"""No client writes a line of the server's log, or moves the cursor of whoever reads it: a real server, raw sockets."""

from __future__ import annotations

import logging
import re
import socket
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giveway.core.logs import LineFormatter, one_line, request_text
from support.servers import RunningServer, running_server
from support.studies import synthetic_study

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|WARNING|ERROR) [\x20-\x7e]*")
FORGED = "2026-01-01 00:00:00,000 INFO GET /researcher 200 1 ms"


def send(server: RunningServer, request: bytes) -> bytes:
    host, port = server.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


def get(target: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join([b"GET " + target + b" HTTP/1.1", b"Host: x", b"Connection: close", *headers, b"", b""])


HOSTILE = [
    get(b"/x%0a" + FORGED.replace(" ", "%20").encode()),
    get(b"/x%0D%0A" + FORGED.replace(" ", "%20").encode()),
    get(b"/%1b[2J%1b[1;1Hgone"),
    get(b"/\x1b[31mred"),
    get(b"/x%C2%85y%E2%80%A8z%E2%80%AEw"),
    get("/x\u0085y\u2028z".encode()),
    get(b"/ok?next=%0a" + FORGED.replace(" ", "%20").encode()),
    get(b"/ok", b"User-Agent: a\x1b[2J\tb", b"X-Forwarded-For: 1.2.3.4\x0b" + FORGED.encode()),
    get(b"/ok", b"Referer: %0a" + FORGED.encode(), b"Cookie: gw_visit=\x1b[2J" + b"a" * 30),
    b"GE\x1bT / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"G\x0bET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"PATCH /%0a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: \x1b[2J\r\n\r\n",
    b"\x1b[2J" + FORGED.encode() + b"\r\n\r\n",
    get(b"/%" + b"0a" * 4000),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    folder: Path = synthetic_study(tmp_path_factory.mktemp("log") / "study", num_clips=4)
    with running_server(folder) as running:
        yield running


def test_hostile_requests_leave_one_harmless_line_each(server: RunningServer) -> None:
    before = len(server.log.read_bytes())
    for request in HOSTILE:
        send(server, request)
    send(server, get(b"/health"))
    for _ in range(100):
        written = server.log.read_bytes()[before:]
        if b"/health" in written:
            break
        time.sleep(0.05)
    lines = written.decode().split("\n")
    assert lines.pop() == ""
    assert all(LINE.fullmatch(line) for line in lines), lines
    assert not any(line.startswith(FORGED[:40]) for line in lines)
    assert len(lines) <= len(HOSTILE) + 1
    shown = [line for line in lines if "/x%0a2026" in line]
    assert len(shown) == 1 and "%20INFO%20" in shown[0]


def test_query_headers_and_addresses_are_not_logged_at_all(server: RunningServer) -> None:
    send(server, get(b"/marked?secret=needle", b"User-Agent: needle", b"Cookie: gw_rater=needle", b"Referer: needle"))
    send(server, get(b"/health"))
    time.sleep(0.2)
    text = server.log.read_text()
    assert "/marked" in text
    assert "needle" not in text


@given(st.binary(max_size=400))
def test_any_bytes_of_a_request_become_printable_ascii(raw: bytes) -> None:
    shown = request_text(raw)
    assert re.fullmatch(r"[\x21-\x7e]*", shown)
    assert len(shown) <= 600


@given(st.text(max_size=200))
def test_any_text_becomes_one_line_without_controls(text: str) -> None:
    shown = one_line(text)
    assert len(shown.splitlines()) <= 1
    assert "\x1b" not in shown and "\u202e" not in shown
    if text.isprintable() and text.isascii():
        assert shown == text


def test_a_traceback_with_client_text_has_no_line_that_looks_like_a_record() -> None:
    formatter = LineFormatter("%(asctime)s %(levelname)s %(message)s")
    try:
        raise ValueError(f"bad\n{FORGED}\x1b[2J")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "failed on %s", (f"a\n{FORGED}",), sys.exc_info())
    lines = formatter.format(record).split("\n")
    assert LINE.fullmatch(lines[0])
    assert all(line.startswith("    | ") and "\x1b" not in line for line in lines[1:])
    assert any(FORGED in line for line in lines[1:])
