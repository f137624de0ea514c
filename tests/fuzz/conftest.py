"""Subjects are made once per process; the long run only on request."""

from __future__ import annotations

import pytest

from fuzz.harness import Fuzzer
from fuzz.subjects import subjects


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "faults: thousands of damaged files; run with -m faults")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "faults" in config.option.markexpr:
        return
    for item in items:
        if item.get_closest_marker("faults"):
            item.add_marker(pytest.mark.skip(reason="run with -m faults"))


@pytest.fixture(scope="session")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Fuzzer:
    return Fuzzer(subjects(tmp_path_factory.mktemp("fuzz")))
