from __future__ import annotations

import errno
from pathlib import Path

import pytest

from giveway.core.errors import DiskFullError
from giveway.experiments import Artifacts


def write(folder: Path) -> None:
    (folder / "part").mkdir()
    (folder / "part" / "a.txt").write_text("content")


def forbidden(folder: Path) -> None:
    raise AssertionError("built a second time")


def test_an_artifact_is_built_once_and_found_by_content(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    first = artifacts.get({"b": 1, "a": 2}, write)
    assert (first / "part" / "a.txt").read_text() == "content"
    assert artifacts.get({"a": 2, "b": 1}, forbidden) == first
    assert artifacts.path({"a": 3, "b": 1}) != first


def test_a_builder_that_fails_leaves_nothing_behind_and_may_try_again(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        write(folder)
        raise RuntimeError("half way")

    artifacts = Artifacts(tmp_path)
    with pytest.raises(RuntimeError, match="half way"):
        artifacts.get({"a": 1}, fail)
    assert [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".lock"] == []
    assert artifacts.get({"a": 1}, write).is_dir()


@pytest.mark.parametrize("damage", ["missing", "truncated", "no manifest"])
def test_a_damaged_artifact_is_built_again(tmp_path: Path, damage: str) -> None:
    artifacts = Artifacts(tmp_path)
    folder = artifacts.get({"a": 1}, write)
    if damage == "missing":
        (folder / "part" / "a.txt").unlink()
    elif damage == "truncated":
        (folder / "part" / "a.txt").write_text("con")
    else:
        (folder / "artifact.json").unlink()
    assert (artifacts.get({"a": 1}, write) / "part" / "a.txt").read_text() == "content"


def test_a_full_disk_while_building_is_told_as_such(tmp_path: Path) -> None:
    def fill_up(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DiskFullError, match="disk is full"):
        Artifacts(tmp_path).get({"a": 1}, fill_up)
