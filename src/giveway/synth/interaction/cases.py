"""INTERACTION v1.2: the same traffic cut into cases of four seconds, in a training, a validation and a test part."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from giveway.roads.writer import write_lanelet2
from giveway.synth.interaction.files import vehicle_rows, walker_rows
from giveway.synth.interaction.recording import Recorded, simulate_site
from giveway.synth.interaction.sites import SITES, build_site
from giveway.synth.protocol import Size, SynthesizerInfo
from giveway.synth.tables import write_table

CASE_FRAMES = 40
OBSERVED_FRAMES = 10
SPLITS = ("train", "train", "train", "val", "test")
"""Part of every fifth case, in order of time."""
FILES = {"train": ("train", "train"), "val": ("val", "val"), "test": ("test_multi-agent", "obs")}
"""Part to folder and ending of the file name."""


class InteractionCasesSynthesizer:
    """INTERACTION v1.2 at the same three sites; test files end after ten frames and mark one car as the ego."""

    info = SynthesizerInfo(name="interaction_cases", unit="recordings per site", count=1, max_count=20, minutes=2.0)

    def write(self, folder: Path, *, seed: int, size: Size) -> Mapping[str, Any]:
        """``train``, ``val``, ``test_multi-agent``, ``maps`` and, for the test cases, all frames in ``truth``."""
        for name in ("maps", "truth", *(where for where, _ in FILES.values())):
            (folder / name).mkdir()
        totals = {"sites": len(SITES), "cases": 0, "rows": 0}
        for name in sorted(SITES):
            site = build_site(name)
            write_lanelet2(folder / "maps" / f"{name}.osm", site.road.drawing())
            pieces = [simulate_site(seed, site, number, size.minutes or 2.0) for number in range(size.count)]
            cases = pl.concat([_cases(recorded, number) for number, recorded in enumerate(pieces)])
            for part, (where, ending) in FILES.items():
                chosen = _renumbered(cases.filter(pl.col("part") == part))
                if part == "test":
                    write_table(folder / "truth" / f"{name}_{ending}.csv", chosen)
                    chosen = _observed(chosen)
                write_table(folder / where / f"{name}_{ending}.csv", chosen)
                totals["cases"] += chosen["case_id"].n_unique()
                totals["rows"] += chosen.height
        return totals


def _cases(recorded: Recorded, number: int) -> pl.DataFrame:
    """All rows with the number of their case; frames count from 1 within it."""
    people = [walker_rows(f"P{k}", track) for k, track in enumerate(recorded.walkers, start=1)]
    cars = [vehicle_rows(k, track) for k, track in enumerate(recorded.vehicles, start=1)]
    whole = pl.concat(
        [table.with_columns(pl.col("track_id").cast(pl.String)) for table in cars + people], how="diagonal"
    )
    case = (pl.col("frame_id") - 1) // CASE_FRAMES
    frame = (pl.col("frame_id") - 1) % CASE_FRAMES + 1
    last = pl.col("frame_id").max() // CASE_FRAMES
    parts = dict(enumerate(SPLITS))
    return (
        whole.filter(case < last)
        .with_columns(case_id=case + 100_000 * number, frame_id=frame)
        .with_columns(
            timestamp_ms=pl.col("frame_id") * 100,
            part=(pl.col("case_id") % len(SPLITS)).replace_strict(parts, return_dtype=pl.String),
        )
        .sort("case_id", maintain_order=True)
    )


def _renumbered(cases: pl.DataFrame) -> pl.DataFrame:
    columns = "case_id,track_id,frame_id,timestamp_ms,agent_type,x,y,vx,vy,psi_rad,length,width"
    counted = pl.col("case_id").rank("dense").cast(pl.Float64)
    return cases.with_columns(counted).select(columns.split(","))


def _observed(cases: pl.DataFrame) -> pl.DataFrame:
    """The first ten frames; cars seen throughout are to be predicted, the first of them is the ego."""
    seen = cases.filter(pl.col("frame_id") <= OBSERVED_FRAMES)
    by_track = ["case_id", "track_id"]
    lengths = cases.group_by(by_track).agg(
        (pl.len() == CASE_FRAMES).alias("whole"), (pl.col("agent_type").first() == "car").alias("is_car")
    )
    marked = lengths.with_columns(track_to_predict=(pl.col("whole") & pl.col("is_car")).cast(pl.Int64))
    number = pl.col("track_id").cast(pl.Int64, strict=False)
    egos = (marked.filter(pl.col("track_to_predict") == 1).sort("case_id", number).group_by("case_id").first()).select(
        *by_track, interesting_agent=pl.lit(1)
    )
    return (
        seen.join(marked.select(*by_track, "track_to_predict"), on=by_track, maintain_order="left")
        .join(egos, on=by_track, how="left", maintain_order="left")
        .with_columns(pl.col("interesting_agent").fill_null(0))
        .filter(pl.col("interesting_agent").sum().over("case_id") > 0)
    )


SYNTHESIZER = InteractionCasesSynthesizer()
