"""What fits into a terminal: tables, sentences, progress."""

from __future__ import annotations

import re
import time

import pytest

from giveway.cli.envelope import terminal_width
from giveway.cli.progress import Pace, counting
from giveway.reports.table import Block, Column, Table, entry, table_of


def wide_table() -> Table:
    heads = ("predictor", *(f"measure {n}" for n in range(12)))
    rows = [[entry(f"predictor {k}"), *(entry(k + n / 10) for n in range(12))] for k in range(3)]
    return table_of("", heads, rows, caption="word " * 40)


def test_columns_that_do_not_fit_stand_below_and_none_is_lost() -> None:
    whole, fitted = wide_table().text(), wide_table().text(80)
    assert max(map(len, whole.splitlines())) > 150
    assert max(map(len, fitted.splitlines())) <= 80
    assert sorted(re.findall(r"measure \d+|\d\.\d+", fitted)) == sorted(re.findall(r"measure \d+|\d\.\d+", whole))
    assert fitted.count("predictor 2") > 1  # every piece names its rows


def test_text_of_the_last_column_is_wrapped_below_itself() -> None:
    table = table_of("", ("name", "about"), [[entry("one"), entry("many words " * 20)]], numeric=())
    lines = table.text(60).splitlines()
    assert max(map(len, lines)) <= 60
    start = lines[0].index("about")
    assert lines[1].startswith("one") and lines[1][start:].startswith("many")
    assert all(line[:start].strip() == "" and line[start] != " " for line in lines[2:])


def test_grouped_tables_are_cut_between_models() -> None:
    models = [f"a rather long model {n}" for n in range(6)]
    columns = (Column(head="dataset"), Column(head="split"), *(Column(head="2", group=m) for m in models))
    row = (entry("L-GAP"), entry("random"), *(entry(0.5) for _ in models))
    text = Table(title="T", blocks=(Block(columns=columns, rows=(row,), labels=2),)).text(80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(text.count(m) == 1 for m in models)


def test_a_file_gets_the_whole_width_and_columns_are_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert terminal_width() is None
    monkeypatch.setenv("COLUMNS", "72")
    assert terminal_width() == 72


def test_progress_tells_rate_and_time_left(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with counting("verify") as progress:
        for done in range(11):
            clock[0] = 3.0 * done
            progress(done, 100, f"file {done}")
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "verify: 10 of 100, 0.333/s, 4 min 30 s left, file 10"
    assert "left" not in lines[0]  # too early to tell
    pace = Pace()
    clock[0] += 2.0
    assert pace(4, 0) == "2/s"  # no total, no promise
