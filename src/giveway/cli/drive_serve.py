"""``giveway drive serve``: let a predictor in another process or language drive over gRPC."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from giveway.cli.output import print_json
from giveway.core.errors import UsageError

if TYPE_CHECKING:
    from giveway.serve.rpc.server import ServerOptions

MAX_DEADLINE_MS = 86_400_000
"""A day."""


def serve(
    cases: Path | None = typer.Option(None, "--cases", "-c", help="Case file or folder; the bundled set without it."),
    data: Path | None = typer.Option(None, "--data", help="Folder with the recordings the cases were made from."),
    out: Path | None = typer.Option(None, "--out", "-o", help="Folder for logs and results; nothing is kept without."),
    host: str = typer.Option("127.0.0.1", "--host", help="Address to listen on; anything but loopback is reachable."),
    port: int = typer.Option(50051, "--port", min=0, max=65535, help="0 picks a free one and says which."),
    compat: bool = typer.Option(False, "--compat", help="Behave as the server of the 2020 challenge; implies --once."),
    deadline_ms: float | None = typer.Option(
        None, "--deadline-ms", min=0, help="Time from a fetch to its push; 0 waits forever. [1000; 0 with --compat]"
    ),
    token_env: str | None = typer.Option(
        None, "--token-env", help="Environment variable with the token that clients must show."
    ),
    tls_cert: Path | None = typer.Option(None, "--tls-cert", help="Certificate chain (PEM); encrypts."),
    tls_key: Path | None = typer.Option(None, "--tls-key", help="Its private key (PEM)."),
    once: bool = typer.Option(False, "--once", help="End after one session; without, the next client may connect."),
    name: str = typer.Option("grpc", "--name", help="How results call the predictor."),
    planner: str = typer.Option("default", "--planner", help="default, idm, constant_speed, replay, or module:Class."),
    metric: str = typer.Option("challenge", "--metric", help="challenge, challenge_coded or challenge_documented."),
    limit: int | None = typer.Option(None, "--limit", help="Only the first so many cases."),
    seed: int = typer.Option(0, "--seed", help="Root of all random streams."),
    check: str | None = typer.Option(
        None,
        "--check",
        metavar="ADDRESS",
        help="Listen on HOST:PORT for a client, find out whether it keeps the protocol, and stop.",
    ),
    wait: float = typer.Option(60.0, "--wait", min=0, help="With --check: how long to wait for the client [s]."),
    proto: bool = typer.Option(False, "--proto", help="Print the specification of the protocol, and stop."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document per session."),
) -> None:
    """Serve cases to a predictor that connects over gRPC, score its drives, and say what happened on the wire."""
    from giveway.serve.rpc.messages import proto_text

    if proto:
        typer.echo(proto_text(), nl=False)
        return
    if check is not None:
        deadline_s = _deadline(deadline_ms, compat=compat)
        listen = _address(check, token=_token(token_env), tls_cert=tls_cert, tls_key=tls_key)
        _check(listen, compat=compat, deadline_s=deadline_s, wait_s=wait, as_json=as_json)
        return
    from giveway.drive.case_sets import open_cases
    from giveway.experiments import default_progress
    from giveway.metrics.challenge import rules_called
    from giveway.planning import make_planner
    from giveway.serve.rpc.server import ServerOptions
    from giveway.serve.rpc.sessions import SessionOptions, SessionServer

    chosen, source = open_cases(cases, data, limit)
    address = ServerOptions(host=host, port=port, token=_token(token_env), tls_cert=tls_cert, tls_key=tls_key)
    rules = SessionOptions(
        planner=make_planner(planner),
        compat=compat,
        deadline_s=_deadline(deadline_ms, compat=compat),
        name=_checked(name),
        seed=seed,
        rules=rules_called(metric),
    )
    for warning in address.warnings():
        typer.echo(f"warning: {warning}", err=True)
    server = SessionServer(chosen, source, session=rules, server=address)
    server.start()
    typer.echo(f"listening on {host}:{server.port}, {'compat' if compat else 'strict'}, {len(chosen)} cases", err=True)
    single, failed, folder = once or compat, False, out
    try:
        number = 0
        while number == 0 or not single:
            number += 1
            folder = out if out is None or single else _fresh(out)
            session = server.drive(folder, progress=default_progress())
            failed = failed or bool(session.run.failed)
            _say(session.document, folder, as_json=as_json)
            if not single and not session.document["wire"]["counts"].get("asked"):
                typer.echo("no client was asked for anything, and the next session would be the same: ended", err=True)
                break
    except KeyboardInterrupt:
        _say_stopped(server.stopped, folder, as_json=as_json)
        raise typer.Exit(130) from None
    finally:
        server.stop()
    if failed:
        raise typer.Exit(1)


def _deadline(deadline_ms: float | None, *, compat: bool) -> float | None:
    from giveway.serve.rpc.sessions import STRICT_DEADLINE_S

    if deadline_ms is None:
        return None if compat else STRICT_DEADLINE_S
    if not 0 <= deadline_ms <= MAX_DEADLINE_MS:
        raise UsageError(
            f"--deadline-ms must be a number from 0 to {MAX_DEADLINE_MS}", found=deadline_ms, hint="0 waits forever"
        )
    return deadline_ms / 1000 or None


def _address(text: str, **more: Any) -> ServerOptions:
    from giveway.serve.rpc.server import ServerOptions

    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError("not an address", where="--check", found=text, hint="HOST:PORT, for example 127.0.0.1:50051")
    return ServerOptions(host=host.strip("[]") or "127.0.0.1", port=int(port), **more)


def _check(address: ServerOptions, *, compat: bool, deadline_s: float | None, wait_s: float, as_json: bool) -> None:
    """Watch one client; exit code 1 if it breaks a rule."""
    from giveway.serve.rpc.conformance import ConformanceServer
    from giveway.serve.rpc.verdicts import FAIL, NOT_SEEN, judge

    server = ConformanceServer(address, compat=compat, deadline_s=deadline_s)
    mode = "compat" if compat else "strict"
    typer.echo(f"listening on {address.host}:{server.port}, {mode}; start your client now", err=True)
    transcript = server.watch(wait_s=wait_s)
    verdicts = judge(transcript)
    failed = [v for v in verdicts if v.verdict == FAIL]
    ok = not failed and not any(v.verdict == NOT_SEEN for v in verdicts)
    if as_json:
        print_json({"ok": ok, "mode": mode, "counts": transcript.counts, "verdicts": verdicts})
    else:
        for v in verdicts:
            typer.echo(f"{v.verdict:8}  {v.rule:13}  {v.seen}")
            if v.hint:
                typer.echo(f"{'':25}try: {v.hint}")
        typer.echo("this client keeps the protocol" if ok else f"{len(failed)} of {len(verdicts)} rules are broken")
    if not ok:
        raise typer.Exit(1)


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


def _say_stopped(stopped: dict[str, Any] | None, out: Path | None, *, as_json: bool) -> None:
    """How far the session had come."""
    if as_json:
        print_json({"ok": False, "stopped": True, "out": out, **(stopped or {})})
        return
    if stopped is None:
        typer.echo("stopped")
        return
    counts = ", ".join(f"{kind} {count}" for kind, count in stopped["wire"]["counts"].items())
    typer.echo(
        f"stopped: {stopped['finished']} of {stopped['cases']} cases finished; on the wire: {counts or 'nothing'}"
    )
    if out is not None:
        typer.echo(f"what is finished stays in {out}; --once --out {out} drives the rest")


def _say(document: dict[str, Any], folder: Path | None, *, as_json: bool) -> None:
    (row,), wire = document["predictors"], document["wire"]
    if as_json:
        print_json({"ok": not row["failed_cases"], "out": folder, **document})
        return
    score = "-" if row["score"] is None else f"{row['score']:.3f}"
    typer.echo(f"{row['name']}: {row['cases']} cases, score {score}, collisions {row['n_col']}")
    counts = ", ".join(f"{kind} {count}" for kind, count in wire["counts"].items())
    typer.echo(f"on the wire: {counts}")
    if wire["latency_ms"]:
        latency = wire["latency_ms"]
        typer.echo(f"from fetch to push: median {latency['median']:.1f} ms, 95 % below {latency['p95']:.1f} ms")
    typer.echo(f"{row['fallbacks']} of {row['predictions']} predictions replaced by constant velocity")
    for case, reason in row["failed_cases"].items():
        typer.echo(f"case {case} failed: {reason}")
    for event in wire["events"][:10]:
        typer.echo(f"  {event['kind']}: {event['text']}")
    if folder is not None:
        typer.echo(f"logs and results in {folder}")
