"""A real PostgreSQL server for the length of a test: own data folder, Unix socket only, gone afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

SERVER_USER = "postgres"
INSTALLED = "/usr/lib/postgresql"


class PostgresUnavailableError(Exception):
    """No server can be started here; the message says why."""


def _programs() -> Path:
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(Path(INSTALLED).glob("*/bin/initdb"))
    if not versions:
        raise PostgresUnavailableError("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return versions[-1].parent


def _prefix(folder: Path) -> list[str]:
    """The server refuses to run as root; then it runs as the user that its package made."""
    if os.geteuid() != 0:
        return []
    import pwd

    try:
        account = pwd.getpwnam(SERVER_USER)
    except KeyError:
        raise PostgresUnavailableError(
            f"PostgreSQL does not run as root and there is no user {SERVER_USER!r}"
        ) from None
    if shutil.which("runuser") is None:
        raise PostgresUnavailableError("PostgreSQL does not run as root and runuser is not installed")
    os.chown(folder, account.pw_uid, account.pw_gid)
    return ["runuser", "-u", SERVER_USER, "--"]


@contextmanager
def temporary_postgres() -> Generator[str]:
    """The URL of a fresh server.

    Raises:
        PostgresUnavailableError: if it is not installed or does not start.
    """
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="gwpg"))  # short: the path of a socket is limited to 107 characters
    data = folder / "data"
    try:
        prefix = _prefix(folder)
        _run(
            [*prefix, str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", SERVER_USER, "-E", "UTF8"], folder
        )
        settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=50"
        control = [*prefix, str(programs / "pg_ctl"), "-D", str(data), "-w"]
        _run([*control, "-l", str(folder / "log"), "-o", settings, "start"], folder)
        try:
            yield f"postgresql://{SERVER_USER}@/postgres?host={folder}"
        finally:
            _run([*control, "-m", "fast", "stop"], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=120
    )
    if done.returncode != 0:
        raise PostgresUnavailableError(done.stdout.decode(errors="replace").strip()[-500:])
