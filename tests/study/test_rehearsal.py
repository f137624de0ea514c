"""Simulated raters go through a copy; the study itself stays as it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from giveway.core.errors import UsageError
from giveway.core.seeds import stream
from giveway.study.analysis import analyze_study
from giveway.study.export import long_answers
from giveway.study.monitor import list_invites
from giveway.study.participation import JoinRefusedError
from giveway.study.power import simulate_power
from giveway.study.rehearsal import rehearse
from giveway.study.workspace import open_study
from giveway.testing.studies import synthetic_study


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_study(tmp_path_factory.mktemp("rehearsal") / "S", num_clips=8)


def test_a_rehearsal_fills_the_copy_and_leaves_the_study_empty(original: Path, tmp_path: Path) -> None:
    copy = rehearse(original, tmp_path / "copy", num_raters=6, seed=3)
    assert long_answers(copy)["rater"].n_unique() == 6
    assert long_answers(open_study(original)).is_empty()


def test_recorded_clips_are_rated_higher_than_broken_ones(original: Path, tmp_path: Path) -> None:
    analysis = analyze_study(rehearse(original, tmp_path / "copy", num_raters=12), draws=100, with_model=False)
    means = {row.condition: row.mean.value for row in analysis.everybody.conditions}
    broken = [value for name, value in means.items() if name.startswith("broken")]
    assert broken and means["recorded"] > max(broken)


def test_the_copy_must_be_new(original: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exists"):
        rehearse(original, tmp_path, num_raters=1)


@pytest.fixture
def invited(tmp_path: Path) -> Path:
    return synthetic_study(tmp_path / "invited", num_clips=4, flow={"access": "invite"})


def test_a_study_for_invited_people_can_be_rehearsed(invited: Path, tmp_path: Path) -> None:
    copy = rehearse(invited, tmp_path / "copy", num_raters=2)
    assert long_answers(copy)["rater"].n_unique() == 2
    assert list_invites(open_study(invited)) == []


def test_a_failed_rehearsal_leaves_no_copy(original: Path, tmp_path: Path) -> None:
    limited = shutil.copytree(original, tmp_path / "limited")
    toml = limited / "study.toml"
    toml.write_text(toml.read_text().replace("max_raters = 10000", "max_raters = 1"))
    with pytest.raises(JoinRefusedError, match="full"):
        rehearse(limited, tmp_path / "copy", num_raters=2)
    assert not (tmp_path / "copy").exists()


def test_power_of_a_study_with_few_clips_is_said_without_warnings() -> None:
    curve = simulate_power(
        num_raters=20,
        clips_per_condition=4,
        rater_sd=0.8,
        clip_sd=0.7,
        alpha=0.05,
        power=0.8,
        draws=1000,
        rng=stream(0, "power"),
    )
    assert curve.points[0].power < 0.1 < curve.points[-1].power
