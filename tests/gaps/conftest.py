from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from giveway.data import DATASETS
from giveway.synth.protocol import synthesize


@pytest.fixture(scope="session")
def plain() -> ModuleType:
    """The per-sample reference, which the benchmarks load in the same way."""
    path = Path(__file__).parent / "plain_extraction.py"
    specification = importlib.util.spec_from_file_location("plain_extraction", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def lgap_root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("lgap") / "data"
    synthesize("lgap", root, seed=3, count=120)
    return root


@pytest.fixture(scope="session")
def lgap_scenes(lgap_root):
    adapter = DATASETS.get("lgap")
    return [scene for recording in adapter.recordings(lgap_root) for scene in adapter.scenes(recording)]


@pytest.fixture(scope="session")
def round_root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("round") / "data"
    synthesize("round", root, seed=1, count=1, minutes=4)
    return root


@pytest.fixture(scope="session")
def round_scenes(round_root):
    adapter = DATASETS.get("round")
    return [scene for recording in adapter.recordings(round_root) for scene in adapter.scenes(recording)]
