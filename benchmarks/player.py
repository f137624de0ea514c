"""Frame times of the player with 60 road users, in Chromium: python benchmarks/player.py [--seconds 5].

With and without a map, and two drives. ``work_ms`` is what a frame costs in the page (drawing and moving cursors,
measured around the clock's callback); ``frame_ms`` is the time between frames, which the browser bounds from below at
16.7 ms. 60 fps count as held from 58 on, which needs a quiet machine: Chromium draws in several processes, and on the
processor where there is no graphics card.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.reports.player.document import Event, Fan, Story, replay_document, side_by_side
from giveway.reports.player.encounter import Encounter
from giveway.reports.rendering import replay_page

AGENTS, SECONDS, BUDGET_MS = 60, 20.0, 1000 / 60
MEASURE = """(seconds) => new Promise((resolve) => {
  const player = window.givewayPlayer, work = [], between = [];
  const real = window.requestAnimationFrame.bind(window);
  let last = 0;
  window.requestAnimationFrame = (go) => real((now) => {
    if (last) between.push(now - last);
    last = now;
    const from = performance.now();
    go(now);
    work.push(performance.now() - from);
  });
  if (player.clock.range[1] - player.clock.time < seconds) document.querySelector('[title*="(W)"]').click();
  player.seek(0);
  player.play();
  setTimeout(() => { player.pause(); resolve({ work, between }); }, seconds * 1000);
})"""


def crowd() -> Scene:
    """Sixty cars on circles of different radius, on a map of the house."""
    from giveway.drive.bundled import bundled_set

    cases, scenes = bundled_set()
    road = scenes.scene_of(next(c for c in cases if c.id.startswith("roundabout"))).road
    time_s = np.arange(round(SECONDS * 10) + 1) / 10
    rng = np.random.default_rng(0)
    radius, phase = rng.uniform(8, 60, AGENTS)[:, None], rng.uniform(0, 2 * np.pi, AGENTS)[:, None]
    speed = rng.uniform(4, 12, AGENTS)[:, None]
    angle = phase + speed / radius * time_s
    xy = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    heading = angle + np.pi / 2
    tracks = Tracks(
        time_s=time_s,
        xy=xy,
        heading=heading,
        velocity=speed[..., None] * np.stack([np.cos(heading), np.sin(heading)], axis=-1),
        observed=np.ones(angle.shape, dtype=bool),
        size=np.full((AGENTS, 2), [4.5, 1.8]),
        kind=np.full(AGENTS, AgentKind.CAR),
        ids=np.array([str(i) for i in range(AGENTS)]),
    )
    return Scene(tracks=tracks, road=road, provenance=Provenance(dataset="benchmark", recording="crowd"))


def document(scene: Scene, name: str) -> dict[str, Any]:
    """A drive with plots, a ghost, and five predicted cars with six modes each at every instant."""
    tracks = scene.tracks
    ahead = np.arange(7)[None, :, None] * np.linspace(0.25, 0.5, 6)[:, None, None]
    fans = [
        Fan(
            frame=k,
            agent_id=str(i),
            kind="prediction",
            xy=tracks.xy[i, k] + ahead * tracks.velocity[i, k],
            probability=np.full(6, 1 / 6),
        )
        for k in range(tracks.num_instants)
        for i in range(1, 6)
    ]
    recorded = replace(tracks, xy=tracks.xy + 1.0)
    return replay_document(
        scene,
        title="60 road users",
        ego="0",
        roles={"1": "prio"},
        events=[Event(time_s=SECONDS / 2, label="event", kind="note")],
        fans=fans,
        story=Story(
            name=name,
            encounter=Encounter(time_s=SECONDS / 2, kind="closest approach", partner="1"),
            recorded=recorded,
            cruise_mps=8.0,
        ),
    )


def summary(found: dict[str, list[float]]) -> dict[str, Any]:
    """Quantiles of the work and of the time between frames."""
    work, between = np.array(found["work"]), np.array(found["between"])
    p95 = float(np.quantile(work, 0.95))
    return {
        "frames": int(work.size),
        "work_ms": {"median": round(float(np.median(work)), 2), "p95": round(p95, 2)},
        "frame_ms": {"median": round(float(np.median(between)), 2)},
        "fps": round(1000 / float(between.mean()), 1),
        "work_of_budget": round(p95 / BUDGET_MS, 3),
        "holds_60_fps": float(between.mean()) < 1000 / 58,
    }


def main() -> int:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    seconds = parser.parse_args().seconds
    from playwright.sync_api import sync_playwright

    scene = crowd()
    one, two = document(scene, "A"), document(scene, "B")
    pages = {"one drive": one, "without a map": {**one, "map": None}, "two drives": side_by_side([one, two])}
    result: dict[str, Any] = {"agents": AGENTS, "budget_ms": round(BUDGET_MS, 2)}
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        path = next(p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for name, content in pages.items():
            file = Path(folder) / "page.html"
            file.write_text(replay_page(content), encoding="utf-8")
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.goto(file.as_uri())
            result[name] = summary(page.evaluate(MEASURE, seconds)) | {"bytes": file.stat().st_size}
            page.close()
        browser.close()
    json.dump(result, sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
