from __future__ import annotations

import html
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import polars as pl
import pytest

from giveway.cli.main import run
from giveway.core.errors import StoreError, UsageError
from giveway.drive.answer import drive_answer
from giveway.drive.pages import summary_blocks
from giveway.experiments import Cell, CellResult, Measurement, Store
from giveway.experiments.records import encode_result
from giveway.gaps.boards import board_pages, interval
from giveway.generate.pages import generated_blocks
from giveway.reports.browsing import chunks, detail_digits, finite, script, table_data
from giveway.reports.charts import ticks
from giveway.reports.citations import bibliography, citations_for
from giveway.reports.content import Answer, Answers, Page, PageLimits, Paragraph, Part, Picture, Replay, origin_blocks
from giveway.reports.find import make_report
from giveway.reports.leaderboard import Board
from giveway.reports.live_charts import Forest, Mark, Row
from giveway.reports.rendering import render_page, script_text, single_page
from giveway.reports.results import Results
from giveway.reports.section import SECTIONS, Section
from giveway.reports.table import Table, entry, table_of
from giveway.reports.writing import first_page, write_site
from support.stores import invented_store


class Links(HTMLParser):
    """Everything a page refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.found += [value for name, value in attrs if name in ("href", "src", "data-source") and value]


def broken_links(site: Path) -> list[str]:
    broken: list[str] = []
    for page in site.rglob("*.html"):
        parser = Links()
        parser.feed(page.read_text())
        for link in parser.found:
            target = unquote(link.partition("#")[0])
            if "://" in link or link.startswith("/"):
                broken.append(f"{page.name}: {link} is not relative")
            elif target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(site)}: {link}")
    return broken


def data_of(path: Path) -> dict:
    """The value that a data file hands to its page."""
    name, text = re.fullmatch(
        r"giveway\.data\((\".*?\"),JSON\.parse\('(.*)'\)\);\n", path.read_text(), re.DOTALL
    ).groups()
    assert path.as_posix().endswith(json.loads(name))
    return json.loads(text.replace("\\x3c", "<").replace("\\'", "'").replace("\\\\", "\\"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("site")
    invented_store(root / "R", 400, failures=2, sampled=3)
    pages = Results.open(root / "R").pages(PageLimits(samples=2))
    write_site(root / "out", [Part(id="r", kind="gaps", pages=tuple(pages))], title="Results")
    return root / "out"


def test_every_link_resolves_and_is_relative(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 6
    assert broken_links(site) == []


def test_no_page_names_another_host_or_runs_inline_code(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert "http://" not in text.replace("http://www.w3.org", "")
        assert not re.search(r"<script>|<script [^>]*>[^<]|\son\w+=|style=", text), page
        assert "default-src 'none'" in html.unescape(text)


def test_tracebacks_are_shown_as_text(site: Path) -> None:
    text = (site / "r" / "failures.html").read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script>alert" not in text


def test_all_cells_and_their_details_are_there(site: Path) -> None:
    table = data_of(site / "r" / "cells.js")
    assert table["rows"] == 400 == len(table["keys"])
    details: dict = {}
    for path in (site / "r" / "details").iterdir():
        details |= data_of(path)
    assert set(details) == set(table["keys"])
    with_samples = [d for d in details.values() if "samples" in d]
    assert len(with_samples) == 2
    assert data_of(site / "r" / with_samples[0]["samples"])["rows"] == 12
    row = 7
    column = next(c for c in table["columns"] if c["title"] == "auc")
    value = {m["metric"]: m["value"] for m in details[table["keys"][row]]["measurements"]}["auc"]
    assert column["values"][row] == pytest.approx(value, rel=1e-5)


def test_learning_curves_are_drawn_where_cells_keep_them(site: Path) -> None:
    assert "<polyline" in (site / "r" / "learning.html").read_text()


def test_a_second_site_replaces_the_first_and_other_folders_are_left_alone(tmp_path: Path) -> None:
    section = Part(id="s", kind="x", pages=(Page(title="T", blocks=()),))
    out = tmp_path / "out"
    write_site(out, [section], title="one")
    write_site(out, [section], title="two")
    assert "<h1>two</h1>" in (out / "index.html").read_text()
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("x")
    with pytest.raises(UsageError):
        write_site(other, [section], title="three")
    assert [p.name for p in other.iterdir()] == ["thesis.tex"]
    assert not list(tmp_path.glob(".*"))


@pytest.fixture
def section() -> Part:
    return Part(id="s", kind="x", pages=(Page(title="T", blocks=()),))


@pytest.mark.parametrize(("inside", "out"), [("", "."), ("", "../out"), ("s", ".."), ("", "..//out/../out")])
def test_the_folder_one_stands_in_is_refused_before_anything_is_deleted(
    section: Part, inside: str, out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_site(tmp_path / "out", [section], title="one")
    monkeypatch.chdir(tmp_path / "out" / inside)
    with pytest.raises(UsageError, match="stand in") as error:
        write_site(Path(out), [section], title="two")
    assert error.value.hint is not None and "--out" in error.value.hint
    assert "<h1>one</h1>" in (tmp_path / "out" / "index.html").read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_site_behind_a_link_is_replaced_and_the_link_stays(section: Part, tmp_path: Path) -> None:
    write_site(tmp_path / "real", [section], title="one")
    (tmp_path / "link").symlink_to("real")
    write_site(tmp_path / "link", [section], title="two")
    assert (tmp_path / "link").is_symlink()
    assert "<h1>two</h1>" in (tmp_path / "real" / "index.html").read_text()
    assert {p.name for p in tmp_path.iterdir()} == {"real", "link"}


def test_a_site_with_files_of_somebody_else_in_it_is_left_alone(section: Part, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_site(out, [section], title="one")
    (out / ".git").mkdir()
    with pytest.raises(UsageError) as error:
        write_site(out, [section], title="two")
    assert error.value.found == ".git"
    assert (out / ".git").exists()
    assert "<h1>one</h1>" in (out / "index.html").read_text()


def test_files_that_a_file_manager_leaves_do_not_matter(section: Part, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_site(out, [section], title="one")
    (out / ".DS_Store").write_bytes(b"")
    write_site(out, [section], title="two")
    assert "<h1>two</h1>" in (out / "index.html").read_text()


def test_a_marker_that_cannot_be_read_makes_no_site(section: Part, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_site(out, [section], title="one")
    (out / "giveway-site.json").write_text("[")
    with pytest.raises(UsageError):
        write_site(out, [section], title="two")
    assert "<h1>one</h1>" in (out / "index.html").read_text()


@pytest.mark.parametrize("step", [1, 2])
def test_the_old_site_survives_a_replacement_that_fails(
    section: Part, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first step moves the old site aside, the second moves the new one in."""
    out = tmp_path / "out"
    write_site(out, [section], title="one")
    rename, calls = Path.rename, 0

    def failing(self: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls == step:
            raise OSError(16, "Device or resource busy")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(StoreError, match="cannot be written"):
        write_site(out, [section], title="two")
    assert "<h1>one</h1>" in (out / "index.html").read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_both_sites_are_on_disk_whenever_one_of_them_is_out_of_place(
    section: Part, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write_site(out, [section], title="one")
    rename = Path.rename
    seen: list[set[str]] = []

    def watched(self: Path, target: Path) -> Path:
        moved = rename(self, target)
        seen.append({re.findall("<h1>(.*?)</h1>", p.read_text())[0] for p in tmp_path.glob("*/index.html")})
        return moved

    monkeypatch.setattr(Path, "rename", watched)
    write_site(out, [section], title="two")
    assert seen == [{"one", "two"}, {"one", "two"}]


def test_interval_is_widened_because_splits_share_samples() -> None:
    values = np.arange(10.0)
    low, high = interval(values, corrected=False)
    # t_{0.975, 9} = 2.262157; sd = 3.027650
    assert (high - low) / 2 == pytest.approx(2.262157 * 3.027650 / math.sqrt(10), rel=1e-6)
    wide_low, wide_high = interval(values, corrected=True)
    assert (wide_high - wide_low) / (high - low) == pytest.approx(math.sqrt((0.1 + 0.25) / 0.1))
    assert all(math.isnan(v) for v in interval(np.array([1.0, np.nan]), corrected=True))


def test_leaderboards_rank_by_mean_mark_ties_and_show_published_only_for_real_data(small_frame: pl.DataFrame) -> None:
    (page,), notes = board_pages(small_frame, real_datasets=[])
    assert notes == []
    (table,) = (b for b in page.blocks if isinstance(b, Table))
    lgap = [row for row in table.rows if row[0].text == "L-GAP"]
    assert [row[3].text for row in lgap] in (["A", "B", "C"], ["B", "A", "C"])
    marks = {row[3].text: row[4].mark for row in lgap}
    assert set(marks.values()) == {"best", "tied", ""}
    assert marks["C"] == ""
    assert all(row[8].text == "–" for row in table.rows)


class Spelled(float):
    """A number that writes itself as numpy 2 does."""

    def __repr__(self) -> str:
        return f"np.float64({float(self)})"


def test_orders_are_plain_numbers_whatever_library_they_come_from(small_frame: pl.DataFrame) -> None:
    (board,), _ = board_pages(small_frame, real_datasets=[])
    (table,) = (b for b in board.blocks if isinstance(b, Table))
    assert {type(entry.order) for row in table.rows for entry in row} == {float, type(None)}
    page = Page(title="T", blocks=(table_of("", ("x",), [[entry(Spelled(0.5))]]),))
    part = Part(id="s", kind="x", pages=(page,))
    assert 'data-order="0.5"' in render_page(page, part=part, parts=[part])


def test_published_numbers_stand_beside_ours(published_frame) -> None:
    (page,), _ = board_pages(published_frame("ade", "constant"), real_datasets=["lgap"])
    (table,) = (b for b in page.blocks if isinstance(b, Table))
    row = next(r for r in table.rows if (r[0].text, r[1].text, r[3].text) == ("L-GAP", "2", "T++"))
    assert row[4].text == "1.429"
    assert row[8].text == "1.429 ± 0.135"
    assert row[9].text == "2.189"
    other = next(r for r in table.rows if r[0].text == "rounD")
    assert other[8].text == "–"


def test_drives_within_the_interval_of_the_best_are_tied() -> None:
    def row(name: str, score: float, ade: float) -> dict:
        return {"name": name, "score": score, "intervals": {"score": [score - 1, score + 1]}, "means": {"ade_m": ade},
                "cases": 4, "n_col": 0, "n_col_at_fault": 0, "against_humans": {}}  # fmt: skip

    differences = {
        "a - b": {"score": {"estimate": 0.2, "low": -0.1, "high": 0.5}},
        "a - c": {"score": {"estimate": 2.0, "low": 1.0, "high": 3.0}},
    }
    summary = {
        "origin": ["recorded"],
        "planner": {"name": "p", "version": 1},
        "predictors": [row("b", 1.8, 0.3), row("a", 2.0, 0.2), row("c", 0.0, 0.9)],
        "differences": differences,
        "open_loop_agreement": [{"planner": "p", "spearman": 1.0, "low": 0.5, "high": 1.0, "predictors": 3}],
    }
    blocks = summary_blocks(summary)
    board = next(block for block in blocks if isinstance(block, Table))
    forest = blocks[0]
    assert isinstance(forest, Board)
    assert [(row.rank, row.name, [m.tied for m in row.marks]) for row in forest.rows] == [
        ("1 =", "a", [True]), ("1 =", "b", [True]), ("3", "c", [False])
    ]  # fmt: skip
    assert forest.rows[0].link == "cells.html#predictor=a"
    assert [(r[1].text, r[2].mark) for r in board.rows] == [("a", "best"), ("b", "tied"), ("c", "")]
    assert [r[0].text for r in board.rows] == ["1 =", "1 =", "3"]
    answer = drive_answer(summary)
    assert [p["name"] for p in answer.chart.document()["points"]] == ["b", "a", "c"]


def test_text_is_escaped_everywhere() -> None:
    evil = '"><img src=x onerror=alert(1)>'
    table = table_of(evil, (evil,), [[entry(evil, note=evil, link=evil)]], caption=evil, banner=evil)
    chart = Forest(rows=(Row(label=evil, note=evil, marks=(Mark(value=1.0, text=evil),)),), label=evil, alt=evil)
    said = Answer(question=evil, sentence=evil, chart=chart, foot=evil, badges=(evil,), warnings=(evil,))
    page = Page(title=evil, lead=evil, blocks=(table, Answers(items=((said, evil),))), answer=said)
    part = Part(id="s", kind=evil, pages=(page, page))
    for text in (render_page(page, part=part, parts=[part]), single_page(page), table.html()):
        assert "<img" not in text


def test_data_files_hold_nothing_but_data() -> None:
    evil = "</script><!-- ');alert(1);(' \\ \u2028"
    text = script("x.js", {"a": evil})
    assert "</script" not in text
    assert "\u2028" not in text
    assert text.startswith('giveway.data("x.js",JSON.parse(\'')


def test_columns_are_choices_numbers_or_text() -> None:
    frame = pl.DataFrame(
        {
            "model": ["b", "a", None, "b"],
            "n": [2, 10, 2, 2],
            "value": [0.123456789, math.nan, math.inf, 1.0],
            "id": ["w", "x", "y", "z"],
        }
    )
    model, n, value, name = table_data(frame)["columns"]
    assert (model["kind"], model["labels"], model["codes"]) == ("choice", ["a", "b"], [1, 0, None, 1])
    assert (n["kind"], n["of"], n["labels"]) == ("choice", "number", [2, 10])
    assert (value["kind"], value["values"]) == ("number", [0.123457, None, None, 1.0])
    assert (name["kind"], name["values"]) == ("text", ["w", "x", "y", "z"])


def test_details_stay_small_however_many_cells() -> None:
    assert [detail_digits(n) for n in (1, 100, 101, 1600, 1601, 100_000)] == [0, 0, 1, 1, 2, 3]
    keys = ["ab1", "ab2", "c00"]
    assert dict(chunks(keys, 1)) == {"a": ["ab1", "ab2"], "c": ["c00"]}
    assert dict(chunks(keys, 0)) == {"all": keys}
    assert finite({"a": [math.nan, 1, {"b": Path("x")}]}) == {"a": [None, 1, {"b": "x"}]}


@pytest.mark.parametrize("values", [[0.0], [3.0, 3.0], [-1.0, 1e9], [0.1, 0.7], [math.nan], []])
def test_ticks_enclose_the_values(values: list[float]) -> None:
    found = ticks(values)
    known = [v for v in values if math.isfinite(v)]
    assert 2 <= len(found) <= 12
    assert all(found[0] <= v <= found[-1] for v in known)
    assert found == sorted(found)


def test_player_is_an_ordinary_script() -> None:
    text = script_text("player.js")
    assert not re.search(r"^\s*(export|import)\b", text, re.MULTILINE)
    assert "window.giveway.mountPlayer" in text


def test_citations_follow_what_was_used() -> None:
    found = citations_for(["dataset:lgap", "model:LR_1D", "metric:brier", "model:no such model"])
    assert found[0].key == "giveway"
    by_key = {c.key: c for c in found}
    assert "krajewski2020round" not in by_key
    assert by_key["zgonnikov2024stay"].used_for == ("dataset lgap",)
    assert "doi:10.1177/00187208221144561" in by_key["zgonnikov2024stay"].text
    entry = by_key["brier1950"].bibtex
    assert entry.startswith("@article{brier1950,")
    assert entry.count("{") == entry.count("}")
    assert bibliography(found).count("@") == len(found)


def test_every_dataset_and_every_published_model_can_be_cited() -> None:
    from giveway.data import DATASETS
    from giveway.predictors import PREDICTORS

    for component in [*(f"dataset:{n}" for n in DATASETS.names() if n not in ("generic", "store"))]:
        assert len(citations_for([component])) > 1, component
    for name in PREDICTORS.names():
        if PREDICTORS.get(name).info.references:
            assert len(citations_for([f"model:{name}"])) > 1, name


def test_damaged_samples_are_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    invented_store(tmp_path / "R", 40, sampled=3)
    path = min((tmp_path / "R" / "cells").rglob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    pages = tuple(Results.open(tmp_path / "R").pages())
    write_site(tmp_path / "out", [Part(id="r", kind="gaps", pages=pages)], title="Results")
    assert len(list((tmp_path / "out" / "r" / "samples").iterdir())) == 2
    assert path.stem in (tmp_path / "out" / "r" / "failures.html").read_text()


def test_command_makes_a_site_of_several_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    invented_store(tmp_path / "all" / "first", 200)
    invented_store(tmp_path / "all" / "deep" / "second", 200)
    (tmp_path / "all" / "recordings").mkdir()
    (tmp_path / "all" / "recordings" / "store.json").write_text('{"format": "giveway-store", "version": 1}')
    with pytest.raises(SystemExit) as end:
        run(["report", str(tmp_path / "all"), "--out", str(tmp_path / "site"), "--json"])
    assert end.value.code == 0
    told = json.loads(capsys.readouterr().out)["result"]
    assert [s["id"] for s in told["sections"]] == ["deep-second", "first"]
    assert broken_links(tmp_path / "site") == []
    with pytest.raises(SystemExit) as end:
        run(["cite", str(tmp_path / "all"), "--format", "bibtex"])
    assert "@inproceedings{krajewski2020round," in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "nowhere", "--out", "site"],
        ["report", ".", "--out", "site"],
        ["cite", "."],
        ["cite", ".", "--format", "word"],
    ],
)
def test_bad_input_is_a_sentence_with_exit_code_2(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        run(arguments)
    assert end.value.code == 2
    assert "Traceback" not in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_sections_of_one_title_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for name in ("first", "second"):
        invented_store(tmp_path / "all" / name / "results", 20)
    invented_store(tmp_path / "one" / "results", 600)  # enough for a chart
    both = make_report(tmp_path / "all", tmp_path / "site", limits=PageLimits(samples=0))
    assert [s.title for s in both.parts] == ["Gap acceptance (first)", "Gap acceptance (second)"]
    assert [s.pages[0].title for s in both.parts] == [s.title for s in both.parts]
    (alone,) = make_report(tmp_path / "one", tmp_path / "other", limits=PageLimits(samples=0)).parts
    assert alone.title == "Gap acceptance"
    assert alone.pages[0].answer.chart.label.startswith("AUC")


def test_a_folder_that_cannot_be_shown_says_why_and_the_others_are_shown(tmp_path: Path) -> None:
    invented_store(tmp_path / "all" / "good", 20)
    store = Store(tmp_path / "all" / "odd", create=True)
    cell = Cell(kind="somebody_elses", params={"a": 1}, data="d")
    store.write_encoded(cell.key, encode_result(cell, CellResult(measurements=())), flush=False)
    made = make_report(tmp_path / "all", tmp_path / "site", limits=PageLimits(samples=0))
    assert [part.title for part in made.parts] == ["Gap acceptance", "Not shown: odd"]
    assert "somebody_elses" in (tmp_path / "site" / "odd" / "index.html").read_text()
    assert broken_links(tmp_path / "site") == []
    with pytest.raises(StoreError, match="unknown kind"):
        make_report(tmp_path / "all" / "odd", tmp_path / "other")


def test_a_section_of_a_plug_in_gets_all_pages_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Weather(Section):
        kind, title = "weather", "Weather"

    monkeypatch.setitem(SECTIONS._objects, "weather", Weather())
    store = Store(tmp_path / "W", create=True)
    for n in range(3):
        cell = Cell(kind="weather", params={"day": n}, data="d")
        measured = Measurement(metric="rain", value=float(n), num_samples=1, metric_version=1)
        store.write_encoded(cell.key, encode_result(cell, CellResult(measurements=(measured,))), flush=False)
    (part,) = make_report(tmp_path / "W", tmp_path / "site").parts
    assert [page.file for page in part.pages] == ["index.html", "cells.html", "provenance.html"]
    assert "<td>rain</td>" in re.sub(r"\s+", " ", (tmp_path / "site" / "w" / "index.html").read_text())
    assert data_of(tmp_path / "site" / "w" / "cells.js")["rows"] == 3


def test_frozen_results_are_read_once(tmp_path: Path) -> None:
    invented_store(tmp_path / "R", 20)
    results = Results.open(tmp_path / "R")
    frozen = results.frozen()
    before = frozen.frame().height
    next((tmp_path / "R" / "cells").rglob("*.json")).unlink()
    assert frozen.frame().height == before
    assert results.frame().height == before - 2, "two metrics per cell"


def test_a_chapter_of_pages_is_written_once_where_two_blocks_share_a_file(tmp_path: Path) -> None:
    shown = Picture(title="", file="p.svg", alt="a", data=b"<svg/>")
    part = Part(id="s", kind="x", pages=(Page(title="T", blocks=(shown, shown)),))
    names: list[str] = []
    write_site(tmp_path / "out", [part], title="x", progress=lambda count, name: names.append(name))
    assert names.count("s/p.svg") == 1


def test_a_single_page_holds_its_pictures_and_replays(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>"
    picture = Picture(title="", file="p.png", alt="a", data=b"PNG")
    replay = Replay(title="r", file="r", document=lambda: {"title": evil})
    text = single_page(Page(title="T", blocks=(picture, replay)))
    assert 'src="data:image/png;base64,UE5H"' in text
    assert "alert(1)</script>" not in text
    assert "mountPlayer" in text
    assert "connect-src" not in text and "default-src 'none'" in html.unescape(text)


def heads(table: Table) -> list[str]:
    return [column.head for column in table.blocks[0].columns]


def test_campaigns_are_called_by_what_differs() -> None:
    campaign = {"measures": {"avoidable_rate": 0.25}, "realism": {}, "kinds": {"rear": (2, 1)}}
    labels = [f"{driver} on straight, ego idm, seed 0" for driver in ("policy", "no_attack")]
    document = {"campaigns": [{**campaign, "label": label} for label in labels], "titles": {}, "realism_titles": {}}
    said, note, table, *_ = generated_blocks(document)
    assert said.text.startswith("Not real traffic")
    assert "on straight, ego idm, seed 0" in note.text
    assert heads(table) == ["measure", "policy", "no attack"]
    document["campaigns"][1]["label"] = "policy on merge, ego idm, seed 0"
    assert heads(generated_blocks(document)[2])[2] == "policy on merge, ego idm, seed 0"


def test_the_first_page_says_first_what_is_not_recorded(section: Part) -> None:
    said = origin_blocks("the traffic", ["synthetic"])
    page = replace(section.pages[0], blocks=(*said, *section.pages[0].blocks))
    home = first_page([section, replace(section, pages=(replace(page, title="Computed"),))], "Home")
    first = home.blocks[0]
    assert isinstance(first, Paragraph)
    assert first.text.startswith("Computed. Not real traffic: the traffic is synthetic")
    assert not isinstance(home.blocks[1], Paragraph)
