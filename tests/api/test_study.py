"""A rating study through the public names."""

from __future__ import annotations

from pathlib import Path

import pytest

import giveway as gw
from giveway.cli.main import run
from giveway.study.rehearsal import rehearse


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory, drives: gw.Results) -> gw.Results:
    folder = tmp_path_factory.mktemp("study")
    study = gw.create_study(folder / "form", clips=drives.place, num_clips=6, seconds=4.0, title="Mine")
    assert study.design.title == "Mine"
    rehearse(folder / "form", folder / "rehearsal", num_raters=5)
    return gw.analyze_study(folder / "rehearsal", draws=200)


def test_a_study_without_answers_shows_itself_all_the_same(tmp_path: Path, drives: gw.Results) -> None:
    study = gw.create_study(tmp_path / "form", clips=drives.place, num_clips=6, seconds=4.0)
    results = gw.analyze_study(study)
    assert repr(results).startswith("Results(study, 0 of 0 done")
    assert "there are no answers yet" in results._repr_html_()


def test_the_rows_of_the_table_are_printed_by_the_command(
    rated: gw.Results, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(["study", "analyze", str(rated.place), "--draws", "200", "--no-model"])
    out = capsys.readouterr().out.splitlines()
    rows = [line for line in rated.table().text().splitlines() if line.startswith("  ")]
    assert len(rows) > 2 and [row for row in rows if row not in out] == []


def test_a_study_says_that_its_raters_are_simulated(rated: gw.Results) -> None:
    assert rated.status.done == 5
    for name in rated.tables:
        assert rated.table(name).text().startswith("Simulated raters")
    assert "Simulated raters" in rated._repr_html_()


def test_ratings_differences_and_figure_of_a_study(rated: gw.Results, tmp_path: Path) -> None:
    ratings = rated.samples(repeat=0)
    mean = rated.frame(condition="echo", metric="mean_rating", raters="all")["value"][0]
    assert abs(ratings.filter(condition="echo")["rating"].mean() - mean) < 1e-12
    rated.figure("ratings").savefig(tmp_path / "ratings.png")
    difference = rated.compare("echo", "synthetic")
    assert difference.low <= difference.estimate <= difference.high
    with pytest.raises(gw.GivewayError, match="compared with the reference"):
        rated.compare("echo", "constant_velocity")


def test_agreement_of_a_file_is_what_the_command_computes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"c{clip},r{rater},{1 + (clip + rater // 2) % 5}" for clip in range(6) for rater in range(4)]
    (tmp_path / "ratings.csv").write_text("\n".join(["clip,rater,rating", *rows]) + "\n", encoding="utf-8")
    found = gw.agreement(tmp_path / "ratings.csv", draws=0)
    with pytest.raises(SystemExit):
        run(["agree", str(tmp_path / "ratings.csv"), "--draws", "0"])
    assert f"{found.kappa_corrected:8.4f}" in capsys.readouterr().out


def test_report_and_citations_of_a_folder(tmp_path: Path, drives: gw.Results) -> None:
    assert gw.report(drives.place, tmp_path / "site").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "Treiber" in gw.cite(drives.place) and "@" in gw.cite(drives.place, form="bibtex")
