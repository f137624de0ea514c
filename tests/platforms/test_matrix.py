"""The small form of tools/matrix: the same bytes with and without vector instructions, on other BLAS kernels."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

MATRIX = Path(__file__).parents[2] / "tools" / "matrix"


def run(*options: str, **environment: str) -> dict:
    done = subprocess.run(
        [sys.executable, str(MATRIX), "--json", *options],
        capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.stdout, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the settings are those of x86")
def test_recordings_drives_campaigns_and_clips_have_the_same_bytes_without_vector_instructions() -> None:
    report = run("--small", "--rows", "3")
    assert [row["row"] for row in report["rows"]] == [1, 3]
    assert report["ok"], report
    for row in report["rows"]:
        assert "skipped" not in row or "still uses" not in str(row), row


def test_a_name_that_numpy_does_not_know_is_noticed() -> None:
    source = MATRIX.read_text(encoding="utf-8")
    scope: dict = {"__name__": "matrix", "__file__": str(MATRIX)}
    exec(compile(source, str(MATRIX), "exec"), scope)
    assert scope["took_effect"]({}) == []
    assert "does not know" in str(scope["took_effect"]({"NPY_DISABLE_CPU_FEATURES": "NO_SUCH_UNIT"}))


def test_a_difference_is_noticed() -> None:
    scope: dict = {"__name__": "matrix", "__file__": str(MATRIX)}
    exec(compile(MATRIX.read_text(encoding="utf-8"), str(MATRIX), "exec"), scope)
    here = {"B drives": {"a": "1", "b": "2"}, "C cells": {"x": {"auc": 0.5, "ade": None}}}
    close = {"B drives": {"a": "1", "b": "2"}, "C cells": {"x": {"auc": 0.5 + 1e-9, "ade": None}}}
    far = {"B drives": {"a": "1", "b": "3"}, "C cells": {"x": {"auc": 0.5, "ade": 1.0}}}
    assert [ok for _, _, ok in scope["compare"](here, close)] == [True, True]
    assert [ok for _, _, ok in scope["compare"](here, far)] == [False, False]
