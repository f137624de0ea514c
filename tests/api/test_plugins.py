"""Components from a single file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import giveway
from giveway.components import load_plugin
from giveway.core.registry import PLUGINS
from giveway.metrics import METRICS
from giveway.planning import PLANNERS, make_planner
from giveway.predictors import PREDICTORS, make_predictor

FILE = '''
import numpy as np
import giveway as gw

class Still(gw.Predictor, name="still_of_a_file"):
    def predict(self, inputs, rng):
        return gw.Prediction.trajectories(np.repeat(inputs.xy[:, :1, -1:], 30, axis=2), dt_s=0.1)

class Parked(gw.Planner, name="parked_of_a_file"):
    def plan(self, situation):
        raise RuntimeError

class Helper(gw.Predictor):
    """Has no name, so it is not registered."""

@gw.metric(name="half_of_a_file", title="half", formula="1/2", unit="", better="higher", range=(0.0, 1.0),
           of="gaps", needs="probability", decomposes=False, version=1, reference="none")
def half(accepted, p):
    return 0.5

gw.register("predictor", "mine_of_a_file", Still())
'''


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registries and environment are as before after each test."""
    monkeypatch.setenv(PLUGINS, "")
    for registry in (PREDICTORS, PLANNERS, METRICS):
        registry.names()
        monkeypatch.setattr(registry, "_objects", dict(vars(registry)["_objects"]))


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_registers_what_it_defines(tmp_path: Path) -> None:
    path = written(tmp_path, FILE)
    module = load_plugin(path)
    assert make_predictor("still_of_a_file").info.title == "still_of_a_file"
    assert make_predictor("mine_of_a_file").info.name == "still_of_a_file"
    assert make_planner("parked_of_a_file").info.name == "parked_of_a_file"
    assert METRICS.get("half_of_a_file").info.title == "half"
    assert load_plugin(str(path)) is module
    assert os.environ[PLUGINS] == str(path)


def test_worker_processes_load_the_files_of_the_environment(tmp_path: Path) -> None:
    load_plugin(written(tmp_path, FILE))
    code = "from giveway.predictors import make_predictor; print(make_predictor('still_of_a_file').info.name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "still_of_a_file"


HEAD = "import giveway as gw\n"
LACKS = "class Bare(gw.Predictor, name='bare_of_a_file'):\n    pass\n"
TWICE = "class Echo(gw.Predictor, name='echo'):\n    def predict(self, inputs, rng):\n        return None\n"


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        (HEAD + "\nraise ValueError('no luck')\n", 3, "no luck"),
        (HEAD + "def broken(:\n", 2, "SyntaxError"),
        (HEAD + LACKS, 2, "lacks 'predict'"),
        (HEAD + "\n\n" + TWICE, 4, "'echo' is registered already"),
        (HEAD + "gw.register('predictor', 'CV', gw.Predictor)\n", 2, "lacks 'predict'"),
        (HEAD + "gw.register('planer', 'x', None)\n", 2, "planer"),
        (HEAD + "class A(gw.Predictor, name='a', gives='paths'):\n    pass\n", 2, "something unknown"),
    ],
)
def test_a_bad_file_is_a_sentence_with_file_and_line(tmp_path: Path, text: str, line: int, sentence: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(giveway.GivewayError, match="the plug-in cannot be loaded") as caught:
        load_plugin(path)
    assert sentence in str(caught.value)
    assert caught.value.where == f"{path}, line {line}"
    assert not os.environ[PLUGINS]


def test_a_mended_file_can_be_loaded(tmp_path: Path) -> None:
    path = written(tmp_path, FILE + "\nraise ValueError\n")
    with pytest.raises(giveway.GivewayError, match="cannot be loaded"):
        load_plugin(path)
    assert "mine_of_a_file" not in PREDICTORS
    path.write_text(FILE, encoding="utf-8")
    load_plugin(path)
    assert "mine_of_a_file" in PREDICTORS


def test_a_plug_in_is_a_python_file(tmp_path: Path) -> None:
    with pytest.raises(giveway.GivewayError, match="a plug-in is a Python file"):
        load_plugin(tmp_path / "none.py")
    with pytest.raises(giveway.GivewayError, match="a plug-in is a Python file"):
        load_plugin(tmp_path)
