from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from giveway.cli.main import run
from giveway.demo.chapter import Section
from giveway.demo.page import demo_page
from giveway.demo.run import CHAPTERS, ORDER
from giveway.demo.study import DRAWS
from giveway.study.analysis import analyze_study
from giveway.study.workspace import open_study


def test_every_chapter_is_told():
    assert sorted(ORDER) == CHAPTERS.names()


def test_text_of_a_section_is_escaped():
    page = demo_page([("a", "<b>", [Section(heading="<i>", text="<u>", table=(("<s>",), ("<q>",)))])], "0")
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


def test_all_pages_of_the_demo_print_the_same_numbers(told, monkeypatch):
    """The mixed model and the realism of generated traffic stood on two pages each, computed twice, and differed."""
    monkeypatch.setattr("giveway.demo.generate.BUDGET", 4)
    root, sections = told
    for name in ("generate", "report"):
        CHAPTERS.get(name).run(root, 0)
    study = open_study(root / "study" / "answered")
    results = analyze_study(study, draws=DRAWS).kept
    study.engine.dispose()
    report = words_of(root / "study" / "report.html")
    site = words_of(root / "report" / "study-answered" / "index.html")
    assert results.model is not None and results.differences
    for d in results.differences:
        for e in (d.mean, d.effect):
            assert f"{e.value:.3f} ({e.low:.3f} to {e.high:.3f})" in report
            assert f"{e.value:.2f} [{e.low:.2f}, {e.high:.2f}]" in site
    interval = results.agreement.main_interval
    table = " ".join(cell for row in sections[1].table for cell in row)
    for page in (report, site, table):
        assert f"{interval.low:.3f} to {interval.high:.3f}" in page
        assert f"{results.agreement.kappa_corrected:.3f}" in page
    quantities = r"(?<!impact )speed \[m/s\]|jerk \[m/s³\]|headway \[s\]|likelihood relative to recorded \(1 is best\)"
    realism = rf"({quantities}) ((?:[\d.–]+ ?)+)"
    one = re.findall(realism, words_of(root / "generate" / "report.html"))
    other = re.findall(realism, words_of(root / "report" / "generate-results" / "index.html"))
    assert len(one) == 4
    assert one == other


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
