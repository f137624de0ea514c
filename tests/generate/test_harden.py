"""Hardening: tuned on found failures, tested on others; the tuned planner can be used by name."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import ConfigError, FileFormatError, UsageError
from giveway.generate.egos import resolve_ego
from giveway.generate.harden import MOST_LOST, _calm, _drive, _front, _pace, _return, _score, _search, _with, harden
from giveway.generate.worlds import WorldSettings
from giveway.planning import make_planner


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hardening")
    said: list[str] = []
    found = harden(folder, planner="idm", road="straight", budget=128, generations=3, seed=1, say=said.append)
    return folder, found, said


def test_what_was_learned_from_fails_less_often_and_candidates_are_kept(made, tmp_path):
    folder, found, _ = made
    assert found.score[1] > found.score[0]
    learned = found.checks[0]
    assert learned.before == learned.tests > 20, "every failure happens again with the planner as it was"
    assert learned.after < learned.before
    assert {c.name for c in found.checks} >= {"kinds held out", "attacker held out (policy)", "ordinary traffic"}
    assert len(json.loads((folder / "candidates.json").read_text())["scores"]) == 24
    with pytest.raises(ConfigError, match="another hardening"):
        harden(folder, planner="idm", road="straight", budget=128, generations=3, seed=2)
    text = found.table().text()
    assert "fresh maneuver, map_elites" in text
    calm = next(c for c in found.checks if c.name == "ordinary traffic")
    assert calm.progress[1] > 0.95 * calm.progress[0], "progress is kept"
    again = harden(folder, planner="idm", road="straight", budget=128, generations=3, seed=1)
    assert again == found


def test_the_tuned_planner_has_a_name_and_its_parameters(made):
    folder, found, _ = made
    ego = resolve_ego(f"tuned:{folder / 'tuned.json'}")
    assert ego.idm is not None
    assert {n: getattr(ego.idm, n) for n in found.parameters} == dict(found.parameters)
    assert ego.driver is resolve_ego("idm").driver


def test_the_objective_pays_for_getting_ahead_and_not_for_failing():
    settings, idm = WorldSettings(road="straight", ego="idm", actions="lateral"), resolve_ego("idm")
    calm = [_return(r) for r in _calm(settings, 5, 64, idm)]
    attacked = [_return(r) for r in _drive(settings, _search(settings, "cut_in", "random", 64, 0), idm)]
    # an ego that hardly moves: the lowest acceleration and the largest gaps within the range
    crawling = [_return(r) for r in _calm(settings, 5, 64, _with(idm, np.array([0.0, 0.0, 1.0, 1.0])))]
    assert sum(calm) / 64 > 8.0
    assert max(attacked) < sum(calm) / 64
    assert sum(crawling) < sum(calm)


def test_a_candidate_that_loses_progress_is_refused():
    settings, idm = WorldSettings(road="straight", ego="idm", actions="lateral"), resolve_ego("idm")
    assert idm.idm is not None
    slow = replace(idm, idm=idm.idm._replace(max_accel_mps2=0.1, headway_s=8.0, min_gap_m=10.0))
    found = _search(settings, "cut_in", "random", 64, 0)
    pace = _pace(_calm(settings, 5, 64, idm))
    score, kept, left = _score(settings, found, 5, pace, idm)
    assert (kept, left) == (1.0, 1.0), "the planner as it was"
    refused, kept, left = _score(settings, found, 5, pace, slow)
    assert kept < 1.0 - MOST_LOST, "an ego that hangs back"
    assert left < 1.0, "fails less often"
    assert refused < score, "and earns less all the same"


def test_the_front_holds_what_nothing_beats():
    assert _front([(0.9, 0.5), (0.8, 0.2), (0.7, 0.3), (1.0, 0.5)]) == ((0.8, 0.2), (1.0, 0.5))


def test_bad_files_and_planners_get_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="no parameters to tune"):
        harden(tmp_path, planner="constant_speed")
    with pytest.raises(UsageError, match="needs its file"):
        make_planner("tuned")
    bad = ('"idm", "parameters": {"wings": 2}', '"idm", "parameters": {"headway_s": NaN}', '"constant_speed"')
    for text in (*(f'{{"planner": {one}}}' for one in bad), "[]"):
        (tmp_path / "t.json").write_text(text)
        with pytest.raises(FileFormatError):
            make_planner(f"tuned:{tmp_path / 't.json'}")
