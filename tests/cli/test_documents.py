"""Every command with ``--json`` gives one document of one form; text and exit codes agree with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.typed import commands, typed
from giveway import __version__
from giveway.cli.command import Call
from giveway.experiments import Cell, FailedCell
from giveway.experiments.store import Plan

LINES = {
    "demo": "demo -o {out}",
    "doctor": "doctor",
    "warmup": "warmup --for generate",
    "data synth": "data synth -d lgap --size 3 -o {out}",
    "data verify": "data verify {small}/lgap -d lgap",
    "data show": "data show {small}/interaction -d interaction --duration 2 -o {out}",
    "data convert": "data convert {small}/lgap -d lgap -o {out}",
    "data lanes": "data lanes {small}/interaction -d interaction --site DR_SYN_Merging_A -o {out}.osm",
    "gaps conflicts": "gaps conflicts {small}/interaction -d interaction --max-recordings 1",
    "gaps extract": "gaps extract {small}/lgap -d lgap --t0 constant",
    "gaps show": "gaps show {sample} --data {small}/lgap -o {out}",
    "gaps run": "gaps run {small}/gaps.toml --data lgap={small}/lgap --limit 1 -w 1 -o {out}",
    "gaps table": "gaps table {small}/gaps --metric auc",
    "gaps figure": "gaps figure {small}/gaps -o {out}/f.png",
    "gaps compare": "gaps compare {small}/gaps LR_1D CV --draws 20",
    "gaps explain": "gaps explain --samples {small}/samples.parquet --sample {sample} -p CM_IIJ11 "
    "--parameters {fit} -o {out}",
    "drive mine": "drive mine {small}/interaction --max-recordings 1 --min-interest 1 -o {out}/cases.json",
    "drive train": "drive train {small}/interaction --max-recordings 1 --epochs 1 --stride 40 -o {out}/g.safetensors",
    "drive run": "drive run -p echo --max-cases 1 -o {out}",
    "drive realism": "drive realism --driver idm --roll-outs 2 --max-cases 1 -w 1 -o {out}",
    "drive table": "drive table {small}/drive",
    "drive openloop": "drive openloop -p echo --max-cases 1",
    "drive power": "drive power {small}/drive",
    "drive compare": "drive compare {small}/drive echo constant_velocity",
    "drive score": "drive score {small}/drive",
    "drive replay": "drive replay {small}/drive -p echo -o {out}/r.html",
    "drive serve": "drive serve --proto",
    "generate prior": "generate prior {small}/interaction -d interaction --max-recordings 1 -o {out}/p.json",
    "generate train": "generate train -o {out} --env-steps 400 --round-steps 400 --worlds 4 --ticks 20 -e idm",
    "generate run": "generate run --budget 4 --driver idm --search random -e idm -o {out}",
    "generate bench": "generate bench --method idm --method no_attack --seeds 2 --budget 10 -e idm -w 1 -o {out}",
    "generate harden": "generate harden --budget 64 --generations 1 -o {out}",
    "generate table": "generate table {small}/generate",
    "generate export": "generate export {small}/generate -o {out}",
    "study create": "study create {small}/interaction --seconds 3 --num-clips 6 -o {out}",
    "study rehearse": "study rehearse {small}/study --raters 2 -o {out}",
    "study power": "study power --draws 50",
    "study serve": "study serve {small}/study --port 0",
    "study analyze": "study analyze {small}/rehearsal --draws 100 --no-model -o {out}/a.html",
    "study export": "study export {small}/rehearsal -o {out}",
    "study payments": "study payments {small}/rehearsal",
    "agree": "agree {small}/ratings.csv --draws 50",
    "list": "list planners",
    "status": "status {small}/drive",
    "report": "report {small}/gaps -o {out}",
    "cite": "cite {small}/gaps",
}


def check(document: dict[str, Any], code: int, command: str) -> None:
    """The form of a document."""
    assert document["ok"] is (code == 0)
    assert (document["command"], document["version"], document["schema"]) == (command, __version__, 1)
    if "error" in document:
        assert set(document) == {"ok", "command", "version", "schema", "error"}
        assert set(document["error"]) == {"type", "what", "where", "found", "try"}
        assert document["error"]["type"] and document["error"]["what"]
        assert code in (2, 130)
    else:
        assert set(document) == {"ok", "command", "version", "schema", "result", "warnings", "failures"}
        assert isinstance(document["result"], dict) and document["result"]
        assert isinstance(document["warnings"], list) and isinstance(document["failures"], list)
        assert code in (0, 1, 130)


def test_every_command_is_called_below() -> None:
    assert set(LINES) == {name for name, _ in commands()}


@pytest.fixture
def shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that take long or do not end by themselves."""

    def serve(*_: Any, on_ready: Callable[[str], None], **__: Any) -> None:
        on_ready("http://127.0.0.1:1")

    nothing = SimpleNamespace(page=Path("index.html"), seconds={}, findings=())
    monkeypatch.setattr("giveway.demo.run.run_demo", lambda out, seed, say: nothing)
    monkeypatch.setattr("giveway.serve.web.server.serve", serve)


@pytest.fixture(scope="session")
def explained(small: Path) -> dict[str, str]:
    """A sample, and parameters of the model that are not fitted."""
    from giveway.gaps.files import read_samples
    from giveway.predictors.commotions.config import Configuration
    from giveway.predictors.commotions.fitting.result import FittedParameters
    from giveway.predictors.commotions.parameters import PARAMETERS, Theta
    from giveway.predictors.commotions.predictor import usable

    samples = read_samples(small / "samples.parquet", "constant")
    config = Configuration.from_name("CM_IIJ11")
    middle = {p.name: (p.low * p.high) ** 0.5 if p.low > 0 else (p.low + p.high) / 2 for p in PARAMETERS}
    FittedParameters(theta=Theta(**middle), config=config, loss=1.0, loss_error=0.0, provenance={}).save(
        small / "fit.json"
    )
    sample = str(samples.inputs.sample_id[usable(samples.inputs).argmax()])
    return {"sample": sample, "fit": str(small / "fit.json")}


@pytest.mark.usefixtures("shortened")
@pytest.mark.parametrize("command", LINES)
def test_one_document_of_one_form(command: str, small: Path, explained: dict[str, str], tmp_path: Path) -> None:
    line = LINES[command].format(small=small, out=tmp_path / "out", **explained)
    answer = typed(*line.split(), "--json")
    assert answer.code == 0, answer.err
    check(answer.document, answer.code, command)
    json.dumps(answer.document, allow_nan=False)


@pytest.mark.parametrize("command", LINES)
def test_a_misspelt_option_is_an_error_of_the_same_form_that_suggests_the_nearest(
    command: str,
) -> None:
    answer = typed(*command.split(), "--quite", "--json")
    assert answer.code == 2
    check(answer.document, 2, command)
    assert "--quite" in answer.document["error"]["what"]
    assert "--quiet" in answer.document["error"]["try"]


def test_a_check_that_does_not_hold_is_exit_code_1(small: Path, tmp_path: Path) -> None:
    (tmp_path / "lgap").mkdir()
    for file in (small / "lgap").iterdir():
        if file.is_file():
            (tmp_path / "lgap" / file.name).write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    answer = typed("data", "verify", tmp_path / "lgap", "-d", "lgap", "--json")
    assert answer.code == 1, answer.err
    check(answer.document, 1, "data verify")


def test_a_stopped_command_is_exit_code_130(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("giveway.synth.protocol.synthesize", stop)
    answer = typed("data", "synth", "-d", "lgap", "-o", tmp_path, "--json")
    assert answer.code == 130
    check(answer.document, 130, "data synth")


def test_a_run_that_is_stopped_with_cells_missing_is_exit_code_130(tmp_path: Path) -> None:
    order = ("drive", "run", "-p", "echo", "--max-cases", "2", "-w", "1", "-o", tmp_path / "R", "--json")
    answer = typed(*order, "--max-hours", "0")
    assert answer.code == 130, answer.err
    check(answer.document, 130, "drive run")
    assert answer.document["result"]["cells"]["missing"] > 0
    answer = typed(*order)
    assert (answer.code, answer.document["result"]["cells"]["missing"]) == (0, 0)


def test_a_run_reports_its_own_failures_and_not_those_of_the_store() -> None:
    def failed(name: str) -> FailedCell:
        cell = Cell(kind="drive", params={"case": name})
        return FailedCell(key=cell.key, cell=cell, error="Error", message=name)

    old, new = failed("old"), failed("new")
    plans = [
        Plan(name=name, spec={}, experiment="drive", keys=(one.key,)) for name, one in {"a": old, "b": new}.items()
    ]
    results: Any = SimpleNamespace(
        place="R",
        status=SimpleNamespace(total=2, done=0, failed=2, missing=0, failures=(old, new)),
        runs=[{"plan": "a", "counts": {}}, {"plan": "b", "counts": {"total": 1, "done": 0, "failed": 1, "missing": 0}}],
        store=SimpleNamespace(plans=lambda: plans),
    )
    done = Call(command="drive run", values={}).ran(results)
    assert [failure["message"] for failure in done.failures] == ["new"]
    assert done.exit_code == 1


def test_warnings_and_progress_stay_off_standard_output(small: Path, tmp_path: Path) -> None:
    run = ("gaps", "run", small / "gaps.toml", "--data", f"lgap={small}/lgap", "-w", 1, "-o", tmp_path / "R")
    typed(*run, "--limit", 1)
    answer = typed("gaps", "table", tmp_path / "R", "--json")
    assert any("of 4 cells" in warning for warning in answer.document["warnings"])
    assert "of 4 cells" in answer.err
    loud, quiet = typed(*run, "--rerun", "all"), typed(*run, "--rerun", "all", "--quiet")
    assert loud.err and not quiet.err
    assert quiet.out
