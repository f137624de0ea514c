"""Cases as cells of an engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from giveway.cli.main import run as command
from giveway.drive.bundled import bundled_set
from giveway.drive.engine import DriveOrder, drive_on
from giveway.drive.runs import run_predictor
from giveway.experiments import SerialExecutor
from giveway.planning import make_planner
from giveway.predictors import make_predictor


def files_of(root: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(root)): p.read_bytes()
        for folder in ("cells", "logs")
        for p in sorted((root / folder).rglob("*"))
        if p.is_file()
    }


def order(out: Path) -> DriveOrder:
    return DriveOrder(
        predictor="constant_velocity", checkpoint=None, planner="default", cases=None, data=None, out=str(out)
    )


def test_an_engine_writes_the_records_and_logs_of_one_process(tmp_path: Path) -> None:
    cases, source = bundled_set()
    summary = drive_on(SerialExecutor(), order(tmp_path / "engine"), cases[:2])
    assert summary.ok, summary.failures
    plain = {"predictor": make_predictor("constant_velocity"), "planner": make_planner("default")}
    run_predictor(cases[:2], source, out=tmp_path / "plain", **plain)
    assert files_of(tmp_path / "engine") == files_of(tmp_path / "plain")
    assert len(files_of(tmp_path / "plain")) > 4
    again = run_predictor(cases[:2], source, out=tmp_path / "engine", **plain)
    assert (again.driven, again.skipped) == (0, 2)


def test_a_drive_whose_log_is_gone_is_driven_again(tmp_path: Path) -> None:
    cases, _ = bundled_set()
    drive_on(SerialExecutor(), order(tmp_path / "R"), cases[:1])
    (log,) = (tmp_path / "R" / "logs").rglob("log.json")
    log.unlink()
    assert drive_on(SerialExecutor(), order(tmp_path / "R"), cases[:1]).done == 1
    assert log.exists()


@pytest.mark.slow
def test_the_command_drives_on_a_dask_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["drive", "run", "-p", "constant_velocity", "--limit", "3", "--json"]
    documents = {}
    for name, more in {"local": [], "dask": ["--engine", "dask", "--workers", "2"]}.items():
        with pytest.raises(SystemExit) as ended:
            command([*argv, "--out", str(tmp_path / name), *more])
        assert ended.value.code in (0, None)
        documents[name] = json.loads(capsys.readouterr().out)["result"]
    assert files_of(tmp_path / "local") == files_of(tmp_path / "dask")
    assert documents["local"]["predictors"][0]["score"] == documents["dask"]["predictors"][0]["score"]
