"""Simulated raters go through a copy; the study itself stays as it was."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, text, update
from sqlalchemy.exc import DatabaseError

from giveway.cli.main import run
from giveway.core.errors import StoreError, UsageError
from giveway.core.seeds import stream
from giveway.serve.web.app import create_app
from giveway.study.analysis import analyze_study
from giveway.study.export import export_study, long_answers
from giveway.study.integrity import row_mac
from giveway.study.monitor import list_invites
from giveway.study.participation import JoinRefusedError
from giveway.study.power import simulate_power
from giveway.study.rehearsal import enroll, rehearse
from giveway.study.simulated import is_marked, mark_simulated
from giveway.study.tables import answers
from giveway.study.workspace import open_study
from support.studies import synthetic_study


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


@pytest.fixture(scope="module")
def rehearsed(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rehearsed") / "copy"
    rehearse(original, folder, num_raters=4).engine.dispose()
    return folder


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as stop:
        run([str(argument) for argument in arguments])
    out = capsys.readouterr()
    assert stop.value.code == 0, out.err
    return out.out


def test_the_report_of_a_rehearsal_says_first_that_its_raters_are_simulated(capsys, rehearsed, tmp_path) -> None:
    page = tmp_path / "report.html"
    said = command(capsys, "study", "analyze", rehearsed, "--out", page, "--no-model", "--draws", 100)
    assert said.startswith("Simulated raters:")
    assert "<title>Simulated raters: " in page.read_text()
    assert "<h1>Simulated raters: " in page.read_text()
    arguments = ("study", "analyze", rehearsed, "--out", page, "--no-model", "--draws", 100, "--json")
    assert json.loads(command(capsys, *arguments))["result"]["analysis"]["simulated"] is True


def test_every_export_of_a_rehearsal_has_a_column_that_says_so(capsys, rehearsed, tmp_path) -> None:
    command(capsys, "study", "export", rehearsed, "--out", tmp_path / "tables")
    for name in ("answers", "checks", "raters"):
        table = pl.read_csv(tmp_path / "tables" / f"{name}.csv")
        assert table["simulated"].to_list() == [True] * table.height
        assert table.height > 0
    assert json.loads((tmp_path / "tables" / "codebook.json").read_text())["simulated"] is True


def test_pages_of_a_rehearsal_have_a_banner_and_those_of_a_study_have_none(original, rehearsed) -> None:
    for folder, shown in ((original, False), (rehearsed, True)):
        with TestClient(create_app(open_study(folder), researcher_token="t" * 32)) as client:
            for address in ("/", "/researcher/login"):
                assert ("the raters of this study are simulated" in client.get(address).text) is shown


def test_the_site_of_a_rehearsal_says_it(capsys, rehearsed, tmp_path) -> None:
    command(capsys, "report", rehearsed, "--out", tmp_path / "site")
    pages = [path.read_text() for path in (tmp_path / "site").rglob("index.html")]
    assert any("Simulated raters: these answers were drawn by a program" in page for page in pages)


@pytest.mark.parametrize("statement", ["update meta set value = 'false'", "delete from meta"])
def test_the_mark_of_a_rehearsal_cannot_be_unset(rehearsed, statement) -> None:
    study = open_study(rehearsed)
    with pytest.raises(DatabaseError, match="cannot be changed"), study.engine.begin() as connection:
        connection.execute(text(statement))
    assert is_marked(study)
    study.engine.dispose()


def test_people_and_simulated_raters_are_never_mixed(original, rehearsed, tmp_path) -> None:
    study = open_study(shutil.copytree(rehearsed, tmp_path / "mixed"))
    with study.engine.begin() as connection:
        row = dict(connection.execute(select(answers).limit(1)).mappings().one(), app_version="1.0")
        code = row_mac(study.key, answers, row)  # as if our own server had written it
        connection.execute(update(answers).where(answers.c.id == row["id"]).values(app_version="1.0", mac=code))
    for use in (long_answers, partial(analyze_study, with_model=False), partial(export_study, folder=tmp_path / "t")):
        with pytest.raises(StoreError, match="mixed in one database"):
            use(study)
    study.engine.dispose()
    people = open_study(shutil.copytree(original, tmp_path / "people"))
    enroll(people)
    with pytest.raises(StoreError, match="cannot be added to people"):
        mark_simulated(people)
    people.engine.dispose()
