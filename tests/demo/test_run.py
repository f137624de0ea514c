from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from giveway.cli.main import run
from giveway.demo.chapter import Section
from giveway.demo.page import demo_page
from giveway.demo.run import CHAPTERS, ORDER


def test_every_chapter_is_told():
    assert sorted(ORDER) == CHAPTERS.names()


def test_text_of_a_section_is_escaped():
    page = demo_page([("a", "<b>", [Section(heading="<i>", text="<u>", table=(("<s>",), ("<q>",)))])], "0")
    assert not re.search("<(b|i|u|s|q)>", page)


def test_study_chapter_writes_counts_that_the_command_reads(tmp_path, capsys):
    CHAPTERS.get("recordings").run(tmp_path, 0)
    sections = CHAPTERS.get("study").run(tmp_path, 0)
    with pytest.raises(SystemExit) as stop:
        run(["agree", str(tmp_path / sections[1].command.split()[-1]), "--json"])
    assert stop.value.code == 0
    kappa = json.loads(capsys.readouterr().out)["kappa_corrected"]
    assert f"{kappa:.3f}" in sections[1].table[1][1]
    assert all((tmp_path / file).exists() for _, file in sections[0].links)


@pytest.mark.slow
def test_the_whole_demo_leaves_what_it_promises(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        run(["demo", "--out", str(tmp_path), "--json"])
    assert stop.value.code == 0
    result = json.loads(capsys.readouterr().out)
    assert [chapter["name"] for chapter in result["chapters"]] == list(ORDER)
    page = Path(result["index"]).read_text()
    for target in re.findall('(?:href|src)="([^"#]+)"', page):
        assert (tmp_path / target).exists()
