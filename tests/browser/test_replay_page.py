from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from giveway.core.lanes import LaneMap, Line
from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.reports.player.document import Event, replay_document
from giveway.reports.rendering import replay_page

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


@pytest.fixture
def replay(page, tmp_path):
    document = replay_document(
        two_cars(), title="Two <cars>", ego="a", events=[Event(time_s=1.0, label="close", kind="collision")]
    )
    file = tmp_path / "replay with späces.html"
    file.write_text(replay_page(document), encoding="utf-8")
    page.goto(file.as_uri())
    return page


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


def test_scrubbing_moves_time_and_picture(replay):
    before = replay.locator("canvas").screenshot()
    replay.locator("input[type=range]").fill("15")
    assert replay.evaluate("window.givewayPlayer.time") == pytest.approx(1.5)
    assert "1.5 s of 2.0 s" in replay.locator(".gw-time").inner_text()
    assert replay.locator("canvas").screenshot() != before


def test_playing_reaches_the_end_and_stops(replay):
    replay.select_option("select", "4")
    replay.get_by_role("button", name="Play").click()
    replay.locator(".gw-time", has_text="2.0 s of 2.0 s").wait_for()
    replay.get_by_role("button", name="Play").wait_for()
    assert not replay.evaluate("window.givewayPlayer.playing")


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
          player.show({ frame: "ego", ego: agent });
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
    document = replay_document(replace(scene, tracks=replace(scene.tracks, observed=observed)), ego="a")
    file = tmp_path / "once.html"
    file.write_text(replay_page(document), encoding="utf-8")
    page.goto(file.as_uri())
    assert tip_at(page, 0.0, "b") == "b (car)"


def test_keyboard_steps_and_plays(replay):
    replay.locator("canvas").focus()
    replay.keyboard.press("ArrowRight")
    replay.keyboard.press("ArrowRight")
    assert replay.evaluate("window.givewayPlayer.time") == pytest.approx(0.2)
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
    thinking.locator("input[type=range]").fill("15")
    assert "b thinks about nobody now" in panel.inner_text()
    assert panel.locator("svg").count() == 0
    assert thinking.problems == []


def test_a_replay_without_minds_has_no_panel(replay):
    assert replay.locator(".gw-mind").count() == 0
