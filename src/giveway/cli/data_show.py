"""``giveway data show``: a picture and an animated replay of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import typer

from giveway.cli.output import print_json
from giveway.core.errors import EmptySelectionError, UnknownNameError, UsageError
from giveway.core.files import write_text
from giveway.core.scene import Scene
from giveway.data.protocol import Recording

MAX_REPLAY_HZ = 10.0
"""Replays are thinned to this rate; the player interpolates between."""


def show(
    dataset: str = typer.Option(..., "--dataset", "-d", help="Name of the dataset; see 'giveway data list'."),
    root: Path = typer.Option(..., "--root", "-r", help="Folder that holds the recordings."),
    recording: str | None = typer.Option(None, "--recording", help="Which recording; the first one by default."),
    scene: int = typer.Option(0, "--scene", min=0, help="Which scene (trial, case) of the recording, from 0."),
    out: Path = typer.Option(Path("show"), "--out", "-o", help="Folder for picture and replay."),
    start_s: float | None = typer.Option(
        None, "--start", help="Start of the replay [s]; the busiest minute by default."
    ),
    duration_s: float = typer.Option(60.0, "--duration", min=0.1, help="Length of the replay [s]."),
    ego: str | None = typer.Option(None, "--ego", help="Follow the road user with this id."),
    accept_implausible: bool = typer.Option(
        False, "--accept-implausible", help="Draw a recording whose columns contradict one another."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Draw map and tracks to a PNG and write a replay that opens in a browser."""
    from giveway.data import DATASETS
    from giveway.reports.drawing import draw_scene
    from giveway.reports.player.document import replay_document
    from giveway.reports.rendering import replay_page

    adapter = DATASETS.get(dataset)
    chosen = replace(_choose(adapter.recordings(root), recording), accept_implausible=accept_implausible)
    shown = next(islice(adapter.scenes(chosen), scene, None), None)
    if shown is None:
        count = sum(1 for _ in adapter.scenes(chosen))
        raise EmptySelectionError(
            f"recording {chosen.id!r} has no scene {scene}", found=f"{count} scenes", hint=f"--scene 0 to {count - 1}"
        )
    if ego is not None and ego not in shown.tracks.ids:
        raise UsageError(
            f"no road user {ego!r} in this scene",
            where=chosen.id,
            found=f"ids {', '.join(shown.tracks.ids[:8])} ...",
            hint="leave --ego out and click a road user in the replay",
        )
    name = "_".join([dataset, *chosen.id.replace("/", " ").split()]) + (f"_{scene}" if scene else "")
    title = f"{adapter.info.title}: {chosen.id}" + (f" ({shown.location})" if shown.location not in chosen.id else "")
    first, last, every = _window(shown, start_s, duration_s)
    picture, replay = out / f"{name}.png", out / f"{name}.html"
    draw_scene(shown, picture, title=title)
    document = replay_document(shown, title=title, ego=ego, start=first, stop=last, every=every)
    write_text(replay, replay_page(document, options={"frame": "ego" if ego else "map"}))
    if as_json:
        print_json(
            {
                "ok": True,
                "recording": chosen.id,
                "scene": scene,
                "num_tracks": shown.tracks.num_agents,
                "num_frames": shown.tracks.num_instants,
                "picture": picture,
                "replay": replay,
            }
        )
    else:
        tracks = shown.tracks
        typer.echo(f"{chosen.id}: {tracks.num_agents} tracks, {tracks.time_s[-1] - tracks.time_s[0]:.1f} s")
        typer.echo(f"picture  {picture}")
        typer.echo(f"replay   {replay}   (open in a browser)")


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
