"""Samples in Parquet: one row per sample, plain columns, readable by anything."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from giveway.core.arrays import AnyArray, FloatArray
from giveway.core.checked import Expect, read_parquet
from giveway.core.errors import FileFormatError
from giveway.core.files import in_memory, write_bytes
from giveway.core.samples import (
    DISTANCES,
    AcceptanceBoundary,
    GapInputs,
    GapPlaces,
    GapSamples,
    GapTruth,
    closing_times,
)

MAX_ROWS = 50_000_000
SAMPLES_FILE = Expect(what="a file of samples", hint="write it with: giveway gaps extract")


def write_samples(path: Path, parts: Sequence[GapSamples]) -> int:
    """Write samples of one dataset and input length, possibly at several prediction times; returns the bytes."""
    table = pl.concat([samples_table(part) for part in parts])
    data = in_memory(partial(table.write_parquet, compression="zstd"))
    write_bytes(path, data)
    return len(data)


def samples_table(samples: GapSamples) -> pl.DataFrame:
    """One row per sample; arrays as lists: ``xy`` (agent, step, coordinate), ``distance`` (kind, step)."""
    inputs, truth, boundary = samples.inputs, samples.truth, samples.inputs.boundary
    n = samples.num_samples
    absent = np.full(n, np.nan)
    places = samples.places or GapPlaces(
        xy=np.column_stack([absent, absent]), angle_rad=absent, kind=np.full(n, ""), entry=np.full(n, -1)
    )
    vulnerable = [r for r, flag in zip(inputs.roles, inputs.role_is_vulnerable, strict=True) if flag]
    return pl.DataFrame(
        {
            "dataset": pl.Series([samples.dataset] * n, dtype=pl.String),
            "prediction_time": pl.Series([samples.prediction_time] * n, dtype=pl.String),
            "sample_id": pl.Series(inputs.sample_id.tolist(), dtype=pl.String),
            "group": pl.Series(samples.group.tolist(), dtype=pl.String),
            "location": pl.Series(samples.location.tolist(), dtype=pl.String),
            "accepted": truth.accepted,
            "t_accept_s": truth.t_accept_s,
            "t_close_s": truth.t_close_s,
            "t_open_s": samples.t_open_s,
            "gap_at_acceptance_s": samples.gap_at_acceptance_s,
            "place_x_m": places.xy[:, 0],
            "place_y_m": places.xy[:, 1],
            "angle_rad": places.angle_rad,
            "kind": pl.Series(places.kind.tolist(), dtype=pl.String),
            "entry": places.entry,
            "num_predict": inputs.num_predict,
            "num_observed": truth.num_observed,
            "dt_s": np.full(n, inputs.dt_s),
            "num_input": np.full(n, inputs.num_input),
            "roles": pl.Series([",".join(inputs.roles)] * n, dtype=pl.String),
            "vulnerable": pl.Series([",".join(vulnerable)] * n, dtype=pl.String),
            "boundary": _lists(np.column_stack([boundary.normal, boundary.offset_m, boundary.radius_m])),
            "xy": _lists(inputs.xy),
            "distance": _lists(inputs.distance),
            "future_xy": _ragged(truth.future_xy, truth.num_observed),
        }
    )


def read_samples(path: Path, prediction_time: str | None = None) -> GapSamples:
    """Read what :func:`write_samples` wrote.

    Args:
        path: the file.
        prediction_time: which, if the file holds several.

    Raises:
        FileFormatError: if the file is not such a file, is damaged, or holds no such samples.
    """
    try:
        frame = read_parquet(path, limit_rows=MAX_ROWS, expect=SAMPLES_FILE)
        if prediction_time is not None:
            frame = frame.filter(pl.col("prediction_time") == prediction_time)
        return _samples(frame)
    except (pl.exceptions.PolarsError, ValueError, KeyError, IndexError) as error:
        raise FileFormatError(
            "cannot read samples",
            where=path,
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint="write the file with: giveway gaps extract",
        ) from error


def _samples(frame: pl.DataFrame) -> GapSamples:
    if frame.is_empty():
        raise ValueError("no samples at this prediction time")
    if frame["prediction_time"].n_unique() > 1:
        raise ValueError(f"several prediction times: {frame['prediction_time'].unique().sort().to_list()}; name one")
    n, steps = frame.height, int(frame["num_input"][0])
    roles = tuple(str(frame["roles"][0]).split(","))
    vulnerable = str(frame["vulnerable"][0]).split(",")
    boundary = _array(frame, "boundary", (n, 4))
    observed = frame["num_observed"].to_numpy().astype(np.int64)
    num_predict, dt_s = frame["num_predict"].to_numpy().astype(np.int64), float(frame["dt_s"][0])
    future = np.full((n, int(observed.max(initial=0)), 2), np.nan)
    flat = frame["future_xy"].explode(empty_as_null=False).to_numpy().astype(np.float64)
    future[np.arange(future.shape[1]) < observed[:, None]] = flat.reshape(-1, 2)
    return GapSamples(
        dataset=str(frame["dataset"][0]),
        prediction_time=str(frame["prediction_time"][0]),
        inputs=GapInputs(
            sample_id=_text(frame, "sample_id"),
            roles=roles,
            role_is_vulnerable=np.array([role in vulnerable for role in roles]),
            xy=_array(frame, "xy", (n, len(roles), steps, 2)),
            distance=_array(frame, "distance", (n, len(DISTANCES), steps)),
            num_predict=num_predict,
            dt_s=dt_s,
            boundary=AcceptanceBoundary(
                normal=boundary[:, :2].copy(), offset_m=boundary[:, 2].copy(), radius_m=boundary[:, 3].copy()
            ),
            closes_s=closing_times(_floats(frame, "t_close_s"), num_predict, dt_s),
        ),
        truth=GapTruth(
            accepted=frame["accepted"].to_numpy().astype(np.bool_),
            t_accept_s=_floats(frame, "t_accept_s"),
            t_close_s=_floats(frame, "t_close_s"),
            future_xy=future,
            num_observed=observed,
        ),
        group=_text(frame, "group"),
        location=_text(frame, "location"),
        gap_at_acceptance_s=_floats(frame, "gap_at_acceptance_s"),
        t_open_s=_floats(frame, "t_open_s"),
        places=_places(frame),
    )


def _places(frame: pl.DataFrame) -> GapPlaces | None:
    """None for samples without places, and for files of before."""
    if "kind" not in frame.columns or (frame["kind"] == "").all():
        return None
    return GapPlaces(
        xy=np.column_stack([_floats(frame, "place_x_m"), _floats(frame, "place_y_m")]),
        angle_rad=_floats(frame, "angle_rad"),
        kind=_text(frame, "kind"),
        entry=frame["entry"].to_numpy().astype(np.int64),
    )


def _lists(values: FloatArray) -> pl.Series:
    flat = values.reshape(len(values), -1) if len(values) else values.reshape(0, 1)
    return pl.Series([row.tolist() for row in flat], dtype=pl.List(pl.Float64))


def _ragged(values: FloatArray, lengths: AnyArray) -> pl.Series:
    rows = [row[:length].ravel().tolist() for row, length in zip(values, lengths, strict=True)]
    return pl.Series(rows, dtype=pl.List(pl.Float64))


def _array(frame: pl.DataFrame, name: str, shape: tuple[int, ...]) -> FloatArray:
    return frame[name].explode().to_numpy().astype(np.float64).reshape(shape)


def _floats(frame: pl.DataFrame, name: str) -> FloatArray:
    return frame[name].to_numpy().astype(np.float64)


def _text(frame: pl.DataFrame, name: str) -> AnyArray:
    return np.array(frame[name].to_list(), dtype=np.str_)
