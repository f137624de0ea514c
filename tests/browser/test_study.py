"""The study in the system's Chromium, from consent to debrief."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from giveway.study.export import check_answers, long_answers, rater_table
from giveway.study.rehearsal import enroll_token
from giveway.study.workspace import open_study
from support.servers import RESEARCHER_TOKEN, RunningServer, running_server
from support.studies import synthetic_study

pytestmark = pytest.mark.browser

NO_LIMITS = {"joins_per_minute": 10**6, "logins_per_minute": 10**6, "answers_per_second": 1e6}
ORDER = {"attention_checks": 1, "repeat_share": 0.25, "practice_clips": 2}
ITEMS = 6  # 4 clips, 1 repeat, 1 check


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("browser") / "study"
    return synthetic_study(where, num_clips=4, num_anchors=1, order=ORDER, limits=NO_LIMITS)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    with running_server(folder) as running:
        yield running


@pytest.fixture(scope="module")
def study(folder: Path):
    opened = open_study(folder)
    yield opened
    opened.engine.dispose()


def start_rating(page, server: RunningServer, study) -> None:
    """Enter at the main block, by a resume link made by the same functions that the pages call."""
    page.goto(f"{server.address}/resume#{enroll_token(study)}")
    page.wait_for_url("**/rate")


def rater_code(page) -> str:
    return page.evaluate("JSON.parse(document.getElementById('texts').textContent).rater")


def wait_for_item(page, number: int) -> None:
    page.locator("#title", has_text=f" {number} of ").wait_for()


def wait_until_saved(page) -> None:
    """The next item is shown at once; an answer leaves the device's memory when the server has acknowledged it."""
    for _ in range(600):  # the pages forbid what wait_for_function() needs when it has to look twice
        if page.evaluate("localStorage.length") == 0:
            return
        page.wait_for_timeout(50)
    pytest.fail("answers are still waiting")


def is_check(page) -> bool:
    return page.locator("#instruction").is_visible()


def play(page) -> None:
    page.wait_for_selector("#play:not([disabled])")
    assert page.locator("input[type=radio]").first.is_disabled()
    page.click("#play")
    page.wait_for_selector("#answers:not([disabled])")


def answer(page, number: int, rating: int) -> None:
    wait_for_item(page, number)
    if not is_check(page):
        play(page)
    page.check(f"input[name=rating][value='{rating}']")
    page.click("#submit")


def ratings_of(study, code: str) -> dict[int, int]:
    """Position to rating, checks included."""
    rows = [*long_answers(study).iter_rows(named=True), *check_answers(study).iter_rows(named=True)]
    return {row["position"]: row["rating"] for row in rows if row["rater"] == code}


def assert_clean(page, server: RunningServer) -> None:
    assert page.problems == []
    assert all(url.startswith(server.address) for url in page.requests)


def test_whole_study_by_mouse_and_the_export_equals_what_was_clicked(page, server, study) -> None:
    page.goto(server.address)
    page.check("input[name=agree]")
    page.click("text=Start")
    for box in page.locator("input[name=confirmed]").all():
        box.check()
    page.click("text=Continue")
    play(page)
    number = page.evaluate(
        "fetch('/api/playback').then(r => r.json()).then(d => d.agents.find(a => a.role == 'prio').label)"
    )
    page.check(f"input[name=number][value='{number}']")
    page.click("#submit")
    for expected in ("recorded in real traffic", "broken on purpose"):
        play(page)
        page.check("input[value='3']")
        page.wait_for_selector("#feedback:not([hidden])")
        assert expected in page.inner_text("#feedback")
        page.click("#submit")
    page.wait_for_url("**/rate")
    code = rater_code(page)
    clicked = {n: n % 5 + 1 for n in range(ITEMS)}
    for position, rating in clicked.items():
        answer(page, position + 1, rating)
    page.wait_for_url("**/comment")
    page.select_option("#age", "25-34")
    page.fill("#comment", "=cmd() nice <b>study</b>")
    page.click("text=Finish")
    page.wait_for_url("**/done")
    assert re.fullmatch(r"[2-9A-Z]{10}", page.inner_text("#code"))
    assert ratings_of(study, code) == clicked
    mine = long_answers(study).filter(rater=code)
    assert (mine["plays"] >= 1).all()
    assert (mine["rt_ms"] >= mine["played_ms"]).all()
    assert (mine["played_ms"] >= 450).all()
    row = rater_table(study).filter(rater=code).row(0, named=True)
    assert (row["step"], row["age_band"], row["comment"]) == ("done", "25-34", "'=cmd() nice <b>study</b>")
    assert_clean(page, server)


def test_whole_main_block_by_keyboard(page, server, study) -> None:
    start_rating(page, server, study)
    code = rater_code(page)
    for number in range(1, ITEMS + 1):
        wait_for_item(page, number)
        if not is_check(page):
            page.wait_for_selector("#play:not([disabled])")
            page.keyboard.press("p")
            page.wait_for_selector("#answers:not([disabled])")
        page.keyboard.press("2")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
    page.wait_for_url("**/comment")
    assert set(ratings_of(study, code).values()) == {3}


def test_every_control_can_be_reached_with_tab(page, server, study) -> None:
    start_rating(page, server, study)
    wait_for_item(page, 1)
    play(page)
    page.check("input[value='1']")
    reached = set()
    for _ in range(15):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.id || document.activeElement.name || document.activeElement.href")
        )
    assert {"play", "rating", "submit"} <= reached


def test_answer_is_locked_until_the_clip_has_played(page, server, study) -> None:
    start_rating(page, server, study)
    wait_for_item(page, 1)
    page.wait_for_selector("#play:not([disabled])")
    assert page.locator("input[name=rating]").first.is_disabled()
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    assert page.locator("input[name=rating]:checked").count() == 0
    assert page.locator("#submit").is_disabled()


def test_replays_are_counted(page, server, study) -> None:
    start_rating(page, server, study)
    code = rater_code(page)
    wait_for_item(page, 1)
    play(page)
    page.click("#play")
    page.wait_for_selector("#play:not([disabled])")
    page.check("input[value='1']")
    page.click("#submit")
    wait_for_item(page, 2)
    wait_until_saved(page)
    assert long_answers(study).filter(rater=code)["plays"].to_list() == [2]


def test_reload_in_the_middle_goes_on_at_the_same_place(page, server, study) -> None:
    start_rating(page, server, study)
    code = rater_code(page)
    answer(page, 1, 5)
    wait_for_item(page, 2)
    page.reload()
    wait_for_item(page, 2)
    assert page.locator("#progress").get_attribute("value") == "1"
    wait_until_saved(page)
    assert ratings_of(study, code) == {0: 5}


def test_double_click_on_submit_saves_once(page, server, study) -> None:
    start_rating(page, server, study)
    code = rater_code(page)
    wait_for_item(page, 1)
    play(page)
    page.check("input[value='2']")
    page.dblclick("#submit")
    wait_for_item(page, 2)
    wait_until_saved(page)
    assert ratings_of(study, code) == {0: 2}


def test_two_raters_at_once_do_not_disturb_each_other(browser, server, study) -> None:
    contexts = [browser.new_context() for _ in range(2)]
    pages = [context.new_page() for context in contexts]
    for page in pages:
        start_rating(page, server, study)
    codes = [rater_code(page) for page in pages]
    for number in range(1, 4):
        for rating, page in enumerate(pages, start=1):
            answer(page, number, rating)
    for page in pages:
        wait_for_item(page, 4)
        wait_until_saved(page)
    assert [set(ratings_of(study, code).values()) for code in codes] == [{1}, {2}]
    for context in contexts:
        context.close()


def test_two_tabs_of_one_rater_never_save_twice(page, server, study) -> None:
    start_rating(page, server, study)
    code = rater_code(page)
    other = page.context.new_page()
    other.goto(f"{server.address}/rate")
    for tab in (page, other):
        wait_for_item(tab, 1)
        play(tab)
    page.check("input[value='5']")
    with page.expect_response("**/api/answers"):
        page.click("#submit")
    wait_for_item(page, 2)
    other.check("input[value='1']")
    with other.expect_response("**/api/answers") as refused:
        other.click("#submit")
    wait_for_item(other, 2)
    assert refused.value.status == 409
    assert ratings_of(study, code) == {0: 5}


def test_a_clip_that_fails_to_load_can_be_tried_again(page, server, study) -> None:
    page.route("**/clips/*.json", lambda route: route.abort())
    start_rating(page, server, study)
    page.wait_for_selector("#failed:not([hidden])")
    assert page.locator("#play").is_disabled()
    page.unroute("**/clips/*.json")
    page.click("#retry")
    play(page)


def test_back_button_stays_in_the_study(page, server, study) -> None:
    page.goto(server.address)
    start_rating(page, server, study)
    answer(page, 1, 4)
    wait_for_item(page, 2)
    page.go_back()
    page.wait_for_url("**/rate")
    wait_for_item(page, 2)


def test_answers_wait_for_the_connection(page, server, study) -> None:
    start_rating(page, server, study)
    code = rater_code(page)
    wait_for_item(page, 1)
    play(page)
    page.check("input[value='4']")
    page.wait_for_load_state("networkidle")  # the clips that follow are fetched ahead
    page.context.set_offline(True)
    page.click("#submit")
    page.wait_for_selector("#notice:not([hidden])")
    assert "1 waiting" in page.inner_text("#notice")
    wait_for_item(page, 2)
    assert ratings_of(study, code) == {}
    page.context.set_offline(False)
    page.wait_for_selector("#notice", state="hidden")
    wait_until_saved(page)
    assert ratings_of(study, code) == {0: 4}


def test_answers_given_offline_survive_a_reload(page, server, study) -> None:
    start_rating(page, server, study)
    code = rater_code(page)
    wait_for_item(page, 1)
    play(page)
    page.check("input[value='2']")
    page.route("**/api/answers", lambda route: route.abort())
    page.click("#submit")
    page.wait_for_selector("#notice:not([hidden])")
    page.unroute("**/api/answers")
    page.reload()
    wait_for_item(page, 2)
    wait_until_saved(page)
    assert ratings_of(study, code) == {0: 2}


def test_answers_of_a_tab_that_was_closed_offline_are_sent_by_the_other_one(page, server, study) -> None:
    start_rating(page, server, study)
    code = rater_code(page)
    page.context.route("**/api/answers", lambda route: route.abort())
    closed = page.context.new_page()
    closed.goto(f"{server.address}/rate")
    wait_for_item(page, 1)
    answer(closed, 1, 4)
    answer(closed, 2, 5)
    wait_for_item(closed, 3)
    answer(page, 1, 4)
    wait_for_item(page, 2)
    closed.close()
    page.context.unroute("**/api/answers")
    page.evaluate("window.dispatchEvent(new Event('online'))")
    wait_until_saved(page)
    assert ratings_of(study, code) == {0: 4, 1: 5}


def test_an_answer_saved_while_the_session_is_asked_for_is_not_asked_again(page, server, study) -> None:
    """After a reload the server lists the items, then saves the answer that waited, then the list arrives."""
    page.add_init_script(
        """
        const send = window.fetch, signal = () => { let raise; return [new Promise((r) => { raise = r; }), raise]; };
        const [listed, raiseListed] = signal(), [saved, raiseSaved] = signal();
        const reloaded = performance.getEntriesByType("navigation")[0].type === "reload";
        window.fetch = async (url, options) => {
          if (url === "/api/answers" && !reloaded) throw new TypeError("no connection");
          if (url === "/api/answers") await listed;
          const response = await send(url, options);
          if (url === "/api/session" && reloaded) { raiseListed(); await saved; }
          // The queue hears of its answer before the page hears of the items.
          if (url === "/api/answers") setTimeout(raiseSaved, 100);
          return response;
        };
        """
    )
    start_rating(page, server, study)
    code = rater_code(page)
    wait_for_item(page, 1)
    play(page)
    page.check("input[value='2']")
    page.click("#submit")
    page.wait_for_selector("#notice:not([hidden])")
    page.reload()
    wait_for_item(page, 2)
    assert ratings_of(study, code) == {0: 2}


def test_the_notice_goes_when_the_items_could_be_fetched_after_all(page, server, study) -> None:
    start_rating(page, server, study)
    wait_for_item(page, 1)
    page.route("**/api/session", lambda route: route.abort())
    page.reload()
    page.wait_for_selector("#notice:not([hidden])")
    page.unroute("**/api/session")
    wait_for_item(page, 1)
    page.wait_for_selector("#notice", state="hidden")


@pytest.mark.parametrize("width", [320, 390])
def test_narrow_screens_need_no_sideways_scrolling(browser, server, study, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 700})
    page = context.new_page()
    start_rating(page, server, study)
    wait_for_item(page, 1)
    for path in ("/rate", "/resume", "/withdraw", "/researcher/login"):
        page.goto(server.address + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    context.clear_cookies()
    page.goto(server.address)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def axe_violations(page) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    results = axe.Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in results if v["impact"] in ("serious", "critical")]


def test_no_page_has_a_serious_accessibility_violation(browser, server, study) -> None:
    # axe injects its script into the page, which the content security policy would rightly refuse.
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    found: dict[str, list[str]] = {}

    def check(name: str) -> None:
        if problems := axe_violations(page):
            found[name] = problems

    page.goto(server.address)
    check("consent")
    page.check("input[name=agree]")
    page.click("text=Start")
    check("eligibility")
    for box in page.locator("input[name=confirmed]").all():
        box.check()
    page.click("text=Continue")
    page.wait_for_selector("#play:not([disabled])")
    check("playback")
    context.clear_cookies()
    start_rating(page, server, study)
    for number in range(1, ITEMS + 1):
        wait_for_item(page, number)
        if is_check(page) or number == 1:
            check(f"rate locked {number}")
        if not is_check(page):
            play(page)
        if number == 1:
            check("rate")
        page.check("input[value='3']")
        page.click("#submit")
    page.wait_for_url("**/comment")
    check("comment")
    page.click("text=Finish")
    check("done")
    for path in ("/resume", "/withdraw", "/nothing", "/researcher/login"):
        page.goto(server.address + path)
        check(path)
    page.fill("#token", RESEARCHER_TOKEN)
    page.click("text=Log in")
    page.fill("input[name=label]", "friends")
    page.click("text=Create")
    check("researcher")
    context.close()
    assert found == {}


def test_broken_axe_check_would_be_noticed(page) -> None:
    page.set_content("<html lang=en><title>x</title><img src=x><button></button></html>")
    assert any("button-name" in violation for violation in axe_violations(page))


def test_researcher_sees_ratings_and_can_pause(page, server, study) -> None:
    page.goto(f"{server.address}/researcher")
    page.fill("#token", RESEARCHER_TOKEN)
    page.click("text=Log in")
    page.wait_for_selector("text=Ratings per clip")
    page.click("button[value=paused]")
    page.wait_for_selector("text=State: paused")
    page.click("button[value=open]")
    page.wait_for_selector("text=State: open")
    with page.expect_download() as download:
        page.click("text=answers.csv")
    assert download.value.path().read_text().startswith("study_id,rater,clip,condition")
    assert_clean(page, server)


@pytest.fixture(scope="module")
def video_server(tmp_path_factory: pytest.TempPathFactory):
    pytest.importorskip("imageio_ffmpeg")
    where = tmp_path_factory.mktemp("video") / "study"
    order = {"attention_checks": 0, "repeat_share": 0, "practice_clips": 0}
    synthetic_study(where, num_clips=2, num_anchors=0, video=True, order=order, limits=NO_LIMITS)
    opened = open_study(where)
    with running_server(where) as running:
        yield running, opened
    opened.engine.dispose()


def test_video_is_played_and_a_failing_one_falls_back_to_the_drawing(page, video_server) -> None:
    server, study = video_server
    start_rating(page, server, study)
    wait_for_item(page, 1)
    play(page)
    assert page.locator("#video").is_visible()
    page.route("**/clips/*.mp4", lambda route: route.abort())
    page.check("input[value='3']")
    page.click("#submit")
    wait_for_item(page, 2)
    play(page)
    assert page.locator("#canvas").is_visible()
    assert not page.locator("#video").is_visible()


def test_submitting_while_a_replay_is_about_to_start_leaves_the_next_clip_alone(page, video_server) -> None:
    """Loading the next video ends the pending play() of the one before, which is no reason to draw that one."""
    server, study = video_server
    start_rating(page, server, study)
    wait_for_item(page, 1)
    play(page)
    page.check("input[value='3']")
    first = page.evaluate("document.getElementById('video').currentSrc").replace(".mp4", ".json")
    page.evaluate("document.getElementById('play').click(); document.getElementById('form').requestSubmit()")
    wait_for_item(page, 2)
    play(page)
    assert page.locator("#video").is_visible()
    assert not page.locator("#canvas").is_visible()
    assert first not in page.requests


def test_a_video_that_the_system_paused_can_be_played_again(page, video_server) -> None:
    server, study = video_server
    start_rating(page, server, study)
    code = rater_code(page)
    wait_for_item(page, 1)
    page.wait_for_selector("#play:not([disabled])")
    page.evaluate("video.addEventListener('playing', () => video.pause(), { once: true })")
    with page.expect_event("console") as paused:
        page.evaluate("video.addEventListener('pause', () => console.log('paused'), { once: true })")
        page.click("#play")
    assert paused.value.text == "paused"
    assert page.locator("input[type=radio]").first.is_disabled()
    play(page)
    assert page.inner_text("#play") == "Play again"
    page.check("input[value='3']")
    page.click("#submit")
    wait_for_item(page, 2)
    wait_until_saved(page)
    assert long_answers(study).filter(rater=code)["plays"].to_list() == [1]
