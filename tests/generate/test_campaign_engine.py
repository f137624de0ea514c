"""Campaigns on an engine: the same tests, wherever they are driven, however often they are interrupted."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from giveway.cli.main import run as giveway
from giveway.core.errors import StoreError
from giveway.experiments import Store, status
from giveway.experiments.store import STORE_FILE

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


def test_every_start_is_recorded_with_what_was_asked_for(one_by_one: Path, capsys) -> None:
    command(capsys, "run", *PLAN, "--campaigns", 2, "--out", one_by_one)
    starts = Store(one_by_one).provenance()
    assert [start["counts"]["done"] for start in starts] == [24, 0]
    assert starts[0]["experiment"] == "campaign"
    assert starts[0]["spec"]["planner"] == ["constant_speed"]
    assert starts[0]["spec"]["seed"] == 3
    assert starts[0]["code"]["giveway"]


def test_a_campaign_that_is_out_of_time_goes_on_later(one_by_one: Path, tmp_path: Path, capsys) -> None:
    code, found, _ = command(capsys, "run", *PLAN, "--campaigns", 2, "--max-hours", 0, "--out", tmp_path / "S")
    assert code == 130, "stopped with tests missing"
    assert 0 < found["done"] < 24
    assert found["missing"] > 0
    code, found, _ = command(capsys, "run", *PLAN, "--campaigns", 2, "--out", tmp_path / "S")
    assert (code, found["missing"]) == (0, 0)
    assert driven_in(tmp_path / "S") == driven_in(one_by_one)


def test_a_campaign_that_is_killed_goes_on_as_if_it_had_not_been(one_by_one: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "S"
    words = ["generate", "run", *PLAN, "--campaigns", "2", "--out", str(out)]
    program = f"from giveway.cli.main import run; run({words!r})"
    process = subprocess.Popen([sys.executable, "-c", program], env=os.environ, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list(out.rglob("cells/*/*.json"))) < 3:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = len(list(out.rglob("cells/*/*.json")))
    assert before >= 3
    code, found, err = command(capsys, "run", *PLAN, "--campaigns", 2, "--out", out)
    assert code == 0, err
    assert (found["cells"]["done"] + found["cells"]["skipped"], found["cells"]["missing"]) == (24, 0)
    assert driven_in(out) == driven_in(one_by_one)


def test_a_campaign_over_its_time_limit_fails_and_keeps_its_tests(tmp_path: Path, capsys) -> None:
    assert command(capsys, "run", *PLAN, "--out", tmp_path / "S")[0] == 0
    slow = [*PLAN[:-4], "--budget", 300, "--seed", 3]
    code, found, _ = command(capsys, "run", *slow, "--time-limit", 0.01, "--out", tmp_path / "S")
    assert code == 1
    assert [f["error"] for f in found["failures"]] == ["TimeLimit"]
    assert found["skipped"] == 12
    assert found["missing"] > 0
    assert status(Store(tmp_path / "S")).failed == 1


def test_a_store_of_release_0_1_is_refused_with_a_way_out(tmp_path: Path, capsys) -> None:
    (tmp_path / "S").mkdir()
    (tmp_path / "S" / STORE_FILE).write_text(json.dumps({"format": 1, "written_by": "giveway 0.1.0"}))
    code, _, err = command(capsys, "run", *PLAN, "--out", tmp_path / "S")
    assert code == 2
    assert "earlier version" in err
    assert "new folder" in err
    with pytest.raises(StoreError, match="earlier version"):
        Store(tmp_path / "S")


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
