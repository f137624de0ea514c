from __future__ import annotations

from pathlib import Path

import pytest

import giveway as gw


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api")


@pytest.fixture(scope="session")
def gaps(folder: Path) -> gw.Results:
    gw.synthesize("lgap", folder / "recordings", size=150)
    return gw.run_gaps(
        "quick",
        folder / "gaps",
        roots={"lgap": folder / "recordings"},
        engine=gw.LocalEngine(0),
        datasets=["lgap"],
        t0=["constant"],
        predictors=["LR_1D", "CV"],
    )


@pytest.fixture(scope="session")
def drives(folder: Path) -> gw.Results:
    return gw.run_drive(out=folder / "drives", predictors=["constant_velocity", "echo"], max_cases=3)


@pytest.fixture(scope="session")
def failures(folder: Path) -> gw.Results:
    return gw.find_failures(
        folder / "failures", planner="idm", budget=10, driver="cut_in", search="random", perturb=False
    )
