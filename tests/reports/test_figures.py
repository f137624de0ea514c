from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from giveway.core.errors import EmptySelectionError, UsageError
from giveway.gaps.figures import COLORS, benchmark_figure, figure_width, save_figure, slot_position, value_range
from giveway.gaps.metric_table import Scores
from giveway.metrics import METRICS

AUC = METRICS.get("auc").info
ADE = METRICS.get("ade").info


def scores(values: list[float], critical: float) -> Scores:
    return Scores(
        repetition=tuple(range(len(values))),
        value=np.array(values),
        critical=critical,
        num_samples=10,
        num_critical=10,
    )


def test_slots_and_widths_are_the_published_ones() -> None:
    assert [slot_position(2, k, 3) for k in range(3)] == [2.25, 2.5, 2.75]
    assert slot_position(0, 0, 1) == 0.5
    assert figure_width(61) == (22.0, True)
    assert figure_width(60) == figure_width(31) == (18.13, False)
    assert figure_width(30) == (8.86, False)
    assert COLORS[0] == (94, 60, 153)


def test_the_value_range_covers_all_marks_of_a_row() -> None:
    assert value_range([scores([0.7, 0.9], 0.2)], AUC) == (0.0, 1.0)
    assert value_range([scores([1.2, 1.4], 7.6), scores([0.8], float("nan"))], ADE) == (0.0, 8.0)
    assert value_range([scores([2.1, 2.9], 2.5)], ADE) == (2.0, 3.0)
    assert value_range([scores([1.0], 1.0)], AUC) == (0.0, 1.0)
    assert value_range([scores([2.0], 2.0)], ADE) == (2.0, 3.0)
    assert value_range([scores([1.0000000001], 0.5)], AUC) == (0.0, 1.0)


def test_every_result_is_drawn_at_its_value(small_frame: pl.DataFrame) -> None:
    figure = benchmark_figure(small_frame)
    assert len(figure.axes) == 2
    assert figure.get_size_inches()[0] == pytest.approx(8.86 / 2.54)
    ax = figure.axes[0]
    drawn = [y for c in ax.collections for segment in c.get_segments() for y in {point[1] for point in segment}]
    values = small_frame.filter(pl.col("split") == "random", dataset="lgap")["value"].to_list()
    means = (
        small_frame.filter(pl.col("split") == "random", dataset="lgap").group_by("model").agg(pl.col("value").mean())
    )
    assert sorted(drawn) == pytest.approx(sorted([*values, *means["value"]]))
    crosses = [line.get_ydata()[0] for line in ax.lines if line.get_marker() == "x"]
    assert crosses == pytest.approx([1.5, 1.505, 2.5])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["$n_I = 2$, Random split", "$n_I = 2$, Critical split"]


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_the_same_results_give_the_same_file(small_frame: pl.DataFrame, tmp_path: Path, suffix: str) -> None:
    for name in "ab":
        save_figure(benchmark_figure(small_frame), tmp_path / f"{name}{suffix}")
    first, second = ((tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
    assert first == second
    assert len(first) > 2000


def test_nothing_to_draw_and_unknown_formats_are_clear_errors(small_frame: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(EmptySelectionError, match="no results are left"):
        benchmark_figure(small_frame, models=["Z"])
    with pytest.raises(UsageError, match="unknown picture format"):
        save_figure(benchmark_figure(small_frame), tmp_path / "x.bmp")


def test_tables_and_figures_import_without_matplotlib() -> None:
    modules = "giveway.gaps.tables, giveway.gaps.figures, giveway.experiments"
    code = f"import sys, {modules}; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
