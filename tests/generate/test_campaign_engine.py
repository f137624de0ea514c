"""Campaigns on an engine: the same tests, wherever they are driven."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from giveway.cli.main import run as giveway
from giveway.experiments import Store, status
from giveway.generate.campaign.engine import FOLDER

PLAN = ["--planner", "constant_speed", "--driver", "program", "--budget", "12", "--seed", "3"]


def command(capsys, *arguments: object) -> tuple[int, dict, str]:
    with pytest.raises(SystemExit) as stop:
        giveway(["generate", *(str(a) for a in arguments), "--json"])
    text = capsys.readouterr()
    document = json.loads(text.out)
    found = {**document.get("result", {}), **document.get("result", {}).get("cells", {})}
    return int(stop.value.code or 0), {**found, "failures": document.get("failures")}, text.err


def driven_in(store: Path) -> dict[str, str]:
    files = (p for p in (store / "cells").rglob("*") if p.is_file())
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("plain") / "S"
    with pytest.raises(SystemExit) as stop:
        giveway(["generate", "run", *PLAN, "--campaigns", "2", "--out", str(out), "--json"])
    assert not stop.value.code
    return out


def test_campaigns_on_two_workers_write_the_same_tests(one_by_one: Path, tmp_path: Path, capsys) -> None:
    code, found, err = command(capsys, "run", *PLAN, "--campaigns", 2, "--workers", 2, "--out", tmp_path / "S")
    assert code == 0, err
    assert (found["done"], found["skipped"], found["missing"]) == (24, 0, 0)
    assert driven_in(tmp_path / "S") == driven_in(one_by_one)
    assert len(driven_in(one_by_one)) == 48
    cases = {p.name: p.read_bytes() for p in (tmp_path / "S" / "cases").rglob("*.json")}
    assert cases == {p.name: p.read_bytes() for p in (one_by_one / "cases").rglob("*.json")}
    next((tmp_path / "S" / "cells").rglob("*.json")).unlink()
    code, found, _ = command(capsys, "run", *PLAN, "--campaigns", 2, "--workers", 2, "--out", tmp_path / "S")
    assert (code, found["done"], found["skipped"]) == (0, 1, 23)
    assert driven_in(tmp_path / "S") == driven_in(one_by_one)


def test_a_campaign_that_is_out_of_time_goes_on_later(one_by_one: Path, tmp_path: Path, capsys) -> None:
    code, found, _ = command(capsys, "run", *PLAN, "--campaigns", 2, "--max-hours", 0, "--out", tmp_path / "S")
    assert code == 0
    assert 0 < found["done"] < 24
    assert found["missing"] > 0
    code, found, _ = command(capsys, "run", *PLAN, "--campaigns", 2, "--out", tmp_path / "S")
    assert (code, found["missing"]) == (0, 0)
    assert driven_in(tmp_path / "S") == driven_in(one_by_one)


def test_a_campaign_over_its_time_limit_fails_and_keeps_its_tests(tmp_path: Path, capsys) -> None:
    assert command(capsys, "run", *PLAN, "--out", tmp_path / "S")[0] == 0
    endless = [*PLAN[:-4], "--budget", 5_000, "--seed", 3]
    code, found, _ = command(capsys, "run", *endless, "--time-limit", 2, "--out", tmp_path / "S")
    assert code == 1
    assert [f["error"] for f in found["failures"]] == ["TimeLimit"]
    assert found["skipped"] == 12
    assert found["missing"] > 0
    assert status(Store(tmp_path / "S" / FOLDER)).failed == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "what", [["run", *PLAN, "--campaigns", "2"], ["bench", "--sanity", "--seeds", "2", "--budget", "10"]]
)
def test_dask_writes_the_same_tests_as_this_machine(what: list[str], tmp_path: Path, capsys) -> None:
    for name, options in {"local": ["--workers", "1"], "dask": ["--engine", "dask", "--workers", "2"]}.items():
        _, _, err = command(capsys, *what, *options, "--out", tmp_path / name)
        assert (tmp_path / name / "cells").is_dir(), err
    assert driven_in(tmp_path / "local") == driven_in(tmp_path / "dask")


def test_options_that_contradict_one_another_are_refused(tmp_path: Path, capsys) -> None:
    for options in (["--scheduler", "tcp://127.0.0.1:1"], ["--engine", "cloud"]):
        code, _, err = command(capsys, "run", *PLAN, *options, "--out", tmp_path / "S")
        assert code == 2
        assert "dask" in err
