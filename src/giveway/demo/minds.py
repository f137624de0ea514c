"""A chapter on who drives the others: the same cases among cars that follow a formula, and among cars with a mind."""

from __future__ import annotations

from pathlib import Path

from giveway.demo.chapter import Chapter
from giveway.drive.run import run_drive

FOLDER, MAX_CASES, PREDICTOR = Path("minds"), 6, "constant_velocity"
DRIVERS = {"idm": "idm", "mind": "cognitive"}
"""Name of a store, and of a condition of the study, to the driver of its traffic."""


def _run(root: Path, seed: int) -> None:
    for name, driver in DRIVERS.items():
        run_drive(out=root / FOLDER / name, predictors=[PREDICTOR], driver=driver, max_cases=MAX_CASES, seed=seed)


chapter = Chapter(name="minds", title="Traffic with a mind", run=_run)
