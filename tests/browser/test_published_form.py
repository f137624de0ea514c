"""The printed form in the system's Chromium: every word, every section, and nothing that the print does not have."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from giveway.study.export import long_answers, rater_table
from giveway.study.printed_form import printed_lines
from giveway.study.workspace import open_study
from support.servers import RunningServer, running_server
from support.studies import published_study

pytestmark = pytest.mark.browser

NO_LIMITS = {"joins_per_minute": 10**6, "logins_per_minute": 10**6, "answers_per_second": 1e6}
GOLDEN = {
    1: "fb187a42c453726eb9c7833565d29c6aab9cb6ba5ec053a1eba3bb729b8d91dd",
    36: "aa6ac1d43053581d60e87612aa8c5b1f7a3f1732d252045082b0edf43bedbd8d",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published_study(tmp_path_factory.mktemp("published") / "study", limits=NO_LIMITS)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    with running_server(folder) as running:
        yield running


def begin(page, server: RunningServer) -> None:
    page.goto(server.address)
    page.check("input[name=agree]")
    page.click("text=Start")
    page.wait_for_url("**/rate")


def section(page) -> str:
    """The words of the section as a person reads them, line by line, without the link and the player."""
    lines = [page.inner_text(f"#{name}") for name in ("section", "title", "link-text", "roles", "question")]
    lines.append(page.inner_text("#explanation"))
    return "\n".join([*lines, *page.locator("#answers label.choice").all_inner_texts()])


def test_all_sections_have_the_printed_words_and_nothing_else_is_asked(page, server, folder) -> None:
    page.goto(server.address)
    assert "There are 36 short videos." in page.inner_text("main")
    begin(page, server)
    for video in range(1, 37):
        page.locator("#title", has_text=re.compile(f"^Video {video}$")).wait_for()
        shown = section(page)
        assert shown == "\n".join(printed_lines(video))
        if video in GOLDEN:
            assert hashlib.sha256(shown.encode()).hexdigest() == GOLDEN[video]
        assert page.locator("input[type=radio][name=rating]").count() == 5
        assert page.locator("input[name=rating]:checked").count() == 0
        page.check(f"input[name=rating][value='{video % 5 + 1}']")  # without waiting for the video
        page.click("#submit")
    page.wait_for_url("**/done")
    study = open_study(folder)
    try:
        answers = long_answers(study).sort("position")
        assert answers["rating"].to_list() == [video % 5 + 1 for video in range(1, 37)]
        assert answers["clip"].to_list() == [clip.clip for clip in study.clips]
        assert rater_table(study)["step"].to_list() == ["done"]
    finally:
        study.engine.dispose()
    assert page.problems == []
    assert all(url.startswith(server.address) for url in page.requests)


def test_visible_words_are_the_printed_ones_and_the_controls(page, server) -> None:
    """Whatever else a rater can read on the page is listed here."""
    begin(page, server)
    page.wait_for_selector("#play:not([disabled])")
    link = page.inner_text("#link")
    lines = [line for line in page.inner_text("body").split("\n") if line.strip()]
    ours = {"Play", "Save and continue", "Continue later", "Delete my answers", link}
    assert [line for line in lines if line not in ours and line != "Skip to content"] == printed_lines(1)


def test_the_link_opens_the_page_of_the_clip_with_the_player_and_nothing_else(page, server) -> None:
    begin(page, server)
    clip = page.evaluate("fetch('/api/session').then(r => r.json()).then(s => s.items[0].clip)")
    link = page.locator("#link")
    assert link.inner_text() == link.get_attribute("href") == f"{server.address}/v/{clip}"
    with page.context.expect_page() as opened:
        link.click()
    video = opened.value
    video.wait_for_selector("#play:not([disabled])")
    words = [line for line in video.inner_text("body").split("\n") if line.strip()]
    assert [word for word in words if word != "Skip to content"] == ["Play"]
    assert video.locator("canvas").is_visible()
    video.click("#play")
    video.locator("#play", has_text="Play again").wait_for()


def test_the_printed_form_has_no_serious_accessibility_violation(browser, server) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    begin(page, server)
    page.wait_for_selector("#play:not([disabled])")
    clip = page.get_attribute("#link", "href")
    for address in (f"{server.address}/rate", clip):
        page.goto(address)
        page.wait_for_selector("#play:not([disabled])")
        found = axe.Axe().run(page).response["violations"]
        assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []
    context.close()
