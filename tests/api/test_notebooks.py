"""The notebooks of ``examples/``: small, without outputs, and every cell runs and shows something."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.ipynb"))
SLOW = ("gaps", "generate", "study")
MAX_BYTES = 10_000
MAX_SHOWN_BYTES = 300_000
PICTURED = ("Scene", "Tracks", "GapSamples", "DriveLog")

EXECUTE = """
import ast, json, sys
names = {"__name__": "__main__"}
shown = []
for source in json.loads(sys.stdin.read()):
    *body, last = ast.parse(source).body
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    html = value._repr_html_() if hasattr(value, "_repr_html_") else ""
    shown.append({"type": type(value).__name__, "bytes": len(html), "repr": len(repr(value))})
sys.stderr.write(json.dumps(shown))
"""
"""Runs all cells in one namespace, as a notebook does; reports the last expression of each."""


def notebook(name: str) -> dict[str, Any]:
    return json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))


def test_every_example_has_a_notebook() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_small_and_has_no_outputs(name: str) -> None:
    document = notebook(name)
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert (EXAMPLES / f"{name}.ipynb").stat().st_size < MAX_BYTES
    ids = [cell["id"] for cell in document["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in document["cells"]:
        assert cell["cell_type"] in ("code", "markdown")
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in NAMES])
def test_every_cell_of_a_notebook_runs_and_shows_something(name: str, tmp_path: Path) -> None:
    cells = ["".join(cell["source"]) for cell in notebook(name)["cells"] if cell["cell_type"] == "code"]
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE],
        input=json.dumps(cells),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stderr[done.stderr.rindex('[{"type"') :].partition("]")[0] + "]")
    assert len(shown) == len(cells)
    for value in shown:
        assert value["bytes"] > 0, f"{value['type']} shows nothing in a notebook"
        assert value["bytes"] < MAX_SHOWN_BYTES
        if value["type"] in PICTURED:
            assert value["repr"] < 160
