"""A real ssh server on loopback, with keys and a configuration of its own."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from experiments.dask_processes import end, free_port

SSHD = shutil.which("sshd") or ("/usr/sbin/sshd" if Path("/usr/sbin/sshd").exists() else None)
KEYGEN = shutil.which("ssh-keygen")


@dataclass(frozen=True, kw_only=True)
class SshServer:
    """Attributes:
    port: on 127.0.0.1.
    key_file: lets its owner in.
    known_hosts: names the server.
    user: whoever runs the tests.
    """

    port: int
    key_file: Path
    known_hosts: Path
    user: str


@contextlib.contextmanager
def ssh_server(folder: Path, environment: dict[str, str]) -> Generator[SshServer]:
    """Everything it lets in runs as this user, with these variables."""
    assert SSHD is not None and KEYGEN is not None
    for name in ("host", "user"):
        subprocess.run([KEYGEN, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    port = free_port()
    public = (folder / "host.pub").read_text()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}")
    authorized = folder / "authorized"
    authorized.write_text((folder / "user.pub").read_text())
    authorized.chmod(0o600)
    lines = [
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {folder / 'host'}",
        f"AuthorizedKeysFile {authorized}",
        f"PidFile {folder / 'pid'}",
        "PasswordAuthentication no",
        "PermitRootLogin yes",
        "StrictModes no",
        "UsePAM no",
        "SetEnv " + " ".join(f'{name}="{value}"' for name, value in environment.items()),
    ]
    (folder / "sshd_config").write_text("\n".join(lines) + "\n")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 20
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None and time.monotonic() < deadline, (folder / "sshd.log").read_text()
            time.sleep(0.1)
        yield SshServer(port=port, key_file=folder / "user", known_hosts=folder / "known_hosts", user=getpass.getuser())
    finally:
        end(process, 15)
