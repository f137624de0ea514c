"""Gaps at places found from paths: true labels, references without a future, the order check, reasons."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.core.errors import DataError
from giveway.core.frames import rotated
from giveway.core.scene import Provenance
from giveway.data import DATASETS
from giveway.gaps.encounters import encounters_of, traffic_of
from giveway.gaps.extract import SampleRules, find_gaps, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.extractions.ring_finder import find_ring
from giveway.gaps.extractions.ring_streams import RingStreams
from giveway.gaps.order import Orders, counts_of
from giveway.gaps.profile import CLEAN, PAPER
from giveway.gaps.references import MedianReferences
from giveway.synth.protocol import synthesize

MIRROR = np.array([1.0, -1.0])
RULES = SampleRules(choice="constant", num_input=2, num_input_max=2)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paths") / "data"
    synthesize("interaction", folder, seed=0, minutes=10.0)
    adapter = DATASETS.get("interaction")
    found = [s for r in adapter.recordings(folder) for s in adapter.scenes(r) if "Roundabout" in s.location]
    assert len(found) == 1
    return found


@pytest.fixture(scope="module")
def found(scenes):
    return find_gaps(EXTRACTIONS.get("interaction"), scenes, CLEAN)


def moved(scene, *, angle=0.0, mirror=False):
    tracks, flip = scene.tracks, MIRROR if mirror else np.ones(2)
    xy, velocity = (rotated(values * flip, angle) for values in (tracks.xy, tracks.velocity))
    heading = (-tracks.heading if mirror else tracks.heading) + angle
    return replace(scene, tracks=replace(tracks, xy=xy, velocity=velocity, heading=heading), road=None)


@pytest.mark.parametrize("change", ({"angle": np.radians(37.0)}, {"mirror": True}))
def test_turning_or_mirroring_a_site_changes_no_sample(change, scenes, found):
    """A mirrored site has traffic on the left side."""
    other = find_gaps(EXTRACTIONS.get("interaction"), [moved(s, **change) for s in scenes], CLEAN)
    assert other.raw.sample_id.tolist() == found.raw.sample_id.tolist()
    np.testing.assert_array_equal(other.times.is_accepted, found.times.is_accepted)
    np.testing.assert_allclose(other.times.t_accept_s, found.times.t_accept_s, atol=0.15)  # grid of 0.5 m
    flip = MIRROR if change.get("mirror") else np.ones(2)
    np.testing.assert_allclose(other.raw.xy[:, :2] * flip, found.raw.xy[:, :2], atol=0.6)


def test_swapping_e_and_t_flips_every_label_that_is_not_close(found):
    orders = found.raw.orders
    clear = found.times.is_decided & (np.abs(orders.t_target_s - orders.t_other_s) > 0.5)
    swapped = Orders(status=orders.status, t_target_s=orders.t_other_s, t_other_s=orders.t_target_s)
    assert clear.sum() > 100
    assert counts_of(orders.verdicts(found.times.is_accepted)[clear])["reversed"] == 0
    assert counts_of(swapped.verdicts(found.times.is_accepted)[clear])["reversed"] == clear.sum()


def test_labels_of_synthetic_round_are_what_the_drivers_did(round_root, round_scenes):
    found = find_gaps(EXTRACTIONS.get("round"), round_scenes, CLEAN)
    rows = pl.read_csv(round_root / "truth" / "00_samples.csv").filter(pl.col("t_S").is_finite()).to_dicts()
    truth = {(r["t_id"], r["e_id"]): r["accepted"] for r in rows}
    known = 0
    for i, name in enumerate(found.raw.sample_id):
        target, ego = (int(v) for v in name.split("/T")[1].split("@")[0].split("/E"))
        if found.times.is_decided[i] and (target, ego) in truth:
            known += 1
            assert bool(found.times.is_accepted[i]) == truth[target, ego], name
    assert known > 50


def test_most_candidates_have_a_decision_and_reasons_have_examples(scenes, found):
    published = find_gaps(EXTRACTIONS.get("interaction"), scenes, PAPER)
    assert (~found.times.is_decided).mean() < 0.02 < 0.2 < (~published.times.is_decided).mean()
    report = samples_at(published, RULES, PAPER).report
    assert sum(report.why_undecided.values()) == report.dropped["no_decision"] > 10
    assert report.why_undecided["neither_passes"] == 0
    for reason, count in (*report.dropped.items(), *report.why_undecided.items()):
        if reason != "role_conflict":
            assert len(report.examples.get(reason, ())) == min(count, 5)
    assert set(report.examples["no_decision"]) <= set(published.raw.sample_id)


def test_references_of_a_recording_are_made_without_it(scenes):
    """Six copies of a recording; one of them, bent, does not move its own references."""
    ring = find_ring([scene.tracks for scene in scenes], is_known=True)
    copies = [
        traffic_of(replace(scenes[0], provenance=Provenance(dataset="interaction", recording=str(k)))) for k in range(6)
    ]
    met = [list(encounters_of(traffic, RingStreams(ring=ring))) for traffic in copies]

    def place(book, encounter):
        pair = book.of(encounter).pairs[0]
        return pair[0].line.at(pair[0].in_m).xy

    plain = MedianReferences([e for group in met for e in group], "site")
    assert not any("help to place" in note for note in plain.notes)
    without = MedianReferences([e for group in met[:5] for e in group], "site")
    np.testing.assert_array_equal(place(plain, met[5][0]), place(without, met[0][0]))
    alone = MedianReferences(met[0], "site")
    assert any("help to place" in note for note in alone.notes)


def test_contradicting_labels_are_an_error_in_clean_only(found):
    """Times of T and E exchanged for 2 % of the samples."""
    orders, kept = found.raw.orders, samples_at(found, RULES, CLEAN).report
    assert kept.order["reversed"] == 0 < kept.order["agrees"]
    ids = samples_at(found, RULES, CLEAN).samples.inputs.sample_id[:3].tolist()
    wrong = np.isin(found.raw.sample_id, ids)
    forged = Orders(
        status=orders.status,
        t_target_s=np.where(wrong, orders.t_other_s, orders.t_target_s),
        t_other_s=np.where(wrong, orders.t_target_s, orders.t_other_s),
    )
    forged_found = replace(found, raw=replace(found.raw, orders=forged))
    with pytest.raises(DataError, match="contradict the order") as caught:
        samples_at(forged_found, RULES, CLEAN)
    assert all(name in str(caught.value.found) for name in ids)
    report = samples_at(forged_found, RULES, CLEAN.with_switches(order_check="report")).report
    assert report.order["reversed"] == 3
    assert set(report.examples["reversed"]) == set(ids)


def test_constant_gaps_have_their_size(found):
    keep = samples_at(found, RULES, CLEAN.with_switches(standing_ego="keep"))
    drop = samples_at(found, RULES, CLEAN)
    size = drop.report.delta_t_s
    np.testing.assert_array_less(np.abs(drop.samples.inputs.distance[:, 0, -1]), 400.0)
    assert (
        drop.report.dropped["standing"] + drop.report.dropped["negotiation"] + drop.report.dropped["not_constant"] > 0
    )
    assert 0.8 < size < 8.0
    assert keep.report.dropped["not_constant"] == 0


def test_lane_and_path_places_agree_on_who_went_first(scenes, found):
    lanes = find_gaps(EXTRACTIONS.get("interaction_lanes"), scenes, CLEAN)

    def labels(gaps):
        names = [str(name).split("/", 1)[1].split("@")[0] for name in gaps.raw.sample_id]
        return {n: bool(a) for n, a, d in zip(names, gaps.times.is_accepted, gaps.times.is_decided, strict=True) if d}

    one, two = labels(found), labels(lanes)
    both = one.keys() & two.keys()
    assert len(both) > 100
    assert all(one[name] == two[name] for name in both)


FT = "DR_USA_Roundabout_FT"


@pytest.fixture(scope="module")
def ft_scenes():
    adapter = DATASETS.get("interaction")
    recordings = [r for r in adapter.recordings(Path(os.environ["GIVEWAY_REAL_INTERACTION"])) if r.location == FT]
    return [scene for recording in recordings for scene in adapter.scenes(recording)]


@pytest.mark.data
@pytest.mark.slow
def test_the_published_sector_reverses_labels_on_a_real_roundabout(ft_scenes):
    """Reversed and observed by label, at each prediction time; sub-reasons of 3068 candidates without a decision."""
    profile = CLEAN.with_switches(contested_place="published", order_check="report", standing_ego="keep")
    gaps = find_gaps(EXTRACTIONS.get("interaction"), ft_scenes, profile)
    expected = {"initial": (106, 1819, 1, 584), "constant": (76, 1271, 0, 337), "critical": (126, 2131, 0, 214)}
    for choice, numbers in expected.items():
        report = samples_at(gaps, SampleRules(choice=choice), profile)
        index = {name: i for i, name in enumerate(gaps.raw.sample_id)}
        kept = np.array([index[name] for name in report.samples.inputs.sample_id])
        verdicts = gaps.raw.orders.verdicts(gaps.times.is_accepted)[kept]
        found = [counts_of(verdicts[report.samples.truth.accepted == label]) for label in (False, True)]
        assert tuple(n for c in found for n in (c["reversed"], c["reversed"] + c["agrees"])) == numbers
        counts = Counter(report.report.why_undecided)
        assert [counts[k] for k in ("ego_not_in_place", "predecessor_in_way", "already_past", "not_open")] == [
            1761,
            998,
            306,
            3,
        ]


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", ("interaction", "interaction_lanes"))
def test_no_label_is_reversed_on_any_real_site(name):
    adapter = DATASETS.get("interaction")
    root = Path(os.environ["GIVEWAY_REAL_INTERACTION"])
    for site in sorted({r.location for r in adapter.recordings(root)}):
        recordings = [r for r in adapter.recordings(root) if r.location == site]
        gaps = find_gaps(EXTRACTIONS.get(name), (s for r in recordings for s in adapter.scenes(r)), CLEAN)
        verdicts = counts_of(gaps.raw.orders.verdicts(gaps.times.is_accepted)[gaps.times.is_decided])
        assert verdicts["reversed"] == 0, site
