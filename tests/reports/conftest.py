from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib.resources import files

import numpy as np
import polars as pl
import pytest

COLUMNS = ("profile", "dataset", "t0", "n_input", "split", "repetition", "model", "metric", "value", "num_samples")


def tidy(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=list(COLUMNS), orient="row", infer_schema_length=None)
    return frame.with_columns(
        pl.lit(1, dtype=pl.Int64).alias("metric_version"),
        pl.lit("").alias("note"),
        pl.int_range(pl.len()).cast(pl.String).alias("key"),
    )


@pytest.fixture
def published_frame() -> Callable[..., pl.DataFrame]:
    """Results with exactly the published means and deviations: ten values, half of them sd above, half below."""

    def make(metric: str, t0: str) -> pl.DataFrame:
        values = tomllib.loads(files("giveway.gaps").joinpath("published.toml").read_text())[metric][t0]
        name = {"auc": "auc_paper"}.get(metric, metric)
        rows: list[tuple[object, ...]] = []
        for dataset, models in values.items():
            for model, lengths in models.items():
                for n, (mean, sd, critical) in lengths.items():
                    place = ("paper", dataset, t0, int(n))
                    for r in range(10):
                        rows.append((*place, "random", r, model, name, mean + sd * (-1) ** r, 100))
                    rows.append((*place, "critical", 0, model, name, critical, 90))
        return tidy(rows)

    return make


@pytest.fixture
def small_frame() -> pl.DataFrame:
    """Three models: A clearly best, B a little worse and noisy, C clearly worse; ADE, lower is better."""
    rng = np.random.default_rng(0)
    rows: list[tuple[object, ...]] = []
    for dataset in ("lgap", "mine"):
        noise = rng.normal(0, 0.05, 10)
        for model, level, own in (("A", 1.0, 0.001), ("B", 1.005, 0.05), ("C", 2.0, 0.001)):
            values = level + noise + rng.normal(0, own, 10)
            rows += [
                ("clean", dataset, "constant", 2, "random", r, model, "ade", float(v), 116)
                for r, v in enumerate(values)
            ]
            rows.append(("clean", dataset, "constant", 2, "critical", 0, model, "ade", level + 0.5, 112))
    return tidy(rows)
