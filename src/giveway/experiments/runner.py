"""Run an experiment: specification to cells to results, in a store that can be killed and resumed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from giveway.core.urls import is_url
from giveway.experiments.artifacts import Artifacts
from giveway.experiments.computing import Rerun, RunSummary, check_rerun, compute
from giveway.experiments.contract import Experiment
from giveway.experiments.engine import Executor
from giveway.experiments.index import read_index
from giveway.experiments.migration import migrate
from giveway.experiments.places import readable_store, working_store
from giveway.experiments.progress import Progress
from giveway.experiments.store import STORE_FILE


def run(
    experiment: Experiment[Any],
    spec: BaseModel,
    out: Path | str,
    *,
    roots: Mapping[str, Path | str] | None = None,
    engine: Executor | None = None,
    rerun: Rerun = "missing",
    limit: int | None = None,
    max_hours: float | None = None,
    progress: Progress | None = None,
    dry_run: bool = False,
    machine: Mapping[str, Any] | None = None,
) -> RunSummary:
    """Compute every cell of a specification that has no result yet; the only writer of a store.

    Ctrl-C once finishes the cells that are running and ends; twice ends at once. Either way the store is whole.

    Args:
        experiment: what turns specifications into cells and evaluates them.
        spec: its validated specification.
        out: result store, a folder or an ``s3://`` address; created if new.
        roots: dataset to folder with its recordings.
        engine: where cells are computed; a process per core by default.
        rerun: ``"missing"`` leaves failed cells alone, ``"failed"`` tries them again, ``"all"`` computes everything.
        limit: compute at most this many cells now.
        max_hours: begin no further cell after this time.
        progress: where to report; nowhere by default.
        dry_run: lay out the cells and count them; compute nothing.
        machine: further plain values for the workers that never change a result: device, threads.

    Raises:
        StoreError: another run holds the store, it is of another version, or the disk is full.
        ObjectStoreError: an object store did not work; finished cells are kept.
    """
    check_rerun(rerun)
    if dry_run:
        return _planned(experiment, spec, out, roots or {})
    migrate(out, experiment)
    with working_store(out) as store:
        inputs = experiment.resolve(spec, roots or {}, store.artifacts)
        cells = experiment.cells(spec, inputs)
        return compute(
            cells,
            experiment=experiment.name,
            store=store,
            engine=engine,
            spec=spec.model_dump(mode="json"),
            machine={**inputs.machine, **(machine or {})},
            fingerprints=inputs.fingerprints,
            rerun=rerun,
            limit=limit,
            max_hours=max_hours,
            progress=progress,
        )


def _planned(
    experiment: Experiment[Any], spec: BaseModel, out: Path | str, roots: Mapping[str, Path | str]
) -> RunSummary:
    """What a run would find; recordings that have to be synthesized for it are not kept."""
    with tempfile.TemporaryDirectory() as folder:
        inputs = experiment.resolve(spec, roots, Artifacts(Path(folder)))
        wanted = {cell.key for cell in experiment.cells(spec, inputs)}
    there = is_url(out) or (Path(out) / STORE_FILE).is_file()
    done = wanted & read_index(readable_store(out)).keys() if there else set[str]()
    return RunSummary.planned(total=len(wanted), done=len(done))
