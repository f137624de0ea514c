"""Sites that nobody described: circles fitted to traffic, conflicts of lanes."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.core.seeds import stream
from giveway.data import DATASETS
from giveway.gaps.extract import SampleRules, find_gaps, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.extractions.lane_routes import RouteBook
from giveway.gaps.profile import CLEAN
from giveway.synth.protocol import synthesize
from giveway.testing.causality import true_and_forged


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interaction") / "data"
    synthesize("interaction", folder, seed=0, minutes=10.0)
    return folder


@pytest.fixture(scope="module")
def scenes(root):
    adapter = DATASETS.get("interaction")
    return [scene for recording in adapter.recordings(root) for scene in adapter.scenes(recording)]


def agreement(found, root, site):
    """Pairs known to both, and how many of them have the same label.

    The truth is what simulated drivers did: a few of them decide otherwise, and then cannot do what they decided.
    """
    path = next((root / "truth").glob(f"*{site}*_decisions.csv"))
    truth = {(r["t_id"], r["e_id"]): r["t_A"] < r["t_C"] for r in pl.read_csv(path).to_dicts()}
    pairs = []
    for i, name in enumerate(found.raw.sample_id):
        target, ego = name.split("/T")[1].split("@")[0].split("/E")
        key = int(target), int(ego)
        if site in name and found.times.is_decided[i] and key in truth:
            pairs.append(bool(found.times.is_accepted[i]) == truth[key])
    return len(pairs), float(np.mean(pairs))


def test_entries_into_a_fitted_roundabout_have_the_true_labels(root, scenes):
    found = find_gaps(EXTRACTIONS.get("interaction"), scenes, CLEAN)
    pairs, share = agreement(found, root, "Roundabout")
    assert pairs > 40
    assert share == 1.0
    assert sum("no roundabout found" in note for note in found.notes) == 2


@pytest.mark.parametrize("site", ("Intersection", "Merging", "Roundabout"))
def test_conflicts_of_lanes_have_the_true_labels(site, root, scenes):
    found = find_gaps(EXTRACTIONS.get("interaction_lanes"), scenes, CLEAN)
    pairs, share = agreement(found, root, site)
    assert pairs > 40
    assert share == 1.0


@pytest.mark.parametrize("name", ("interaction", "interaction_lanes"))
def test_inputs_ignore_the_future(name, scenes):
    extraction = EXTRACTIONS.get(name)
    raw = extraction.enumerate(scenes, CLEAN).raw
    rules = SampleRules(choice="constant", num_input=2, num_input_max=2)
    true, forged = true_and_forged(extraction, raw, rules, CLEAN, stream(0, "forge"))
    assert true.num_samples > 20
    np.testing.assert_array_equal(true.inputs.distance, forged.inputs.distance)
    np.testing.assert_array_equal(true.inputs.xy, forged.inputs.xy)


def test_the_boundary_is_where_the_remaining_way_ends(scenes):
    found = find_gaps(EXTRACTIONS.get("interaction_lanes"), scenes, CLEAN)
    samples = samples_at(found, SampleRules(choice="initial", num_input=2, num_input_max=2), CLEAN).samples
    side = samples.inputs.boundary.signed_distance(samples.inputs.xy[:, 1, -1])
    way = samples.inputs.distance[:, 1, -1]
    near = way < 10.0
    assert near.sum() > 10
    np.testing.assert_allclose(side[near], way[near], atol=1.5)  # the lane may bend, the boundary is straight


@pytest.mark.parametrize(("name", "note"), (("interaction", "no roundabout"), ("interaction_lanes", "no map")))
def test_a_site_that_offers_nothing_is_left_out_and_noted(name, note, scenes):
    found = find_gaps(EXTRACTIONS.get(name), [replace(scenes[0], road=None)], CLEAN)
    assert found.raw.num_samples == 0
    assert note in found.notes[0]
    assert samples_at(found, SampleRules(choice="constant"), CLEAN).report.num_candidates == 0


@pytest.mark.parametrize("name", EXTRACTIONS.names())
def test_every_extraction_survives_having_no_scenes(name):
    found = find_gaps(EXTRACTIONS.get(name), [], CLEAN)
    assert samples_at(found, SampleRules(choice="initial"), CLEAN).samples.num_samples == 0


@pytest.mark.data
def test_real_roundabouts_are_found_where_they_are():
    """Centers read off the published maps, to the nearest meters."""
    root = Path(os.environ["GIVEWAY_REAL_INTERACTION"])
    adapter = DATASETS.get("interaction")
    centers = {"DR_USA_Roundabout_FT": (1019, 999), "DR_USA_Roundabout_SR": (990, 1020)}
    for site, center in centers.items():
        recordings = [r for r in adapter.recordings(root) if r.location == site][:3]
        scenes = [scene for recording in recordings for scene in adapter.scenes(recording)]
        found = find_gaps(EXTRACTIONS.get("interaction"), scenes, CLEAN)
        x, y = (float(v) for v in found.notes[0].split("(")[1].split(")")[0].split(", "))
        assert np.hypot(x - center[0], y - center[1]) < 2.0
        assert found.times.is_decided.sum() > 50


def test_center_lines_are_contested_where_drivers_meet(scenes, monkeypatch):
    """Entries of center lines are moved by 10 m; what models see stays near to what was driven."""
    find = RouteBook._find

    def moved(book, yielding, priority):
        found = find(book, yielding, priority)
        return found and tuple(replace(one, in_m=one.in_m + 10.0, out_m=one.out_m + 10.0) for one in found)

    monkeypatch.setattr(RouteBook, "_find", moved)
    found = find_gaps(EXTRACTIONS.get("interaction_lanes"), scenes, CLEAN)
    rows = found.times.open_row[found.times.is_decided]
    off = np.abs(found.description.distance[rows, :2] - found.description.truth[rows, :2])
    assert len(rows) > 100
    assert (np.nanmedian(off, axis=0) < 1.5).all()
    assert ((off > 5.0).mean(axis=0) < 0.15).all()
