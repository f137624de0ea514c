"""Logs on disk: what is written is what is read, and nothing less."""

import json
from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import DataError, FileFormatError
from giveway.core.log import Grade
from giveway.drive.driving import drive_cases
from giveway.drive.scenes import GivenScenes
from giveway.predictors import make_predictor
from giveway.sim.log_files import logs_below, read_log, write_log
from giveway.testing.drive_scenes import crossing_case, crossing_scene


@pytest.fixture(scope="module")
def log():
    source = GivenScenes({"crossing": crossing_scene()})
    (drive,) = drive_cases([crossing_case()], source, predictor=make_predictor("idm_along_path"))
    return drive.log


def test_a_log_written_again_without_predictions_can_be_read(tmp_path, log):
    write_log(tmp_path / "a", log)
    write_log(tmp_path / "a", replace(log, predictions=None))
    assert read_log(tmp_path / "a").predictions is None


def test_a_log_is_no_log_while_it_is_written_again(tmp_path, log, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError("no space left on device")

    write_log(tmp_path / "a", log)
    monkeypatch.setattr("giveway.sim.log_files.write_bytes", full)
    with pytest.raises(OSError, match="no space"):
        write_log(tmp_path / "a", replace(log, predictions=None))
    assert logs_below(tmp_path) == []


def test_a_log_survives_the_round_trip(tmp_path, log):
    write_log(tmp_path / "a", log)
    back = read_log(tmp_path / "a")
    assert back.digest == log.digest
    assert back.case == log.case
    assert back.collisions == log.collisions
    assert back.meta == log.meta
    for name in ("ego_s", "recorded_ego_s", "outside_m", "recorded_outside_m", "limit_mps", "plans"):
        np.testing.assert_array_equal(getattr(back, name), getattr(log, name))
    np.testing.assert_array_equal(back.recorded.xy, log.recorded.xy)
    np.testing.assert_array_equal(back.predictions.states, log.predictions.states)


def test_a_log_of_the_first_release_keeps_who_was_at_fault(tmp_path, log):
    """Version 1 had flags and a reason instead of violators, grade and sentence."""
    shared = {"first": "ego", "second": "other", "start_tick": 3, "end_tick": 4, "time_s": 1.3, "at_spawn": False}
    shared |= {"relative_speed_mps": 2.0, "first_region": "front", "second_region": "rear", "vulnerable": False}
    old = [{**shared, "first_at_fault": True, "second_at_fault": False, "reason": "ego: hit with its front"}]
    write_log(tmp_path / "a", log)
    file = tmp_path / "a" / "log.json"
    document = json.loads(file.read_text())
    document |= {"version": 1, "collisions": old, "digest": log.digest_with(old)}
    document.pop("seal", None)
    file.write_text(json.dumps(document))
    (hit,) = read_log(tmp_path / "a").collisions
    assert (hit.violators, hit.grade, hit.sentence) == (("ego",), Grade.NONE, "ego: hit with its front")
    assert hit.first_at_fault and not hit.second_at_fault
    old[0]["first_at_fault"] = False
    file.write_text(json.dumps({**document, "collisions": old}))
    with pytest.raises(FileFormatError, match="changed"):
        read_log(tmp_path / "a")


def test_a_log_without_its_last_file_does_not_count(tmp_path, log):
    write_log(tmp_path / "a", log)
    (tmp_path / "a" / "log.json").unlink()
    assert logs_below(tmp_path) == []
    with pytest.raises(DataError, match=r"no log.json"):
        read_log(tmp_path / "a")


def test_a_log_that_was_changed_is_noticed(tmp_path, log):
    write_log(tmp_path / "a", log)
    file = tmp_path / "a" / "log.json"
    document = json.loads(file.read_text())
    document["ego_left"] = not document["ego_left"]
    file.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="changed"):
        read_log(tmp_path / "a")


@pytest.mark.parametrize("text", ["", "{}", '{"format": "giveway-drive-log", "version": 1}'])
def test_a_damaged_log_gets_a_sentence(tmp_path, log, text):
    write_log(tmp_path / "a", log)
    (tmp_path / "a" / "log.json").write_text(text)
    with pytest.raises(DataError):
        read_log(tmp_path / "a")
