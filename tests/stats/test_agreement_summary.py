"""Which interval of kappa is the main one, and what is said about it wherever it is printed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from giveway.cli.main import run
from giveway.stats.agreement_interval import LABELS
from giveway.stats.agreement_summary import summarize_agreement
from giveway.stats.agreement_table import RatingTable, rating_table


def table(num_clips: int, num_raters: int) -> RatingTable:
    """Like table G, of any size."""
    i, r = np.arange(num_clips)[:, None], np.arange(num_raters)[None, :]
    ratings = np.minimum(5, np.maximum(1, (i % 5) + ((r**2 + 3 * i + i * r) % 3)))
    rows = [(f"c{a}", f"r{b}", str(ratings[a, b])) for a in range(num_clips) for b in range(num_raters)]
    return rating_table(*zip(*rows, strict=True), categories=list("12345"))


def counts_only(full: RatingTable) -> RatingTable:
    return RatingTable(
        categories=full.categories, clips=full.clips, counts=full.counts, ratings=np.empty((len(full.clips), 0), int)
    )


def summary(of: RatingTable, **options):
    return summarize_agreement(of, rng=np.random.default_rng(0), **options)


@pytest.mark.parametrize(
    ("clips", "raters", "method", "few"),
    [
        (36, 30, "bootstrap", False),
        (20, 20, "bootstrap", False),
        (19, 30, "jackknife", False),
        (36, 19, "jackknife", False),
        (15, 30, "jackknife", False),
        (14, 30, "jackknife", True),
    ],
)
def test_the_main_interval_is_over_clips_and_raters(clips: int, raters: int, method: str, few: bool) -> None:
    found = summary(table(clips, raters), draws=200)
    (interval,) = found.intervals
    assert found.main_interval is interval
    assert (interval.over, interval.method, interval.label) == ("both", method, "over clips and raters")
    assert interval.draws == (200 if method == "bootstrap" else 0)
    assert any("0.93" in warning for warning in found.warnings) == few
    assert interval.low < found.kappa_corrected < interval.high


def test_the_bootstrap_has_2000_draws_unless_told_otherwise() -> None:
    assert summary(table(36, 30)).main_interval.draws == 2000


@pytest.mark.parametrize(("unit", "label"), [("clips", "for these raters only"), ("raters", "for these clips only")])
def test_one_way_intervals_come_on_request_and_say_what_they_leave_fixed(unit, label: str) -> None:
    assert LABELS[unit].endswith(label)
    both, one_way = summary(table(36, 30), draws=300, over=("both", unit)).intervals
    assert (both.over, one_way.over) == ("both", unit)
    assert one_way.label.endswith(label)


def test_a_counts_table_has_an_interval_over_clips_and_warns() -> None:
    found = summary(counts_only(table(36, 30)), draws=200)
    (interval,) = found.intervals
    assert (interval.over, interval.label) == ("clips", "over clips, for these raters only")
    assert any("counts table" in warning and "too short" in warning for warning in found.warnings)


def test_without_draws_there_is_no_interval_and_no_word_about_one() -> None:
    found = summary(counts_only(table(36, 30)), draws=0)
    assert found.main_interval is None
    assert not any("interval" in warning for warning in found.warnings)


def test_the_profile_printed_takes_the_band_of_the_kappa_with_self_pairs() -> None:
    clean, printed = summary(table(36, 30), draws=0), summary(table(36, 30), draws=0, profile="printed")
    assert (clean.band, clean.band_rule) == ("substantial", "printed")
    assert (printed.band, printed.kappa_corrected) == ("almost perfect", clean.kappa_corrected)


def agree(path: Path, *options: str, capsys) -> str:
    with pytest.raises(SystemExit) as stop:
        run(["agree", str(path), *options])
    assert not stop.value.code
    return capsys.readouterr().out


@pytest.fixture
def small(tmp_path: Path) -> Path:
    rows = ["4 5 4 4", "2 1 2 3", "3 4 3 5", "1 1 2 1", "5 5 4 5", "2 3 3 2"]
    lines = [f"c{i},r{r},{v}" for i, row in enumerate(rows) for r, v in enumerate(row.split())]
    path = tmp_path / "h.csv"
    path.write_text("\n".join(["clip,rater,rating", *lines]) + "\n")
    return path


def test_agree_prints_the_two_way_interval_with_its_method_and_the_rule_of_the_bands(small: Path, capsys) -> None:
    text = agree(small, capsys=capsys)
    assert "95% interval over clips and raters: 0.2899 to 1.0000 (two-way jackknife)" in text
    assert "'substantial' (bands as printed, two decimals)" in text
    assert "for these raters only" not in text
    assert "for these raters only" in agree(small, "--over", "clips", capsys=capsys)
    document = json.loads(agree(small, "--json", capsys=capsys))["result"]
    assert document["interval"] == pytest.approx([0.2899014859, 1.0], abs=1e-9)
    assert (document["interval_label"], document["band_rule"]) == (
        "over clips and raters (two-way jackknife)",
        "printed",
    )


def test_agree_says_of_a_counts_table_what_its_interval_is_worth(tmp_path: Path, capsys) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("1,2,3\n3,1,0\n0,4,0\n0,1,3\n")
    with pytest.raises(SystemExit):
        run(["agree", str(path)])
    seen = capsys.readouterr()
    assert "interval over clips, for these raters only" in seen.out
    assert "a counts table does not say who rated what" in seen.err
