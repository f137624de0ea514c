"""What a notebook shows of tracks, scenes and samples: drawn inline, and small."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np

import giveway as gw
from giveway.core.scene import Provenance

MAX_BYTES = 300_000


def crowd(agents: int, instants: int) -> gw.Tracks:
    rng = np.random.default_rng(1)
    time_s = 0.1 * np.arange(instants)
    heading = np.repeat(rng.uniform(-3.0, 3.0, (agents, 1)), instants, axis=1)
    velocity = 8.0 * np.stack([np.cos(heading), np.sin(heading)], axis=-1)
    return gw.Tracks(
        time_s=time_s,
        xy=rng.uniform(-50.0, 50.0, (agents, 1, 2)) + velocity * time_s[:, None],
        heading=heading,
        velocity=velocity,
        observed=np.ones((agents, instants), dtype=np.bool_),
        size=np.full((agents, 2), (4.5, 1.8)),
        kind=np.full(agents, int(gw.AgentKind.CAR), dtype=np.int64),
        ids=np.arange(agents).astype(str),
    )


def scene_of(tracks: gw.Tracks) -> gw.Scene:
    return gw.Scene(tracks=tracks, provenance=Provenance(dataset="testing", recording="crowd"))


def drawn(html: str) -> ET.Element:
    found = re.search(r"<svg.*</svg>", html)
    assert found is not None
    return ET.fromstring(found.group())


def test_a_hundred_agents_for_a_minute_stay_small() -> None:
    tracks = crowd(100, 601)
    assert len(tracks._repr_html_()) < MAX_BYTES / 3
    shown = scene_of(tracks)._repr_html_()
    assert len(shown) < MAX_BYTES
    assert "first 20 s" in shown


def test_few_agents_are_shown_for_a_minute() -> None:
    assert not re.search(r", first \d+ s", scene_of(crowd(3, 601))._repr_html_())
    assert "first 60 s" in scene_of(crowd(3, 900))._repr_html_()


def test_every_observed_agent_is_one_path_north_up() -> None:
    tracks = crowd(4, 20)
    hidden = replace(tracks, observed=tracks.observed & (np.arange(4) != 2)[:, None])
    picture = drawn(hidden._repr_html_())
    assert len(picture.findall("polyline")) == len(picture.findall("circle")) == 3
    north = replace(tracks, xy=np.broadcast_to(np.arange(20.0)[:, None] * (0.0, 1.0), (4, 20, 2)).copy())
    ends = [point.split(",")[1] for point in str(drawn(north._repr_html_())[0].get("points")).split()]
    assert float(ends[0]) > float(ends[-1])  # SVG counts downwards


def test_tracks_of_nobody_are_described() -> None:
    empty = replace(crowd(2, 5), observed=np.zeros((2, 5), dtype=np.bool_))
    assert empty._repr_html_() == "<p>Tracks(2 agents, 5 instants, 0.4 s)</p>"


def test_showing_a_value_imports_no_drawing_library() -> None:
    code = (
        "import sys, numpy as np, giveway as gw\n"
        "t = gw.Tracks(time_s=np.arange(2.0), xy=np.zeros((1, 2, 2)), heading=np.zeros((1, 2)),"
        " velocity=np.zeros((1, 2, 2)), observed=np.ones((1, 2), bool), size=np.ones((1, 2)),"
        " kind=np.zeros(1, int), ids=np.array(['a']))\n"
        "assert '<svg' in t._repr_html_()\n"
        "print([m for m in ('matplotlib', 'numba', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
