"""Straight crossings and lane changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from giveway.core.scene import Provenance, Scene
from giveway.core.seeds import stream
from giveway.core.tracks import AgentKind, Tracks
from giveway.data import DATASETS
from giveway.gaps.extract import SampleRules, find_gaps, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.profile import CLEAN, PAPER
from giveway.synth.protocol import synthesize
from giveway.testing.causality import true_and_forged

FRAME_S = 1 / 30 + 1e-5
"""t_S is a frame of the resampled logs; a car that clears the space just at a frame may be seen one later."""


@pytest.fixture(scope="module")
def leeds_root(tmp_path_factory):
    root = tmp_path_factory.mktemp("leeds") / "data"
    synthesize("leeds", root, seed=2, count=3)
    return root


@pytest.fixture(scope="module")
def leeds_scenes(leeds_root):
    adapter = DATASETS.get("leeds")
    return [scene for recording in adapter.recordings(leeds_root) for scene in adapter.scenes(recording)]


def test_crossing_times_are_recovered(leeds_root, leeds_scenes):
    truth = pl.read_csv(leeds_root / "truth" / "samples.csv").to_dicts()
    found = find_gaps(EXTRACTIONS.get("leeds"), leeds_scenes, CLEAN)
    index = {name: i for i, name in enumerate(found.raw.sample_id)}
    names = [f"leeds/sub{row['participant']}/{row['crossing']}/{row['drone']}" for row in truth]
    assert set(index) <= set(names)
    for name, row in zip(names, truth, strict=True):
        if name not in index:
            assert not np.isfinite(row["t_S"])
            continue
        i = index[name]
        assert bool(found.times.is_decided[i]) == np.isfinite(row["t_S"])
        if not np.isfinite(row["t_S"]):
            continue
        assert bool(found.times.is_accepted[i]) == row["accepted"]
        assert found.times.t_open_s[i] == pytest.approx(row["t_S"], abs=FRAME_S)
        assert found.times.t_crit_s[i] == pytest.approx(row["t_crit"], abs=0.05)
        first = "t_A" if row["accepted"] else "t_C"
        ours = found.times.t_accept_s[i] if row["accepted"] else found.times.t_close_s[i]
        assert ours == pytest.approx(row[first], abs=0.02)


def test_a_crossing_is_brought_into_one_frame(leeds_scenes):
    raw = EXTRACTIONS.get("leeds").enumerate(leeds_scenes, CLEAN).raw
    assert (raw.xy[:, 0, 0] < 0).all()
    ego = raw.xy[:, 0, 1]
    moves = np.diff(ego)[np.diff(np.repeat(np.arange(raw.num_samples), np.diff(raw.offset))) == 0]
    assert (moves > -1e-6).all()


def cut_log(scene: Scene, agent: str, last_s: float) -> Scene:
    """The same crossing with the log of one car ending early."""
    tracks = scene.tracks
    row, gone = tracks.index_of(agent), tracks.time_s > last_s
    xy, observed = tracks.xy.copy(), tracks.observed.copy()
    xy[row, gone], observed[row, gone] = np.nan, False
    return replace(scene, tracks=replace(tracks, xy=xy, observed=observed))


def test_a_gap_is_described_while_both_cars_are_logged(leeds_scenes):
    extraction = EXTRACTIONS.get("leeds")
    whole = find_gaps(extraction, leeds_scenes, CLEAN)
    rejected = np.flatnonzero(whole.times.is_decided & ~whole.times.is_accepted)
    assert len(rejected) > 5
    for i in rejected[:6]:
        recording, _ = whole.raw.sample_id[i].removeprefix("leeds/").rsplit("/", 1)
        (scene,) = (s for s in leeds_scenes if s.provenance.recording == recording)
        cut = find_gaps(extraction, [cut_log(scene, "subject", whole.times.t_close_s[i] + 0.2)], CLEAN)
        k = list(cut.raw.sample_id).index(whole.raw.sample_id[i])
        assert cut.times.is_decided[k]
        assert not cut.times.is_accepted[k]
        assert np.isfinite(cut.raw.xy[:, 1]).all()


def test_a_car_that_comes_after_the_log_of_the_target_gives_no_gap(leeds_scenes):
    extraction = EXTRACTIONS.get("leeds")
    scene = leeds_scenes[0]
    begin = float(scene.tracks.time_s[scene.tracks.first.max()])
    cut = extraction.enumerate([cut_log(scene, "subject", begin - 0.5)], CLEAN).raw
    assert 0 < cut.num_samples < extraction.enumerate([scene], CLEAN).raw.num_samples


def test_the_published_offset_moves_the_origin(leeds_scenes):
    clean, paper = (EXTRACTIONS.get("leeds").enumerate(leeds_scenes, p).raw for p in (CLEAN, PAPER))
    shift = paper.xy[:, 0, 0] - clean.xy[:, 0, 0]
    assert 0.2 < np.abs(shift).max() < 1.0


def test_crossings_ignore_the_future(leeds_scenes):
    extraction = EXTRACTIONS.get("leeds")
    raw = extraction.enumerate(leeds_scenes, CLEAN).raw
    true, forged = true_and_forged(
        extraction, raw, SampleRules(choice="initial", num_input=3), CLEAN, stream(0, "forge")
    )
    assert true.num_samples > 10
    np.testing.assert_array_equal(true.inputs.distance, forged.inputs.distance)
    np.testing.assert_array_equal(true.inputs.xy, forged.inputs.xy)


def test_absent_cars_are_a_kilometer_away_or_masked(leeds_scenes):
    rules = SampleRules(choice="initial", num_input=2)
    masked = samples_at(find_gaps(EXTRACTIONS.get("leeds"), leeds_scenes, CLEAN), rules, CLEAN).samples
    made = samples_at(find_gaps(EXTRACTIONS.get("leeds"), leeds_scenes, PAPER), rules, PAPER).samples
    assert np.isnan(masked.inputs.xy).any()
    assert np.isfinite(made.inputs.xy).all()
    offset = made.inputs.xy[:, 2:, :, 1] - made.inputs.xy[:, :1, :, 1]
    absent = np.isnan(masked.inputs.xy[:, 2:, :, 1]).all(axis=2)
    assert absent.any()
    np.testing.assert_allclose(np.abs(offset[absent]), 1000.0)


def highway(direction: int, changes: bool, ahead_mps: float | None = None) -> Scene:
    """A slow car in the right lane, a fast one coming up on its left; the slow one changes lanes or stays.

    With ``ahead_mps`` a third car drives 40 m ahead of the slow one.
    """
    time = np.arange(0, 12, 0.04)
    slow, fast = 25.0 * time + 60, 33.0 * time
    lateral = np.where(time > 3.0, np.clip((time - 3.0) / 3.0, 0, 1) * 3.5, 0.0) if changes else np.zeros_like(time)
    y = np.stack([1.75 + lateral, np.full_like(time, 5.25), np.full_like(time, 1.75)])
    x = np.stack([slow, fast, 100.0 + (ahead_mps or 0.0) * time])
    cars = 2 if ahead_mps is None else 3
    x, y = x[:cars], y[:cars]
    markings = np.array([7.0, 3.5, 0.0])
    if direction == 1:
        x, y, markings = 500.0 - x, -y, np.array([0.0, -3.5, -7.0])
    lane_changed = (1.75 + lateral) > 3.5
    alongside = np.abs(slow - fast) < 5.0
    behind = fast < slow - 5.0
    columns = {name: np.zeros((cars, len(time)), dtype=np.int32) for name in NAMES}
    columns["preceding_id"][0] = np.where(lane_changed, 0, 3 if cars == 3 else 0)
    columns["left_following_id"][0] = np.where(~lane_changed & behind, 2, 0)
    columns["left_alongside_id"][0] = np.where(~lane_changed & alongside, 2, 0)
    columns["following_id"][0] = np.where(lane_changed & behind, 2, 0)
    tracks = Tracks(
        time_s=time,
        xy=np.stack([x, y], axis=-1),
        heading=np.zeros((cars, len(time))),
        velocity=np.zeros((cars, len(time), 2)),
        observed=np.ones((cars, len(time)), dtype=bool),
        size=np.full((cars, 2), 4.5),
        kind=np.full(cars, AgentKind.CAR),
        ids=np.array(["1", "2", "3"][:cars]),
    )
    facts = {name: values[tracks.observed] for name, values in columns.items()}
    return Scene(
        tracks=tracks,
        location="1",
        provenance=Provenance(dataset="highd", recording="01"),
        attributes={
            **facts,
            "driving_direction": np.full(cars, direction),
            "upper_lane_markings_m": markings if direction == 1 else np.array([20.0, 15.0, 10.0]),
            "lower_lane_markings_m": markings if direction == 2 else np.array([-20.0, -23.5, -27.0]),
        },
    )


NAMES = ("preceding_id", "following_id", "left_alongside_id", "left_following_id")


@pytest.mark.parametrize("direction", (1, 2))
def test_a_lane_change_before_the_faster_car_is_an_accepted_gap(direction):
    found = find_gaps(EXTRACTIONS.get("highd"), [highway(direction, changes=True)], CLEAN)
    assert found.raw.num_samples == 1
    assert found.times.is_accepted[0]
    assert found.times.t_accept_s[0] == pytest.approx(4.5, abs=1e-9)
    gap = (60 - 5 - 8 * 4.5) / 8
    assert found.times.gap_at_acceptance_s[0] == pytest.approx(gap, abs=1e-6)


@pytest.mark.parametrize("direction", (1, 2))
def test_a_faster_car_that_pulls_alongside_is_a_rejected_gap(direction, monkeypatch):
    import giveway.gaps.extractions.highd as module

    monkeypatch.setattr(module, "KEEP", dict.fromkeys(module.KEEP, 1.1))
    found = find_gaps(EXTRACTIONS.get("highd"), [highway(direction, changes=False)], CLEAN)
    assert found.raw.num_samples == 1
    assert not found.times.is_accepted[0]
    assert found.times.t_close_s[0] == pytest.approx(55 / 8, abs=1e-9)
    assert found.times.t_crit_s[0] == pytest.approx((55 - 8**2 / 8) / 8, abs=1e-9)


def test_thinning_is_repeatable_and_drops_most():
    kept = [find_gaps(EXTRACTIONS.get("highd"), [highway(2, changes=False)], CLEAN).raw.num_samples for _ in range(2)]
    assert kept[0] == kept[1]


@pytest.mark.parametrize("ahead_of_ego", (3, 0))
def test_rejected_gaps_are_kept_more_often_if_the_car_ahead_of_the_faster_one_was_alongside(ahead_of_ego, monkeypatch):
    import giveway.gaps.extractions.highd as module

    monkeypatch.setattr(module, "KEEP", {(near, truck): 1.1 * near for near, truck in module.KEEP})
    scene = highway(2, changes=False, ahead_mps=40.0)
    scene.attributes["left_alongside_id"].reshape(3, -1)[0, :20] = 3
    scene.attributes["preceding_id"].reshape(3, -1)[1] = ahead_of_ego
    raw = EXTRACTIONS.get("highd").enumerate([scene], CLEAN).raw
    assert raw.num_samples == (1 if ahead_of_ego else 0)


@pytest.fixture
def all_kept(monkeypatch):
    import giveway.gaps.extractions.highd as module

    monkeypatch.setattr(module, "KEEP", dict.fromkeys(module.KEEP, 1.1))


@pytest.mark.parametrize("choice", ("initial", "constant", "critical"))
@pytest.mark.parametrize("name", ("highd", "highd_restricted"))
def test_lane_changes_ignore_the_future(name, choice, all_kept):
    scenes = [highway(d, changes=c, ahead_mps=5.0) for d in (1, 2) for c in (True, False)]
    extraction = EXTRACTIONS.get(name)
    raw = extraction.enumerate(scenes, CLEAN).raw
    rules = SampleRules(choice=choice, num_input=3, num_input_max=3, relaxed=True)
    true, forged = true_and_forged(extraction, raw, rules, CLEAN, stream(0, "forge"))
    assert true.num_samples >= 2
    np.testing.assert_array_equal(true.inputs.distance, forged.inputs.distance)
    np.testing.assert_array_equal(true.inputs.xy, forged.inputs.xy)


def test_the_published_interpolation_of_lane_changes_looks_one_frame_ahead(all_kept):
    """The check above can fail: ``paper`` reads the frame after t_0."""
    extraction = EXTRACTIONS.get("highd")
    raw = extraction.enumerate([highway(1, changes=False)], PAPER).raw
    rules = SampleRules(choice="critical", num_input=3, num_input_max=3)
    true, forged = true_and_forged(extraction, raw, rules, PAPER, stream(0, "forge"))
    assert true.num_samples == 1
    assert not np.array_equal(true.inputs.distance, forged.inputs.distance)


@pytest.mark.parametrize(("ahead_mps", "kept"), [(None, 0), (24.0, 0), (14.0, 1), (5.0, 1)])
def test_the_restricted_set_keeps_rejected_gaps_of_drivers_who_are_held_up(ahead_mps, kept, all_kept):
    """T is 55 m / 8 m/s before E and 35 m behind a car it would reach in 35 m / (25 - v): held up below v = 14.8."""
    few = EXTRACTIONS.get("highd_restricted").enumerate([highway(2, changes=False, ahead_mps=ahead_mps)], CLEAN)
    held_up = ahead_mps is not None and 2 * 35 / (25 - ahead_mps) <= 55 / 8
    assert few.raw.num_samples == int(held_up) == kept
    assert f"{1 - kept} rejected gaps were left out" in few.notes[1]


def test_the_restricted_set_keeps_accepted_gaps():
    few = EXTRACTIONS.get("highd_restricted").enumerate([highway(2, changes=True)], CLEAN)
    assert few.raw.num_samples == 1
