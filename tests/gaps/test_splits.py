"""Splits: published set sizes, determinism, no leak between groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.errors import EmptySelectionError
from giveway.gaps.profile import CLEAN, PAPER
from giveway.gaps.splits import SPLITS
from giveway.gaps.splits.protocol import Division, require_classes
from giveway.testing.crossing import crossing_samples

# Published numbers of samples (accepted, rejected): all, random train, random test, critical train, critical test.
# Schumann et al. 2023, supplement, Table I.
PUBLISHED = {
    "L-GAP initial": ((700, 716), (560, 572), (140, 144), (560, 573), (140, 143)),
    "L-GAP constant": ((375, 205), (300, 164), (75, 41), (300, 164), (75, 41)),
    "L-GAP critical": ((227, 397), (181, 317), (46, 80), (182, 318), (45, 79)),
    "rounD initial": ((789, 2164), (631, 1731), (158, 433), (632, 1732), (157, 432)),
    "rounD constant": ((381, 556), (304, 444), (77, 112), (305, 445), (76, 111)),
    "rounD critical": ((147, 2810), (117, 2248), (30, 562), (118, 2248), (29, 562)),
    "Leeds initial": ((99, 942), (79, 753), (20, 189), (80, 754), (19, 188)),
    "Leeds constant": ((41, 108), (32, 86), (9, 22), (33, 87), (8, 21)),
}


def samples_of(accepted: int, rejected: int, seed: int = 0):
    """Samples with given class counts; only labels, times, groups and places matter here."""
    base = crossing_samples(40)
    n = accepted + rejected
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) < accepted)
    samples = base.take(np.arange(n) % base.num_samples)
    truth = replace(samples.truth, accepted=labels, t_close_s=rng.uniform(1, 9, n))
    inputs = replace(samples.inputs, sample_id=np.array([f"s{i}" for i in range(n)]))
    gap = np.where(labels, rng.uniform(0.5, 5, n), np.nan)
    return replace(
        samples,
        inputs=inputs,
        truth=truth,
        gap_at_acceptance_s=gap,
        t_open_s=-rng.uniform(0, 3, n),
        group=np.array([f"g{i}" for i in rng.integers(0, 60, n)]),
        location=np.array([f"site{i}" for i in rng.integers(0, 3, n)]),
    )


def counts(samples, index):
    accepted = samples.truth.accepted[index]
    return int(accepted.sum()), int((~accepted).sum())


@pytest.mark.parametrize("cell", PUBLISHED)
def test_set_sizes_are_the_published_ones(cell):
    everything, random_train, random_test, critical_train, critical_test = PUBLISHED[cell]
    samples = samples_of(*everything)
    random = SPLITS.get("random").divide(samples, 3, PAPER)
    critical = SPLITS.get("critical").divide(samples, 0, PAPER)
    found = [counts(samples, part) for part in (random.train, random.test, critical.train, critical.test)]
    assert found == [random_train, random_test, critical_train, critical_test]


def test_the_random_split_uses_one_legacy_stream_for_both_classes():
    samples = samples_of(11, 23)
    accepted = np.flatnonzero(samples.truth.accepted)
    rejected = np.flatnonzero(~samples.truth.accepted)
    stream = np.random.RandomState(7)
    stream.shuffle(accepted)
    stream.shuffle(rejected)
    division = SPLITS.get("random").divide(samples, 7, PAPER)
    np.testing.assert_array_equal(division.train, np.concatenate([accepted[:8], rejected[:18]]))
    np.testing.assert_array_equal(division.test, np.concatenate([accepted[8:], rejected[18:]]))


def test_the_critical_split_tests_small_accepted_and_large_rejected_gaps():
    samples = samples_of(50, 80)
    division = SPLITS.get("critical").divide(samples, 0, CLEAN)
    accepted = samples.truth.accepted
    in_test = np.isin(np.arange(130), division.test)
    assert (
        samples.gap_at_acceptance_s[accepted & in_test].max() < samples.gap_at_acceptance_s[accepted & ~in_test].min()
    )
    assert samples.truth.t_close_s[~accepted & in_test].min() > samples.truth.t_close_s[~accepted & ~in_test].max()


def test_equal_closing_times_are_ranked_by_the_opening_and_reported():
    samples = samples_of(50, 80)
    noise = 1e-12 * np.random.default_rng(1).normal(size=130)
    flat = replace(samples, truth=replace(samples.truth, t_close_s=3.0 + noise))
    division = SPLITS.get("critical").divide(flat, 0, CLEAN)
    rejected = ~flat.truth.accepted
    in_test = np.isin(np.arange(130), division.test)
    assert (-flat.t_open_s[rejected & in_test]).min() >= (-flat.t_open_s[rejected & ~in_test]).max() - 1e-9
    assert "t_C - t_S" in division.notes[0]
    published = SPLITS.get("critical").divide(flat, 0, PAPER)
    assert set(published.test) != set(division.test)
    assert not published.notes


@pytest.mark.parametrize("name", ("random", "critical", "cross_validation", "location", "participant"))
def test_divisions_are_disjoint_complete_and_repeatable(name):
    samples = samples_of(60, 120)
    division = SPLITS.get(name).divide(samples, 0, CLEAN)
    again = SPLITS.get(name).divide(samples, 0, CLEAN)
    np.testing.assert_array_equal(division.test, again.test)
    everything = np.sort(np.concatenate([division.train, division.test]))
    np.testing.assert_array_equal(everything, np.arange(180))


def test_cross_validation_tests_every_sample_once_per_round():
    samples = samples_of(60, 121)
    for first in (0, 5):
        tested = np.concatenate(
            [SPLITS.get("cross_validation").divide(samples, r, CLEAN).test for r in range(first, first + 5)]
        )
        np.testing.assert_array_equal(np.sort(tested), np.arange(181))


def test_no_participant_is_in_both_parts_and_shares_stay_near_a_fifth():
    samples = samples_of(300, 900)
    for repetition in range(4):
        division = SPLITS.get("participant").divide(samples, repetition, CLEAN)
        assert not set(samples.group[division.train]) & set(samples.group[division.test])
        accepted, rejected = counts(samples, division.test)
        assert accepted / 300 == pytest.approx(0.2, abs=0.05)
        assert rejected / 900 == pytest.approx(0.2, abs=0.05)


def test_a_location_is_left_out_as_a_whole():
    samples = samples_of(60, 120)
    division = SPLITS.get("location").divide(samples, 1, CLEAN)
    assert set(samples.location[division.test]) == {"site1"}
    with pytest.raises(EmptySelectionError, match="no location 3"):
        SPLITS.get("location").divide(samples, 3, CLEAN)


def test_a_part_with_one_class_is_refused_with_counts():
    samples = samples_of(5, 20)
    accepted = np.flatnonzero(samples.truth.accepted)
    division = Division(train=np.setdiff1d(np.arange(25), accepted), test=accepted)
    with pytest.raises(EmptySelectionError, match="one class only") as caught:
        require_classes(samples, division, "here")
    assert "test: 5 accepted, 0 rejected" in str(caught.value)
