"""Compilation: never silent, by one process at a time, kept where it can be kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CALL = """
import numpy as np
from giveway.planning.paths import _brake_ahead
_brake_ahead(np.ones(3), 0.5)
"""


def start(cache: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CALL],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )


def test_a_cold_kernel_is_announced_and_a_warm_one_is_not(tmp_path: Path) -> None:
    _, first = start(tmp_path).communicate(timeout=120)
    assert "compiling kernels, once per installation: planning.paths._brake_ahead" in first
    assert "compiled 1 of " in first and " kernels, took " in first
    _, second = start(tmp_path).communicate(timeout=120)
    assert second == ""


def test_of_several_processes_one_compiles(tmp_path: Path) -> None:
    processes = [start(tmp_path) for _ in range(3)]
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert sum("compiled 1 of" in text for text in said) == 1


def test_without_a_place_for_kernels_they_are_compiled_for_the_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    _, said = start(tmp_path / "file" / "cache").communicate(timeout=120)
    assert "Traceback" not in said
    assert "compiling kernels" in said


def test_functions_of_vector_units_are_off() -> None:
    import numba

    import giveway  # noqa: F401

    assert os.environ["NUMBA_DISABLE_INTEL_SVML"] == "1"
    assert numba.config.DISABLE_INTEL_SVML == 1
