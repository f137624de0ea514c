"""Options that several commands share: one name, one letter, one meaning.

A command names a shared option by its parameter; name, letter and help come from :data:`SHARED`. A text in the
annotation says what the option means for that command, an :class:`Opt` declares an option of its own::

    def mine(call: Call, folder: Annotated[Path, "Recordings."], *, out: Path, seed: int = 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Rerun = Literal["missing", "failed", "all"]
Engine = Literal["local", "dask"]
TableFormat = Literal["text", "markdown", "latex", "csv", "html"]


@dataclass(frozen=True, slots=True)
class Opt:
    """How an option is spelt and checked.

    Attributes:
        help: one line.
        flags: ``--name`` and letter; made from the parameter if empty.
        min: smallest value.
        max: largest value.
        envvar: environment variable that is read where the option is not given.
        metavar: name of the value in the help.
    """

    help: str = ""
    flags: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None
    envvar: str | None = None
    metavar: str | None = None


SHARED: dict[str, Opt] = {
    "out": Opt("Where to write.", ("--out", "-o")),
    "data": Opt("Recordings beside the main input, for maps and tracks."),
    "dataset": Opt("Format of the recordings; see 'giveway list datasets'.", ("--dataset", "-d")),
    "predictor": Opt("Registered name, NAME:FILE or package.module:Class; repeatable.", ("--predictor", "-p")),
    "planner": Opt(
        "Planner that drives the ego: lattice, idm, constant_speed, replay, ppo:FILE or package.module:Class.",
        ("--planner", "-e"),
    ),
    "driver": Opt("Who drives the other cars."),
    "policy": Opt("Weights of learned cars: a policy file or a training folder; the shipped one without it."),
    "road": Opt("straight, merge, roundabout, four_way, or a lanelet2 map (.osm).", ("--road", "-r")),
    "cases": Opt("Case file or folder; the bundled set without it.", ("--cases", "-c")),
    "metric": Opt("Registered metric; see 'giveway list metrics'."),
    "profile": Opt("clean (corrected) or paper (as published)."),
    "settings": Opt("One field of the specification, NAME=VALUE, nested by dots; repeatable.", ("--set", "-s")),
    "preset": Opt("Named specification; see 'giveway list presets'."),
    "seed": Opt("Root of all random streams."),
    "max_recordings": Opt("Read at most N recordings.", min=1),
    "max_replays": Opt("Write at most N animated replays per store.", min=0),
    "max_cases": Opt("Drive at most N cases, in file order.", min=1),
    "budget": Opt("Tests of a campaign.", min=1, max=1_000_000),
    "size": Opt("Number of units to synthesize: trials (lgap), participants (leeds) or recordings (others)."),
    "deadline": Opt("Longest time for one answer of a planner or client [s]."),
    "draws": Opt("Bootstrap draws; 0 for none.", min=0, max=1_000_000),
    "format": Opt("Format of what is printed or written.", ("--format", "-f")),
    "host": Opt("Address to listen on; the default is reachable from this machine only."),
    "port": Opt("Port; 0 picks a free one and says which.", min=0, max=65535),
    "database": Opt("Database URL of a study; SQLite in its folder without it.", envvar="GIVEWAY_STUDY_DATABASE"),
    "device": Opt("Where networks are trained: cpu, or cuda where there is one."),
    "worlds": Opt("Worlds simulated together.", min=1, max=4096),
    "cars": Opt("Learned cars, 1 to 4."),
    "ticks": Opt("Longest episode in ticks of 0.1 s.", min=10, max=2000),
    "env_steps": Opt("Length of a training: transitions seen, worlds times ticks.", min=1, max=1_000_000_000),
    "force": Opt("Replace what an earlier call wrote; other files stay."),
}
"""Parameter of a command to the option that it stands for."""

RUN: dict[str, tuple[object, object, Opt]] = {
    "rerun": (Rerun | None, None, Opt("Which cells: missing (gaps), failed too (drive, generate), or all.")),
    "limit": (int | None, None, Opt("Compute at most N cells now.", min=1)),
    "dry_run": (bool, False, Opt("Print cells, expected time and disk; compute nothing.")),
}
"""Options of commands that run cells, with type and default."""

ENGINE: dict[str, tuple[object, object, Opt]] = {
    "engine": (Engine, "local", Opt("local (processes of this machine) or dask (a cluster).")),
    "workers": (
        int | None,
        None,
        Opt(
            "Processes, one per core by default; drive run without limits: threads, by default 1.",
            ("--workers", "-w"),
            min=1,
            max=100_000,
        ),
    ),
    "scheduler": (str | None, None, Opt("Dask: address of a running scheduler, tcp://HOST:8786.")),
    "cluster": (str | None, None, Opt("Dask: TOML file of a cluster to start (local, ssh, slurm, pbs).")),
    "time_limit": (float | None, None, Opt("Seconds that a cell may take.", min=0.01)),
    "memory_limit": (float | None, None, Opt("Megabytes that a cell may use.", min=1.0)),
    "max_hours": (float | None, None, Opt("Start no further cell after this time.", min=0.0)),
}
"""Options of commands that compute cells on an engine."""

EVERY: dict[str, tuple[object, object, Opt]] = {
    "plugin": (Sequence[str], (), Opt("Python file with components of your own; repeatable.", metavar="FILE")),
    "quiet": (bool, False, Opt("No progress on standard error.", ("--quiet", "-q"))),
    "json": (bool, False, Opt("Print one JSON document on standard output.")),
}
"""Options of every command."""
