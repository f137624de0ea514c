"""Golden values of the design note, section 6.3, and the identities of 6.2."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from giveway.core.errors import UsageError
from giveway.stats.agreement import (
    agreement_weights,
    as_printed,
    band,
    fleiss_standard_error,
    gwet_ac2,
    krippendorff_alpha,
    weighted_fleiss,
)


def table(text: str) -> np.ndarray:
    return np.array([[int(cell) for cell in row.split()] for row in text.split("/")])


def large_ratings() -> np.ndarray:
    i, r = np.arange(36)[:, None], np.arange(30)[None, :]
    return np.minimum(5, np.maximum(1, (i % 5) + ((r**2 + 3 * i + i * r) % 3)))


def counts_of(ratings: np.ndarray, k: int = 5) -> np.ndarray:
    return (ratings[:, :, None] == np.arange(1, k + 1)).sum(axis=1)


A = table("5 0 0 0 0 / 0 0 5 0 0 / 0 0 0 0 5 / 0 5 0 0 0")
B = table("0 0 1 3 2 / 1 3 2 0 0 / 0 1 1 3 1 / 4 2 0 0 0 / 0 0 0 2 4 / 0 2 3 1 0")
C = table("1 1 1 1 1 / 1 1 1 1 1 / 1 1 1 1 1 / 1 1 1 1 1")
D = table("0 0 0 2 3 / 1 2 1 0 0 / 0 0 3 0 0 / 0 0 0 0 1 / 0 2 2 0 0")
E = table("3 0 0 0 3 / 3 0 0 0 3 / 0 0 6 0 0")
F = table("2 0 0 0 0 / 0 1 1 0 0 / 0 0 0 1 1 / 0 0 0 0 2 / 1 0 1 0 0")
G = counts_of(large_ratings())

GOLDEN = {
    #     counts, P literal,    P corrected,  P_e,          kappa literal, kappa corrected
    "A": (A, 1.25, 1.0, 0.7265625, 67 / 35, 1.0),
    "B": (B, 1.13125, 0.93125, 0.7767168210, 1.5878185745, 0.6920950324),
    "C": (C, 0.9375, 0.6875, 0.75, 0.75, -0.25),
    "D": (D, 1.0508333333, 0.959375, 0.8157439446, 1.2758841941, 0.7795187793),
    "E": (E, 0.8, 0.6, 2 / 3, 0.4, -0.2),
    "F": (F, 1.925, 0.925, 0.675, 50 / 13, 10 / 13),
    "G": (G, 0.9746168582, 0.9401340996, 0.7577589163, 0.8952153723, 0.7528664441),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_corrected_kappa_has_the_golden_value(name: str) -> None:
    counts, _, observed, expected, _, kappa = GOLDEN[name]
    result = weighted_fleiss(counts)
    assert [result.observed, result.expected, result.coefficient] == pytest.approx(
        [observed, expected, kappa], abs=1e-9
    )


@pytest.mark.parametrize("name", GOLDEN)
def test_kappa_as_printed_has_the_golden_value(name: str) -> None:
    counts, observed, _, expected, kappa, _ = GOLDEN[name]
    result = as_printed(counts)
    assert [result.observed, result.expected, result.coefficient] == pytest.approx(
        [observed, expected, kappa], abs=1e-9
    )


def test_mean_prevalence_changes_the_unequal_example() -> None:
    result = weighted_fleiss(D, prevalence="mean")
    assert result.coefficient == pytest.approx(0.7947714069, abs=1e-9)
    assert result.expected == pytest.approx(0.80205, abs=5e-6)


def test_per_clip_agreement_of_the_typical_example() -> None:
    literal = [1.129167, 1.129167, 1.066667, 1.166667, 1.166667, 1.129167]
    assert as_printed(B).per_clip == pytest.approx(literal, abs=1e-6)
    assert weighted_fleiss(B).per_clip == pytest.approx(np.array(literal) - 0.2, abs=1e-6)


def test_other_coefficients_have_their_golden_values() -> None:
    assert weighted_fleiss(B, weights="linear").coefficient == pytest.approx(0.4620266121, abs=1e-9)
    assert weighted_fleiss(B, weights="identity").coefficient == pytest.approx(0.1455252918, abs=1e-9)
    assert gwet_ac2(B).coefficient == pytest.approx(0.7318284424, abs=1e-9)
    assert krippendorff_alpha(B).coefficient == pytest.approx(0.7006479482, abs=1e-9)
    assert krippendorff_alpha(D).coefficient == pytest.approx(0.7629310345, abs=1e-9)
    assert fleiss_standard_error(B) == pytest.approx(0.1292921443, abs=1e-9)
    assert fleiss_standard_error(G) == pytest.approx(0.0429487484, abs=1e-9)


def test_large_example_has_the_published_column_sums() -> None:
    assert G.sum(axis=0).tolist() == [310, 210, 200, 230, 130]


def test_fleiss_1971_diagnoses_give_0_430() -> None:
    # Fleiss (1971), table 1: 30 patients, 6 psychiatrists, 5 diagnoses; kappa = 0.430 (identity weights).
    rows = (
        "0 0 0 6 0/0 3 0 0 3/0 1 4 0 1/0 0 0 0 6/0 3 0 3 0/2 0 4 0 0/0 0 4 0 2/2 0 3 1 0/2 0 0 4 0/0 0 0 0 6/"
        "1 0 0 5 0/1 1 0 4 0/0 3 3 0 0/1 0 0 5 0/0 2 0 3 1/0 0 5 0 1/3 0 0 1 2/5 1 0 0 0/0 2 0 4 0/1 0 2 0 3/"
        "0 0 0 0 6/0 1 0 5 0/0 2 0 1 3/2 0 0 4 0/1 0 0 4 1/0 5 0 1 0/4 0 0 0 2/0 2 0 4 0/1 0 5 0 0/0 0 0 0 6"
    )
    assert weighted_fleiss(table(rows), weights="identity").coefficient == pytest.approx(0.430, abs=5e-4)


def test_quadratic_weights_follow_the_formula_and_not_the_misprinted_table() -> None:
    assert agreement_weights(5)[0].tolist() == [1, 0.9375, 0.75, 0.4375, 0]


def test_kappa_is_undefined_with_a_reason_when_all_ratings_are_equal() -> None:
    result = weighted_fleiss(table("0 0 0 5 0 / 0 0 0 5 0 / 0 0 0 5 0"))
    assert np.isnan(result.coefficient)
    assert "one category" in result.reason


def test_kappa_is_undefined_when_no_clip_has_two_ratings() -> None:
    result = weighted_fleiss(table("1 0 0 0 0 / 0 0 0 1 0"))
    assert np.isnan(result.coefficient)
    assert "two ratings" in result.reason


def test_ac2_stays_at_one_when_everybody_says_the_same() -> None:
    assert gwet_ac2(table("0 0 0 5 0 / 0 0 0 5 0")).coefficient == pytest.approx(1)


def test_clips_without_ratings_change_nothing() -> None:
    with_empty = np.vstack([B, np.zeros((2, 5), dtype=int)])
    for function in (weighted_fleiss, as_printed, gwet_ac2, krippendorff_alpha):
        assert function(with_empty).coefficient == pytest.approx(function(B).coefficient, abs=1e-12)


@pytest.mark.parametrize(
    ("counts", "weights"),
    [
        (np.array([1, 2, 3]), "quadratic"),
        (np.array([[1.5, 2.0]]), "quadratic"),
        (np.array([[-1, 2]]), "quadratic"),
        (np.array([[np.nan, 2]]), "quadratic"),
        (B, "cubic"),
        (B, np.eye(4)),
        (B, np.arange(25.0).reshape(5, 5)),
    ],
)
def test_nonsense_is_refused_with_a_sentence(counts: np.ndarray, weights: object) -> None:
    with pytest.raises(UsageError):
        weighted_fleiss(counts, weights=weights)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kappa", "printed", "half_open"),
    [
        (-0.01, "no word", "below chance"),
        (0.0, "slight", "slight"),
        (0.20, "slight", "fair"),
        (0.2049, "slight", "fair"),
        (0.205, "fair", "fair"),  # the binary number lies below 0.205
        (0.40, "fair", "moderate"),
        (0.60, "moderate", "substantial"),
        (0.714, "substantial", "substantial"),  # the printed example
        (0.80, "substantial", "almost perfect"),
        (0.805, "almost perfect", "almost perfect"),
        (1.0, "almost perfect", "almost perfect"),
        (1.0 + 2.3e-16, "almost perfect", "almost perfect"),
        (1.5878, "no word", "not a kappa"),
        (float("nan"), "undefined", "undefined"),
    ],
)
def test_bands_are_those_of_the_print_and_the_half_open_ones_on_request(
    kappa: float, printed: str, half_open: str
) -> None:
    assert (band(kappa), band(kappa, rule="printed"), band(kappa, rule="half_open")) == (printed, printed, half_open)


@st.composite
def equal_ratings(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    k = draw(st.integers(2, 7))
    shape = (draw(st.integers(2, 12)), draw(st.integers(2, 8)))
    seed = draw(st.integers(0, 2**32 - 1))
    return np.random.default_rng(seed).integers(1, k + 1, size=shape), k


EXAMPLES = settings(max_examples=60, deadline=None)


@EXAMPLES
@given(equal_ratings())
def test_kappa_is_one_minus_mean_clip_variance_over_pooled_variance(case: tuple[np.ndarray, int]) -> None:
    ratings, k = case
    assume(np.ptp(ratings) > 0)
    result = weighted_fleiss(counts_of(ratings, k))
    pooled = ratings.var()
    assert 1 - result.expected == pytest.approx(2 * pooled / (k - 1) ** 2, abs=1e-12)
    assert 1 - result.per_clip == pytest.approx(2 * ratings.var(axis=1, ddof=1) / (k - 1) ** 2, abs=1e-12)
    assert result.coefficient == pytest.approx(1 - ratings.var(axis=1, ddof=1).mean() / pooled, abs=1e-9)


@EXAMPLES
@given(equal_ratings())
def test_printed_minus_corrected_is_the_share_of_self_pairs(case: tuple[np.ndarray, int]) -> None:
    ratings, k = case
    assume(np.ptp(ratings) > 0)
    counts, p = counts_of(ratings, k), ratings.shape[1]
    corrected, printed = weighted_fleiss(counts), as_printed(counts)
    expected = 1 / ((p - 1) * (1 - corrected.expected))
    assert printed.coefficient - corrected.coefficient == pytest.approx(expected, rel=1e-9)


@EXAMPLES
@given(equal_ratings())
def test_alpha_follows_from_kappa_for_equal_numbers_of_ratings(case: tuple[np.ndarray, int]) -> None:
    ratings, k = case
    assume(np.ptp(ratings) > 0)
    counts, n = counts_of(ratings, k), ratings.size
    kappa, alpha = weighted_fleiss(counts).coefficient, krippendorff_alpha(counts).coefficient
    assert alpha == pytest.approx(1 - (1 - kappa) * (n - 1) / n, abs=1e-9)


@EXAMPLES
@given(equal_ratings(), st.randoms(use_true_random=False))
def test_order_of_clips_and_raters_and_direction_of_the_scale_do_not_matter(case, random) -> None:
    ratings, k = case
    assume(np.ptp(ratings) > 0)
    clips, raters = list(range(ratings.shape[0])), list(range(ratings.shape[1]))
    random.shuffle(clips)
    random.shuffle(raters)
    kappa = weighted_fleiss(counts_of(ratings, k)).coefficient
    shuffled = ratings[clips][:, raters]
    assert weighted_fleiss(counts_of(shuffled, k)).coefficient == pytest.approx(kappa, abs=1e-12)
    assert weighted_fleiss(counts_of(k + 1 - shuffled, k)).coefficient == pytest.approx(kappa, abs=1e-12)


def pair_loop(counts: np.ndarray, weights: np.ndarray) -> float:
    """Corrected kappa from its definition: every ordered pair of different raters."""
    observed, pooled = [], []
    for row in counts:
        ratings = [j for j, f in enumerate(row) for _ in range(f)]
        pooled += ratings
        pairs = [weights[a, b] for x, a in enumerate(ratings) for y, b in enumerate(ratings) if x != y]
        if pairs:
            observed.append(sum(pairs) / len(pairs))
    expected = np.mean([weights[a, b] for a in pooled for b in pooled])
    return (np.mean(observed) - expected) / (1 - expected)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["quadratic", "linear", "identity"]))
def test_kappa_equals_the_loop_over_pairs_of_raters(seed: int, kind) -> None:
    counts = np.random.default_rng(seed).integers(0, 4, size=(5, 4))
    assume((counts.sum(axis=1) >= 2).any() and (counts.sum(axis=0) > 0).sum() > 1)
    ours = weighted_fleiss(counts, weights=kind).coefficient
    assert ours == pytest.approx(pair_loop(counts, agreement_weights(4, kind)), abs=1e-12)


def irr(ratings: np.ndarray, weights: str, k: int):
    pandas = pytest.importorskip("pandas")
    raw = pytest.importorskip("irrCAC.raw")
    frame = pandas.DataFrame(np.where(ratings > 0, ratings, np.nan))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return raw.CAC(frame, weights=weights, categories=[float(j) for j in range(1, k + 1)], digits=12)


@pytest.mark.parametrize("weights", ["quadratic", "linear", "identity"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_coefficients_equal_irrcac(weights, missing: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(5):
        base = rng.integers(1, 6, size=(14, 1))
        ratings = np.clip(base + rng.integers(-1, 2, size=(14, 6)), 1, 5)
        ratings[rng.random(ratings.shape) < missing] = 0
        ratings = ratings[(ratings > 0).sum(axis=1) >= 1]
        counts = counts_of(ratings)
        oracle = irr(ratings, weights, 5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fleiss, gwet = oracle.fleiss()["est"], oracle.gwet()["est"]
        ours = weighted_fleiss(counts, weights=weights, prevalence="mean")
        assert ours.coefficient == pytest.approx(fleiss["coefficient_value"], abs=1e-9)
        assert fleiss_standard_error(counts, weights=weights) == pytest.approx(fleiss["se"], abs=1e-9)
        assert gwet_ac2(counts, weights=weights).coefficient == pytest.approx(gwet["coefficient_value"], abs=1e-9)


def test_identity_weights_equal_statsmodels() -> None:
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(3)
    for _ in range(10):
        counts = rng.multinomial(7, [0.1, 0.2, 0.3, 0.2, 0.2], size=12)
        expected = inter_rater.fleiss_kappa(counts, method="fleiss")
        assert weighted_fleiss(counts, weights="identity").coefficient == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("weights", "metric"), [("quadratic", "interval"), ("identity", "nominal")])
def test_alpha_equals_the_krippendorff_package(weights, metric: str) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(5)
    for _ in range(10):
        counts = rng.integers(0, 4, size=(9, 5))
        counts[0] = [1, 0, 0, 0, 0]
        expected = krippendorff.alpha(value_counts=counts, value_domain=[1, 2, 3, 4, 5], level_of_measurement=metric)
        assert krippendorff_alpha(counts, weights=weights).coefficient == pytest.approx(expected, abs=1e-9)


def test_printed_rules_of_degenerate_tables() -> None:
    """Equation 3 with P_i = 0 for one rating; equation 7 is 0 where P = P_e, even if both are 1."""
    one_category = np.array([[2, 0, 0], [1, 0, 0]])  # P = (4/2 + 0)/2 = 1 = P_e
    assert (as_printed(one_category).coefficient, as_printed(one_category).reason) == (0.0, "")
    assert np.isnan(weighted_fleiss(one_category).coefficient)
    unanimous = as_printed(np.array([[3, 0, 0], [3, 0, 0]]))  # P = 1.5 > P_e = 1: the print divides by zero
    assert np.isnan(unanimous.coefficient)
    assert unanimous.reason
    singles = np.array([[1, 0], [0, 1]])
    assert as_printed(singles).observed == 0.0
