"""``giveway drive serve``: let a predictor or planner in another process or language drive over gRPC."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from giveway.cli.command import Call
from giveway.cli.envelope import Done, Stopped
from giveway.cli.options import Opt
from giveway.cli.tables import listing
from giveway.core.errors import UsageError

if TYPE_CHECKING:
    from giveway.serve.rpc.server import ServerOptions

MAX_DEADLINE_S = 86_400.0
"""A day."""


def serve(
    call: Call,
    *,
    cases: Path | None = None,
    data: Annotated[Path | None, "Folder with the recordings the cases were made from."] = None,
    out: Annotated[Path | None, "Folder for logs and results; nothing is kept without."] = None,
    host: str = "127.0.0.1",
    port: int = 50051,
    compat: Annotated[bool, "Behave as the server of the 2020 challenge; implies --once."] = False,
    deadline: Annotated[
        float | None, "Time from a fetch to its push [s]; 0 waits forever. [1; 0 with --compat]"
    ] = None,
    token_env: Annotated[str | None, "Environment variable with the token that clients must show."] = None,
    tls_cert: Annotated[Path | None, "Certificate chain (PEM); encrypts."] = None,
    tls_key: Annotated[Path | None, "Its private key (PEM)."] = None,
    once: Annotated[bool, "End after one session; without, the next client may connect."] = False,
    name: Annotated[str, "How results call the client."] = "grpc",
    role: Annotated[Literal["predictor", "planner"], "What the client does."] = "predictor",
    predictor: Annotated[str, "Predictor in this process, with --role planner."] = "constant_velocity",
    planner: Annotated[str, Opt("Planner in this process, with --role predictor.", ("--planner", "-e"))] = "default",
    metric: Annotated[str, "Challenge metric: challenge, challenge_coded, challenge_printed."] = "challenge",
    max_cases: int | None = None,
    seed: int = 0,
    check: Annotated[
        str | None, Opt("Listen for a client and check whether it keeps the protocol.", metavar="ADDRESS")
    ] = None,
    wait: Annotated[float, Opt("With --check: how long to wait for the client [s].", min=0)] = 60.0,
    proto: Annotated[bool, "Print the specification of the protocol, and stop."] = False,
) -> Done | None:
    """Serve cases to a predictor or planner that connects over gRPC."""
    from giveway.serve.rpc.messages import proto_text

    if proto:
        return Done(result={"proto": proto_text()}, text=proto_text())
    deadline_s = _deadline(deadline, compat=compat)
    if check is not None:
        listen = _address(check, token=_token(token_env), tls_cert=tls_cert, tls_key=tls_key)
        return _check(call, listen, compat=compat, deadline_s=deadline_s, wait_s=wait)
    from giveway.drive.case_sets import open_cases
    from giveway.drive.spec import predictor_of
    from giveway.metrics.challenge import rules_called
    from giveway.planning import make_planner
    from giveway.serve.rpc.server import ServerOptions
    from giveway.serve.rpc.sessions import SessionOptions, SessionServer

    if role == "planner" and compat:
        raise UsageError("the server of 2020 had no planners from outside", where="--role planner", found="--compat")
    chosen, source = open_cases(cases, data, max_cases)
    address = ServerOptions(host=host, port=port, token=_token(token_env), tls_cert=tls_cert, tls_key=tls_key)
    rules = SessionOptions(
        planner=make_planner(planner) if role == "predictor" else None,
        predictor=predictor_of(predictor, None) if role == "planner" else None,
        compat=compat,
        deadline_s=deadline_s,
        name=_checked(name),
        seed=seed,
        rules=rules_called(metric),
    )
    for warning in address.warnings():
        call.warn(warning)
    server = SessionServer(chosen, source, session=rules, server=address)
    server.start()
    listening = f"listening on {host}:{server.port}, {'compat' if compat else 'strict'}, {len(chosen)} cases"
    sys.stderr.write(f"{listening}\n")  # clients wait for this line, --quiet or not
    sys.stderr.flush()
    single, is_failed, folder = once or compat, False, out
    before = signal.signal(signal.SIGTERM, _interrupt)  # what is finished is summed up after a kill, too
    try:
        while True:
            folder = out if out is None or single else _fresh(out)
            session = server.drive(folder, progress=call.progress())
            done = _driven(session.document, session.row, folder)
            is_failed = is_failed or not done.ok
            call.finish(done)
            if not single and not session.document["wire"]["counts"].get("asked"):
                call.warn("no client was asked for anything, and the next session would be the same: ended")
            if single or not session.document["wire"]["counts"].get("asked"):
                break
    except KeyboardInterrupt:
        raise _stopped(server.stopped, folder) from None
    finally:
        server.stop()
        signal.signal(signal.SIGTERM, before)
    if is_failed:
        raise typer.Exit(1)
    return None


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _deadline(deadline_s: float | None, *, compat: bool) -> float | None:
    from giveway.serve.rpc.sessions import STRICT_DEADLINE_S

    if deadline_s is None:
        return None if compat else STRICT_DEADLINE_S
    if not 0 <= deadline_s <= MAX_DEADLINE_S:
        raise UsageError(
            f"--deadline must be a number from 0 to {MAX_DEADLINE_S:g}", found=deadline_s, hint="0 waits forever"
        )
    return deadline_s or None


def _address(text: str, **more: Any) -> ServerOptions:
    from giveway.serve.rpc.server import ServerOptions

    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError("not an address", where="--check", found=text, hint="HOST:PORT, for example 127.0.0.1:50051")
    return ServerOptions(host=host.strip("[]") or "127.0.0.1", port=int(port), **more)


def _check(call: Call, address: ServerOptions, *, compat: bool, deadline_s: float | None, wait_s: float) -> Done:
    """Watch one client; a check that does not hold if it breaks a rule."""
    from giveway.serve.rpc.conformance import ConformanceServer
    from giveway.serve.rpc.verdicts import FAIL, NOT_SEEN, judge

    server = ConformanceServer(address, compat=compat, deadline_s=deadline_s)
    mode = "compat" if compat else "strict"
    sys.stderr.write(f"listening on {address.host}:{server.port}, {mode}; start your client now\n")
    sys.stderr.flush()
    transcript = server.watch(wait_s=wait_s)
    verdicts = judge(transcript)
    failed = [v for v in verdicts if v.verdict == FAIL]
    ok = not failed and not any(v.verdict == NOT_SEEN for v in verdicts)
    rows = [(v.verdict, v.rule, v.seen, v.hint) for v in verdicts]
    end = "this client keeps the protocol" if ok else f"{len(failed)} of {len(verdicts)} rules are broken"
    return Done(
        result={"mode": mode, "counts": transcript.counts, "verdicts": verdicts},
        text=listing("Rules of the protocol", ("verdict", "rule", "seen", "try"), rows, notes=[end]),
        holds=ok,
    )


def _token(variable: str | None) -> str | None:
    if variable is None:
        return None
    token = os.environ.get(variable, "")
    if not token:
        raise UsageError("the token is empty", where=f"environment variable {variable}", hint=f"export {variable}=...")
    return token


def _checked(name: str) -> str:
    if not name or name[0] == "." or any(not (c.isascii() and (c.isalnum() or c in "-_.")) for c in name):
        raise UsageError("--name may hold letters, digits and -_. only", found=repr(name))
    return name


def _fresh(out: Path) -> Path:
    """The first session folder that does not exist."""
    number = 1
    while (out / f"session-{number:03}").exists():
        number += 1
    return out / f"session-{number:03}"


def _stopped(state: Mapping[str, Any] | None, out: Path | None) -> Stopped:
    """How far the session had come."""
    if state is None:
        return Stopped("stopped", where="giveway drive serve")
    counts = ", ".join(f"{kind} {count}" for kind, count in state["wire"]["counts"].items())
    return Stopped(
        "stopped",
        where="giveway drive serve" if out is None else out,
        found=f"{state['finished']} of {state['cases']} cases finished; on the wire: {counts or 'nothing'}",
        hint=None if out is None else f"what is finished stays; --once --out {out} drives the rest",
    )


def _driven(document: Mapping[str, Any], row: Mapping[str, Any], folder: Path | None) -> Done:
    """What a session says: score, what went over the wire, cases that failed."""
    wire = document["wire"]
    score = "-" if row["score"] is None else f"{row['score']:.3f}"
    latency = wire["latency_ms"]
    lines = [
        f"{row['name']}: {row['cases']} cases, score {score}, collisions {row['n_col']}",
        f"on the wire: {', '.join(f'{kind} {count}' for kind, count in wire['counts'].items())}",
        f"from fetch to push: median {latency['median']:.1f} ms, 95 % below {latency['p95']:.1f} ms" if latency else "",
        f"{row['fallbacks']} of {row['predictions']} predictions replaced by constant velocity"
        * bool(row["predictions"]),
        *(f"  {event['kind']}: {event['text']}" for event in wire["events"][:10]),
        "" if folder is None else f"logs and results in {folder}",
    ]
    failures = [
        {"cell": f"case {case}", "error": "", "message": reason} for case, reason in row["failed_cases"].items()
    ]
    return Done(result={"out": folder, **document}, text=lines, failures=failures)
