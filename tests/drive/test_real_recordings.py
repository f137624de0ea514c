"""Mining and driving on INTERACTION recordings that the user has; nothing of them is in the repository."""

import os
from pathlib import Path

import numpy as np
import pytest

from giveway.data import DATASETS
from giveway.drive.driving import Drive, drive_cases
from giveway.drive.mining import MiningRules, mine_scene
from giveway.drive.scenes import RecordedScenes
from giveway.metrics.courtesy import courtesy_of
from giveway.metrics.gated import gated_of
from giveway.predictors import make_predictor

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def root():
    found = os.environ.get("GIVEWAY_REAL_INTERACTION")
    if not found:
        pytest.skip("GIVEWAY_REAL_INTERACTION does not point to recordings")
    return Path(found)


@pytest.fixture(scope="module", params=["DR_USA_Roundabout_FT", "DR_USA_Intersection_MA"])
def mined(request, root):
    adapter = DATASETS.get("interaction")
    recording = next(r for r in adapter.recordings(root) if r.location == request.param)
    (scene,) = adapter.scenes(recording)
    rules = MiningRules(max_cases=4)
    return mine_scene(scene, dataset="interaction", recording=recording.id, rules=rules).cases, RecordedScenes(root)


def test_interesting_cases_are_found_and_say_who_had_to_give_way(mined):
    cases, _ = mined
    assert len(cases) == 4
    for case in cases:
        assert case.tracks_sha256
        assert case.right_of_way
        assert case.conflicts[0].rule in ("map", "geometry", "inferred")
        assert 3.0 <= (case.interest or 0.0) <= 5.0


def test_replaying_everybody_gives_the_recording_back(mined):
    cases, source = mined
    for drive in drive_cases(cases, source, predictor=None, everyone_replays=True):
        assert isinstance(drive, Drive), drive
        log = drive.log
        np.testing.assert_allclose(log.tracks.xy, log.recorded.xy, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(log.tracks.observed, log.recorded.observed)
        assert not [c for c in log.collisions if not c.at_spawn]
        assert all((c.jerk_mps3, c.delay_s, c.imposed_decel_mps2) == (0.0, 0.0, 0.0) for c in courtesy_of(log))
        assert gated_of(log).terms["progress"] == pytest.approx(1.0)


def test_every_mined_case_can_be_driven(mined):
    cases, source = mined
    for drive in drive_cases(cases, source, predictor=make_predictor("constant_velocity")):
        assert isinstance(drive, Drive), drive
        assert drive.log.num_fallbacks == 0
        assert drive.log.tracks.observed[drive.log.ego].any()
