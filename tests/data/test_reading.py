import pytest

from giveway.core.errors import FileFormatError
from giveway.data import DATASETS
from giveway.data.reading import Scenes

from .conftest import write_levelx

ROUND = DATASETS.get("round")


@pytest.fixture
def three(tmp_path):
    for number in ("00", "01", "02"):
        write_levelx(tmp_path, [("car", 0, 9, 4.0, 2.0)], number=number)
    return tmp_path


def test_one_broken_recording_does_not_end_the_others(three, edit):
    edit(three / "data" / "01_tracks.csv", line=4, cell=4, value="here")
    scenes = Scenes(ROUND, ROUND.recordings(three))
    assert [scene.provenance.recording for scene in scenes] == ["00", "02"]
    (note,) = scenes.notes
    assert note.startswith("recording 01 was left out: not a number") and "line 4, column 'xCenter'" in note


def test_nothing_but_broken_recordings_is_an_error(three, edit):
    for number in ("00", "01", "02"):
        edit(three / "data" / f"{number}_tracks.csv", line=4, cell=4, value="here")
    with pytest.raises(FileFormatError, match="not a number") as caught:
        list(Scenes(ROUND, ROUND.recordings(three)))
    assert "00_tracks.csv" in (caught.value.where or "")
