"""What ``import giveway`` offers."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import giveway

HEAVY = ("torch", "numba", "polars", "scipy", "pandas", "numpy", "pydantic", "typer")
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
NAMES = [name for name in giveway.__all__ if name != "__version__"]


def test_importing_the_package_imports_no_library() -> None:
    code = f"import giveway, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_the_package_takes_less_than_three_tenths_of_a_second() -> None:
    code = "import time; began = time.process_time(); import giveway; print(time.process_time() - began)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.3


def test_listing_the_names_imports_no_library() -> None:
    code = f"import giveway, sys; dir(giveway); print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there_and_described(name: str) -> None:
    found = getattr(giveway, name)
    assert inspect.getdoc(found), f"{name} has no docstring"
    assert name in dir(giveway)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert f"`{name}" in DOCS.read_text(encoding="utf-8")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'run_gap'"):
        giveway.run_gap  # type: ignore[attr-defined] # noqa: B018


def test_the_docstring_says_what_is_promised() -> None:
    assert "Stability" in str(giveway.__doc__) and "deprecated" in str(giveway.__doc__)


def test_a_planner_of_ones_own_gets_its_facts_from_the_keywords_of_its_class() -> None:
    from giveway.planning.protocol import Planner as Contract

    class Careful(giveway.Planner, name="careful", version="3"):
        pass

    assert isinstance(Careful(), Contract)
    assert (Careful.info.name, Careful.info.title, Careful.info.version) == ("careful", "careful", "3")


def test_a_component_is_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from giveway.planning import PLANNERS, make_planner

    class Mine(giveway.Planner, name="registered_in_a_test"):
        def plan(self, situation):
            raise NotImplementedError

    monkeypatch.setattr(PLANNERS, "_objects", dict(vars(PLANNERS)["_objects"]))  # other tests list what is registered
    giveway.register("planner", "registered_in_a_test", Mine())

    assert make_planner("registered_in_a_test").info.name == "registered_in_a_test"
    with pytest.raises(giveway.GivewayError, match="registered already"):
        giveway.register("planner", "registered_in_a_test", Mine)
    with pytest.raises(giveway.GivewayError, match="did you mean 'planner'"):
        giveway.register("planer", "x", Mine)


def test_an_engine_says_where_it_computes() -> None:
    assert repr(giveway.LocalEngine(0)) == "LocalEngine(this process)"
    assert giveway.LocalEngine(2).num_workers == 2
    with pytest.raises(giveway.GivewayError, match="limits need worker processes"):
        giveway.LocalEngine(0, time_limit_s=1.0)
    with pytest.raises(giveway.GivewayError, match="not both"):
        giveway.DaskEngine("tcp://localhost:1", "cluster.toml")
