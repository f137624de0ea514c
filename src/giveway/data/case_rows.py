"""Rows of a file of cases: columns, keys, which agents are marked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from giveway.core.arrays import BoolArray, IntArray
from giveway.core.tracks import AgentKind
from giveway.data.assemble import Grouping, StateRows, group_rows
from giveway.data.checks import check_constant, check_motion, check_sizes
from giveway.data.findings import Findings
from giveway.data.interaction import BOX_COLUMNS, FRAME_RATE_HZ, KINDS, MS_PER_FRAME, STATE_COLUMNS
from giveway.data.tables import Column, Table, TableFormat, header_of, line_of

CASES = TableFormat(
    columns=(
        Column(name="case_id", low=0, high=1e9),
        Column(name="track_id", type="text"),
        *STATE_COLUMNS,
        *(replace(column, nullable=True) for column in BOX_COLUMNS),
        Column(name="agent_role", type="text", optional=True),
        Column(name="track_to_predict", optional=True, nullable=True),
        Column(name="interesting_agent", optional=True, nullable=True),
    ),
    header=header_of(
        "case_id,track_id,frame_id,timestamp_ms,agent_type,x,y,vx,vy,psi_rad,length,width,track_to_predict,"
        "interesting_agent"
    ),
    rows_required=False,
)
SEGMENTED_HEADER = replace(
    CASES,
    header=header_of("case_id,frame_id,timestamp_ms,track_id,agent_role,agent_type,x,y,vx,vy,psi_rad,length,width"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRows:
    """All cases of a file.

    Attributes:
        rows: agents of all cases; an agent of two cases counts twice.
        case: (A,) case number of each agent.
        marks: ``track_to_predict``, ``interesting_agent``, ``agent`` to (A,) bool, as far as the file has them.
        sha256: of the file.
    """

    rows: StateRows
    case: IntArray
    marks: Mapping[str, BoolArray]
    sha256: str


def read_case_rows(table: Table, findings: Findings) -> CaseRows | None:
    """Group rows by case and track and check them; None after an error in collecting mode."""
    before = findings.num_errors
    case = _case_numbers(table, findings)
    frame = table.ints("frame_id")
    stamp = table.ints("timestamp_ms")
    wrong = np.flatnonzero(stamp != MS_PER_FRAME * frame)
    message = "timestamp_ms is not 100 times frame_id"
    findings.rows(message, table.path, line_of(wrong), column="timestamp_ms", values=stamp[wrong])
    kind = _kinds(table, findings)
    if findings.num_errors > before:
        return None
    names = table.text("track_id").str.strip_suffix(".0")
    codes = names.rank("dense").to_numpy().astype(np.int64)
    key = case * (int(codes.max()) + 1) + codes
    columns = ("track_id", "frame_id")
    grouping = group_rows(key, frame, table.path, findings, columns=columns, order="any", holes="implausible")
    if grouping is None:
        return None
    if grouping.order is not None and "agent_role" not in table:  # the form of 2020 promises no order
        moved = np.flatnonzero(grouping.order != np.arange(table.num_rows))
        findings.rows(
            "rows are not in the order of cases, tracks and frames; they have been sorted",
            table.path,
            line_of(moved[:1]),
            column="frame_id",
            values=[f"{len(moved)} rows are elsewhere"],
            severity="warning",
        )
    firsts = grouping.first_rows
    ids = np.array(names.gather(firsts).to_list(), dtype=np.str_)
    size = np.stack([table.floats(name)[firsts] for name in ("length", "width")], axis=1)
    rows = StateRows(
        file=table.path,
        grouping=Grouping(offsets=grouping.offsets, order=grouping.order, ids=ids),
        frame=frame if grouping.order is None else frame[grouping.order],
        x=grouping.apply(table.floats("x")),
        y=grouping.apply(table.floats("y")),
        heading=grouping.apply(table.floats("psi_rad")),
        vx=grouping.apply(table.floats("vx")),
        vy=grouping.apply(table.floats("vy")),
        size=size,
        kind=kind[firsts],
    )
    _check(rows, table, kind, findings)
    if findings.num_errors > before:
        return None
    return CaseRows(rows=rows, case=case[firsts], marks=_marks(table, firsts), sha256=table.sha256)


def _case_numbers(table: Table, findings: Findings) -> IntArray:
    """``case_id`` may be written as a float, but must be whole."""
    case = table.floats("case_id")
    broken = np.flatnonzero(case != np.floor(case))
    message = "case_id is not a whole number"
    findings.rows(message, table.path, line_of(broken), column="case_id", values=case[broken])
    return case.astype(np.int64)


def _kinds(table: Table, findings: Findings) -> IntArray:
    types = table.text("agent_type")
    known = types.is_in(list(KINDS))
    bad = (~known).arg_true().to_numpy()
    findings.rows(
        "unknown agent_type",
        table.path,
        line_of(bad),
        column="agent_type",
        values=types.gather(bad).to_list(),
        hint=f"known: {', '.join(KINDS)}",
    )
    if bad.size:
        return np.zeros(len(types), dtype=np.int64)
    is_car = (types == "car").to_numpy()
    return np.where(is_car, int(AgentKind.CAR), int(AgentKind.PEDESTRIAN_OR_BICYCLE)).astype(np.int64)


def _check(rows: StateRows, table: Table, kind: IntArray, findings: Findings) -> None:
    is_car = kind == int(AgentKind.CAR)
    for column in ("psi_rad", "length", "width"):
        empty = np.flatnonzero(is_car & np.isnan(table.floats(column)))
        hint = "only pedestrians and cyclists may lack it"
        findings.rows("an empty cell", table.path, line_of(empty), column=column, values=["''"] * len(empty), hint=hint)
    for column in ("length", "width"):
        check_constant(rows.grouping.apply(table.floats(column)), rows, column, findings)
    check_constant(rows.grouping.apply(kind.astype(np.float64)), rows, "agent_type", findings)
    check_sizes(rows.size, rows.kind, table.path, line_of(rows.grouping.first_rows), findings)
    check_motion(rows, FRAME_RATE_HZ, findings, columns=("x", "vx", "psi_rad"))


def _marks(table: Table, firsts: IntArray) -> Mapping[str, BoolArray]:
    marks: dict[str, BoolArray] = {}
    for name in ("track_to_predict", "interesting_agent"):
        if name in table:
            marks[name] = table.floats(name)[firsts] == 1
    if "agent_role" in table:
        marks["agent"] = (table.text("agent_role").gather(firsts) == "agent").to_numpy()
    return marks
