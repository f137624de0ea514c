"""Subjects are made once per process."""

from __future__ import annotations

import pytest

from fuzz.harness import Fuzzer
from fuzz.subjects import subjects


@pytest.fixture(scope="session")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Fuzzer:
    return Fuzzer(subjects(tmp_path_factory.mktemp("fuzz")))
