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


def test_agreement_chapter_writes_a_file_that_the_command_reads(tmp_path, capsys):
    sections = CHAPTERS.get("agreement").run(tmp_path, 0)
    file = tmp_path / sections[0].links[0][1]
    with pytest.raises(SystemExit) as stop:
        run(["agree", str(file), "--json"])
    assert stop.value.code == 0
    kappa = json.loads(capsys.readouterr().out)["kappa_corrected"]
    assert f"{kappa:.3f}" in sections[0].table[1][1]


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
