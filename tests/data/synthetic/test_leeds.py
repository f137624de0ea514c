from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.data import DATASETS
from giveway.synth.protocol import synthesize

LANE_WIDTH_M = 3.65


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leeds") / "data"
    synthesize("leeds", folder, seed=4, count=3)
    return folder


def log(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, separator="\t").rename({"%simTime": "simTime"}, strict=False)


def crossing(folder: Path, first_id: int) -> tuple[pl.DataFrame, dict[int, pl.DataFrame], np.ndarray, float]:
    """Participant, drones, origin and rotation of a crossing, by section 2.4 of the protocol."""
    (subject,) = folder.glob("subject*2.txt")
    person = log(subject)
    pattern = "drone3??.txt" if first_id == 300 else "drone10??.txt"
    cars = {int(p.stem.removeprefix("drone")): log(p) for p in sorted(folder.glob(pattern))}
    here, there = person.select("x", "y").to_numpy()[::12], cars[first_id].select("x_r", "y_r").to_numpy()[::12]
    apart = np.hypot(*(here[:, None] - there[None]).transpose(2, 0, 1))
    i, j = np.unravel_index(np.argmin(apart), apart.shape)
    step = there[j] - there[j - 1]
    turn = np.pi / 2 - np.arctan2(step[1], step[0])
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    corner = np.array([(spin @ there[j])[0], (spin @ here[i])[1]])
    return person, cars, corner + np.abs([cars[first_id]["offset_p"][0], person["offset"][0]]), turn


def in_frame(xy: np.ndarray, origin: np.ndarray, turn: float) -> np.ndarray:
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return xy @ spin.T - origin


def test_logs_are_named_and_headed_like_the_originals(root: Path) -> None:
    assert sorted(p.name for p in root.iterdir()) == ["sub1", "sub2", "sub3", "synthetic.json", "truth"]
    assert (root / "sub1" / "drone300.txt").read_text().startswith("%simTime\tx_r\ty_r\t")
    names = {p.name for p in (root / "sub1").iterdir()}
    assert {"drone300.txt", "drone1000.txt", "subject01_2.txt"} <= names
    steps = np.diff(log(root / "sub1" / "subject01_2.txt")["simTime"].to_numpy())
    assert steps == pytest.approx(1 / 60, abs=2e-4)


def test_leaders_and_followers_form_a_chain(root: Path) -> None:
    cars = sorted((root / "sub2").glob("drone10??.txt"))
    for index, path in enumerate(cars):
        table = log(path)
        assert table["leaderID_r"][0] == (1000 + index - 1 if index else -1)
        assert table["followerID_r"][0] == (1000 + index + 1 if index + 1 < len(cars) else -1)


@pytest.mark.parametrize(("leg", "first_id"), [(1, 300), (2, 1000)])
def test_truth_follows_from_the_written_logs(root: Path, leg: int, first_id: int) -> None:
    truth = pl.read_csv(root / "truth" / "samples.csv", infer_schema_length=None)
    checked = 0
    for number in (1, 2, 3):
        person, cars, origin, turn = crossing(root / f"sub{number}", first_id)
        t_time, t_xy = person["simTime"].to_numpy(), in_frame(person.select("x", "y").to_numpy(), origin, turn)
        rows = truth.filter(
            (pl.col("participant") == number) & (pl.col("crossing") == leg) & pl.col("t_S").is_not_nan()
        )
        for row in rows.iter_rows(named=True):
            car = cars[row["drone"]]
            time, xy = car["simTime"].to_numpy(), in_frame(car.select("x_r", "y_r").to_numpy(), origin, turn)
            assert xy[:, 0] == pytest.approx(-LANE_WIDTH_M / 2, abs=0.02)
            assert np.interp(row["t_C"], time, xy[:, 1]) == pytest.approx(-(LANE_WIDTH_M + 1 + 2.5), abs=0.02)
            if row["t_A_observed"]:
                assert np.interp(row["t_A"], t_time, t_xy[:, 0]) == pytest.approx(2.5, abs=0.02)
                assert np.interp(row["t_A"], t_time, t_xy[:, 1]) == pytest.approx(-LANE_WIDTH_M / 2, abs=0.35)
            if row["drone"] > first_id and row["t_S"] > time[0] + 0.04:
                before = cars[row["drone"] - 1]
                y = in_frame(before.select("x_r", "y_r").to_numpy(), origin, turn)[:, 1]
                opened = np.interp([row["t_S"] - 1 / 30, row["t_S"]], before["simTime"].to_numpy(), y)
                assert opened[0] <= 2.52 and opened[1] > 2.48
            checked += 1
    assert checked > 20


def test_nobody_is_hit(root: Path) -> None:
    for number in (1, 2, 3):
        for first_id in (300, 1000):
            person, cars, origin, turn = crossing(root / f"sub{number}", first_id)
            t_time, t_xy = person["simTime"].to_numpy(), in_frame(person.select("x", "y").to_numpy(), origin, turn)
            for car in cars.values():
                time, xy = car["simTime"].to_numpy(), in_frame(car.select("x_r", "y_r").to_numpy(), origin, turn)
                dx = np.abs(np.interp(time, t_time, t_xy[:, 0]) - xy[:, 0])
                dy = np.abs(np.interp(time, t_time, t_xy[:, 1]) - xy[:, 1])
                assert not ((dx < 2.5 + 0.95) & (dy < 2.5 + 0.95)).any()


def test_the_adapter_finds_nothing_wrong(root: Path) -> None:
    verification = DATASETS.get("leeds").verify(root)
    assert verification.ok and not verification.problems
    assert len(verification.recordings) == 6


def test_accepted_gaps_are_longer_than_rejected_ones(root: Path) -> None:
    truth = pl.read_csv(root / "truth" / "samples.csv", infer_schema_length=None)
    seen = truth.filter(pl.col("t_S").is_not_nan()).with_columns(gap=pl.col("t_C") - pl.col("t_S"))
    inner = seen.filter(~pl.col("drone").is_in([300, 1000]))
    assert inner.filter("accepted")["gap"].median() > inner.filter(~pl.col("accepted"))["gap"].median() + 1.5  # type: ignore[operator]
    assert inner["accepted"].sum() >= 3
