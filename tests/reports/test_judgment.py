"""Switches that act on finished results, set alone or by a profile."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from giveway.core.errors import UnknownNameError, UsageError
from giveway.gaps.judgment import DEFAULTS, judgment_of, metric_form
from giveway.gaps.tables import benchmark_table


def with_switches(frame: pl.DataFrame, **switches: object) -> pl.DataFrame:
    defaults = {"ddof": 1, "critical_bound": "clean", "auc": "mid_ranks"}
    return frame.with_columns(pl.lit(json.dumps({**defaults, **switches})).alias("switches"))


def deviations(frame: pl.DataFrame, **changes: object) -> np.ndarray:
    table = benchmark_table(frame, metric="ade", t0="constant", changes=changes)
    return np.array([e.sd for row in table.rows[::2] for e in row[2:]])


def tied(frame: pl.DataFrame, **changes: object) -> list[bool]:
    table = benchmark_table(frame, metric="ade", t0="constant", changes=changes)
    return [e.mark == "tied" for row in table.rows[1::2] for e in row[2:]]


def test_the_divisor_follows_the_switch_of_the_run(small_frame: pl.DataFrame) -> None:
    ours = deviations(with_switches(small_frame))
    np.testing.assert_array_equal(ours, deviations(small_frame))
    set_alone = deviations(with_switches(small_frame, ddof=0))
    np.testing.assert_allclose(set_alone, ours * np.sqrt(9 / 10))
    np.testing.assert_array_equal(deviations(with_switches(small_frame), ddof=0), set_alone)


def test_the_caption_says_which_divisor_and_bound(small_frame: pl.DataFrame) -> None:
    changed = with_switches(small_frame, ddof=0, critical_bound=3.5)
    caption = benchmark_table(changed, metric="ade", t0="constant").caption
    assert "divisor 10" in caption
    assert "below 3.50 deviations" in caption


def test_the_critical_bound_set_alone_changes_the_marks(small_frame: pl.DataFrame) -> None:
    assert tied(with_switches(small_frame)) != tied(with_switches(small_frame, critical_bound=1e5))
    assert tied(with_switches(small_frame), critical_bound=1e5) == tied(with_switches(small_frame, critical_bound=1e5))


def test_the_two_published_bounds_stand_for_their_rules() -> None:
    clean, paper = DEFAULTS["clean"], DEFAULTS["paper"]
    assert clean.bound(10) == pytest.approx(1.9226, abs=1e-4)
    assert clean.bound(4) > clean.bound(10)
    assert paper.bound(10) == paper.bound(4) == pytest.approx(2.92, abs=1e-3)
    assert np.isnan(clean.bound(1))


def test_results_of_different_switches_are_not_judged_together(small_frame: pl.DataFrame) -> None:
    mixed = pl.concat([with_switches(small_frame), with_switches(small_frame, ddof=0)])
    with pytest.raises(UsageError, match="different switches"):
        judgment_of(mixed, "clean")
    assert judgment_of(mixed, "clean", {"ddof": 0, "critical_bound": 2}).critical_bound == 2.0


@pytest.mark.parametrize(
    "changes", [{"ddof": 2}, {"ddof": "x"}, {"ddof": True}, {"critical_bound": -1}, {"critical_bound": float("inf")}]
)
def test_nonsense_is_refused(small_frame: pl.DataFrame, changes: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        judgment_of(small_frame, "clean", changes)


def test_switches_that_need_a_new_run_are_refused(small_frame: pl.DataFrame) -> None:
    with pytest.raises(UnknownNameError, match="auc"):
        judgment_of(small_frame, "clean", {"auc": "thresholds"})


def test_the_form_of_a_metric_is_the_one_that_was_computed(small_frame: pl.DataFrame) -> None:
    renamed = small_frame.with_columns(pl.lit("auc_paper").alias("metric"))
    assert metric_form(renamed, "auc", "clean") == "auc_paper"
    assert metric_form(small_frame.with_columns(pl.lit("auc").alias("metric")), "auc", "paper") == "auc"
    assert metric_form(small_frame, "auc", "paper") == "auc_paper"


def test_tables_of_profiles_are_never_mixed_and_printed_is_judged_as_printed(small_frame: pl.DataFrame) -> None:
    """Equation 26: printed has the paired t-test, as paper; clean the corrected one."""
    profiles = {"clean": "auc", "paper": "auc_paper", "printed": "auc_printed"}
    parts = [
        small_frame.with_columns(pl.lit(name).alias("profile"), pl.lit(form).alias("metric"), pl.col("value") - k / 100)
        for k, (name, form) in enumerate(profiles.items())
    ]
    mixed = pl.concat(parts)
    with pytest.raises(UsageError, match="choose the profile"):
        benchmark_table(mixed, metric="auc", t0="constant")
    for part, (name, form) in zip(parts, profiles.items(), strict=True):
        alone, chosen = (benchmark_table(f, metric="auc", t0="constant", profile=name) for f in (part, mixed))
        assert chosen.csv() == alone.csv()
        assert f"Profile {name}, metric {form} " in chosen.caption
        assert ("paired t-test" in chosen.caption) == (name != "clean")


@pytest.mark.parametrize(("value", "warned"), [(0.985, True), (0.975, False)])
def test_a_table_says_where_auc_tells_nothing(small_frame: pl.DataFrame, value: float, warned: bool) -> None:
    """A trivial model, or two of any kind, at 0.98 leave no room for others."""
    one = small_frame.filter(pl.col("metric") == "ade").with_columns(
        pl.lit("auc").alias("metric"), pl.lit(value).alias("value"), pl.lit("LR_1D").alias("model")
    )
    frame = one.unique(["dataset", "t0", "n_input", "split", "repetition"], maintain_order=True)

    def says(models: pl.DataFrame) -> list[str]:
        return [n for n in benchmark_table(models, metric="auc", t0="constant").notes if "saturated" in n]

    assert bool(says(frame)) == warned
    assert all(f"(LR_1D {value:.3f})" in note for note in says(frame))
    others = [frame.with_columns(pl.lit(name).alias("model")) for name in ("T++", "GRU")]
    assert not says(others[0])
    assert bool(says(pl.concat(others))) == warned
