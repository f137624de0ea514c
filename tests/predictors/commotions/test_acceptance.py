"""A gap is accepted only if T enters before it closes (eq. 17 of the supplement), not before the horizon ends."""

from dataclasses import replace

import numpy as np

from giveway.core.samples import closing_times
from giveway.predictors.commotions.config import Configuration, Switches
from giveway.predictors.commotions.encounter import encounters_from_distances
from giveway.predictors.commotions.parameters import Box
from giveway.predictors.commotions.simulation import before_closing, simulate_encounters

THETA = Box.full().decode(np.full(14, 0.5))


def encounters(closes_s: float):
    return encounters_from_distances(
        d_c=[[42.0, 40.0]], d_a=[[6.4, 5.0]], l_e=[4.0], l_t=[4.0], horizon_s=[closes_s], key=np.array([7], np.uint64)
    )


def outcome(closes_s: float, acceptance: str):
    config = Configuration.from_name("CM_IIA11")
    return simulate_encounters(encounters(closes_s), THETA, config, num_paths=400, seed=1, acceptance=acceptance)


def test_paths_that_enter_after_the_gap_closed_are_rejected() -> None:
    everything = outcome(4.0, "horizon")
    times = np.sort(everything.t_accept_s[everything.accepted])
    closes = float(times[len(times) // 2])  # half of the accepted paths come later
    horizon = np.ceil(closes / 0.2) * 0.2
    published, printed = outcome(closes, "horizon"), outcome(closes, "before_closing")
    late = published.accepted & (published.t_accept_s >= closes)
    assert late.any()
    assert np.array_equal(printed.accepted, published.accepted & ~late)
    assert (printed.t_accept_s[printed.accepted] < closes).all()
    np.testing.assert_allclose(printed.t_accept_s[late], horizon)
    assert np.array_equal(printed.t_accept_s[~late], published.t_accept_s[~late])


def test_a_gap_that_closes_at_a_whole_step_loses_no_path() -> None:
    published, printed = outcome(3.0, "horizon"), outcome(3.0, "before_closing")
    assert np.array_equal(printed.accepted, published.accepted)


def test_without_a_closing_time_the_horizon_decides() -> None:
    simulation = outcome(3.1, "horizon")
    assert before_closing(simulation, replace(encounters(3.1), closes_s=None)) is simulation


def test_the_profile_paper_accepts_as_computed() -> None:
    assert Switches.of("paper").acceptance == "horizon"
    assert Switches.of("clean").acceptance == "before_closing"


def test_closing_times_refine_the_last_step_of_the_horizon_and_nothing_else() -> None:
    close = np.array([2.95, 3.0, 25.0, 1.0])
    np.testing.assert_array_equal(closing_times(close, np.array([15, 15, 100, 15]), 0.2), [2.95, 3.0, 20.0, 3.0])
