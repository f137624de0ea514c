"""Running the study application."""

from __future__ import annotations

import gc
import ipaddress
import os
import socket
from collections.abc import Callable
from typing import Any

from giveway.core.errors import ConfigError, MissingDependencyError, UsageError
from giveway.serve.web.app import create_app
from giveway.study.secrets import new_token
from giveway.study.workspace import Study

TOKEN_VARIABLE = "GIVEWAY_STUDY_TOKEN"
MIN_TOKEN = 16
BACKLOG = 4096
COLLECT_AFTER = (20_000, 20, 50)
"""Requests leave hardly any cycles behind, so collections may be rarer than Python's (700, 10, 10)."""
LOG_CONFIG: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"()": "giveway.core.logs.LineFormatter", "format": "%(asctime)s %(levelname)s %(message)s"}
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {
        "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        "giveway.serve.web": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
    },
}
"""uvicorn's own access log stays off: it would write addresses and queries. Whatever is logged stays on its line."""


def researcher_token() -> tuple[str, bool]:
    """The researcher's token and whether it is new: from ``GIVEWAY_STUDY_TOKEN``, or made now.

    Raises:
        ConfigError: if the given one is easy to guess.
    """
    given = os.environ.get(TOKEN_VARIABLE)
    if given is None:
        return new_token(), True
    if len(given) < MIN_TOKEN:
        raise ConfigError(
            "the researcher's token is too short",
            where=f"environment variable {TOKEN_VARIABLE}",
            found=f"{len(given)} characters",
            hint=f"give at least {MIN_TOKEN}",
        )
    return given, False


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(
    study: Study,
    *,
    host: str,
    port: int,
    token: str,
    https: bool = False,
    behind_proxy: bool = False,
    access_log: bool = True,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until stopped; answers that are waiting are saved before the end.

    Args:
        study: opened study.
        host: address to bind.
        port: 0 for any free one.
        token: researcher's token.
        https: cookies for HTTPS only.
        behind_proxy: believe a proxy on this machine about the client's address and scheme.
        access_log: write one line per request (method, path, status, time).
        on_ready: called with the address once the port is bound.

    Raises:
        UsageError: if the port cannot be bound.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise MissingDependencyError("uvicorn", extra="study", purpose="serving a study") from error
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)  # whoever comes between the announcement and the first accept waits
    except OSError as error:
        raise UsageError(
            "the address cannot be used", where=f"{host}:{port}", found=error.strerror, hint="choose another --port"
        ) from None
    config = dict(LOG_CONFIG)
    if not access_log:
        config["loggers"] = {
            **LOG_CONFIG["loggers"],
            "giveway.serve.web": {**LOG_CONFIG["loggers"]["giveway.serve.web"], "level": "WARNING"},
        }
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(study, researcher_token=token, https=https),
            log_config=config,
            access_log=False,
            server_header=False,
            proxy_headers=behind_proxy,
            forwarded_allow_ips="127.0.0.1,::1" if behind_proxy else "",
            timeout_keep_alive=30,
            timeout_graceful_shutdown=10,
            backlog=BACKLOG,
            h11_max_incomplete_event_size=32 * 1024,
        )
    )
    shown = f"[{host}]" if family == socket.AF_INET6 else host
    if on_ready is not None:
        on_ready(f"http://{shown}:{listener.getsockname()[1]}")
    _keep_out_of_garbage_collection()
    server.run(sockets=[listener])


def _keep_out_of_garbage_collection() -> None:
    """What was imported lives as long as the server; looking through it again and again stopped answers for 0.6 s."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
