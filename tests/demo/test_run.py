from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from giveway.cli.main import run
from giveway.demo.recordings import RECORDINGS
from giveway.demo.run import CHAPTERS, ORDER, REPORT, report_of
from giveway.demo.study import DRAWS
from giveway.generate.pages import REALISM
from giveway.generate.summary import recorded_reference, summarize
from giveway.reports.results import Results
from giveway.study.analysis import analyze_study
from giveway.study.workspace import open_study


def test_every_chapter_is_told():
    assert sorted(ORDER) == CHAPTERS.names()


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A demo's folder with recordings and study."""
    root = tmp_path_factory.mktemp("demo")
    for name in ("recordings", "study"):
        CHAPTERS.get(name).run(root, 0)
    return root


def test_study_chapter_writes_answers_that_the_command_reads(told, capsys):
    with pytest.raises(SystemExit) as stop:
        run(["agree", str(told / "study" / "tables" / "answers.csv"), "--json"])
    assert stop.value.code == 0
    kappa = json.loads(capsys.readouterr().out)["result"]["kappa_corrected"]
    study = open_study(told / "study" / "answered")
    assert kappa == pytest.approx(analyze_study(study, draws=100).kept.agreement.kappa_corrected, abs=1e-9)
    study.engine.dispose()


def words_of(path: Path) -> str:
    """What a person reads on a page, with single spaces."""
    text = re.sub(r"<(script|style|svg).*?</\1>", "", path.read_text(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


def test_the_report_prints_the_numbers_of_the_chapters(told, monkeypatch):
    monkeypatch.setattr("giveway.demo.generate.BUDGET", 4)
    CHAPTERS.get("generate").run(told, 0)
    made = report_of(told)
    study = open_study(told / "study" / "answered")
    results = analyze_study(study, draws=DRAWS).kept
    study.engine.dispose()
    site = words_of(told / REPORT / "study-answered" / "index.html")
    assert results.model is not None and results.differences
    for d in results.differences:
        for e in (d.mean, d.effect):
            assert f"{e.value:.3f} ({e.low:.3f} to {e.high:.3f})" in site
    interval = results.agreement.main_interval
    assert f"{interval.low:.3f} to {interval.high:.3f}" in site
    recorded = told / RECORDINGS
    (campaign, *_) = summarize(told / "generate" / "results", recorded_reference(recorded))
    page = words_of(told / REPORT / "generate-results" / "index.html")
    assert str(recorded) in page
    for name, title in REALISM:
        assert f"{title} {campaign.realism[name]:.3f}" in page
    home = words_of(made.page)
    assert all(part.pages[0].answer.sentence in home for part in made.parts)
    assert "generated traffic" in home and "simulated raters" in home


def test_people_compare_a_mind_with_a_formula_and_with_drivers_on_the_same_roads(tmp_path, monkeypatch):
    monkeypatch.setattr("giveway.demo.minds.MAX_CASES", 3)
    monkeypatch.setattr("giveway.demo.study.NUM_CLIPS", 5)
    for name in ("minds", "study"):
        CHAPTERS.get(name).run(tmp_path, 0)
    study = open_study(tmp_path / "study" / "answered")
    clips = [clip for clip in study.clips if clip.role == "main" and not clip.condition.startswith("broken")]
    study.engine.dispose()
    assert {clip.condition for clip in clips} == {"synthetic", "idm", "mind"}
    minds = Results.open(tmp_path / "minds" / "mind")
    assert minds.log(case="merge-00", predictor="constant_velocity").minds is not None
    made = report_of(tmp_path)
    assert sum(part.kind == "drive" and part.pages[0].answer is None for part in made.parts) == 2


@pytest.mark.slow
def test_the_whole_demo_leaves_what_it_promises(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        run(["demo", "--out", str(tmp_path), "--json"])
    assert stop.value.code == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert list(result["seconds"]) == [*ORDER, REPORT]
    page = Path(result["index"])
    for target in re.findall('(?:href|src)="([^"#]+)"', page.read_text()):
        assert (page.parent / target).exists()
    gaps, drive, generate, study = result["findings"]
    assert "too few" not in gaps["answer"] and "too few" not in drive["answer"]
    assert generate["badges"] == ["generated traffic"] and study["badges"] == ["simulated raters"]
