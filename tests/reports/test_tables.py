from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from giveway.core.errors import EmptySelectionError, UnknownNameError, UsageError
from giveway.gaps.boards import board_pages
from giveway.gaps.naming import order_models
from giveway.gaps.published import published_value
from giveway.gaps.tables import PAPER_TABLES, benchmark_table, paper_table, with_origins
from giveway.reports.formats import FORMATS, render
from giveway.reports.latex import COLUMN_TYPE, render_latex
from giveway.reports.table import Block, Column, Entry, Table, entry

GOLDEN = Path(__file__).parent / "golden"
Published = Callable[..., pl.DataFrame]


def test_table_vii_is_set_exactly_as_published(published_frame: Published) -> None:
    text = render_latex(paper_table("VII", published_frame("auc", "initial")))
    assert text == (GOLDEN / "table_vii.tex").read_text()


def test_the_layout_is_that_of_the_protocol(published_frame: Published) -> None:
    lines = render_latex(paper_table("VII", published_frame("auc", "initial"))).splitlines()
    assert lines[0] == r"\begin{tabularx}{\textwidth}{X | CCC | CCC | CCC}"
    assert lines[2] == r"\multirow{2}{*}{\textbf{Dataset}} & \multicolumn{9}{c}{\textbf{Models}} \\"
    assert lines[3] == (
        r"& \multicolumn{3}{c}{$T++$} & \multicolumn{3}{c}{$LR_{2D}$} & \multicolumn{3}{c}{$LR_{1D}$} \\"
    )
    round_first = next(i for i, line in enumerate(lines) if r"\emph{rounD} " in line)
    assert lines[round_first].startswith(r"\emph{rounD} & {\scriptsize $0.990^{\pm 0.004}$} & ")
    assert lines[round_first + 1].startswith(
        r"             & {\scriptsize $\underline{0.916}^{\hphantom{\pm 0.000}}$} & "
    )
    assert lines[-2:] == [r"\bottomrule", r"\end{tabularx}"]


def has_latex() -> bool:
    """Compiler and the package of multirow, which some distributions keep apart."""
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        return False
    return subprocess.run(["kpsewhich", "multirow.sty"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not has_latex(), reason="no LaTeX here")
def test_the_latex_compiles(published_frame: Published, tmp_path: Path) -> None:
    packages = "".join(rf"\usepackage{{{p}}}" for p in ("tabularx", "booktabs", "multirow"))
    body = render_latex(paper_table("VII", published_frame("auc", "initial")), marks=True)
    (tmp_path / "t.tex").write_text(
        rf"\documentclass{{article}}{packages}{COLUMN_TYPE}\begin{{document}}{body}\end{{document}}"
    )
    subprocess.run(["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize("number", PAPER_TABLES)
def test_every_published_table_can_be_made_in_every_format(number: str, published_frame: Published) -> None:
    paper = PAPER_TABLES[number]
    table = paper_table(number, published_frame(paper.metric, paper.t0))
    assert table.title.startswith(f"Table {number}: ")
    for format in FORMATS:
        assert len(render(table, format)) > 100


def test_a_zero_deviation_is_left_blank(published_frame: Published) -> None:
    text = render_latex(paper_table("VIII", published_frame("auc", "constant")))
    assert r"$\underline{1.000}^{\hphantom{\pm 0.000}}$" in text
    assert r"\pm 0.000}$}" not in text.replace(r"\hphantom{\pm 0.000}}$}", "")


LABELS = (Column(head="Dataset"), Column(head="Split"))


def grouped(num_models: int, num_columns: int, **more) -> Table:
    """A table in the layout of the papers whose values count up."""
    columns = [Column(head="2", group=str(m), latex="m") for m in range(num_models) for _ in range(num_columns)]
    values = [entry(float(i)) for i in range(len(columns))]
    block = Block(columns=(*LABELS, *columns), rows=((entry("d"), entry("random"), *values),), labels=2)
    return Table(title="t", blocks=(block,), **more)


def values_of(table: Table) -> list[tuple[Entry, ...]]:
    """The lines of a table without their labels."""
    return [row[2:] for row in table.rows]


def block_sizes(num_models: int, num_columns: int) -> list[int]:
    table = grouped(num_models, num_columns)
    pieces = table.blocks[0].pieces()
    kept = [e.value for piece in pieces for e in piece.rows[0][2:]]
    assert kept == [e.value for e in values_of(table)[0]]
    assert all(piece.columns[:2] == LABELS for piece in pieces)
    return [len(piece.groups) for piece in pieces]


def test_wide_tables_are_cut_into_blocks_of_the_published_size() -> None:
    assert block_sizes(34, 1) == [12, 12, 10]
    assert block_sizes(12, 1) == [12]
    assert block_sizes(13, 1) == [7, 6]
    assert block_sizes(4, 3) == [4]
    assert block_sizes(5, 3) == [3, 2]
    assert block_sizes(2, 14) == [1, 1]


def test_the_width_follows_the_number_of_columns() -> None:
    def first_line(num_models: int) -> str:
        return render_latex(grouped(num_models, 1)).splitlines()[0]

    widths = [re.findall(r"\\\w+", first_line(n))[1] for n in (4, 5, 9, 10)]
    assert widths == [r"\linewidth", r"\textwidth", r"\textwidth", r"\textheight"]


def test_models_stand_in_the_published_order() -> None:
    cognitive = [f"CM_{a}{b}{c}{d}{e}" for a in "AI" for b in "NI" for c in "AJ" for d in "21" for e in "21"]
    order = order_models(["CV", "LR_1D", *cognitive, "T++", "LR_2D"])
    assert order[:3] == ["T++", "LR_2D", "LR_1D"]
    assert order[3:11] == [
        "CM_IIJ11", "CM_INJ11", "CM_IIJ21", "CM_INJ21", "CM_AIJ11", "CM_ANJ11", "CM_AIJ21", "CM_ANJ21",
    ]  # fmt: skip
    assert order[11] == "CM_IIA11"
    assert order[19] == "CM_IIJ12"
    assert order[-1] == "CV"
    assert len(order) == 36


def test_best_and_ties_within_noise_are_marked_for_a_metric_where_lower_is_better(small_frame: pl.DataFrame) -> None:
    table = benchmark_table(small_frame, metric="ade", t0="constant")
    upper, lower = values_of(table)[:2]
    assert [e.mark for e in upper] == ["best", "tied", ""]
    assert [e.mark == "best" for e in lower] == [True, False, False]
    assert lower[2].mark == ""
    assert "116" in table.caption and "Holm" in table.caption and "1.92" in table.caption


def test_three_splits_mark_no_ties_and_say_why(small_frame: pl.DataFrame) -> None:
    few = small_frame.filter(pl.col("repetition") < 3)
    table = benchmark_table(few, metric="ade", t0="constant")
    entries = [e for line in values_of(table) for e in line]
    assert not any(e.mark == "tied" for e in entries)
    assert any(e.mark == "best" for e in entries)
    assert "3 splits are too few to call a model worse" in table.caption
    assert "not significantly worse" not in table.caption


def test_captions_name_the_version_that_the_results_were_measured_with(small_frame: pl.DataFrame) -> None:
    frame = small_frame.with_columns(pl.lit(7, dtype=pl.Int64).alias("metric_version"))
    assert "metric ade version 7." in benchmark_table(frame, metric="ade", t0="constant").caption
    (page,), _ = board_pages(frame, real_datasets=[])
    assert any("metric ade version 7." in getattr(block, "caption", "") for block in page.blocks)


def test_deviations_use_the_divisor_of_the_profile(small_frame: pl.DataFrame) -> None:
    values = small_frame.filter(pl.col("split") == "random", dataset="lgap", model="A")["value"]
    clean = values_of(benchmark_table(small_frame, metric="ade", t0="constant"))[0][0]
    frame = small_frame.with_columns(pl.lit("paper").alias("profile"))
    paper = values_of(benchmark_table(frame, metric="ade", t0="constant"))[0][0]
    assert clean.sd == pytest.approx(values.std(ddof=1))
    assert paper.sd == pytest.approx(values.std(ddof=0))


def test_published_values_stand_beside_ours_only_for_real_data(published_frame: Published) -> None:
    frame = published_frame("auc", "constant")
    assert len(values_of(paper_table("VIII", frame))[0]) == 9
    table = paper_table("VIII", frame, real_datasets=["lgap"])
    heads = [column.head for column in table.blocks[0].columns[2:8]]
    assert heads == ["2", "2 publ.", "3", "3 publ.", "8", "8 publ."]
    ours, theirs = values_of(table)[0][:2]
    assert theirs.value == 0.978 and theirs.sd == 0.014
    assert ours.value == pytest.approx(theirs.value)
    assert values_of(table)[2][1].is_missing
    assert published_value(metric="auc", t0="initial", dataset="lgap", model="LR_2D", n_input=2) is None


def test_machine_readable_formats_hold_every_digit(small_frame: pl.DataFrame) -> None:
    table = benchmark_table(small_frame, metric="ade", t0="constant")
    mean = small_frame.filter(pl.col("split") == "random", dataset="lgap", model="B")["value"].mean()
    document = json.loads(render(table, "json"))
    (found,) = [v for v in document["values"] if (v["dataset"], v["split"], v["model"]) == ("L-GAP", "random", "B")]
    assert found["value"] == pytest.approx(mean, rel=1e-15)
    rows = list(csv.DictReader(io.StringIO(render(table, "csv"))))
    assert len(rows) == 12
    assert float(rows[1]["value"]) == found["value"]


def test_text_lines_up_and_markdown_has_equal_columns(small_frame: pl.DataFrame) -> None:
    table = benchmark_table(small_frame, metric="ade", t0="constant")
    text = render(table, "text")
    bars = [[m.start() for m in re.finditer(r"\|", line)] for line in text.splitlines() if "|" in line]
    assert len({tuple(b) for b in bars}) == 1
    rows = [line for line in render(table, "markdown").splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {6}


def test_html_is_well_formed_and_escaped(small_frame: pl.DataFrame) -> None:
    frame = small_frame.with_columns(pl.col("dataset").replace("mine", "<script>alert(1)</script>"))
    text = render(benchmark_table(frame, metric="ade", t0="constant"), "html")
    assert "<script>" not in text
    stack: list[str] = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            stack.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert stack.pop() == tag

    Checker().feed(text)
    assert not stack


def test_an_empty_selection_says_which_filter_removed_how_many(small_frame: pl.DataFrame) -> None:
    with pytest.raises(EmptySelectionError) as caught:
        benchmark_table(small_frame, metric="ade", t0="constant", models=["Z"])
    assert "model in Z: 66 -> 0" in str(caught.value)
    with pytest.raises(EmptySelectionError, match="no results are left"):
        benchmark_table(small_frame, metric="auc", t0="constant")
    with pytest.raises(EmptySelectionError, match="no benchmark results"):
        benchmark_table(pl.DataFrame({"key": []}), metric="auc", t0="constant")


def test_unknown_metrics_tables_and_formats_suggest_near_ones(small_frame: pl.DataFrame) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'ade'"):
        benchmark_table(small_frame, metric="adee", t0="constant")
    with pytest.raises(UnknownNameError):
        paper_table("XX", small_frame)
    with pytest.raises(UnknownNameError, match="'latex'"):
        render(benchmark_table(small_frame, metric="ade", t0="constant"), "latx")


def test_two_results_for_one_place_are_refused(small_frame: pl.DataFrame) -> None:
    double = pl.concat([small_frame.with_columns(seed=0), small_frame.with_columns(seed=1)])
    with pytest.raises(UsageError, match="differ in seed"):
        benchmark_table(double, metric="ade", t0="constant")
    profiles = pl.concat([small_frame, small_frame.with_columns(pl.lit("paper").alias("profile"))])
    with pytest.raises(UsageError, match="profile"):
        benchmark_table(profiles, metric="ade", t0="constant")


def test_undefined_splits_are_left_out_of_the_mean_and_noted(small_frame: pl.DataFrame) -> None:
    first = (pl.col("model") == "A") & (pl.col("repetition") == 0) & (pl.col("split") == "random")
    frame = small_frame.with_columns(pl.when(first).then(None).otherwise(pl.col("value")).alias("value"))
    entry = values_of(benchmark_table(frame, metric="ade", t0="constant"))[0][0]
    assert entry.note == "undefined on 1 of 10 splits"


def test_older_versions_of_a_metric_do_not_mix_with_new_ones(small_frame: pl.DataFrame) -> None:
    old = small_frame.with_columns(value=pl.lit(99.0))
    new = small_frame.with_columns(metric_version=pl.lit(2, dtype=pl.Int64))
    table = benchmark_table(pl.concat([old, new]), metric="ade", t0="constant")
    assert values_of(table)[0][0].value < 2
    assert "older versions" in table.caption


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html", "json"])
def test_a_table_over_synthetic_recordings_says_so_first(form: str) -> None:
    table = replace(grouped(1, 1), title="AUC")
    recorded, table = with_origins(table, ["recorded"]), with_origins(table, ["recorded", "synthetic"])
    said = "Not real traffic: the traffic behind these numbers is recorded (recorded in real traffic) and synthetic"
    text = render(table, form)
    assert said in text
    assert text.index(said) < text.index("AUC") if "AUC" in text else text.startswith(r"\noindent\textbf{Not real")
    assert "Not real traffic" not in render(recorded, form)
    if form == "json":
        assert json.loads(text)["origin"] == ["recorded", "synthetic"]
