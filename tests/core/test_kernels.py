"""Compilation: never silent, by one process at a time, kept where it can be kept."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import giveway

CALL = """
import numpy as np
from giveway.roads.routes import _brake_ahead
_brake_ahead(np.ones(3), 0.5)
"""


def start(cache: Path | None, **settings: str) -> subprocess.Popen[str]:
    given = {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, "-c", CALL],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**inherited, **given, **settings},
    )


def test_a_cold_kernel_is_announced_and_a_warm_one_is_not(tmp_path: Path) -> None:
    _, first = start(tmp_path).communicate(timeout=120)
    assert "compiling kernels, once per installation: roads.routes._brake_ahead" in first
    assert "compiled 1 of " in first and " kernels, took " in first
    _, second = start(tmp_path).communicate(timeout=120)
    assert second == ""


def test_of_several_processes_one_compiles(tmp_path: Path) -> None:
    processes = [start(tmp_path) for _ in range(3)]
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert sum("compiled 1 of" in text for text in said) == 1


def test_without_a_place_for_kernels_they_are_compiled_for_the_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    only = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    _, said = start(tmp_path / "file" / "cache", **only).communicate(timeout=120)
    assert "Traceback" not in said
    assert "compiling kernels, this process only: roads.routes._brake_ahead" in said


def test_an_installation_that_cannot_be_written_uses_the_cache_of_the_user(tmp_path: Path) -> None:
    source = Path(giveway.__file__).parent
    shutil.copytree(source, tmp_path / "giveway", ignore=shutil.ignore_patterns("__pycache__"))
    for package in ("core", "roads"):
        (tmp_path / "giveway" / package / "__pycache__").write_text("")  # root may write anywhere but here
    places = {"PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "user"), "HOME": str(tmp_path)}
    _, said = start(None, **places).communicate(timeout=120)
    assert "Traceback" not in said
    assert f"kept in {tmp_path / 'user' / 'numba'}: the installation cannot be written" in said
    assert list((tmp_path / "user").rglob("*.nbi"))


def test_kernels_kept_by_a_version_with_other_modules_are_compiled_again(tmp_path: Path) -> None:
    start(tmp_path).communicate(timeout=120)
    (index,) = tmp_path.rglob("*.nbi")
    import numba

    names_a_module_that_is_gone = b"cgiveway.no_such_module\nGone\n."
    index.write_bytes(pickle.dumps(numba.__version__) + names_a_module_that_is_gone)
    process = start(tmp_path)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0 and "compiled 1 of" in said, said


def test_functions_of_vector_units_are_off() -> None:
    import numba

    assert os.environ["NUMBA_DISABLE_INTEL_SVML"] == "1"
    assert numba.config.DISABLE_INTEL_SVML == 1


def test_a_constant_argument_makes_no_second_variant_of_a_kernel() -> None:
    from giveway.core.kernels import njit

    def double(x):  # type: ignore[no-untyped-def]
        return 2 * x

    double.__module__ = "giveway.of_a_test"  # kernels of others are left alone
    twice = njit(double)

    @njit
    def both(x):  # type: ignore[no-untyped-def]
        return twice(x) + twice(9)

    assert both(3) == 24
    assert len(twice.overloads) == 1


def test_remembered_operators_tell_numbers_and_arrays_apart() -> None:
    import numpy as np

    from giveway.core.kernels import njit

    @njit
    def product(a, b):  # type: ignore[no-untyped-def]
        return a * b

    for a, b in ((2, 3), (2, 1.5), (1.5, 2), (True, 3), (np.arange(3), 2), (np.arange(3.0), np.arange(3))):
        assert np.array_equal(product(a, b), a * b) and np.asarray(product(a, b)).dtype == np.asarray(a * b).dtype
    assert product("a", 3) == "aaa"
