from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.boxes import distance, footprints, time_to_overlap
from giveway.core.lanes import LaneMap, Line
from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.reports.player.document import Event, Fan, Story, Verdict, replay_document, side_by_side
from giveway.reports.player.encounter import Encounter
from giveway.reports.rendering import replay_page
from giveway.reports.tokens import colors

pytestmark = pytest.mark.browser


def two_cars() -> Scene:
    time_s = np.arange(21) * 0.1
    xy = np.zeros((2, 21, 2))
    xy[0, :, 0] = 10 * time_s
    xy[1, :, 1] = 20 - 8 * time_s
    velocity = np.stack([np.full((21, 2), [10.0, 0.0]), np.full((21, 2), [0.0, -8.0])])
    curb = Line(id=1, points=np.array([[-20.0, -5.0], [40.0, -5.0]]), type="curbstone", subtype="low")
    return Scene(
        tracks=Tracks(
            time_s=time_s,
            xy=xy,
            heading=np.stack([np.zeros(21), np.full(21, -np.pi / 2)]),
            velocity=velocity,
            observed=np.ones((2, 21), dtype=bool),
            size=np.full((2, 2), [4.5, 1.8]),
            kind=np.full(2, AgentKind.CAR),
            ids=np.array(["a", "b"]),
        ),
        road=LaneMap(name="test", lanes={}, lines=(curb,)),
        provenance=Provenance(dataset="test", recording="two"),
    )


def written(page, tmp_path, document, name="replay with späces.html"):
    """The page of a document, opened."""
    file = tmp_path / name
    file.write_text(replay_page(document), encoding="utf-8")
    page.goto(file.as_uri())
    return page


@pytest.fixture
def replay(page, tmp_path):
    document = replay_document(
        two_cars(), title="Two <cars>", ego="a", events=[Event(time_s=1.0, label="close", kind="contact")]
    )
    return written(page, tmp_path, document)


def ink(page) -> int:
    """Number of distinct colors on the canvas: 1 means that nothing was drawn."""
    return page.evaluate(
        """() => { const c = document.querySelector('canvas');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const s = new Set();
        for (let i = 0; i < d.length; i += 4) s.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]); return s.size; }"""
    )


def test_page_draws_and_asks_nobody_for_anything(replay):
    assert replay.problems == []
    assert all(url.startswith("file:") for url in replay.requests)
    assert ink(replay) > 5
    assert replay.locator(".gw-title").inner_text() == "Two <cars>"


def test_the_timeline_moves_time_and_picture(replay):
    before = replay.locator("canvas").screenshot()
    box = replay.locator(".gw-time").bounding_box()
    replay.mouse.click(box["x"] + 8 + 0.75 * (box["width"] - 24), box["y"] + 16)
    assert replay.evaluate("window.givewayPlayer.time") == pytest.approx(1.5, abs=0.01)
    assert replay.locator("canvas").screenshot() != before


def test_playing_reaches_the_end_and_stops(replay):
    replay.select_option("select", "4")
    replay.get_by_role("button", name="Play").click()
    for _ in range(200):
        if not replay.evaluate("window.givewayPlayer.playing"):
            break
        replay.wait_for_timeout(50)
    assert replay.evaluate("window.givewayPlayer.time") == pytest.approx(2.0)
    replay.get_by_role("button", name="Play").wait_for()


def test_following_keeps_the_ego_in_the_center(replay):
    replay.get_by_role("button", name="Follow").click()
    for time in (0.0, 1.2):
        replay.evaluate(f"window.givewayPlayer.seek({time})")
        hit = replay.evaluate(
            "() => { const c = document.querySelector('canvas');"
            " return window.givewayPlayer.pick(c.clientWidth / 2, c.clientHeight / 2)?.agent.id; }"
        )
        assert hit == "a"


def tip_at(replay, time: float, agent: str) -> str:
    """What hovering over a road user shows."""
    x, y = replay.evaluate(
        """([time, agent]) => {
          const player = window.givewayPlayer, canvas = document.querySelector("canvas");
          player.select(agent === "a" ? null : agent);
          player.show({ frame: "ego" });
          player.seek(time);
          const box = canvas.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }""",
        [time, agent],
    )
    replay.mouse.move(0, 0)
    replay.mouse.move(x, y)
    return replay.locator(".gw-tip").inner_text()


@pytest.mark.parametrize("time", [0.0, 1.95, 2.0])
def test_hovering_tells_the_speed_to_the_last_frame(replay, time):
    assert tip_at(replay, time, "a") == "a (car)\n10.0 m/s"
    assert tip_at(replay, time, "b") == "b (car)\n8.0 m/s"


def test_the_speed_of_somebody_seen_only_once_is_not_invented(page, tmp_path):
    scene = two_cars()
    observed = scene.tracks.observed.copy()
    observed[1, 1:] = False
    once = replace(scene, tracks=replace(scene.tracks, observed=observed))
    written(page, tmp_path, replay_document(once, ego="a", speeds=False))
    assert tip_at(page, 0.0, "b") == "b (car)"


def test_keyboard_steps_and_plays(replay):
    replay.locator("canvas").focus()
    replay.keyboard.press("ArrowRight")
    replay.keyboard.press("ArrowRight")
    assert replay.evaluate("window.givewayPlayer.time") == pytest.approx(0.2)
    replay.keyboard.press("Shift+ArrowRight")
    assert replay.evaluate("window.givewayPlayer.time") == pytest.approx(1.2)
    replay.keyboard.press("[")
    assert replay.evaluate("window.givewayPlayer.time") == pytest.approx(1.0), "the event before"
    replay.keyboard.press("End")
    assert replay.evaluate("window.givewayPlayer.time") == pytest.approx(2.0)


def test_a_newer_format_is_refused_in_words(page, tmp_path):
    document = {**replay_document(two_cars()), "version": 99}
    file = tmp_path / "new.html"
    file.write_text(replay_page(document), encoding="utf-8")
    page.goto(file.as_uri())
    assert "newer than this player" in page.get_by_role("alert").inner_text()


@pytest.fixture
def thinking(page, tmp_path):
    """Car b thinks about a at every second frame."""
    thought = {
        "agent": "b",
        "partner": "a",
        "area": [0.0, 1.0, 0.0, -1.0],
        "ghost": [3.0, 0.0, 1.0, 0.0, 5.0, 0.0],
        "actions": [-1.0, 0.0, 1.0],
        "p": [0.9, 0.5, 0.2],
        "advantage": [0.02, 0.0, -0.01],
        "threshold": 0.01,
        "action": -1.0,
        "sentence": "b expects a to go first (0.50); slows, \N{MINUS SIGN}1.0 m/s²",
    }
    document = {
        **replay_document(two_cars(), ego="a"),
        "minds": [{**thought, "frame": frame} for frame in range(0, 12, 2)],
    }
    file = tmp_path / "minds.html"
    file.write_text(replay_page(document), encoding="utf-8")
    page.goto(file.as_uri())
    return page


def test_a_mind_is_shown_when_its_car_is_selected(thinking):
    panel = thinking.locator(".gw-mind")
    assert "click a car with a mind: b" in panel.inner_text()
    thinking.locator("canvas").focus()
    thinking.keyboard.press("m")
    assert "b expects a to go first" in panel.inner_text()
    assert panel.locator("rect").count() == 3
    assert panel.locator("circle.gw-chosen").count() == 1
    thinking.evaluate("window.givewayPlayer.seek(1.5)")
    assert "b thinks about nobody now" in panel.inner_text()
    assert panel.locator("svg").count() == 0
    assert thinking.problems == []


def test_a_replay_without_minds_has_no_panel(replay):
    assert replay.locator(".gw-mind").count() == 0


# What a drive is shown with.


def drive_scene() -> tuple[Scene, Tracks]:
    """The ego, a car from the right that it meets at 5 s, a bystander; and the recording with a slower human."""
    time_s = np.arange(101) * 0.1
    xy = np.zeros((3, 101, 2))
    xy[0, :, 0] = -40 + 8 * time_s
    xy[1, :, 1] = -52 + 10 * time_s
    xy[2] = (60.0, 30.0)
    velocity = np.zeros((3, 101, 2))
    velocity[0, :, 0], velocity[1, :, 1] = 8.0, 10.0
    tracks = replace(
        two_cars().tracks,
        time_s=time_s,
        xy=xy,
        velocity=velocity,
        heading=np.stack([np.zeros(101), np.full(101, np.pi / 2), np.zeros(101)]),
        observed=np.ones((3, 101), dtype=bool),
        size=np.full((3, 2), [4.5, 1.8]),
        kind=np.full(3, AgentKind.CAR),
        ids=np.array(["1", "7", "9"]),
    )
    human = xy.copy()
    human[0, :, 0] = -40 + 5 * time_s
    slower = velocity.copy()
    slower[0, :, 0] = 5.0
    return replace(two_cars(), tracks=tracks), replace(tracks, xy=human, velocity=slower)


def drive(name: str = "oracle", *, contact: bool = True) -> dict:
    scene, recorded = drive_scene()
    fans = [
        Fan(frame=k, agent_id="7", kind="prediction", xy=_ahead(scene, k), probability=np.array([0.7, 0.3]))
        for k in range(100)
    ]
    return replay_document(
        scene,
        title="Crossing",
        ego="1",
        roles={"7": "prio"},
        labels={"1": "ego"},
        events=[
            Event(time_s=2.0, label="9 driven from here on", kind="handover"),
            Event(time_s=5.0, label="1 and 7 collide, 12.8 m/s", kind="contact" if contact else "note"),
        ],
        fans=fans,
        story=Story(
            name=name,
            encounter=Encounter(time_s=5.0, kind="contact" if contact else "closest approach", partner="7"),
            verdict=Verdict(text="contact, at fault" if contact else "gave way, smallest gap 2.0 m", bad=contact),
            recorded=recorded,
            drivers={"1": "ego", "7": "reactive", "9": "replay"},
            handed_over={"9": 20},
            cruise_mps=8.0,
            role_names={"prio": "car with priority"},
        ),
    )


def _ahead(scene: Scene, k: int) -> np.ndarray:
    now = scene.tracks.xy[1, k]
    straight = now + np.arange(7)[:, None] * np.array([0.0, 5.0])
    return np.stack([straight, np.repeat(now[None], 7, axis=0)])


def test_the_clock_is_zero_at_the_event_and_starts_three_seconds_before(page, tmp_path):
    written(page, tmp_path, drive())
    slider = page.get_by_role("slider", name="Time")
    assert (slider.get_attribute("aria-valuemin"), slider.get_attribute("aria-valuemax")) == ("-3.0", "1.0")
    assert page.evaluate("window.givewayPlayer.time") == pytest.approx(2.0)
    page.get_by_role("button", name="Whole drive").click()
    assert (slider.get_attribute("aria-valuemin"), slider.get_attribute("aria-valuemax")) == ("-5.0", "5.0")
    page.get_by_role("button", name="Whole drive").click()
    slider.focus()
    page.keyboard.press("e")
    assert page.evaluate("window.givewayPlayer.time") == pytest.approx(5.0)
    assert slider.get_attribute("aria-valuetext").startswith("0.0 s. ego 8.0 m/s, car 7 10.0 m/s, gap 0.0 m")
    assert page.problems == []


@pytest.mark.parametrize("width", [360, 390, 768, 1400])
def test_cars_are_large_at_every_width_and_nothing_sticks_out(browser, tmp_path, width):
    context = browser.new_context(viewport={"width": width, "height": 844})
    page = context.new_page()
    written(page, tmp_path, drive())
    for time in (2.0, 3.5, 5.0, 6.0):
        page.evaluate(f"window.givewayPlayer.seek({time})")
        assert 4.5 * page.evaluate("window.givewayPlayer.stage.scale") >= 36
        x, y = page.evaluate("window.givewayPlayer.stage.where('1')")
        size = page.locator("canvas").bounding_box()
        assert 0 < x < size["width"] and 0 < y < size["height"], "the ego is always in the picture"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_the_camera_stands_still_where_the_encounter_fits(page, tmp_path):
    written(page, tmp_path, drive())
    page.evaluate("window.givewayPlayer.seek(3.0)")
    before = page.evaluate("window.givewayPlayer.stage.where('9')")
    page.evaluate("window.givewayPlayer.seek(5.5)")
    assert page.evaluate("window.givewayPlayer.stage.where('9')") == pytest.approx(before)


def test_the_legend_names_what_is_there(page, tmp_path):
    written(page, tmp_path, drive())
    items = page.locator(".gw-legend li").all_inner_texts()
    assert items[:2] == ["ego", "car with priority"]
    assert any("handed over" in item for item in items) and any("recorded human" in item for item in items)
    assert any("prediction" in item for item in items)
    assert not any("pedestrian" in item or "mind" in item or item == "plan" for item in items)
    before = page.locator("canvas").screenshot()
    page.get_by_role("button", name="prediction").click()
    assert page.locator("canvas").screenshot() != before, "predictions can be hidden"


def colors_on_canvas(page) -> set[str]:
    found = page.evaluate(
        """() => {
          const c = document.querySelector('canvas'), s = {};
          const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
          for (let i = 0; i < d.length; i += 4) {
            const k = (d[i] << 16) | (d[i + 1] << 8) | d[i + 2];
            s[k] = (s[k] || 0) + 1;
          }
          const often = Object.entries(s).filter(([, n]) => n > 40);
          return often.map(([k]) => '#' + Number(k).toString(16).padStart(6, '0'));
        }"""
    )
    return set(found)


def test_one_theme_for_page_and_canvas_and_paper_is_light(browser, tmp_path):
    for scheme in ("light", "dark"):
        context = browser.new_context(viewport={"width": 900, "height": 800}, color_scheme=scheme)
        page = context.new_page()
        written(page, tmp_path, drive())
        page.evaluate("window.givewayPlayer.seek(3.5)")
        assert {colors(scheme)["ego"], colors(scheme)["prio"]} <= colors_on_canvas(page)
        other = "dark" if scheme == "light" else "light"
        page.locator("#theme").click()
        page.wait_for_timeout(50)
        assert page.evaluate("document.documentElement.dataset.theme") == other
        assert {colors(other)["ego"], colors(other)["prio"]} <= colors_on_canvas(page)
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert colors("light")["ego"] in colors_on_canvas(page)
        context.close()


def test_plots_share_the_cursor_and_show_human_cruise_and_bound(page, tmp_path):
    written(page, tmp_path, drive())
    heads = page.locator(".gw-plots h3").all_inner_texts()
    assert [head.split("\n")[0] for head in heads] == ["Speed", "Acceleration", "Gap to car 7", "Time to collision"]
    assert "cruise" in page.locator(".gw-plots").inner_text() and "human" in page.locator(".gw-plots").inner_text()
    assert "0.95 s" in page.locator(".gw-card").nth(3).inner_text()
    page.evaluate("window.givewayPlayer.seek(4.0)")
    at = page.evaluate(
        "[...document.querySelectorAll('.gw-plots line.gw-cursor')].map((l) => l.getAttribute('transform'))"
    )
    assert len(at) == 4
    page.evaluate("window.givewayPlayer.seek(4.5)")
    moved = page.evaluate(
        "[...document.querySelectorAll('.gw-plots line.gw-cursor')].map((l) => l.getAttribute('transform'))"
    )
    assert all(a != b for a, b in zip(at, moved, strict=True))
    page.set_viewport_size({"width": 700, "height": 800})
    page.wait_for_timeout(150)
    cursors = "[...document.querySelectorAll('.gw-plots line.gw-cursor')].map((l) => l.getAttribute('transform'))"
    assert all(page.evaluate(cursors)), "a redrawn plot has its cursor"
    assert page.locator(".gw-time .gw-cursor text").text_content() == "−0.5 s"


def test_gap_and_time_to_collision_are_those_of_python(page, tmp_path):
    written(page, tmp_path, drive())
    scene, _ = drive_scene()
    boxes = footprints(scene.tracks)
    gap = distance(boxes.take(0), boxes.take(1))
    ttc = time_to_overlap(boxes.take(0), boxes.take(1), scene.tracks.velocity[0], scene.tracks.velocity[1])
    shown = page.evaluate(
        "(() => { const s = window.givewayPlayer.slots[0].series.driven;"
        " return [[...s.gap], [...s.ttc].map((v) => (v === Infinity ? -1 : v))]; })()"
    )
    assert np.array(shown[0]) == pytest.approx(gap, abs=0.02)
    assert np.array(shown[1]) == pytest.approx(np.where(np.isinf(ttc), -1.0, ttc), abs=0.01)
    assert np.isfinite(ttc).any() and np.isinf(ttc).any()


def test_two_drives_on_one_clock_can_be_chosen(page, tmp_path):
    documents = [drive("echo"), drive("oracle", contact=False), drive("constant_velocity", contact=False)]
    written(page, tmp_path, side_by_side(documents))
    assert page.locator("canvas").count() == 2
    assert page.locator(".gw-badge").all_inner_texts() == ["✕ contact, at fault", "gave way, smallest gap 2.0 m"]
    page.get_by_label("Drive B").select_option("2")
    assert page.get_by_label("Drive B").locator("option:checked").inner_text() == "constant_velocity"
    page.evaluate("window.givewayPlayer.seek(4.0)")
    assert page.get_by_role("slider").get_attribute("aria-valuetext").count("ego 8.0 m/s") == 2
    page.get_by_role("button", name="Close B").click()
    assert page.locator("canvas").count() == 1
    page.get_by_role("button", name="Compare").click()
    assert page.locator("canvas").count() == 2
    assert page.problems == []


def test_clicking_a_car_shows_its_recording(page, tmp_path):
    document = drive()
    for agent in document["agents"]:
        if agent["id"] == "7":
            agent["recorded"] = [{**agent["segments"][0], "x": [500, *agent["segments"][0]["x"][1:]]}]
    written(page, tmp_path, document)
    page.evaluate("window.givewayPlayer.seek(4.0)")
    before = page.locator("canvas").screenshot()
    box = page.locator("canvas").bounding_box()
    x, y = page.evaluate("window.givewayPlayer.stage.where('7')")
    page.mouse.click(box["x"] + x, box["y"] + y)
    assert page.evaluate("window.givewayPlayer.state.selected") == "7"
    assert page.locator("canvas").screenshot() != before
    assert "its recording is dashed" in page.locator("[aria-live]").last.inner_text()


def test_version_1_still_plays(page, tmp_path):
    old = drive()
    for name in ("encounter", "story", "name", "verdict", "cruise", "roleNames", "speedUnit", "notice"):
        old.pop(name, None)
    for agent in old["agents"]:
        agent["role"] = "rated" if agent["role"] == "prio" else agent["role"]
        for name in ("recorded", "driver", "handedOver"):
            agent.pop(name, None)
        for piece in agent["segments"]:
            piece.pop("v")
    for name in ("arrows", "teeth"):
        old["map"].pop(name)
    old["events"] = [{"time": 5.0, "label": "hit", "kind": "collision"}]
    written(page, tmp_path, {**old, "version": 1})
    assert page.problems == []
    assert page.get_by_role("slider").get_attribute("aria-valuemin") == "-3.0"
    assert page.evaluate("window.givewayPlayer.data.partner.id") == "7"
    page.evaluate("window.givewayPlayer.seek(4.0)")
    assert page.evaluate("window.givewayPlayer.sentence()").startswith("−1.0 s. ego 8.0 m/s, car 7 10.0 m/s")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_no_serious_accessibility_violation(browser, tmp_path, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    written(page, tmp_path, side_by_side([drive("echo"), drive("oracle", contact=False)]))
    page.locator("summary").first.click()
    found = axe.Axe().run(page).response["violations"]
    assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []
    context.close()
