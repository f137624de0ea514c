"""Tracks of a failure as a table, and back."""

from __future__ import annotations

import numpy as np
import polars as pl

from giveway.core.tracks import Tracks

TICK_S = 0.1
COLUMNS = ("x", "y", "heading", "vx", "vy")


def frame_of(tracks: Tracks) -> pl.DataFrame:
    """One row per car and instant at which it is there."""
    car, tick = np.nonzero(tracks.observed)
    return pl.DataFrame(
        {
            "car": tracks.ids[car],
            "tick": tick.astype(np.int32),
            "x": tracks.xy[car, tick, 0],
            "y": tracks.xy[car, tick, 1],
            "heading": tracks.heading[car, tick],
            "vx": tracks.velocity[car, tick, 0],
            "vy": tracks.velocity[car, tick, 1],
            "length": tracks.size[car, 0],
            "width": tracks.size[car, 1],
            "kind": tracks.kind[car],
        }
    )


def tracks_of(frame: pl.DataFrame) -> Tracks:
    """The tracks that :func:`frame_of` was given, time starting at 0 s; cars in the order of their first rows."""
    ids = frame["car"].unique(maintain_order=True).to_numpy().astype(np.str_)
    instants = int(frame["tick"].to_numpy().max()) + 1
    row = {str(name): n for n, name in enumerate(ids)}
    car = np.array([row[name] for name in frame["car"]])
    tick = frame["tick"].to_numpy()
    values = {name: np.full((len(ids), instants), np.nan) for name in COLUMNS}
    for name, array in values.items():
        array[car, tick] = frame[name].to_numpy()
    observed = np.zeros((len(ids), instants), dtype=np.bool_)
    observed[car, tick] = True
    first = np.array([int(np.flatnonzero(car == n)[0]) for n in range(len(ids))])
    return Tracks(
        time_s=TICK_S * np.arange(instants),
        xy=np.stack([values["x"], values["y"]], axis=-1),
        heading=values["heading"],
        velocity=np.stack([values["vx"], values["vy"]], axis=-1),
        observed=observed,
        size=np.stack([frame[name].to_numpy()[first] for name in ("length", "width")], axis=1),
        kind=frame["kind"].to_numpy()[first].astype(np.int64),
        ids=ids,
    )
