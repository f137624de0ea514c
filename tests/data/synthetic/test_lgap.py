from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.synth.protocol import synthesize

LANE_WIDTH_M = 3.5


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lgap") / "data"
    synthesize("lgap", folder, seed=3, count=45)
    return folder


@pytest.fixture(scope="module")
def trials(root: Path) -> list[tuple[dict[str, object], pl.DataFrame]]:
    key = ["subj_id", "session", "route", "intersection_no"]
    rows = pl.read_csv(root / "processed_data.csv", infer_schema_length=None).partition_by(key, as_dict=True)
    truth = pl.read_csv(root / "truth" / "samples.csv")
    return [(row, rows[tuple(row[k] for k in key)]) for row in truth.iter_rows(named=True)]


def in_frame_of_bot(table: pl.DataFrame, start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time, E and T from the spawn row on, by section 2.2 of the protocol."""
    center = np.array([table["intersection_x"][0], table["intersection_y"][0]])
    bot = table.select("bot_x", "bot_y").to_numpy()[start:] - center
    human = table.select("ego_x", "ego_y").to_numpy()[start:] - center
    angle = -np.arctan2(table["bot_vy"][start], table["bot_vx"][start])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return table["t"].to_numpy()[start:], bot @ turn.T, human @ turn.T


def test_headers_are_those_of_the_originals(root: Path) -> None:
    measures = (root / "measures.csv").read_text().splitlines()[0]
    processed = (root / "processed_data.csv").read_text().splitlines()[0]
    assert measures == (
        "subj_id,session,route,intersection_no,idx_bot_spawn,idx_response,idx_min_distance,min_distance,RT,"
        "is_go_decision,is_collision,decision,tta_condition,d_condition,v_condition"
    )
    assert processed.startswith("subj_id,session,route,intersection_no,intersection_x,intersection_y,turn_direction,t,")
    assert processed.endswith(
        "d_ego_bot,tta,idx_bot_spawn,idx_response,idx_min_distance,min_distance,RT,is_go_decision"
    )
    assert len(processed.split(",")) == 41


def test_the_old_variant_counts_rows_and_says_turn_or_wait(tmp_path: Path) -> None:
    synthesize("lgap", tmp_path / "old", seed=3, count=9, variant="old")
    lines = (tmp_path / "old" / "measures.csv").read_text().splitlines()
    assert lines[0].startswith(",subj_id,session") and "is_turn_decision" in lines[0]
    assert "is_collision" not in lines[0]
    assert {line.split(",")[11] for line in lines[1:]} <= {"Turn", "Wait"}
    assert [line.split(",")[0] for line in lines[1:]] == [str(k) for k in range(9)]


def test_truth_follows_from_the_written_positions(trials: list[tuple[dict[str, object], pl.DataFrame]]) -> None:
    for row, table in trials:
        time, bot, human = in_frame_of_bot(table, int(row["row_start"]))  # type: ignore[call-overload]
        assert time[0] == row["t_S"]
        crossed = int(np.argmax(human[:, 1] <= 0))
        assert time[crossed - 1] - 0.005 <= row["t_A"] <= time[crossed] + 0.005  # type: ignore[operator]
        d_c = -bot[:, 0] - LANE_WIDTH_M - 2.5
        speed = (d_c[0] - d_c[-1]) / (time[-1] - time[0])
        assert time[0] + d_c[0] / speed == pytest.approx(row["t_C"], abs=0.005)
        if row["t_S"] < row["t_crit"] < row["t_A"]:  # type: ignore[operator]
            assert np.interp(row["t_crit"], time, d_c) == pytest.approx(speed**2 / 8, abs=0.1)


def test_the_bot_is_absent_until_the_human_has_slowed_down(
    trials: list[tuple[dict[str, object], pl.DataFrame]],
) -> None:
    for _, table in trials:
        spawn = table["idx_bot_spawn"][0]
        assert table["bot_yaw"][: spawn - 11].abs().sum() == 0
        assert table["bot_x"][: spawn - 11].abs().sum() == 0
        assert table["ego_v"][spawn] < 1.05
        assert table["bot_v"][spawn + 11] == pytest.approx(table["v_condition"][0], abs=1e-3)


def test_cars_drive_where_they_point(trials: list[tuple[dict[str, object], pl.DataFrame]]) -> None:
    for _, table in trials[:10]:
        fast = table.filter(pl.col("ego_v") > 1)
        course = np.degrees(np.arctan2(fast["ego_vy"], fast["ego_vx"]))
        slip = (course + fast["ego_yaw"].to_numpy() + 180) % 360 - 180
        assert np.abs(slip).max() < 1.5


def test_steps_are_irregular_and_about_ten_milliseconds(trials: list[tuple[dict[str, object], pl.DataFrame]]) -> None:
    steps = np.concatenate([np.diff(table["t"]) for _, table in trials])
    assert steps.mean() == pytest.approx(0.0103, abs=5e-5)
    assert steps.std() > 1e-4
    assert steps.min() > 0


def test_the_decision_is_go_exactly_when_the_cars_stay_five_meters_apart(root: Path) -> None:
    measures = pl.read_csv(root / "measures.csv")
    go = measures["decision"] == "Go"
    assert (go == (measures["min_distance"] > 5)).all()
    assert (go == measures["is_go_decision"]).all()
    assert 5 <= go.sum() <= 40
