"""Replays inside a notebook: the player's page in a frame of its own, which may run scripts and nothing else."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import numpy as np

from giveway.core.scene import Scene
from giveway.reports.player.document import replay_document
from giveway.reports.rendering import replay_page

HEIGHT_PX = 720
MAX_SECONDS = 60.0
"""A longer scene is shown from its start for this long; a whole recording would make a notebook of many megabytes."""
RATE_HZ = 10.0
"""Denser recordings are thinned to this rate."""
MAX_STATES = 20_000
"""Shown states of all agents together; 100 agents are shown for 20 s, so that a replay stays below 300 kB."""


def replay_frame(document: Mapping[str, Any]) -> str:
    """An ``<iframe>`` that holds the whole page; the sandbox keeps its scripts away from the notebook."""
    page = html.escape(replay_page(document), quote=True)
    return (
        f'<iframe sandbox="allow-scripts" style="width: 100%; height: {HEIGHT_PX}px; border: 1px solid #ccc" '
        f'srcdoc="{page}"></iframe>'
    )


def scene_html(scene: Scene) -> str:
    """The replay of a scene; its short description where there is nothing to show."""
    tracks = scene.tracks
    if not tracks.observed.any():
        return f"<p>{html.escape(repr(scene))}</p>"
    dt = tracks.dt_s if tracks.num_instants > 1 else 1.0 / RATE_HZ
    every = max(1, round(1.0 / (RATE_HZ * dt)))
    stop = min(tracks.num_instants, round(MAX_SECONDS / dt) + 1)
    states = np.cumsum(tracks.observed.sum(axis=0)) / every
    stop = min(stop, max(int(np.searchsorted(states, MAX_STATES)), 2))
    title = repr(scene) if stop == tracks.num_instants else f"{scene!r}, first {(stop - 1) * dt:.0f} s"
    ego = scene.attributes.get("ego")
    name = None if ego is None else str(ego)
    return replay_frame(replay_document(scene, title=title, ego=name, speeds=False, stop=stop, every=every))
