"""Characteristic times against closed forms, the plain reference and each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giveway.gaps.extract import SampleRules, gaps_from, samples_at
from giveway.gaps.prediction_time import optimal_delta_t, prediction_times
from giveway.gaps.profile import CLEAN, PAPER
from giveway.gaps.raw import Description
from giveway.gaps.times import characteristic_times, velocity_windows
from giveway.testing.crossing import CROSSING, crossing_found, crossing_gaps

FAR = 500.0


def one_gap(time, d_c, d_a, *, d_1=FAR, valid=True, l_e=3.5, profile=CLEAN):
    """Times of a single sample from its distances."""
    n = len(time)
    distance = np.column_stack(
        [d_c, d_a, np.broadcast_to(d_1, n), np.full(n, FAR), np.full(n, FAR), np.full(n, l_e), np.full(n, 3.5)]
    )
    description = Description(valid=np.broadcast_to(valid, n).copy(), distance=distance, missing_m=FAR)
    offset = np.array([0, n])
    return characteristic_times(offset=offset, time_s=time, description=description, profile=profile)


def constant_speed(distance, speed, step=0.04, duration=20.0, start=0.0):
    time = start + np.arange(0, duration, step)
    return time, distance - speed * (time - start)


@settings(max_examples=40, deadline=None)
@given(
    distance=st.floats(40, 200),
    speed=st.floats(5, 30),
    step=st.sampled_from((0.0103, 0.04, 0.1)),
    start=st.floats(0, 99),
)
def test_an_ego_at_constant_speed_gives_the_closed_forms(distance, speed, step, start):
    time, d_c = constant_speed(distance, speed, step, duration=distance / speed + 3, start=start)
    times = one_gap(time, d_c, np.full(len(time), 4.0))
    t_c = start + distance / speed
    assert not times.is_accepted[0]
    assert times.t_open_s[0] == start
    assert times.t_close_s[0] == pytest.approx(t_c, abs=1e-9)
    if distance / speed - speed / 8 > 2 * step:
        assert times.t_crit_s[0] == pytest.approx(start + (distance - speed**2 / 8) / speed, abs=1e-9)
    t_0 = prediction_times(times, "constant", offset=np.array([0, len(time)]), time_s=time, delta_t_s=2.5)
    assert t_0[0] == pytest.approx(t_c - 2.5, abs=1e-9)


def test_the_critical_gap_is_an_eighth_of_the_speed():
    time, d_c = constant_speed(120, 16)
    times = one_gap(time, d_c, np.full(len(time), 4.0))
    assert times.t_close_s[0] - times.t_crit_s[0] == pytest.approx(16 / 8, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(crossing=st.floats(1.0, 5.0), speed=st.floats(0.5, 8))
def test_a_linear_crossing_is_found_exactly(crossing, speed):
    time, d_c = constant_speed(150, 15)
    times = one_gap(time, d_c, speed * (crossing - time))
    assert times.is_accepted[0]
    assert times.t_accept_s[0] == pytest.approx(crossing, abs=1e-9)
    expected = 150 / 15 - crossing
    assert times.gap_at_acceptance_s[0] == pytest.approx(expected, abs=1e-6)


def test_a_gap_taken_long_before_the_ego_comes_is_critical_just_after_acceptance():
    time, d_c = constant_speed(150, 15)
    times = one_gap(time, d_c, 2.0 * (1.0 - time))
    assert times.t_crit_s[0] == pytest.approx(1.01, abs=1e-9)


def test_a_gap_is_rejected_when_the_lead_vehicle_never_clears():
    time, d_c = constant_speed(100, 10)
    times = one_gap(time, d_c, np.full(len(time), 4.0), d_1=d_c)
    assert not times.is_decided[0]


def test_the_gap_opens_when_the_lead_vehicle_has_cleared_the_contested_space():
    time, d_c = constant_speed(100, 10)
    d_1 = np.where(time < 3.0, d_c - 1.0, FAR)
    times = one_gap(time, d_c, np.full(len(time), 4.0), d_1=d_1)
    assert times.t_open_s[0] == pytest.approx(time[time >= 3.0][0])


def test_an_ego_that_cannot_stop_when_the_gap_opens_is_always_critical():
    time, d_c = constant_speed(100, 10)
    times = one_gap(time, d_c, np.full(len(time), 4.0), d_1=np.where(time < 9.5, 0.0, FAR))
    assert times.t_crit_s[0] == times.t_open_s[0]


def test_without_a_decision_nothing_is_defined():
    time, d_c = constant_speed(100, 10, duration=3.0)
    times = one_gap(time, d_c, np.full(len(time), 4.0))
    assert not times.is_decided[0]
    assert np.isnan(times.t_close_s[0])


def test_truncated_windows_depend_on_rounding_and_rounded_ones_do_not():
    rng = np.random.default_rng(0)
    starts = rng.integers(0, 25_000, size=2000)
    time = np.concatenate([np.arange(s, s + 60) / 25 for s in starts])
    offset = np.arange(0, 60 * len(starts) + 1, 60)
    assert set(velocity_windows(offset=offset, time_s=time, rule="truncate")) == {4, 5}
    assert set(velocity_windows(offset=offset, time_s=time, rule="round")) == {5}


@pytest.mark.parametrize("profile", (CLEAN, PAPER))
def test_times_equal_the_plain_reference(plain, lgap_scenes, profile):
    from giveway.gaps.extractions import EXTRACTIONS

    extraction = EXTRACTIONS.get("lgap")
    raw = extraction.enumerate(lgap_scenes, profile).raw
    found = gaps_from(extraction, raw, profile)
    clean = profile is CLEAN
    grids, all_times = [], []
    for i in range(raw.num_samples):
        rows = slice(raw.offset[i], raw.offset[i + 1])
        time = raw.time_s[rows].tolist()
        ego, target = raw.xy[rows, 0].tolist(), raw.xy[rows, 1].tolist()
        valid, d_c, d_a = plain.describe(time, ego, target, clean)
        np.testing.assert_allclose(found.description.distance[rows, 1], d_a, atol=1e-9)
        expected = plain.times_of(time, valid, d_c, d_a, clean)
        grids.append(time)
        all_times.append(expected)
        ours = [float(getattr(found.times, name)[i]) for name in ("t_open_s", "t_accept_s", "t_close_s", "t_crit_s")]
        np.testing.assert_allclose(ours, expected[:4], atol=1e-9)
        assert bool(found.times.is_accepted[i]) == expected[4]
    few = slice(0, 40)
    ours = optimal_delta_t(
        gaps_from(extraction, raw.take(np.arange(40)), profile).times,
        offset=raw.offset[:41],
        time_s=raw.time_s[: raw.offset[40]],
        num_history=8,
        profile=profile,
    )
    assert ours == plain.optimal_delta_t(all_times[few], grids[few], clean, 8)


@pytest.mark.parametrize("profile", (CLEAN, PAPER))
@pytest.mark.parametrize("choice", ("constant", "critical"))
def test_samples_equal_the_plain_reference(plain, lgap_scenes, profile, choice):
    from giveway.gaps.extractions import EXTRACTIONS

    extraction, clean = EXTRACTIONS.get("lgap"), profile is CLEAN
    raw = extraction.enumerate(lgap_scenes, profile).raw
    found = gaps_from(extraction, raw, profile)
    extracted = samples_at(found, SampleRules(choice=choice, num_input=3), profile)
    samples, delta_t = extracted.samples, extracted.report.delta_t_s
    position = {name: k for k, name in enumerate(samples.inputs.sample_id)}
    reasons: dict[str, int] = {}
    for i in range(raw.num_samples):
        rows = slice(raw.offset[i], raw.offset[i + 1])
        time = raw.time_s[rows].tolist()
        ego, target = (list(map(tuple, raw.xy[rows, k].tolist())) for k in (0, 1))
        valid, d_c, d_a = plain.describe(time, ego, target, clean)
        times = plain.times_of(time, valid, d_c, d_a, clean)
        expected = plain.sample_at(time, ego, target, d_c, d_a, times, choice, delta_t, 3, 8, clean)
        if isinstance(expected, str):
            reasons[expected] = reasons.get(expected, 0) + 1
            assert raw.sample_id[i] not in position
            continue
        k = position[raw.sample_id[i]]
        inputs, future, accepted, num_predict, t_accept, close = expected
        inputs = np.array(inputs)
        np.testing.assert_allclose(samples.inputs.xy[k, 0], inputs[:, 0:2], atol=1e-9)
        np.testing.assert_allclose(samples.inputs.xy[k, 1], inputs[:, 2:4], atol=1e-9)
        np.testing.assert_allclose(samples.inputs.distance[k, :2].T, inputs[:, 4:6], atol=1e-9)
        n = samples.truth.num_observed[k]
        assert (n, samples.inputs.num_predict[k]) == (len(future), num_predict)
        np.testing.assert_allclose(samples.truth.future_xy[k, :n], np.array(future).reshape(-1, 2), atol=1e-9)
        assert np.isnan(samples.truth.future_xy[k, n:]).all()
        assert samples.truth.accepted[k] == accepted
        assert samples.truth.t_accept_s[k] == pytest.approx(t_accept, abs=1e-9)
        assert samples.truth.t_close_s[k] == pytest.approx(close, abs=1e-9)
    assert {r: c for r, c in extracted.report.dropped.items() if c} == reasons


def test_shifting_time_changes_nothing_but_times():
    raw = crossing_gaps(40)
    moved = raw.__class__(**{name: getattr(raw, name) for name in raw.__slots__} | {"time_s": raw.time_s + 1000.0})
    rules = SampleRules(choice="constant", num_input=2)
    first = samples_at(gaps_from(CROSSING, raw, CLEAN), rules, CLEAN).samples
    second = samples_at(gaps_from(CROSSING, moved, CLEAN), rules, CLEAN).samples
    np.testing.assert_array_equal(first.inputs.sample_id, second.inputs.sample_id)
    np.testing.assert_allclose(first.inputs.xy, second.inputs.xy, atol=1e-7)
    np.testing.assert_allclose(first.truth.t_accept_s, second.truth.t_accept_s, atol=1e-7)


def test_counting_after_admission_balances_the_classes():
    kept = {}
    for name in ("ignore_admission", "after_admission"):
        profile = CLEAN.with_switches(delta_t_constraints=name)
        report = samples_at(crossing_found(300), SampleRules(choice="constant"), profile).report
        kept[name] = min(report.num_accepted, report.num_rejected)
    assert kept["after_admission"] >= kept["ignore_admission"]
    found = crossing_found(300)
    rules = SampleRules(choice="constant")
    best = samples_at(found, rules, CLEAN).report
    for size in np.arange(0.5, 8, 0.5):
        other = samples_at(found, SampleRules(choice="constant", delta_t_s=float(size)), CLEAN).report
        assert min(other.num_accepted, other.num_rejected) <= min(best.num_accepted, best.num_rejected)
