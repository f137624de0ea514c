"""The report in the system's Chromium, opened from disk."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from giveway.experiments import Store
from giveway.gaps.section import GAPS
from giveway.reports.cells import store_pages
from giveway.reports.content import Answer, Answers, Page, PageLimits, Part, Replay
from giveway.reports.live_charts import Forest, Mark, Rated, Ratings, Row, Scatter, Spot
from giveway.reports.player.document import replay_document
from giveway.reports.rendering import single_page
from giveway.reports.results import Results
from giveway.reports.writing import write_site
from giveway.testing import worlds
from support.stores import DATASETS, invented_store

pytestmark = pytest.mark.browser


def crossing() -> dict:
    return replay_document(worlds.crossing(duration_s=4.0), title="a gap")


def make_site(root: Path, count: int, **store: int) -> Path:
    invented_store(root / "R", count, **store)
    replays = {dataset: {f"s{n}": crossing for n in range(12)} for dataset in DATASETS}
    results, limits = Results.open(root / "R"), PageLimits(samples=5, replays=6)
    overview = replace(GAPS.overview(results, limits), sample_replays=replays)
    pages = store_pages(results, overview, limits, title="Gap acceptance", replay=lambda key: None)
    write_site(root / "site", [Part(id="r", kind="gaps", pages=tuple(pages))], title="Results")
    return root / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_site(tmp_path_factory.mktemp("report"), 1200, failures=2, sampled=5)


def open_page(page, file: Path) -> None:
    page.goto(file.as_uri())
    if 'class="browser"' in file.read_text():
        page.wait_for_selector(".browser[data-ready]")


def column(page, number: int, table: str = "table") -> list[str]:
    cells = page.locator(f"{table} tbody tr:visible td:nth-child({number + 1})")
    return [text.rstrip("≈") for text in cells.all_inner_texts()]


def titles(page) -> list[str]:
    return [text.strip() for text in page.locator(".browser thead th").all_inner_texts()]


def heading(page, title: str):
    return page.locator("th button", has_text=title).first


def assert_clean(page, site: Path) -> None:
    assert page.problems == []
    assert page.requests
    assert all(url.startswith(site.as_uri()) for url in page.requests)


def test_every_page_opens_from_disk_without_errors_or_requests_elsewhere(page, site: Path) -> None:
    for file in sorted(site.rglob("*.html")):
        open_page(page, file)
        assert page.locator("h1").count() == 1
    assert_clean(page, site)


def test_leaderboard_sorts_and_filters(page, site: Path) -> None:
    open_page(page, site / "r" / "board-constant-auc.html")
    table = "table.sortable"
    heading(page, "mean").click()
    rising = [float(v) for v in column(page, 4, table)]
    assert rising == sorted(rising)
    heading(page, "mean").click()
    falling = [float(v) for v in column(page, 4, table)]
    assert falling == sorted(falling, reverse=True)
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("mean")
    page.locator(".controls select").first.select_option("L-GAP")
    assert set(column(page, 0, table)) == {"L-GAP"}
    assert len(column(page, 0, table)) == 40


def test_one_leaderboard_is_shown_at_a_time_and_measures_are_links(page, site: Path) -> None:
    open_page(page, site / "r" / "board-constant-auc.html")
    datasets = page.get_by_role("group", name="Dataset").get_by_role("button")
    assert datasets.count() == 2 * len(DATASETS)
    assert page.locator(".board:visible h2").all_inner_texts() == ["L-GAP"]
    datasets.nth(2).click()
    assert page.locator(".board:visible h2").all_inner_texts() == [datasets.nth(2).inner_text()]
    assert datasets.nth(2).get_attribute("aria-pressed") == "true"
    page.get_by_role("navigation", name="Measure").get_by_role("link", name="ADE").click()
    assert page.url.endswith("board-constant-ade.html")
    assert page.locator(".segments [aria-current]").inner_text().startswith("ADE")
    assert_clean(page, site)


def test_forest_plots_of_a_leaderboard_stand_in_its_rows(page, site: Path) -> None:
    open_page(page, site / "r" / "board-constant-auc.html")
    page.wait_for_selector(".board tbody .plot svg")
    rows = page.locator(".board:visible tbody tr")
    best, marks = rows.first.locator("svg"), rows.first.locator("svg .mark")
    assert "critical split" in best.get_attribute("aria-label")
    assert marks.count() == 2  # random splits and the critical one
    assert page.locator(".board:visible svg .repeat").count() == 20 * 5  # five splits of twenty models
    for width in (1200, 800, 500, 1400):  # one axis for all rows, also after the window has changed
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(150)
        chance = page.locator(".board:visible tbody svg .chance").evaluate_all(
            "lines => lines.map(l => l.getBoundingClientRect().x)"
        )
        assert len(chance) == 20 and max(chance) - min(chance) < 0.5, width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    across = [rows.nth(k).locator("circle.mark").bounding_box()["x"] for k in (0, 19)]
    assert across[0] > across[1] + 50  # a better model stands farther to the right, on one axis


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_a_model_leads_to_its_cases_and_a_case_to_its_replay(page, site: Path, by: str) -> None:
    open_page(page, site / "r" / "board-constant-auc.html")
    button = page.locator(".board:visible").get_by_role("button", name="LR_1D", exact=True)
    if by == "mouse":
        row = page.locator(".board:visible tbody tr", has=page.get_by_role("button", name="LR_1D", exact=True))
        row.locator(".plot").click()
    else:
        button.focus()
        page.keyboard.press("Enter")
    page.wait_for_selector(".drill[data-ready=LR_1D]")
    assert button.get_attribute("aria-expanded") == "true"
    strip = page.get_by_role("slider", name="Cases of LR_1D")
    assert strip.locator("circle").count() == 12
    if by == "mouse":
        strip.locator("circle").first.click()
    else:
        for _ in range(8):  # past the other models that can be opened, and the choice of the split
            if strip.evaluate("e => e === document.activeElement"):
                break
            page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")
    page.wait_for_selector(".case[data-case]")
    answers = page.locator(".answers tbody tr")
    assert [row.split()[0] for row in answers.all_inner_texts()] == ["LR_1D", "LR_2D", "T++", "CV", "M00"]
    first = strip.get_attribute("aria-valuetext")
    assert first.startswith(page.locator(".case").get_attribute("data-case"))
    seen = {page.locator(".case").get_attribute("data-case")}
    while not page.locator(".case .replay[data-ready]").count():  # those of the worst predicted cases exist
        strip.press("ArrowRight")
        page.wait_for_function("c => !c.includes(document.querySelector('.case').dataset.case)", arg=sorted(seen))
        seen.add(page.locator(".case").get_attribute("data-case"))
        page.wait_for_timeout(150)
    assert len(seen) <= 12
    button.click()
    assert page.locator(".drill:visible").count() == 0
    assert_clean(page, site)


def test_an_address_can_name_what_cells_are_filtered_by(page, site: Path) -> None:
    page.goto((site / "r" / "cells.html").as_uri() + "#model=LR_1D")
    page.wait_for_selector(".browser[data-ready]")
    assert page.locator(".browser [role=status]").inner_text() == "60 of 1,200 rows"
    assert page.get_by_label("model").input_value() != ""
    assert_clean(page, site)


def test_cells_sort_filter_search_and_turn_pages(page, site: Path) -> None:
    open_page(page, site / "r" / "cells.html")
    status = page.locator(".browser [role=status]")
    assert status.inner_text() == "1,200 rows"
    page.get_by_label("model").select_option(label="LR_1D")
    assert status.inner_text() == "60 of 1,200 rows"
    heading(page, "auc").click()
    values = [float(v) for v in column(page, titles(page).index("auc"), ".browser table")]
    assert len(values) == 50
    assert values == sorted(values)
    page.click("text=Next")
    later = [float(v) for v in column(page, titles(page).index("auc"), ".browser table")]
    assert len(later) == 10
    assert later[0] >= values[-1]
    page.get_by_label("model").select_option(label="all")
    page.locator(".browser tbody tr").first.click()
    page.wait_for_selector(".panel[data-key]")
    key = page.locator(".panel").get_attribute("data-key")
    page.get_by_label("search").fill(key)
    assert status.inner_text() == "1 of 1,200 rows"
    assert_clean(page, site)


def test_a_cell_opens_with_its_samples_and_a_sample_with_its_replay(page, site: Path) -> None:
    samples = sorted((site / "r" / "samples").iterdir())
    key = samples[0].stem
    page.goto((site / "r" / "cells.html").as_uri() + f"#{key}")
    page.wait_for_selector(".panel[data-key]")
    assert "Measurements" in page.locator(".panel").inner_text()
    before = len(page.requests)
    page.click("text=Show the samples")
    page.wait_for_selector(".panel .browser tbody tr")
    page.locator(".panel .has-replay").first.click()
    page.wait_for_selector(".replay [data-ready]")
    assert [url.rsplit("/", 2)[-2] for url in page.requests[before:]] == ["samples", "replays"]
    page.click(".gw-transport button >> text=Play")
    for _ in range(100):
        if page.evaluate("document.querySelector('.gw-time').getAttribute('aria-valuenow') > 0.2"):
            break
        page.wait_for_timeout(50)
    else:
        pytest.fail("the replay does not move")
    colors = page.evaluate(
        """() => {
          const canvas = document.querySelector('.replay canvas');
          const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          const seen = new Set();
          for (let i = 0; i < data.length; i += 4) seen.add(data[i] * 65536 + data[i + 1] * 256 + data[i + 2]);
          return seen.size;
        }"""
    )
    assert colors > 3
    assert_clean(page, site)


def test_cells_open_by_keyboard_and_close_again(page, site: Path) -> None:
    open_page(page, site / "r" / "cells.html")
    page.locator(".browser tbody tr").nth(2).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel[data-key]")
    page.click("text=Close")
    assert page.locator(".panel").count() == 0


class Held:
    """Holds back files that the page asks for until they are released, in any order."""

    def __init__(self, page, pattern: str) -> None:
        self.page = page
        self.routes: dict[str, list] = {}
        page.route(pattern, self.hold)

    def hold(self, route) -> None:
        self.routes.setdefault("/".join(route.request.url.split("/")[-2:]), []).append(route)

    def wait_for(self, name: str) -> None:
        """Until the page has asked for a file."""
        while name not in self.routes:
            self.page.wait_for_timeout(10)

    def release(self, name: str, *, lost: bool = False) -> None:
        """Give the file to the page, or an error; returns when everything that waited for it has run."""
        self.wait_for(name)
        self.page.evaluate("(name) => { window.arrived = giveway.load(name).then(() => true, () => true); }", name)
        for route in self.routes.pop(name):
            route.abort() if lost else route.continue_()
        assert self.page.evaluate("window.arrived")


def cell_with_samples(page, site: Path) -> list[str]:
    """Open a cell and its samples; returns the file of each sample's replay, in the order of the rows."""
    key = sorted((site / "r" / "samples").iterdir())[0].stem
    page.goto((site / "r" / "cells.html").as_uri() + f"#{key}")
    page.wait_for_selector(".panel[data-key]")
    page.evaluate(
        """() => {
          const mount = giveway.mountPlayer;
          window.players = [];
          giveway.mountPlayer = (...all) => {
            const player = mount(...all);
            const destroy = player.destroy;
            Object.assign(player, { isAlive: true, destroy() { player.isAlive = false; destroy(); } });
            window.players.push(player);
            return player;
          };
        }"""
    )
    page.click("text=Show the samples")
    page.wait_for_selector(".panel .browser tbody tr")
    rows = page.locator(".panel .browser tbody tr").all()
    data = "document.querySelector('.panel .browser').giveway.data.replays"
    replays = page.evaluate(data)
    return [replays[int(row.get_attribute("data-row"))] or "none" for row in rows]


def alive(page) -> int:
    return page.evaluate("window.players.filter((player) => player.isAlive).length")


def test_the_sample_that_was_clicked_last_is_the_one_shown(page, site: Path) -> None:
    held = Held(page, "**/replays/*.js")
    files = cell_with_samples(page, site)
    rows = page.locator(".panel .browser tbody tr")
    slow, quick = [n for n, file in enumerate(files) if file != "none"][:2]
    rows.nth(slow).click()
    held.wait_for(files[slow])
    rows.nth(quick).click()
    held.release(files[quick])
    page.wait_for_selector(".replay [data-ready]")
    canvas = page.locator(".replay canvas").element_handle()
    held.release(files[slow])
    assert page.locator(".replay canvas").count() == 1
    assert canvas.evaluate("(canvas) => canvas.isConnected")
    assert alive(page) == 1


@pytest.mark.parametrize("lost", [False, True])
def test_a_late_replay_does_not_hide_that_a_sample_has_none(page, site: Path, lost: bool) -> None:
    held = Held(page, "**/replays/*.js")
    files = cell_with_samples(page, site)
    rows = page.locator(".panel .browser tbody tr")
    slow = next(n for n, file in enumerate(files) if file != "none")
    rows.nth(slow).click()
    held.wait_for(files[slow])
    rows.nth(files.index("none")).click()
    held.release(files[slow], lost=lost)
    assert page.locator(".replay").inner_text() == "This sample has no replay here."
    assert alive(page) == 0


def test_players_end_with_what_they_show(page, site: Path) -> None:
    files = cell_with_samples(page, site)
    rows = page.locator(".panel .browser tbody tr")
    for n in [n for n, file in enumerate(files) if file != "none"][:2]:
        rows.nth(n).click()
        page.wait_for_selector(".replay [data-ready]")
        page.click(".gw-transport button >> text=Play")
        assert alive(page) == 1
    rows.nth(files.index("none")).click()
    assert alive(page) == 0
    rows.nth(next(n for n, file in enumerate(files) if file != "none")).click()
    page.wait_for_selector(".replay [data-ready]")
    assert alive(page) == 1
    page.click("text=Close")
    assert alive(page) == 0


def test_another_row_ends_the_player_and_the_player_has_the_theme_of_the_page(page, site: Path) -> None:
    files = cell_with_samples(page, site)
    page.locator(".panel .browser tbody tr").nth(next(n for n, file in enumerate(files) if file != "none")).click()
    page.wait_for_selector(".replay [data-ready]")
    light = page.locator(".replay canvas").screenshot()
    page.click("#theme")
    page.wait_for_timeout(50)
    assert page.locator(".replay canvas").screenshot() != light
    for n in range(3):
        page.locator(".split > div > .scroll tbody tr").nth(n).click()
        page.wait_for_selector(".panel[data-key]")
    assert alive(page) == 0


@pytest.mark.parametrize("lost", [False, True])
def test_a_row_clicked_twice_while_it_loads_is_shown_once(page, site: Path, lost: bool) -> None:
    held = Held(page, "**/details/*.js")
    open_page(page, site / "r" / "cells.html")
    page.locator(".browser tbody tr").first.dblclick()
    while not held.routes:
        page.wait_for_timeout(10)
    held.release(next(iter(held.routes)), lost=lost)
    page.wait_for_selector(".panel[data-key]")
    assert page.locator(".panel h2").count() == 1
    assert page.locator(".panel [role=alert]").count() == lost
    assert page.locator(".panel h3", has_text="Measurements").count() == (not lost)


def test_a_row_that_was_closed_while_it_loaded_stays_closed(page, site: Path) -> None:
    held = Held(page, "**/details/*.js")
    open_page(page, site / "r" / "cells.html")
    page.locator(".browser tbody tr").first.click()
    while not held.routes:
        page.wait_for_timeout(10)
    page.click("text=Close")
    page.locator(".browser tbody tr").first.click()
    held.release(next(iter(held.routes)))
    page.wait_for_selector(".panel[data-key]")
    assert page.locator(".panel h2").count() == 1


def test_search_finds_labels_of_few_and_words_of_many(page, site: Path) -> None:
    open_page(page, site / "r" / "cells.html")
    status = page.locator(".browser [role=status]")
    search = page.get_by_label("search")
    search.fill("LR_1D")
    assert status.inner_text() == "60 of 1,200 rows"
    assert set(column(page, titles(page).index("model"), ".browser table")) == {"LR_1D"}
    search.fill("lr_")
    assert status.inner_text() == "120 of 1,200 rows"
    page.get_by_label("dataset").select_option(label="lgap")
    assert status.inner_text() == "24 of 1,200 rows"
    search.fill("no such thing")
    assert status.inner_text() == "0 of 1,200 rows"
    assert_clean(page, site)


def test_a_whole_key_finds_its_cell_and_opens_it_as_an_address(page, site: Path) -> None:
    store = Store(site.parent / "R")
    key = sorted(store.stamps())[3]
    open_page(page, site / "r" / "cells.html")
    status = page.locator(".browser [role=status]")
    for text in (key, key.upper(), key[:20], key[:16], f" {key} "):
        page.get_by_label("search").fill(text)
        assert status.inner_text() == "1 of 1,200 rows", text
    page.get_by_label("search").fill(f"{key[:16]}x")
    assert status.inner_text() == "0 of 1,200 rows"
    page.goto("about:blank")
    page.goto((site / "r" / "cells.html").as_uri() + f"#{key}")
    page.wait_for_selector(".panel[data-key]")
    assert page.locator(".panel").get_attribute("data-key") == key[:16]


def test_dark_light_and_paper(browser, site: Path) -> None:
    def back(page) -> str:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    open_page(page, site / "r" / "index.html")
    dark = back(page)
    page.click("#theme")
    light = back(page)
    assert dark == "rgb(18, 20, 23)"
    assert light == "rgb(251, 251, 249)"
    page.click("#theme")
    page.emulate_media(media="print")
    assert back(page) == "rgb(255, 255, 255)"
    assert page.locator("nav").first.is_hidden()
    assert len(page.pdf()) > 1000
    context.close()


def test_a_missing_file_is_said(page, site: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "site"
    shutil.copytree(site, copy)
    (copy / "r" / "cells.js").unlink()
    page.goto((copy / "r" / "cells.html").as_uri())
    page.wait_for_selector(".browser [role=alert]")
    assert "cells.js cannot be read" in page.locator(".browser").inner_text()


@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_large_stores_stay_quick_to_open(browser, tmp_path: Path, count: int) -> None:
    site = make_site(tmp_path, count)
    biggest = max(p.stat().st_size for p in (site / "r" / "details").iterdir())
    assert biggest < 400_000
    context = browser.new_context()
    page = context.new_page()
    for name in ("index.html", "r/index.html", "r/cells.html"):
        started = time.perf_counter()
        open_page(page, site / name)
        print(f"{count} cells, {name}: {time.perf_counter() - started:.2f} s")
    assert page.locator(".browser tbody tr").count() == 50
    heading(page, "auc").click()
    page.locator(".browser tbody tr").first.click()
    page.wait_for_selector(".panel[data-key]")
    context.close()


def four_answers() -> Page:
    """A first page with a card of every form, about as large as those of a demo."""
    models = [
        Row(label=name, marks=(Mark(value=v, low=v - 0.1, high=min(1.0, v + 0.1), text=f"{v:.2f}"),
                               Mark(value=0.6, low=0.4, high=0.8, critical=True, tied=False, text="0.60")))
        for name, v in (("LR_1D", 0.95), ("DDM", 0.94), ("CM_AIJ11", 0.9), ("TPP_small", 0.8), ("CV", 0.6))
    ]  # fmt: skip
    spots = [Spot(name=f"predictor {n}", x=0.1 * n, y=-0.5 * n, low=-0.5 * n - 1, high=1 - 0.5 * n) for n in range(6)]
    spots.append(Spot(name="echo", x=7.4, y=-2.0, low=-3.0, high=-1.0, fault=True))
    rated = [
        Rated(name=f"condition {n}", counts=(4 + n, 3, 2, 5, 6), mean=3.2, low=3.0, high=3.4, note="5 clips")
        for n in range(4)
    ]
    options = ("Very unrealistic", "Unrealistic", "Neutral", "Realistic", "Very realistic")
    charts = (
        Forest(rows=models, label="AUC; dotted line: chance", alt="models", start=0.5, end=1.0, chance=0.5),
        Scatter(points=spots, x_label="error [m]", y_label="score", alt="predictors", band=("humans", 0.7, 0.1, 1.3),
                pair=("predictor 1", "predictor 2", "+0.50")),
        Forest(rows=[replace(m, note="17 failures", marks=m.marks[:1]) for m in models[:3]], label="share", alt="cars",
               percent=True, start=0.0),
        Ratings(rows=rated, options=options, alt="ratings"),
    )  # fmt: skip
    sentence = "Two simple models lead, tied. On the critical cases the other three are no better than chance."
    cards = tuple(
        (
            Answer(question="Does it?", sentence=sentence, chart=c, foot="40 cases", badges=("synthetic recordings",)),
            "#",
        )
        for c in charts
    )
    return Page(title="Four answers", lead="made by a test", blocks=(Answers(items=cards, guide=True),))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_four_answers_stand_above_the_fold_and_fit_every_width(browser, tmp_path: Path, scheme: str) -> None:
    file = tmp_path / "answers.html"
    file.write_text(single_page(four_answers()))
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme=scheme)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: problems.append(str(e)))
    page.goto(file.as_uri())
    page.wait_for_function("document.querySelectorAll('.live svg').length === 4")
    assert page.locator(".card h2").last.bounding_box()["y"] < 1000
    assert page.locator(".card").last.bounding_box()["y"] + page.locator(".card").last.bounding_box()["height"] < 1000
    for width in (390, 480, 600, 768, 900, 1024, 1200, 1400):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(120)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        sizes = page.evaluate(
            "[...document.querySelectorAll('.live svg')]"
            ".map(s => [s.getBoundingClientRect().width, s.viewBox.baseVal.width])"
        )
        assert all(abs(shown - drawn) < 1.5 for shown, drawn in sizes)  # one unit is one pixel: text never scales
        smallest = page.evaluate(
            "Math.min(...[...document.querySelectorAll('.live svg text')]"
            ".map(t => parseFloat(getComputedStyle(t).fontSize)))"
        )
        assert smallest >= 12
    widths = page.evaluate(
        "[...document.querySelectorAll('.live .whisker')].map(w => w.getBoundingClientRect())"
        ".map(b => Math.max(b.width, b.height))"
    )
    assert widths and min(widths) > 1
    assert problems == []
    context.close()


def test_a_strip_shows_four_moments_and_opens_the_player(page, tmp_path: Path) -> None:
    file = tmp_path / "strip.html"
    replay = Replay(title="f", file="f.js", document=crossing, caption="impact 5.4 m/s", strip=True)
    file.write_text(single_page(Page(title="Failures", blocks=(replay,))))
    page.goto(file.as_uri())
    page.wait_for_selector(".frames canvas")
    assert page.locator(".frames figcaption").all_inner_texts() == ["−3 s", "−2 s", "−1 s", "end"]
    assert page.locator(".frames canvas").first.bounding_box()["width"] > 200
    page.click("text=Watch")
    page.wait_for_selector(".giveway-player")
    assert page.locator(".frames").count() == 0
    assert page.problems == []
