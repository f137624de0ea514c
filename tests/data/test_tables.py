from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.core.errors import FileFormatError
from giveway.data.findings import Findings
from giveway.data.tables import Column, TableFormat, parse_table

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
