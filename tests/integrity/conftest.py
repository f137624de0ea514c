"""The marker of the full form; the small one runs with everything else."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "faults: every flip and every truncation; run with -m faults")
