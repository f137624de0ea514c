from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from giveway.cli.main import run
from giveway.demo.chapter import Section
from giveway.demo.generate import RECORDINGS
from giveway.demo.run import CHAPTERS, ORDER, demo_page
from giveway.demo.study import DRAWS
from giveway.generate.pages import REALISM
from giveway.generate.summary import recorded_reference, summarize
from giveway.study.analysis import analyze_study
from giveway.study.workspace import open_study


def test_every_chapter_is_told():
    assert sorted(ORDER) == CHAPTERS.names()


def test_text_of_a_section_is_escaped():
    page = demo_page([("a", "<b>", [Section(heading="<i>", text="<u>", table=(("<s>",), ("<q>",)))])])
    assert not re.search("<(b|i|u|s|q)>", page)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A demo's folder with recordings and study, and what the chapter on the study says."""
    root = tmp_path_factory.mktemp("demo")
    CHAPTERS.get("recordings").run(root, 0)
    return root, CHAPTERS.get("study").run(root, 0)


def test_study_chapter_writes_answers_that_the_command_reads(told, capsys):
    root, sections = told
    with pytest.raises(SystemExit) as stop:
        run(["agree", str(root / sections[1].command.split()[-1]), "--json"])
    assert stop.value.code == 0
    kappa = json.loads(capsys.readouterr().out)["result"]["kappa_corrected"]
    assert f"{kappa:.3f}" in sections[1].table[1][1]
    assert all((root / file).exists() for _, file in sections[0].links)


def words_of(path: Path) -> str:
    """What a person reads on a page, with single spaces."""
    text = re.sub(r"<(script|style|svg).*?</\1>", "", path.read_text(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


def test_the_site_of_the_demo_prints_the_numbers_of_its_chapters(told, monkeypatch):
    """The mixed model and the realism of generated traffic stood on two pages each, computed twice, and differed."""
    monkeypatch.setattr("giveway.demo.generate.BUDGET", 4)
    root, sections = told
    for name in ("generate", "report"):
        CHAPTERS.get(name).run(root, 0)
    study = open_study(root / "study" / "answered")
    results = analyze_study(study, draws=DRAWS).kept
    study.engine.dispose()
    site = words_of(root / "report" / "study-answered" / "index.html")
    assert results.model is not None and results.differences
    for d in results.differences:
        for e in (d.mean, d.effect):
            assert f"{e.value:.3f} ({e.low:.3f} to {e.high:.3f})" in site
    interval = results.agreement.main_interval
    table = " ".join(cell for row in sections[1].table for cell in row)
    for page in (site, table):
        assert f"{interval.low:.3f} to {interval.high:.3f}" in page
        assert f"{results.agreement.kappa_corrected:.3f}" in page
    recorded = root / RECORDINGS
    (campaign, *_) = summarize(root / "generate" / "results", recorded_reference(recorded))
    page = words_of(root / "report" / "generate-results" / "index.html")
    assert str(recorded) in page
    for name, title in REALISM:
        assert f"{title} {campaign.realism[name]:.3f}" in page


@pytest.mark.slow
def test_the_whole_demo_leaves_what_it_promises(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        run(["demo", "--out", str(tmp_path), "--json"])
    assert stop.value.code == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert [chapter["name"] for chapter in result["chapters"]] == list(ORDER)
    page = Path(result["index"]).read_text()
    for target in re.findall('(?:href|src)="([^"#]+)"', page):
        assert (tmp_path / target).exists()
