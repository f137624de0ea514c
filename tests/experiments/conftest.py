from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from giveway.experiments import Cell

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers import ``run_evaluations`` by name."""
    monkeypatch.syspath_prepend(HERE)


@pytest.fixture
def cells() -> Callable[..., list[Cell]]:
    def make(count: int, **params: object) -> list[Cell]:
        return [Cell(kind="test", params={"seed": 0, "repetition": i, **params}, data="d") for i in range(count)]

    return make


@pytest.fixture
def contents() -> Callable[[Path], dict[str, str]]:
    """Relative path to hash of every result file."""

    def read(root: Path) -> dict[str, str]:
        files = sorted(p for p in (root / "cells").rglob("*") if p.is_file())
        return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}

    return read
