"""What protects raters and researchers: headers, cookies, limits, and proof that a form came from our own page."""

from __future__ import annotations

import logging
import secrets
import time
from collections import OrderedDict
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from giveway.core.logs import request_text
from giveway.study.secrets import StudyKey, same, token_hash

log = logging.getLogger("giveway.serve.web")

MAX_BODY_BYTES = 64 * 1024
MAX_QUERY_BYTES = 2048
VISIT_COOKIE = "gw_visit"
RATER_COOKIE = "gw_rater"
ARRIVAL_COOKIE = "gw_arrival"
RESEARCHER_COOKIE = "gw_researcher"
RATER_COOKIE_S = 60 * 60 * 24 * 30
ARRIVAL_COOKIE_S = 60 * 60 * 24
RESEARCHER_SESSION_S = 60 * 60 * 8
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # "no-referrer" would make browsers send forms with the origin "null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), interest-cohort=()",
}


class Gate:
    """ASGI middleware before everything else: size limits, origin check, headers, and a log without secrets.

    The log has method, path, status and time; never a query, a cookie, an address or a browser's description. The path
    is written as it came, not decoded, so that no request can write a line of its own.
    """

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self.app = app
        named = HEADERS | ({"Strict-Transport-Security": "max-age=31536000"} if https else {})
        self.headers = [(name.lower().encode(), value.encode()) for name, value in named.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, pass on, add headers."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500
        answered = False

        async def send_with_headers(message: Message) -> None:
            nonlocal status, answered
            if message["type"] == "http.response.start":
                status, answered = message["status"], True
                message["headers"] = [*message["headers"], *self.headers]
                if not any(name == b"cache-control" for name, _ in message["headers"]):
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        refusal = _refuse(scope)
        try:
            if refusal is not None:
                await refusal(scope, receive, send_with_headers)
            else:
                await self.app(scope, _limited(receive), send_with_headers)
        except _TooLargeError:
            if not answered:
                await PlainTextResponse("too large", 413)(scope, receive, send_with_headers)
        finally:
            elapsed_ms = 1000 * (time.perf_counter() - started)
            path = scope.get("raw_path") or scope["path"].encode()
            method = request_text(scope["method"].encode())
            log.info("%s %s %d %.0f ms", method, request_text(path), status, elapsed_ms)


class _TooLargeError(Exception):
    pass


def _refuse(scope: Scope) -> Response | None:
    headers = Headers(scope=scope)
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MAX_BODY_BYTES:
        return PlainTextResponse("too large", 413)
    if len(scope.get("query_string", b"")) > MAX_QUERY_BYTES:
        return PlainTextResponse("address too long", 414)
    if scope["method"] not in SAFE_METHODS:
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return PlainTextResponse("cross-site request refused", 403)
        origin = headers.get("origin")
        if origin is not None and _host(origin) != headers.get("host"):
            return PlainTextResponse("cross-site request refused", 403)
    return None


def _host(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _limited(receive: Receive) -> Receive:
    taken = 0

    async def receive_limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > MAX_BODY_BYTES:
            raise _TooLargeError
        return message

    return receive_limited


class RateLimiter:
    """Token buckets in memory; keys are forgotten soon after their last use and never stored.

    Args:
        per_second: sustained rate.
        burst: how many at once.
    """

    MAX_KEYS = 50_000

    def __init__(self, *, per_second: float, burst: int) -> None:
        self.per_second = per_second
        self.burst = burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, key: str) -> bool:
        """Take one token, if there is one."""
        now = time.monotonic()
        level, then = self._buckets.pop(key, (float(self.burst), now))
        level = min(float(self.burst), level + (now - then) * self.per_second)
        allowed = level >= 1
        self._buckets[key] = (level - 1 if allowed else level, now)
        while len(self._buckets) > self.MAX_KEYS:
            self._buckets.popitem(last=False)
        return allowed


class Cookies:
    """Sets and reads our cookies; the rater's token and all others are invisible to scripts.

    Args:
        key: study key, signs forms and the researcher's session.
        https: mark cookies as secure.
        researcher_token: what a researcher logs in with.
    """

    def __init__(self, key: StudyKey, *, https: bool, researcher_token: str) -> None:
        self._key = key
        self._https = https
        self._researcher = token_hash(researcher_token)

    def put(self, response: Response, name: str, value: str, *, max_age: int, strict: bool = False) -> None:
        """Set a cookie."""
        response.set_cookie(
            name,
            value,
            max_age=max_age,
            httponly=True,
            secure=self._https,
            samesite="strict" if strict else "lax",
            path="/",
        )

    def drop(self, response: Response, name: str) -> None:
        """Delete a cookie."""
        response.delete_cookie(name, path="/", httponly=True, secure=self._https)

    def visit(self, request: Request) -> str:
        """The visit this browser is on; a new one where there is none."""
        known = request.cookies.get(VISIT_COOKIE, "")
        return known if 20 <= len(known) <= 64 else secrets.token_urlsafe(24)

    def form_token(self, visit: str) -> str:
        """Proof, placed into our forms, that a request comes from one of our pages."""
        return self._key.sign("form", visit)

    def proves(self, request: Request, token: str) -> bool:
        """Whether the proof belongs to the visit of this browser."""
        visit = request.cookies.get(VISIT_COOKIE, "")
        return bool(visit) and same(token, self.form_token(visit))

    def researcher_session(self, token: str) -> str | None:
        """A signed session for the right token, None for a wrong one."""
        if not same(token_hash(token), self._researcher):
            return None
        until = str(int(time.time()) + RESEARCHER_SESSION_S)
        return f"{until}.{self._key.sign('researcher', until + self._researcher)}"

    def is_researcher(self, request: Request) -> bool:
        """Whether the request carries a valid session of a researcher."""
        until, _, signature = request.cookies.get(RESEARCHER_COOKIE, "").partition(".")
        if not until.isascii() or not until.isdigit() or len(until) > 12 or int(until) < time.time():
            return False
        return same(signature, self._key.sign("researcher", until + self._researcher))


def client_key(request: Request) -> str:
    """Key of the client address for rate limits; hashed, kept in memory only."""
    client: Any = request.client
    return token_hash(client.host if client else "unknown")
