"""Roles, frames and times recovered from synthetic recordings, whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from giveway.core.errors import DataError
from giveway.gaps.extract import SampleRules, find_gaps, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.extractions.ring_finder import find_ring
from giveway.gaps.extractions.ring_fit import fit_center
from giveway.gaps.extractions.ring_geometry import along_ring, into_ring, wraps
from giveway.gaps.extractions.ring_phantoms import complete_ring
from giveway.gaps.extractions.round import ring_of
from giveway.gaps.profile import CLEAN, PAPER

SECTOR = CLEAN.with_switches(contested_place="published")
NAMES = {"t_open_s": "t_S", "t_accept_s": "t_A", "t_close_s": "t_C", "t_crit_s": "t_crit"}


def test_left_turn_times_are_recovered(lgap_root, lgap_scenes):
    truth = pl.read_csv(lgap_root / "truth" / "samples.csv")
    found = find_gaps(EXTRACTIONS.get("lgap"), lgap_scenes, CLEAN)
    first = (
        pl.read_csv(lgap_root / "processed_data.csv")
        .group_by("subj_id", "session", "route", "intersection_no", maintain_order=True)
        .agg(pl.col("t").first())
    )
    assert first.height == truth.height
    start = first["t"].to_numpy()
    assert found.times.is_decided.all()
    np.testing.assert_array_equal(found.times.is_accepted, truth["accepted"].to_numpy())
    np.testing.assert_allclose(found.times.t_open_s + start, truth["t_S"].to_numpy(), atol=1e-9)
    np.testing.assert_allclose(found.times.t_accept_s + start, truth["t_A"].to_numpy(), atol=0.02)
    np.testing.assert_allclose(found.times.t_close_s + start, truth["t_C"].to_numpy(), atol=0.01)
    np.testing.assert_allclose(found.times.t_crit_s + start, truth["t_crit"].to_numpy(), atol=0.05)


def test_left_turns_are_brought_into_one_frame(lgap_scenes):
    raw = EXTRACTIONS.get("lgap").enumerate(lgap_scenes, CLEAN).raw
    first = raw.xy[raw.offset[:-1]]
    assert (first[:, 0, 0] < -50).all()
    np.testing.assert_allclose(raw.xy[:, 0, 1], -1.75, atol=0.05)
    assert (first[:, 1, 0] > 0).all()
    assert (first[:, 1, 1] > 0).all()


@pytest.fixture(scope="module")
def round_found(round_scenes):
    return find_gaps(EXTRACTIONS.get("round"), round_scenes, SECTOR)


def test_roundabout_roles_and_times_are_recovered(round_root, round_found):
    """Times that decide the label to interpolation accuracy; projections of waiting targets are not compared."""
    truth = pl.read_csv(round_root / "truth" / "00_samples.csv")
    names = [name.split("/")[2:] for name in round_found.raw.sample_id]
    keys = [(int(t[1:]), int(e.split("@")[0][1:]), int(e.split("@")[1])) for t, e in names]
    index = {key: i for i, key in enumerate(keys)}
    assert len(index) == len(keys)
    assert round_found.num_role_conflicts == truth["role_conflict"].sum()
    rows = truth.filter(~pl.col("role_conflict")).to_dicts()
    assert {(r["t_id"], r["e_id"], r["pass_frame"]) for r in rows} == set(keys)
    decided = 0
    for row in rows:
        i = index[row["t_id"], row["e_id"], row["pass_frame"]]
        assert bool(round_found.times.is_decided[i]) == np.isfinite(row["t_S"])
        if not np.isfinite(row["t_S"]):
            continue
        decided += 1
        ours = {theirs: float(getattr(round_found.times, name)[i]) for name, theirs in NAMES.items()}
        assert bool(round_found.times.is_accepted[i]) == row["accepted"]
        assert ours["t_S"] == pytest.approx(row["t_S"], abs=1e-9)
        assert ours["t_crit"] == pytest.approx(row["t_crit"], abs=0.04)
        first = "t_A" if row["accepted"] else "t_C"
        assert ours[first] == pytest.approx(row[first], abs=0.01)
    assert decided > 50


def test_the_reduced_variant_keeps_samples_and_times_and_hides_the_others(round_found, round_scenes):
    reduced = find_gaps(EXTRACTIONS.get("round_2v"), round_scenes, SECTOR)
    rules = SampleRules(choice="initial", num_input=2)
    full, few = (samples_at(found, rules, CLEAN).samples for found in (round_found, reduced))
    np.testing.assert_array_equal(full.inputs.sample_id, few.inputs.sample_id)
    np.testing.assert_array_equal(full.t_open_s, few.t_open_s)
    np.testing.assert_array_equal(full.inputs.xy[:, :2], few.inputs.xy)
    assert few.inputs.roles == ("E", "T")
    assert (few.inputs.distance[:, 2:5] == 500.0).all()


@pytest.mark.parametrize("shift", [(1.0, 0.0), (-1.2, 1.6)])
def test_a_roundabout_framed_differently_is_read_around_its_own_center(round_scenes, shift):
    scene = round_scenes[0]
    moved = replace(scene, tracks=replace(scene.tracks, xy=scene.tracks.xy + np.array(shift)))
    as_is, clean, paper = (
        EXTRACTIONS.get("round").enumerate([one], profile)
        for one, profile in ((scene, SECTOR), (moved, SECTOR), (moved, PAPER))
    )
    off = np.hypot(*shift)
    assert f"around a center {off:.1f}"[:-1] in clean.notes[0] and clean.notes == paper.notes
    same = set(as_is.raw.sample_id) & set(clean.raw.sample_id)
    assert len(same) > 0.9 * len(as_is.raw.sample_id)
    assert len(set(as_is.raw.sample_id) & set(paper.raw.sample_id)) < len(same)


def test_a_recording_at_an_unknown_location_does_not_end_the_others(round_scenes):
    lost = replace(round_scenes[0], location="7")
    found = EXTRACTIONS.get("round").enumerate([lost, round_scenes[0]], CLEAN)
    alone = EXTRACTIONS.get("round").enumerate([round_scenes[0]], CLEAN)
    np.testing.assert_array_equal(found.raw.sample_id, alone.raw.sample_id)
    assert "left out, unknown location" in found.notes[0]


def test_an_unknown_location_is_refused():
    with pytest.raises(DataError, match="unknown location"):
        ring_of("7", 0.0101)


def test_radii_of_the_three_locations_are_the_published_ones():
    assert ring_of("0", 0.010160).outer_m == pytest.approx(25.146, abs=0.01)
    assert ring_of("1", 0.01480983298809042).inner_m == pytest.approx(6.679, abs=0.01)
    assert ring_of("2", 0.013633).outer_m == pytest.approx(13.633, abs=0.01)


def test_a_roundabout_nobody_described_is_found_from_its_traffic(round_scenes):
    scene = round_scenes[0]
    known = ring_of(scene.location, scene.attributes["ortho_px_to_meter"])
    ring = find_ring([scene.tracks], is_known=True)
    assert ring is not None
    assert np.hypot(*(ring.center - known.center)) < 0.5
    assert ring.inner_m < known.outer_m
    assert ring.outer_m == pytest.approx(known.outer_m, abs=3.5)
    fit = fit_center([scene.tracks], known.center, low_m=known.inner_m, high_m=known.outer_m)
    assert np.hypot(*(fit.center - known.center)) < 0.1


def test_nothing_is_found_where_nobody_circulates(lgap_scenes):
    assert find_ring([lgap_scenes[0].tracks], is_known=True) is None


def test_entering_distance_vanishes_at_the_outer_edge():
    angle = np.linspace(-0.1, 0.29, 41)
    for outer in (13.6, 25.1):
        np.testing.assert_allclose(into_ring(np.full(41, outer), angle, np.full(41, outer)), 0.0, atol=0.02)


def test_ring_distances_fall_along_the_way():
    outer = np.full(200, 14.5)
    angle = np.linspace(-np.pi, np.pi, 200)
    assert (np.diff(along_ring(outer - 1.75, angle, outer)) < 0).all()
    radius = np.linspace(40, 14.5, 200)
    assert (np.diff(into_ring(radius, np.full(200, 0.1), outer)) < 0).all()


def test_a_lap_is_counted_and_a_step_back_is_not():
    assert wraps(np.array([3.0, 3.1, -3.1, -3.0])).tolist() == [False, False, True, False]
    assert not wraps(np.array([1.6, 1.5, 1.6])).any()
    assert not wraps(np.array([1.6, np.nan, -1.5])).any()


def test_absent_agents_are_invented_as_published_or_masked():
    roles = ("E", "T", "1", "2", "3", "4")
    xy = np.zeros((1, 6, 3, 2))
    xy[:, 2:] = np.nan
    xy[0, 5] = [[1.0, 5.0], [np.nan, np.nan], [3.0, 9.0]]
    radius = np.array([14.0])
    masked = complete_ring(xy, roles, radius, CLEAN)
    assert np.isnan(masked[0, 2]).all()
    made = complete_ring(xy, roles, radius, PAPER)
    np.testing.assert_allclose(np.hypot(*made[0, 2].T), [54, 56, 58])
    np.testing.assert_allclose(np.arctan2(made[0, 2, :, 1], made[0, 2, :, 0]), 0.4 * np.pi)
    np.testing.assert_allclose(np.hypot(*made[0, 3].T), [60, 58, 56])
    np.testing.assert_allclose(np.hypot(*made[0, 4].T), [34, 36, 38])
    np.testing.assert_allclose(made[0, 5, 1], [7.0, 7.0])
    right = complete_ring(xy, roles, radius, PAPER.with_switches(ped_fill="x_from_x"))
    np.testing.assert_allclose(right[0, 5, 1], [2.0, 7.0])


def test_an_agent_that_leaves_the_picture_goes_on_as_it_was():
    roles = ("E", "T", "1", "2", "3", "4")
    xy = np.zeros((1, 6, 4, 2))
    xy[0, 2, :, 0] = [20.0, 22.0, np.nan, np.nan]
    angle = np.array([0.5, 0.6, np.nan, np.nan])
    xy[0, 3] = np.column_stack([10 * np.cos(angle), 10 * np.sin(angle)])
    made = complete_ring(xy, roles, np.array([14.0]), PAPER)
    np.testing.assert_allclose(made[0, 2, :, 0], [20, 22, 24, 26])
    np.testing.assert_allclose(np.arctan2(made[0, 3, :, 1], made[0, 3, :, 0]), [0.5, 0.6, 0.7, 0.8])
    np.testing.assert_allclose(np.hypot(*made[0, 3].T), 10.0)
