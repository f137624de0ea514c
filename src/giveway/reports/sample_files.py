"""Per-sample values of cells, and replays of samples, as files beside a page."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import polars as pl

from giveway.core.errors import StoreError
from giveway.experiments.store import Store
from giveway.reports.browsing import script, table_data
from giveway.reports.content import Document, Files, PageLimits


def cells_with_samples(store: Store, cells: pl.DataFrame, limits: PageLimits) -> list[str]:
    """Keys of the cells whose whole per-sample values become part of a site: low repetitions first.

    Reading damaged values makes the store count them as such.
    """
    if "repetition" in cells.columns:
        cells = cells.sort("repetition", maintain_order=True)
    present = (key for key in cells["key"] if store.record_path(key).with_suffix(".parquet").exists())
    return [key for key in islice(present, limits.samples) if _is_whole(store, key)]


def sample_files(
    store: Store,
    tables: Mapping[str, str],
    tidy: pl.DataFrame,
    replays: Mapping[str, Mapping[str, Document]],
    limits: PageLimits,
) -> Files:
    """Files of per-sample tables (key to file name), and of the replays of the samples that were predicted worst."""
    datasets = dict(tidy.unique("key").select("key", "dataset").iter_rows()) if "dataset" in tidy.columns else {}
    wanted = _sample_replays(store, tables, datasets, replays, limits)
    written: set[str] = set()
    for key, name in tables.items():
        frame = store.read_samples(key)
        if frame is None:
            continue
        dataset = datasets.get(key, "")
        data = table_data(frame)
        if "sample_id" in frame.columns:
            places = wanted.get(dataset, {})
            data["replays"] = [places.get(i) for i in frame["sample_id"]]
            for sample, place in places.items():
                if place not in written:
                    written.add(place)
                    yield place, script(place, replays[dataset][sample]())
        yield name, script(name, data)


def _sample_replays(
    store: Store,
    tables: Mapping[str, str],
    datasets: Mapping[str, str],
    replays: Mapping[str, Mapping[str, Document]],
    limits: PageLimits,
) -> dict[str, dict[str, str]]:
    """Dataset to sample id to file, for the samples whose outcome surprised the models most."""
    errors: dict[tuple[str, str], list[float]] = {}
    for key in tables:
        dataset = datasets.get(key, "")
        frame = store.read_samples(key) if dataset in replays else None
        if frame is None or not {"sample_id", "accepted", "p"} <= set(frame.columns):
            continue
        for sample, accepted, p in frame.select("sample_id", "accepted", "p").iter_rows():
            if sample in replays[dataset] and p is not None:
                errors.setdefault((dataset, sample), []).append(abs(p - accepted))
    ranked = sorted(errors, key=lambda k: (-sum(errors[k]) / len(errors[k]), k))[: limits.replays]
    found: dict[str, dict[str, str]] = {}
    for n, (dataset, sample) in enumerate(ranked):
        found.setdefault(dataset, {})[sample] = f"replays/sample-{n:04d}.js"
    return found


def _is_whole(store: Store, key: str) -> bool:
    try:
        store.read_samples(key)
    except StoreError:
        return False
    return True
