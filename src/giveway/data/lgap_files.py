"""The two files of L-GAP and both public versions of the first."""

from __future__ import annotations

from pathlib import Path

from giveway.data.checks import COORDINATE_LIMIT_M, MAX_SPEED_MPS
from giveway.data.layout import folders
from giveway.data.tables import Column, TableFormat, header_of

KEY = ("subj_id", "session", "route", "intersection_no")
BOOLEANS = {"True": True, "False": False}
DECISIONS = {"Go": True, "Stay": False, "Turn": True, "Wait": False}
KEY_COLUMNS = tuple(Column(name=name, type="int", low=-1_000_000_000, high=1_000_000_000) for name in KEY)

MEASURES_COLUMNS = (
    *KEY_COLUMNS,
    *(
        Column(name=name, nullable=True, low=-1, high=1e9)
        for name in ("idx_bot_spawn", "idx_response", "idx_min_distance")
    ),
    Column(name="min_distance", nullable=True, low=0, high=1e6, unit="m"),
    Column(name="RT", nullable=True, low=-1e4, high=1e4, unit="s"),
    Column(name="is_go_decision", type="text"),
    Column(name="is_collision", type="text", optional=True),
    Column(name="decision", type="text"),
    Column(name="tta_condition", low=0, high=100, unit="s"),
    Column(name="d_condition", low=0, high=1000, unit="m"),
    Column(name="v_condition", low=0, high=MAX_SPEED_MPS, unit="m/s"),
)
MEASURES_HEADER = header_of(
    "subj_id,session,route,intersection_no,idx_bot_spawn,idx_response,idx_min_distance,min_distance,RT,is_go_decision,"
    "is_collision,decision,tta_condition,d_condition,v_condition"
)
OLD_NAMES = {"is_turn_decision": "is_go_decision"}

PROCESSED = TableFormat(
    columns=(
        *KEY_COLUMNS,
        Column(name="intersection_x", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
        Column(name="intersection_y", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m"),
        Column(name="turn_direction", low=-10, high=10),
        Column(name="t", low=-1e7, high=1e7, unit="s"),
        *(
            Column(name=f"{car}_{axis}", low=-COORDINATE_LIMIT_M, high=COORDINATE_LIMIT_M, unit="m")
            for car in ("ego", "bot")
            for axis in "xy"
        ),
        *(
            Column(name=f"{car}_{axis}", low=-MAX_SPEED_MPS, high=MAX_SPEED_MPS, unit="m/s")
            for car in ("ego", "bot")
            for axis in ("vx", "vy")
        ),
        *(Column(name=f"{car}_yaw", low=-720, high=720, unit="degrees") for car in ("ego", "bot")),
        *(Column(name=name, low=-10, high=10) for name in ("throttle", "brake", "steer")),
    ),
    header=header_of(
        "subj_id,session,route,intersection_no,intersection_x,intersection_y,turn_direction,t,"
        "ego_distance_to_intersection,tta_condition,d_condition,v_condition,ego_x,ego_y,ego_vx,ego_vy,ego_ax,ego_ay,"
        "ego_yaw,bot_x,bot_y,bot_vx,bot_vy,bot_ax,bot_ay,bot_yaw,throttle,brake,steer,ego_v,bot_v,ego_a,bot_a,"
        "d_ego_bot,tta,idx_bot_spawn,idx_response,idx_min_distance,min_distance,RT,is_go_decision"
    ),
)


def measures_format(header: str) -> TableFormat:
    """The version of ``measures.csv`` that a header line belongs to.

    The earlier public version begins with an unnamed counter, calls the decision ``is_turn_decision`` and Turn/Wait,
    and has no ``is_collision``.
    """
    old = "is_turn_decision" in header
    names = tuple(name for name in MEASURES_HEADER if name != "is_collision") if old else MEASURES_HEADER
    return TableFormat(columns=MEASURES_COLUMNS, header=("", *names) if old else names, rename=OLD_NAMES)


def find_pair(root: Path) -> dict[str, Path] | None:
    """Both files, in the root or in one folder below it."""
    for folder in (root, *folders(root)):
        pair = {"measures": folder / "measures.csv", "states": folder / "processed_data.csv"}
        if all(path.is_file() for path in pair.values()):
            return pair
    return None
