"""The workflows of ``examples/``: Python and commands give the same numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
SLOW = ("gaps", "study")


def output(words: list[str], folder: Path) -> str:
    folder.mkdir()
    # ``giveway`` of this interpreter, wherever it is installed
    (folder / "bin").mkdir()
    command = folder / "bin" / "giveway"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m giveway "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_a_pair() -> None:
    assert NAMES == ["drive", "gaps", "generate", "study"]
    assert sorted(path.stem for path in EXAMPLES.glob("*.sh")) == NAMES


@pytest.mark.skipif(sys.platform == "win32", reason="the second half of each pair is a shell script")
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in NAMES])
def test_an_example_gives_the_same_numbers_in_python_and_as_commands(name: str, tmp_path: Path) -> None:
    python = output([sys.executable, str(EXAMPLES / f"{name}.py")], tmp_path / "python").splitlines()
    shell = output(["sh", str(EXAMPLES / f"{name}.sh")], tmp_path / "shell").splitlines()
    assert any(character.isdigit() for line in python for character in line)
    if name == "study":  # the command prints more tables
        assert [line for line in python if line not in shell] == []
    else:
        assert python == shell
