"""Admission, grids, causality and files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from giveway.core.errors import EmptySelectionError, FileFormatError
from giveway.core.seeds import stream
from giveway.gaps.extract import SampleRules, gaps_from, require_samples, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.files import read_samples, write_samples
from giveway.gaps.found_files import read_found, write_found
from giveway.gaps.prediction_time import CHOICES
from giveway.gaps.profile import CLEAN, PAPER, PROFILES, Profile
from giveway.metrics import METRICS
from giveway.testing.causality import true_and_forged
from giveway.testing.crossing import CROSSING, crossing_found, crossing_gaps, crossing_samples


def same(first, second):
    for name in ("xy", "distance", "num_predict", "sample_id"):
        a, b = getattr(first.inputs, name), getattr(second.inputs, name)
        equal = np.array_equal(a, b) if a.dtype.kind == "U" else np.array_equal(a, b, equal_nan=True)
        if not equal:
            return False
    return True


@pytest.mark.parametrize("choice", CHOICES)
def test_inputs_ignore_everything_after_the_prediction_time(choice):
    rules = SampleRules(choice=choice, num_input=3, num_input_max=3)
    true, forged = true_and_forged(CROSSING, crossing_gaps(60), rules, CLEAN, stream(0, "forge"))
    assert true.num_samples > 10
    assert same(true, forged)


def test_the_published_rules_look_a_frame_ahead_and_the_check_notices():
    rules = SampleRules(choice="constant", num_input=3, num_input_max=3)
    true, forged = true_and_forged(CROSSING, crossing_gaps(60), rules, PAPER, stream(0, "forge"))
    assert not same(true, forged)


@pytest.mark.parametrize("name", ("lgap",))
def test_left_turns_ignore_the_future(name, lgap_scenes):
    extraction = EXTRACTIONS.get(name)
    raw = extraction.enumerate(lgap_scenes, CLEAN).raw
    rules = SampleRules(choice="constant", num_input=2)
    true, forged = true_and_forged(extraction, raw, rules, CLEAN, stream(0, "forge"))
    assert true.num_samples > 10
    assert same(true, forged)


@pytest.mark.parametrize("name", ("round", "round_2v"))
@pytest.mark.parametrize("choice", ("initial", "critical"))
def test_roundabout_entries_ignore_the_future(name, choice, round_scenes):
    extraction = EXTRACTIONS.get(name)
    raw = extraction.enumerate(round_scenes, CLEAN).raw
    rules = SampleRules(choice=choice, num_input=3, num_input_max=3)
    true, forged = true_and_forged(extraction, raw, rules, CLEAN, stream(0, "forge"))
    assert true.num_samples > 10
    assert same(true, forged)


def test_relaxed_admission_moves_the_prediction_time_to_where_history_suffices(lgap_scenes):
    found = gaps_from(EXTRACTIONS.get("lgap"), EXTRACTIONS.get("lgap").enumerate(lgap_scenes, CLEAN).raw, CLEAN)
    relaxed = samples_at(found, SampleRules(choice="initial", num_input=2, num_input_max=2, relaxed=True), CLEAN)
    assert relaxed.samples.num_samples > 50
    np.testing.assert_allclose(relaxed.samples.t_open_s, -0.2, atol=1e-9)
    strict = samples_at(found, SampleRules(choice="initial", num_input=3), CLEAN)
    assert strict.samples.num_samples == 0
    assert strict.report.dropped["short_history"] > 50


def test_every_candidate_is_kept_or_has_one_reason():
    for choice in CHOICES:
        report = samples_at(crossing_found(150), SampleRules(choice=choice), CLEAN).report
        assert report.num_accepted + report.num_rejected + sum(report.dropped.values()) == report.num_candidates


def test_input_lengths_share_their_samples():
    found = crossing_found(100)
    ids = [samples_at(found, SampleRules(choice="constant", num_input=n), CLEAN).samples for n in (2, 3, 8)]
    for other in ids[1:]:
        np.testing.assert_array_equal(ids[0].inputs.sample_id, other.inputs.sample_id)
        np.testing.assert_array_equal(ids[0].inputs.xy, other.inputs.xy[:, :, -2:])


def test_too_few_samples_say_which_rule_removed_how_many():
    extracted = samples_at(crossing_found(20), SampleRules(choice="initial", num_input=90, num_input_max=90), CLEAN)
    with pytest.raises(EmptySelectionError) as caught:
        require_samples(extracted, at_least=10, per_class=2)
    message = str(caught.value)
    assert "no samples are left" in message
    assert "short_history" in message
    assert "--relaxed" in message


def test_absent_ego_or_target_is_dropped_in_clean_and_kept_in_paper():
    raw = crossing_gaps(60)
    xy = raw.xy.copy()
    first_second = raw.time_s < 1.0
    xy[first_second, 1] = np.nan
    raw = replace(raw, xy=xy)
    rules = SampleRules(choice="initial", num_input=2, num_input_max=2, relaxed=True)
    dropped = {
        name: samples_at(gaps_from(CROSSING, raw, p), rules, p).report.dropped["nan_input"]
        for name, p in (("clean", CLEAN), ("paper", CLEAN.with_switches(nan_input="keep")))
    }
    assert dropped["clean"] > 0
    assert dropped["paper"] == 0


def test_a_standing_ego_does_not_ask_for_millions_of_steps():
    raw = crossing_gaps(30)
    xy = raw.xy.copy()
    xy[:, 0, 0] = -60.0
    xy[:, 1, 1] = 3.0 - 0.5 * np.maximum(raw.time_s - 4.0, 0) ** 2
    found = gaps_from(CROSSING, replace(raw, xy=xy), CLEAN)
    rules = SampleRules(choice="initial", num_input=2, num_input_max=2, relaxed=True)
    left_out = samples_at(found, rules, CLEAN).report
    assert left_out.num_accepted == left_out.num_rejected == 0 < left_out.dropped["standing"]
    extracted = samples_at(found, rules, CLEAN.with_switches(standing_ego="keep"))
    assert extracted.report.num_capped == extracted.samples.num_samples > 0
    assert extracted.samples.inputs.num_predict.max() == 100
    truth = extracted.samples.truth
    np.testing.assert_array_equal(truth.accepted, truth.t_accept_s < truth.t_close_s)


def test_a_projected_horizon_does_not_know_when_the_ego_really_arrives():
    profile = CLEAN.with_switches(horizon_from_projection="projected")
    samples = crossing_samples(60, choice="constant", profile=profile)
    assert set(samples.inputs.num_predict) == {int(np.ceil((samples_gap() + 2) / 0.2 - 1e-9))}


def samples_gap():
    return samples_at(crossing_found(60), SampleRules(choice="constant", num_input=3), CLEAN).report.delta_t_s


@pytest.mark.parametrize("choice", CHOICES)
def test_samples_survive_parquet_to_the_bit(choice, tmp_path):
    samples = crossing_samples(80, choice=choice)
    write_samples(tmp_path / "s.parquet", [samples])
    back = read_samples(tmp_path / "s.parquet")
    assert same(samples, back)
    for part in ("truth",):
        for name in ("accepted", "t_accept_s", "t_close_s", "future_xy", "num_observed"):
            np.testing.assert_array_equal(getattr(getattr(samples, part), name), getattr(getattr(back, part), name))
    np.testing.assert_array_equal(samples.t_open_s, back.t_open_s)
    np.testing.assert_array_equal(samples.inputs.boundary.normal, back.inputs.boundary.normal)
    np.testing.assert_array_equal(samples.group, back.group)


def test_a_file_with_several_prediction_times_must_be_asked_for_one(tmp_path):
    parts = [crossing_samples(80, choice=choice) for choice in ("initial", "constant")]
    write_samples(tmp_path / "s.parquet", parts)
    assert same(read_samples(tmp_path / "s.parquet", "initial"), parts[0])
    with pytest.raises(FileFormatError, match="several prediction times") as caught:
        read_samples(tmp_path / "s.parquet")
    assert "name one" in str(caught.value)


def test_a_damaged_sample_file_is_a_clear_error(tmp_path):
    (tmp_path / "s.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(FileFormatError, match="no readable Parquet"):
        read_samples(tmp_path / "s.parquet")


def test_found_gaps_survive_the_cache(tmp_path):
    found = crossing_found(30)
    write_found(tmp_path, found)
    back = read_found(tmp_path, CROSSING)
    rules = SampleRules(choice="constant")
    assert same(samples_at(found, rules, CLEAN).samples, samples_at(back, rules, CLEAN).samples)


def test_every_switch_is_described_and_differs_or_is_explained():
    assert all(field.description for field in Profile.model_fields.values())
    differing = {
        name for name in Profile.model_fields if len({str(getattr(profile, name)) for profile in PROFILES.values()}) > 1
    }
    assert Profile.model_fields.keys() - differing == {"horizon_from_projection", "commotions_evaluations", "admission"}


def test_the_page_on_switches_is_up_to_date():
    text = (Path(__file__).parents[2] / "docs" / "gaps" / "switches.md").read_text(encoding="utf-8")
    for name, field in Profile.model_fields.items():
        values = " | ".join(str(getattr(PROFILES[which], name)) for which in ("printed", "paper", "clean"))
        row = f"| `{name}` | {values} | {field.description} |"
        assert row in text


def test_printed_forms_of_metrics_differ_as_printed():
    """Eq. 22 with ordinal ranks differs with ties only; eq. 24 divides by all samples."""
    accepted = np.array([True, False, True, False, False])
    p = np.array([0.9, 0.1, 0.5, 0.5, 0.2])
    auc, ordinal, tnr, printed = (METRICS.get(n).score for n in ("auc", "auc_printed", "tnr_pr", "tnr_pr_printed"))
    assert auc(accepted, p) == pytest.approx((3 + 2.5) / 6)
    assert ordinal(accepted, p) == pytest.approx((3 + 2) / 6)  # the tied accepted sample stands first
    assert ordinal(accepted[::-1], p[::-1]) == pytest.approx(1.0)
    assert ordinal(accepted, p + np.arange(5) * 1e-9) == auc(accepted, p + np.arange(5) * 1e-9)
    assert tnr(accepted, p) == pytest.approx(2 / 3)
    assert printed(accepted, p) == pytest.approx(2 / 5)


def test_a_printed_opening_is_a_root_and_a_standing_ego_never_closes_the_gap():
    raw = crossing_gaps(30)
    found = {value: gaps_from(CROSSING, raw, CLEAN.with_switches(opening=value)) for value in ("inequality", "root")}
    at_row, at_root = (found[value].times.t_open_s for value in ("inequality", "root"))
    late = at_row - at_root
    assert np.nanmin(late) >= 0.0
    assert np.nanmax(late) <= np.diff(raw.time_s[:2])[0] + 1e-9
    xy = raw.xy.copy()
    xy[:, 0, 0] = -60.0
    xy[:, 1, 1] = 3.0 - 0.5 * np.maximum(raw.time_s - 4.0, 0) ** 2
    profile = CLEAN.with_switches(closing_floor="none", standing_ego="keep")
    rules = SampleRules(choice="initial", num_input=2, num_input_max=2, relaxed=True)
    report = samples_at(gaps_from(CROSSING, replace(raw, xy=xy), profile), rules, profile).report
    assert report.dropped["no_horizon"] > 0 == report.num_accepted


def test_the_relaxed_rule_of_equation_1_admits_more(lgap_scenes):
    from giveway.gaps.extract import find_gaps
    from giveway.gaps.extractions import EXTRACTIONS

    found = find_gaps(EXTRACTIONS.get("lgap"), lgap_scenes, CLEAN)
    rules = SampleRules(choice="initial", num_input=2)
    strict, relaxed = (samples_at(found, rules, CLEAN.with_switches(admission=e)).report for e in ("eq3", "eq1"))
    assert strict.num_accepted + strict.num_rejected == 0
    assert relaxed.num_accepted > 20 < relaxed.num_rejected
