"""The tidy frame of benchmark results, with the table switches that were asked for last."""

from __future__ import annotations

import json

import polars as pl

from giveway.experiments.index import collect
from giveway.experiments.store import Store
from giveway.gaps.profile import PROFILES, TABLE_SWITCHES


def gap_frame(store: Store) -> pl.DataFrame:
    """All measurements of the benchmark in a store, see :func:`giveway.experiments.collect`.

    Column ``switches`` (JSON) holds those that act on finished results, per profile as the newest plan that has this
    profile asks; cells do not depend on them, so a new plan changes tables and computes nothing.
    """
    frame = collect(store).filter(pl.col("kind") == "gaps")
    if "profile" not in frame.columns:
        return frame
    asked: dict[str, str] = {}
    for plan in store.plans():  # newest last
        name = str(plan.spec.get("profile", ""))
        if name in PROFILES:
            values = {**PROFILES[name].model_dump(), **plan.spec.get("switches", {})}
            asked[name] = json.dumps({key: values[key] for key in sorted(TABLE_SWITCHES)})
    return frame.with_columns(pl.col("profile").replace_strict(asked, default=None).alias("switches"))
