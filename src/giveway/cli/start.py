"""``giveway demo``, ``giveway doctor`` and ``giveway warmup``."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from giveway import __version__
from giveway.cli.command import Call, command, single
from giveway.cli.envelope import Done
from giveway.cli.options import Opt
from giveway.cli.tables import listing
from giveway.core.errors import MissingDependencyError, UnknownNameError
from giveway.core.extras import EXTRAS, is_installed

demo_app, doctor_app, warmup_app = single(), single(), single()

REQUIRED = {
    "numpy": "numpy",
    "scipy": "scipy",
    "numba": "numba",
    "polars": "polars",
    "shapely": "shapely",
    "pydantic": "pydantic",
    "typer": "typer",
    "rich": "rich",
    "threadpoolctl": "threadpoolctl",
    "filelock": "filelock",
    "psutil": "psutil",
    "jinja2": "jinja2",
}
"""Import name to distribution of the small install."""

PROGRAMS = {
    "chromium": "browser tests and screenshots (Debian: apt-get install chromium)",
    "postgres": "study on PostgreSQL (Debian: apt-get install postgresql)",
    "make": "make demo, make test",
    "git": "provenance of runs",
}

DRIVE = "drive run -p constant_velocity --workers 1 "
WORK: dict[str, tuple[str, ...]] = {
    "gaps": ("gaps run --preset quick --limit 4 --workers 1 --out {folder}/gaps",),
    "drive": (DRIVE + "-p constant_turn_rate -p idm_along_path --max-cases 2 --out {folder}/drive",),
    "generate": ("generate run --budget 20 --workers 1 --out {folder}/generate",),
    "study": (
        DRIVE + "--max-cases 6 --out {folder}/clips",
        "study create {folder}/clips --out {folder}/study --num-clips 6 --seconds 5",
    ),
}
"""Group of commands to small runs, into a folder that is thrown away, that call its kernels as real ones do."""


@command(demo_app, needs=("models", "learn", "fit/botorch", "generate/pymoo", "study", "plot"))
def demo(call: Call, *, out: Annotated[Path, "Folder to write to."] = Path("demo"), seed: int = 0) -> Done:
    """Run everything once, small, and write a page to open."""
    from giveway.demo.run import run_demo

    made = run_demo(out, seed=seed, say=call.say)
    lines = [
        f"{finding.question}\n  {finding.answer}{''.join(f' [{badge}]' for badge in finding.badges)}"
        for finding in made.findings
    ]
    result = {"index": made.page, "seconds": made.seconds, "findings": made.findings}
    return Done(result=result, text="\n".join(["", *lines, "", f"open {made.page} in a browser"]))


@command(doctor_app)
def doctor(call: Call) -> Done:
    """Check what is installed, what is missing, how to get it."""
    from giveway.core.kernels import cache_state

    groups = {"": REQUIRED, **EXTRAS}
    libraries = [
        {"name": name, "version": _version(name, distribution), "extra": extra}
        for extra, known in groups.items()
        for name, distribution in known.items()
    ]
    programs = [{"name": name, "path": shutil.which(name), "for": why} for name, why in PROGRAMS.items()]
    kernels = cache_state()
    ok = all(library["version"] for library in libraries if not library["extra"])
    lacking = dict.fromkeys(library["extra"] for library in libraries if library["extra"] and not library["version"])
    rows = [(b["name"], b["version"] or "missing", b["extra"] or "required") for b in libraries]
    rows += [(p["name"], p["path"] or f"not found, needed for {p['for']}", "program") for p in programs]
    machine = {"python": platform.python_version(), "platform": platform.platform(), "cores": os.cpu_count()}
    head = f"giveway {__version__}, Python {machine['python']}, {machine['cores']} cores"
    return Done(
        result={"giveway": __version__, **machine, "libraries": libraries, "programs": programs, "kernels": kernels},
        text=[
            head,
            listing("Installation", ("name", "version", "part of"), rows),
            *(f"{extra} is incomplete: pip install 'giveway[{extra}]'" for extra in lacking),
            kernels.sentence(),
            "all that is required is here" if ok else "something required is missing: pip install giveway",
        ],
        holds=ok,
    )


@command(warmup_app)
def warmup(
    call: Call,
    *,
    group: Annotated[Sequence[str], Opt("gaps, drive, generate or study; repeatable.", ("--for",))] = (),
) -> Done:
    """Compile the kernels ahead of their first use."""
    from giveway.core.kernels import cache_state

    for name in group:
        if name not in WORK:
            raise UnknownNameError("group of commands", name, WORK, where="--for")
    before, began = cache_state().compiled, time.monotonic()
    done: list[str] = []
    for name in group or WORK:
        call.say(f"{name}: running {len(WORK[name])} small {'run' if len(WORK[name]) == 1 else 'runs'}")
        try:
            _warm(name)
        except MissingDependencyError as error:
            if group:
                raise
            call.say(f"{name}: left out, {error.what}")
            continue
        done.append(name)
    state, seconds = cache_state(), time.monotonic() - began
    return Done(
        result={"groups": done, "new": state.compiled - before, "seconds": seconds, "kernels": state},
        text=f"{', '.join(done) or 'nothing'} in {seconds:.0f} s; {state.sentence()}",
    )


def _warm(name: str) -> None:
    from giveway.cli.main import call_raising

    with tempfile.TemporaryDirectory(prefix="giveway-warmup-") as folder:
        for line in WORK[name]:
            with contextlib.redirect_stdout(io.StringIO()):
                call_raising([word.format(folder=Path(folder)) for word in line.split()])


def _version(name: str, distribution: str) -> str | None:
    if not is_installed(name):
        return None
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:  # the library is there, put together by hand
        return "unknown version"
