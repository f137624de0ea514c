"""A picture and an animated replay of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from giveway.core.errors import EmptySelectionError, UnknownNameError, UsageError
from giveway.core.files import write_text
from giveway.core.scene import Scene
from giveway.data import DATASETS
from giveway.data.protocol import Recording
from giveway.reports.drawing import draw_scene
from giveway.reports.player.document import replay_document
from giveway.reports.rendering import replay_page

MAX_REPLAY_HZ = 10.0
"""Replays are thinned to this rate; the player interpolates between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRecording:
    """Files that show a scene, and what is in it."""

    recording: str
    scene: int
    num_tracks: int
    num_frames: int
    duration_s: float
    picture: Path
    replay: Path


def show_recording(
    dataset: str,
    folder: Path,
    out: Path,
    *,
    recording: str | None = None,
    scene: int = 0,
    start_s: float | None = None,
    duration_s: float = 60.0,
    follow: str | None = None,
    accept_implausible: bool = False,
) -> ShownRecording:
    """Draw map and tracks of a scene to a PNG file and write a replay that opens in a browser.

    Args:
        dataset: registered name.
        folder: with the recordings.
        out: folder for the two files.
        recording: which one; the first by default.
        scene: of the recording, from 0.
        start_s: start of the replay; the busiest stretch of its length by default.
        duration_s: length of the replay.
        follow: id of the road user to follow.
        accept_implausible: take a recording whose columns contradict one another.

    Raises:
        EmptySelectionError: no such scene, or nothing recorded after the start.
        UnknownNameError, UsageError: no such recording or road user.
    """
    adapter = DATASETS.get(dataset)
    chosen = replace(_choose(adapter.recordings(folder), recording), accept_implausible=accept_implausible)
    shown = next(islice(adapter.scenes(chosen), scene, None), None)
    if shown is None:
        count = sum(1 for _ in adapter.scenes(chosen))
        raise EmptySelectionError(
            f"recording {chosen.id!r} has no scene {scene}", found=f"{count} scenes", hint=f"--scene 0 to {count - 1}"
        )
    if follow is not None and follow not in shown.tracks.ids:
        raise UsageError(
            f"no road user {follow!r} in this scene",
            where=chosen.id,
            found=f"ids {', '.join(shown.tracks.ids[:8])} ...",
            hint="leave --follow out and click a road user in the replay",
        )
    name = "_".join([dataset, *chosen.id.replace("/", " ").split()]) + (f"_{scene}" if scene else "")
    title = f"{adapter.info.title}: {chosen.id}" + (f" ({shown.location})" if shown.location not in chosen.id else "")
    first, last, every = _window(shown, start_s, duration_s)
    picture, replay = out / f"{name}.png", out / f"{name}.html"
    draw_scene(shown, picture, title=title)
    document = replay_document(shown, title=title, ego=follow, start=first, stop=last, every=every)
    write_text(replay, replay_page(document, options={"frame": "ego" if follow else "map"}))
    tracks = shown.tracks
    return ShownRecording(
        recording=chosen.id,
        scene=scene,
        num_tracks=tracks.num_agents,
        num_frames=tracks.num_instants,
        duration_s=float(tracks.time_s[-1] - tracks.time_s[0]),
        picture=picture,
        replay=replay,
    )


def _choose(recordings: Sequence[Recording], wanted: str | None) -> Recording:
    if wanted is None:
        return recordings[0]
    for candidate in recordings:
        if candidate.id == wanted:
            return candidate
    raise UnknownNameError("recording", wanted, [r.id for r in recordings])


def _window(scene: Scene, start_s: float | None, duration_s: float) -> tuple[int, int, int]:
    """First instant, instant after the last, and thinning of the replay."""
    tracks = scene.tracks
    time_s = tracks.time_s
    if start_s is None:
        busy = np.concatenate([[0], np.cumsum(tracks.observed.sum(axis=0))])
        ends = np.searchsorted(time_s, time_s + duration_s, side="right")
        first = int((busy[ends] - busy[: time_s.size]).argmax())
    else:
        first = int(np.searchsorted(time_s, start_s))
    if first >= time_s.size:
        raise EmptySelectionError(
            f"nothing recorded after {start_s} s",
            found=f"instants from {time_s[0]:.1f} s to {time_s[-1]:.1f} s",
            hint="choose an earlier --start",
        )
    last = int(np.searchsorted(time_s, time_s[first] + duration_s, side="right"))
    every = max(1, round(1 / (MAX_REPLAY_HZ * tracks.dt_s))) if tracks.num_instants > 1 else 1
    return first, last, every
