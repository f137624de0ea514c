import pytest

from giveway.core.errors import UsageError
from giveway.core.files import write_atomically, write_text


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
