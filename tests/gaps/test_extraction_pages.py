"""The page that explains an extraction: warnings, counts, pictures, three replays of every reason."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from giveway.cli.main import run
from giveway.experiments import SerialExecutor
from giveway.gaps.extraction_pages import REPLAYS, extraction_pages, label_examples, spreads, write_extraction
from giveway.gaps.profile import CLEAN, PRINTED, profile_with
from giveway.gaps.replays import SampleSet, sample_sets
from giveway.gaps.run import run_gaps
from giveway.reports.charts import histogram
from giveway.reports.content import Gallery, Page, PageLimits, Paragraph, Replay
from giveway.reports.results import Results
from giveway.reports.table import Table

SPEC = {
    "datasets": ["lgap"],
    "t0": ["constant", "critical"],
    "n_input": [2],
    "n_input_max": 2,
    "models": ["CV"],
    "splits": {"random": 2},
    "min_samples": 5,
    "min_class": 1,
    "metrics": ["auc"],
    "synthetic": {"lgap": {"count": 60}},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("store") / "R"
    run_gaps(SPEC, folder, engine=SerialExecutor())
    return run_gaps(SPEC, folder, profile="printed", engine=SerialExecutor())


@pytest.fixture(scope="module")
def sets(results: Results) -> list[SampleSet]:
    return list(sample_sets(results.store))


def test_every_sample_set_is_there_constant_gaps_too(sets: list[SampleSet]) -> None:
    found = {(one.profile, one.extracted.report.choice) for one in sets}
    assert found == {(p, t) for p in ("clean", "printed") for t in ("constant", "critical")}


def test_the_page_names_what_was_dropped_and_links_three_replays(sets: list[SampleSet]) -> None:
    first, *examples = extraction_pages(sets, PageLimits())
    files = {page.file for page in examples}
    tables = [block for block in first.blocks if isinstance(block, Table)]
    dropped = next(t for t in tables if "dropped" in t.title)
    total = sum(sum(one.extracted.report.dropped.values()) for one in sets)
    assert sum(int(row[2].value or 0) for row in dropped.rows) == total > 0
    links = {row[3].link for row in dropped.rows}
    assert links <= files
    assert all(links)
    names = {str(row[0].value) for row in dropped.rows}
    assert all(name.startswith(("clean: ", "printed: ")) for name in names)  # profiles are told apart
    for page in examples:
        players = [block for block in page.blocks if isinstance(block, Replay)]
        assert 1 <= len(players) <= REPLAYS
        assert players[0].document()["title"]
    warned = [b.text for b in first.blocks if isinstance(b, Paragraph) and b.warning]
    assert len(warned) == sum(len(one.extracted.report.warnings) for one in sets) > 0


def test_every_label_has_replays_of_samples_that_have_it(sets: list[SampleSet]) -> None:
    first, *examples = extraction_pages(sets, PageLimits())
    labels = next(b for b in first.blocks if isinstance(b, Table) and b.title == "Labels")
    assert {row[3].link for row in labels.rows} <= {page.file for page in examples}
    for one in sets:
        truth, ids = one.extracted.samples.truth, one.extracted.samples.inputs.sample_id.tolist()
        for label, named in label_examples(one).items():
            assert all(bool(truth.accepted[ids.index(name)]) == (label == "accepted") for name in named)


@pytest.mark.parametrize("is_synthetic", [True, False])
def test_only_made_traffic_is_called_not_real(sets: list[SampleSet], tmp_path: Path, is_synthetic: bool) -> None:
    write_extraction(tmp_path, [replace(sets[0], is_synthetic=is_synthetic)])
    assert ("Not real traffic" in (tmp_path / "extraction" / "index.html").read_text()) == is_synthetic


def test_pictures_show_every_sample_once(sets: list[SampleSet]) -> None:
    first = extraction_pages(sets, PageLimits())[0]
    galleries = [block for block in first.blocks if isinstance(block, Gallery)]
    assert len(galleries) == len(sets)
    for one in sets:
        report = one.extracted.report
        size = spreads(one)["gap size at t₀ [s]"]
        assert [len(size["accepted"]), len(size["rejected"])] == [report.num_accepted, report.num_rejected]
        if report.choice == "constant":
            assert np.median(np.concatenate([*size.values()])) == pytest.approx(report.delta_t_s, abs=0.1)


def test_replays_are_limited(sets: list[SampleSet]) -> None:
    pages: list[Page] = extraction_pages(sets, PageLimits(replays=4))
    assert 0 < sum(len(page.blocks) for page in pages[1:]) <= 4
    assert len(extraction_pages(sets, PageLimits(replays=0))) == 1


def test_a_histogram_counts_every_finite_value() -> None:
    svg = histogram({"a": [0.0, 1.0, 1.01, 9.99, np.nan], "b": [1.0, 10.0]}, x_title="x", y_title="n", num_bins=10)
    counted = re.findall(r"<title>([\d.]+) to ([\d.]+): (\d+) (\w)</title>", svg)
    assert sum(int(n) for *_, n, part in counted if part == "a") == 4
    assert sum(int(n) for *_, n, part in counted if part == "b") == 2
    assert ("1", "2", "2", "a") in counted
    assert ("9", "10", "1", "b") in counted  # the largest value is in the last bin


def test_switches_tell_their_profile() -> None:
    assert profile_with(CLEAN.model_dump()) == "clean"
    assert profile_with(PRINTED.model_dump(include={"opening", "auc"})) == "printed"
    assert profile_with({"opening": "root", "auc": "mid_ranks"}) is None


def test_an_extraction_writes_its_own_pages(lgap_root: Path, tmp_path: Path) -> None:
    out = tmp_path / "pages"
    arguments = ["gaps", "extract", str(lgap_root), "-d", "lgap", "--t0", "constant", "--pages", str(out), "--json"]
    with pytest.raises(SystemExit) as ended:
        run(arguments)
    assert not ended.value.code
    text = (out / "extraction" / "index.html").read_text(encoding="utf-8")
    assert "Why candidates were dropped" in text
    assert "synthetic" in text.lower()  # says first that nobody drove this
    linked = set(re.findall(r'href="(why-[^"]+)"', text))
    assert linked
    assert all((out / "extraction" / name).is_file() for name in linked)


def test_no_sample_sets_is_said() -> None:
    (page,) = extraction_pages([], PageLimits())
    assert isinstance(page.blocks[0], Paragraph)
    assert Path(page.file).suffix == ".html"
