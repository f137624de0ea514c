"""A real SLURM queue with one node, this machine: munged, slurmctld and slurmd with files of their own (root only)."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Generator
from pathlib import Path

from experiments.dask_processes import end, free_port

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "squeue", "sinfo")


def program(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))


def can_queue() -> bool:
    return os.geteuid() == 0 and all(program(name) for name in PROGRAMS)


@contextlib.contextmanager
def slurm_queue(folder: Path) -> Generator[dict[str, str]]:
    """Variables that lead the commands of SLURM to the queue ``short``."""
    host = os.uname().nodename
    socket, key = folder / "munge.socket", folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    configuration = {
        "ClusterName": "loopback",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmctldPort": free_port(),
        "SlurmdPort": free_port(),
        "SlurmUser": "root",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={socket}",
        "CredType": "cred/munge",
        "StateSaveLocation": folder / "state",
        "SlurmdSpoolDir": folder / "spool",
        "SlurmctldPidFile": folder / "slurmctld.pid",
        "SlurmdPidFile": folder / "slurmd.pid",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "AccountingStorageType": "accounting_storage/none",
        "SwitchType": "switch/none",
        "MpiDefault": "none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "ReturnToService": 2,
        "SchedulerType": "sched/builtin",
        "SlurmdParameters": "config_overrides",
        "NodeName": f"{host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=64000 State=UNKNOWN",
        "PartitionName": f"short Nodes={host} Default=YES MaxTime=INFINITE State=UP",
    }
    conf = folder / "slurm.conf"
    conf.write_text("".join(f"{name}={value}\n" for name, value in configuration.items()))
    variables = {"SLURM_CONF": str(conf)}
    commands = [
        [
            program("munged"),
            "-F",
            "-f",
            f"--key-file={key}",
            f"--socket={socket}",
            f"--pid-file={folder / 'munge.pid'}",
            f"--log-file={folder / 'munge.log'}",
            f"--seed-file={folder / 'munge.seed'}",
        ],
        [program("slurmctld"), "-D", "-f", str(conf)],
        [program("slurmd"), "-D", "-f", str(conf), "-N", host],
    ]
    with contextlib.ExitStack() as stack:
        for command in commands:
            log = stack.enter_context((folder / f"{Path(str(command[0])).name}.out").open("wb"))
            process = subprocess.Popen(
                [str(part) for part in command], stdout=log, stderr=log, env={**os.environ, **variables}
            )
            stack.callback(end, process, 15)
            time.sleep(1.0)
        deadline = time.monotonic() + 300
        while "idle" not in _state(variables):
            assert time.monotonic() < deadline, _logs(folder)
            time.sleep(0.5)
        stack.callback(subprocess.run, [str(program("scancel")), "-u", "root"], env={**os.environ, **variables})
        yield variables


def _state(variables: dict[str, str]) -> str:
    asked = [str(program("sinfo")), "-h", "-o", "%T"]
    return subprocess.run(asked, env={**os.environ, **variables}, capture_output=True, text=True, check=False).stdout


def _logs(folder: Path) -> str:
    return "\n".join(f"{p.name}: {p.read_text(errors='replace')[-1500:]}" for p in sorted(folder.glob("*.out")))
