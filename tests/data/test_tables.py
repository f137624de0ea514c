from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.core.errors import FileFormatError
from giveway.data import streaming
from giveway.data.findings import Findings
from giveway.data.streaming import stream_table
from giveway.data.tables import Column, TableFormat, parse_table, read_table

FORM = TableFormat(columns=(Column(name="a", type="int"), Column(name="x"), Column(name="s", type="text")))


def parse(text, form=FORM, *, strict=True):
    findings = Findings(Path(), strict=strict)
    data = text if isinstance(text, bytes) else text.encode()
    return parse_table(data, Path("f.csv"), form, findings), findings


def test_lines_must_be_even_although_an_ignored_last_column_may_be_empty():
    table, _ = parse("a,x,s,z,note\n1,2.5,car,0,\n2,3.5,car,0,ok\n")
    assert table.floats("x").tolist() == [2.5, 3.5]
    with pytest.raises(FileFormatError, match="number of cells") as caught:
        parse("a,x,s,z,note\n1,2.5,car,0,\n2,2.5,car,0\n3,4,5,car,0,ok\n")
    assert caught.value.where == "f.csv, line 3, column 'z'"


def test_a_byte_order_mark_and_windows_line_ends_are_harmless():
    table, _ = parse("\ufeffa,x,s\r\n1,2.5,car\r\n")
    assert table.text("s").to_list() == ["car"]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("1_0", "not a number"),
        ("0x1p3", "not a number"),
        ("1,", "number of cells"),
        ("", "an empty cell"),
        ("NaN", "not a finite number"),
        ("-Infinity", "not a finite number"),
        ("1e400", "not a finite number"),
        ("1.5 ", "not a number"),
        ("١", "not a number"),
    ],
)
def test_what_is_not_a_plain_number_is_refused(cell, message):
    with pytest.raises(FileFormatError, match=message):
        parse(f"a,x,s\n1,{cell},car\n")


@pytest.mark.parametrize("cell", ["1.0", "9223372036854775808", "1e3", "--1"])
def test_integers_are_never_read_through_floats(cell):
    with pytest.raises(FileFormatError, match="integer"):
        parse(f"a,x,s\n{cell},1,car\n")


def test_an_error_found_again_is_counted_and_not_listed_again():
    findings = Findings(Path(), strict=False)
    for _ in range(2):
        findings.error("odd", Path("f.csv"), line=3)
    findings.warning("strange", Path("f.csv"))
    assert findings.num_errors == 2
    assert [problem.message for problem in findings.problems] == ["odd", "strange"]


def test_all_bad_cells_are_collected_with_their_lines():
    table, findings = parse("a,x,s\n1,u,car\n2,1\n3,v,car\nq,2,car\n", strict=False)
    assert table is None
    places = [(problem.line, problem.column) for problem in findings.problems]
    assert places == [(2, "x"), (3, "x"), (4, "x"), (5, "a")]


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
@settings(max_examples=80, deadline=None)
def test_every_finite_float_is_read_to_the_last_bit(values):
    table, _ = parse("a,x,s\n" + "".join(f"{k},{value!r},car\n" for k, value in enumerate(values)))
    np.testing.assert_array_equal(table.floats("x"), values)


def streamed(folder, text, form=FORM):
    path = folder / "f.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return stream_table(path, form), path


def test_streamed_numbers_are_those_of_a_careful_parser(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "BLOCK_BYTES", 1 << 14)  # several blocks, lines across their edges
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    cells = [repr(v) for v in bits[np.isfinite(bits) & (np.abs(bits) < 1e15)].tolist()]
    cells += [repr(v) for v in (rng.normal(0, 1, 20_000) * 10.0 ** rng.integers(-9, 4, 20_000)).tolist()]
    cells += [f"{v:.{d}f}" for v, d in zip(rng.normal(0, 300, 5000), rng.integers(0, 24, 5000), strict=True)]
    # Halves between two doubles, and one unit beside them.
    cells += [str(2**53 + 1 + 2 * k) + tail for k in range(200) for tail in ("", ".0", ".00")]
    cells += [
        "0",
        "-0",
        "-0.0",
        "00012.50",
        "0.00000000000000000000",
        "9999999999999999999",
        "1e-05",
        "1.5e-09",
        "2E+3",
    ]
    rows = "".join(f"{n},{cell},{'ab'[n % 700 == 0]},{n % 3 or ''},\n" for n, cell in enumerate(cells))
    (header, columns, _, _), path = streamed(tmp_path, "a,x,s,skipped,too\n" + rows)
    expected = np.array([float(cell) for cell in cells])
    assert columns["x"].to_numpy().view(np.int64).tolist() == expected.view(np.int64).tolist()
    assert columns["a"].to_list() == list(range(len(cells)))
    assert header == ("a", "x", "s", "skipped", "too")
    table = read_table(path, FORM, Findings(Path()))
    slow = parse_table(path.read_bytes(), path, FORM, Findings(Path()))
    assert table is not None and slow is not None and table.words and not slow.words
    assert table.sha256 == slow.sha256 and table.num_rows == slow.num_rows == len(cells)
    assert table.text("s").to_list() == slow.text("s").to_list()
    assert table.text_runs("s")[0] == slow.text_runs("s")[0]
    assert table.text_runs("s")[1].tolist() == slow.text_runs("s")[1].tolist()
    assert [table.cell(name, 700) for name in "axs"] == [slow.cell(name, 700) for name in "axs"]


@pytest.mark.parametrize(
    "text",
    [
        "a,x,s\n1,2.5,car",  # no line end
        "a,x,s\n1,2.5,car\n\n",
        "a,x,s\n1,2.5\n2,2.5,car\n",
        "a,x,s\n1,2.5,car,7\n",
        "a,x,s,z\n1,2.5,car,7,8\n",
        "a,x,s,z,z2\n1,2.5,car,7\n",
        "a,x,s\n1,,car\n",
        "a,x,s\n1,1e400,car\n",
        "a,x,s\n1,2.5,\n",
        'a,x,s\n1,2.5,"car"\n',
        "a,x,s\n1,2.5,c\0r\n",
        "a,x,s\n1,2.5,cär\n",
        "a,x,s\n 1,2.5,car\n",
        "a,x,s\n1,2 .5,car\n",
        "a,x,s\n9223372036854775808,1,car\n",
        "a,x,s\n1,2.5," + "w" * 1001 + "\n",
        "a,x,s\n1," + "1" * 41 + ",car\n",
        "a,x,s\n",
        "a,x\n1,2\n",
        "a,x,s,a\n1,2,3,4\n",
        "",
    ],
)
def test_odd_files_are_left_to_the_careful_parser(tmp_path, text):
    assert streamed(tmp_path, text)[0] is None


def test_a_line_longer_than_a_block_is_left_to_the_careful_parser(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "BLOCK_BYTES", 64)
    assert streamed(tmp_path, "a,x,s,z\n" + "1,2.5,car," + "z" * 200 + "\n")[0] is None
    assert streamed(tmp_path, "a,x,s,z\r\n" + "1,2.5,car,zzzz\r\n" * 40)[0] is not None


def test_empty_cells_that_may_be_empty_are_streamed(tmp_path):
    form = TableFormat(columns=(Column(name="a", type="int"), Column(name="x", nullable=True)))
    (_, columns, _, _), _ = streamed(tmp_path, "a,x\n1,\n2,2.5\n", form)
    np.testing.assert_array_equal(columns["x"].to_numpy(), [np.nan, 2.5])


@settings(deadline=None, max_examples=200)
@given(data=st.lists(st.sampled_from(list(b'0123456789.-,e\n\r"a')), min_size=1, max_size=60))
def test_whatever_is_streamed_is_what_the_careful_parser_finds(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "f.csv"
    path.write_bytes(b"a,x,s\n" + bytes(data) + b"\n")
    found = stream_table(path, FORM)
    if found is not None:
        slow = parse_table(path.read_bytes(), path, FORM, Findings(Path()))
        assert slow is not None
        for name, column in found[1].items():
            assert column.equals(slow.columns[name])
