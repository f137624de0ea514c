import errno
from pathlib import Path

import pytest

from giveway.core.errors import DiskFullError, UsageError
from giveway.core.files import disk_full, write_atomically, write_bytes, write_text


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "a.txt"
    write_text(target, "old")
    with pytest.raises(RuntimeError), write_atomically(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_in_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError) as caught:
        write_text(tmp_path / "file" / "x.txt", "")
    assert str(tmp_path / "file" / "x.txt") in str(caught.value)


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_names_path_need_and_free_space_and_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "table.json"
    target.write_text("old")
    with pytest.raises(DiskFullError) as caught, write_atomically(target) as temporary:
        temporary.write_bytes(b"x" * 1000)
        full()
    assert caught.value.where == str(target)
    assert caught.value.found is not None
    assert caught.value.found.startswith("1000 bytes are needed, ") and "bytes are free" in caught.value.found
    assert [path.name for path in tmp_path.iterdir()] == ["table.json"]
    assert target.read_text() == "old"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        RuntimeError("failed to write: No space left on device (os error 28)"),
        type("Operational", (Exception,), {"sqlite_errorcode": 13})("database or disk is full"),
    ],
    ids=["quota", "library", "SQLite"],
)
def test_a_full_disk_is_recognized_in_the_errors_of_libraries(error: Exception) -> None:
    wrapped = ValueError("something else")
    wrapped.__cause__ = error
    found = disk_full(wrapped, path=Path("a"))
    assert found is not None and found.where == "a"
    assert disk_full(ValueError("something else")) is None


def test_content_in_memory_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bytes(tmp_path / "a" / "cell.json", b"{}")
    with monkeypatch.context() as patch:
        patch.setattr("giveway.core.files.os.fsync", full)
        with pytest.raises(DiskFullError, match="the disk is full"):
            write_bytes(tmp_path / "a" / "cell.json", b"[]")
    assert (tmp_path / "a" / "cell.json").read_bytes() == b"{}"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["cell.json"]
