from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from giveway.study.workspace import Study, open_study
from support.studies import synthetic_study


@pytest.fixture(scope="session")
def study_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study folder to copy from; nothing is written into it."""
    return synthetic_study(tmp_path_factory.mktemp("study") / "template")


@pytest.fixture
def study(study_folder: Path, tmp_path: Path) -> Iterator[Study]:
    """A fresh study on SQLite."""
    import shutil

    folder = tmp_path / "study"
    shutil.copytree(study_folder, folder)
    opened = open_study(folder)
    yield opened
    opened.engine.dispose()
