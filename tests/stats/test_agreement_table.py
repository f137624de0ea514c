from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from giveway.cli.main import run
from giveway.core.errors import FileFormatError, UsageError
from giveway.stats.agreement_table import rating_table, read_ratings

B_TEXT = "1,2,3,4,5\n0,0,1,3,2\n1,3,2,0,0\n0,1,1,3,1\n4,2,0,0,0\n0,0,0,2,4\n0,2,3,1,0\n"


@pytest.fixture
def write(tmp_path: Path):
    def write_text(text: str) -> Path:
        path = tmp_path / "ratings.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write_text


def agree(path: Path, *options: str, capsys) -> tuple[int, str, str]:
    code = 0
    try:
        run(["agree", str(path), *options])
    except SystemExit as end:
        code = int(end.code or 0)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_counts_and_the_same_long_rows_give_the_same_table(write) -> None:
    counts = read_ratings(write(B_TEXT))
    rows = ["rating,extra,clip,rater"]
    for clip, row in enumerate(counts.counts):
        ratings = [j + 1 for j, f in enumerate(row) for _ in range(f)]
        rows += [f"{value},x,c{clip},r{rater}" for rater, value in enumerate(ratings)]
    long = read_ratings(write("\n".join(rows)))
    assert np.array_equal(long.counts, counts.counts)
    assert long.raters == tuple(f"r{i}" for i in range(6))


def test_a_counts_table_may_name_its_clips(write) -> None:
    table = read_ratings(write("clip;bad;good\nx;1;2\ny;3;0\n"))
    assert (table.clips, table.categories) == (("x", "y"), ("bad", "good"))


def test_missing_ratings_and_repeats_are_left_out_and_said(write) -> None:
    table = read_ratings(write("clip,rater,rating,repeat\na,r,4,0\na,r,2,1\nb,r,,0\nb,s,5.0,0\n"))
    assert table.counts.tolist() == [[0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]
    assert any("1 missing" in note for note in table.notes)
    assert any("1 repeated" in note for note in table.notes)


def test_unused_categories_count(write) -> None:
    path = write("clip,rater,rating\na,r,1\na,s,2\nb,r,2\nb,s,2\n")
    assert read_ratings(path, categories=["1", "2", "3"]).counts.shape == (2, 3)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "ratings.csv"),
        ("1,2,3\n", "ratings.csv"),
        ("1,2,3\n1,x,2\n", "line 2, column '2'"),
        ("1,2,3\n1,-1,2\n", "line 2, column '2'"),
        ("1,2,3\n1,2\n", "line 2"),
        ("1,1,3\n1,2,3\n", "line 1"),
        ("only\n1\n", "line 1"),
        ("clip,rater\na,r\n", "line 1"),
        ("clip,rater,rating\na,r,9\n", "line 2, column 'rating'"),
        ("clip,rater,rating\na,r,1\na,r,2\n", "lines 2 and 3"),
        ("clip,rater,rating\n,r,1\n", "line 2"),
        ("1,2,3\n1,2,99999999999999999999\n", "line 2, column '3'"),
    ],
)
def test_bad_files_are_refused_with_the_place(write, text: str, place: str) -> None:
    with pytest.raises(FileFormatError) as error:
        read_ratings(write(text))
    assert place in str(error.value.where)


def test_binary_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00\x81")
    for path in (tmp_path / "x", tmp_path / "none.csv", tmp_path):
        with pytest.raises(FileFormatError):
            read_ratings(path)


def test_rows_given_in_python_are_checked() -> None:
    with pytest.raises(UsageError, match="twice"):
        rating_table(["a", "a"], ["r", "r"], ["1", "2"], categories=["1", "2"])
    with pytest.raises(UsageError, match="categories"):
        rating_table(["a"], ["r"], ["7"], categories=["1", "2"])


def test_command_prints_all_keys(write, capsys) -> None:
    code, out, _ = agree(write(B_TEXT), "--json", capsys=capsys)
    result = json.loads(out)["result"]
    assert code == 0
    assert result["kappa_corrected"] == pytest.approx(0.6920950324, abs=1e-9)
    assert result["kappa_as_printed"] == pytest.approx(1.5878185745, abs=1e-9)
    assert result["observed"] == pytest.approx(0.93125, abs=1e-9)
    assert result["expected"] == pytest.approx(0.7767168210, abs=1e-9)
    assert result["ac2"] == pytest.approx(0.7318284424, abs=1e-9)
    assert result["alpha"] == pytest.approx(0.7006479482, abs=1e-9)
    assert result["band"] == "substantial"
    low, high = result["interval"]
    assert low < result["kappa_corrected"] < high
    assert any("above 1" in warning for warning in result["warnings"])


def test_command_shows_both_kappas_to_people(write, capsys) -> None:
    _, out, err = agree(write(B_TEXT), capsys=capsys)
    assert "0.6921" in out
    assert "1.5878" in out
    assert "off by +0.8957" in err


def test_undefined_kappa_is_null_with_a_reason(write, capsys) -> None:
    code, out, _ = agree(write("1,2,3\n0,4,0\n0,4,0\n"), "--json", capsys=capsys)
    result = json.loads(out)["result"]
    assert (code, result["kappa_corrected"], result["interval"], result["band"]) == (0, None, None, "undefined")
    assert any("one category" in warning for warning in result["warnings"])


def test_forcing_the_layout_overrides_the_header(write, capsys) -> None:
    path = write("rating,rater\n1,2\n3,1\n2,2\n")
    assert agree(path, "--json", capsys=capsys)[0] == 2
    code, out, _ = agree(path, "--counts", "--json", capsys=capsys)
    assert (code, json.loads(out)["result"]["categories"]) == (0, ["rating", "rater"])


@pytest.mark.parametrize(
    "options", [("--counts", "--long"), ("--level", "1.5"), ("--categories", "1"), ("--categories", "a,a")]
)
def test_contradicting_options_exit_with_2(write, options, capsys) -> None:
    code, _, err = agree(write(B_TEXT), *options, capsys=capsys)
    assert code == 2
    assert "Traceback" not in err
