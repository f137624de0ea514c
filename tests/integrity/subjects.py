"""What :mod:`integrity.harness` damages: one small example of everything the program reads back."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from integrity.harness import Named, Prepare, Subject


def digest_of(*values: Any) -> str:
    """SHA-256 over arrays and plain values, to the last bit."""
    total = hashlib.sha256()
    for value in values:
        if isinstance(value, np.ndarray):
            total.update(f"{value.dtype} {value.shape}".encode())
            total.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, bytes):
            total.update(value)
        else:
            total.update(repr(value).encode())
        total.update(b"\0")
    return total.hexdigest()


def _below(folder: Path, *patterns: str) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.rglob(pattern) if path.is_file()})


@contextmanager
def converted_recordings(folder: Path) -> Generator[Subject]:
    """One converted recording with a map."""
    from giveway.data.convert import convert
    from giveway.data.stored import STORED
    from giveway.roads.json_maps import read_map
    from giveway.synth.protocol import synthesize

    synthesize("interaction", folder / "source", seed=1, count=1, minutes=0.5)
    store = folder / "store"
    list(convert("interaction", folder / "source", store))

    def observe() -> tuple[str, bool]:
        read_map.cache_clear()  # as a new process
        seen: list[Any] = []
        for recording in STORED.recordings(store):
            for scene in STORED.scenes(recording):
                tracks = scene.tracks
                seen += [getattr(tracks, name) for name in ("time_s", "xy", "heading", "velocity", "observed")]
                seen += [tracks.size, tracks.kind, tracks.ids, scene.location, scene.provenance, scene.attributes]
                seen.append(repr(scene.road))
        return digest_of(recording_ids(), *seen), False

    def recording_ids() -> list[str]:
        return [recording.id for recording in STORED.recordings(store)]

    yield Subject(
        name="converted recordings", folder=store, files=lambda: _below(store, "*.*"), observe=observe, flips=200
    )


def _result_store(folder: Path, *, count: int = 40) -> Any:
    from giveway.experiments import Cell, CellResult, Measurement, Store

    rng = np.random.default_rng(3)
    store = Store(folder, create=True)
    cells = [Cell(kind="gaps", params={"model": f"M{i % 4}", "repetition": i}, data="d" * 64) for i in range(count)]
    store.write_plan({"command": "gaps run"}, "giveway.gaps.evaluate:evaluate", cells)
    for cell in cells:
        values = rng.random(3)
        store.write(
            cell,
            CellResult(
                measurements=tuple(
                    Measurement(metric=m, value=float(v), num_samples=60)
                    for m, v in zip(("auc", "ade", "brier"), values, strict=True)
                ),
                samples=pl.DataFrame({"sample_id": [f"s{i}" for i in range(20)], "p": rng.random(20)}),
            ),
        )
    return store


class _Warnings(logging.Handler):
    """Counts what is said about a rebuilt index."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def index(folder: Path) -> Generator[Subject]:
    """The index of forty cells; what is observed is the table of all measurements."""
    from giveway.experiments import Store, collect

    _result_store(folder / "R")
    collect(Store(folder / "R"))
    heard = _Warnings()
    logger = logging.getLogger("giveway.experiments.index")
    logger.addHandler(heard)
    logger.propagate = False

    def observe() -> tuple[str, bool]:
        heard.lines.clear()
        table = collect(Store(folder / "R"))
        return digest_of(table.write_csv()), bool(heard.lines)

    try:
        yield Subject(
            name="index of a store",
            folder=folder / "R",
            files=lambda: _below(folder / "R", "index.*"),
            observe=observe,
            flips=100,
        )
    finally:
        logger.removeHandler(heard)
        logger.propagate = True


@contextmanager
def cells(folder: Path) -> Generator[Subject]:
    """Records and samples of six cells."""
    from giveway.experiments import Store

    store = _result_store(folder / "R", count=6)
    keys = sorted(store.stamps())

    def observe() -> tuple[str, bool]:
        opened = Store(folder / "R")
        results = [opened.read(key, with_samples=True) for key in keys]
        return digest_of(
            *[(asdict_of(r.measurements), r.info, "" if r.samples is None else r.samples.write_csv()) for r in results]
        ), False

    def asdict_of(measurements: Sequence[Any]) -> list[Any]:
        return [asdict(m) for m in measurements]

    yield Subject(
        name="cells and their samples",
        folder=folder / "R",
        files=lambda: _below(folder / "R" / "cells", "*"),
        observe=observe,
        flips=100,
    )


@contextmanager
def plans_and_runs(folder: Path) -> Generator[Subject]:
    """``store.json``, the plan, a run and a failure."""
    from giveway.experiments import Cell, SerialExecutor, Store, compute, status
    from giveway.experiments.records import failure_of

    root = folder / "R"
    compute(
        [],
        experiment="giveway.experiments.evaluation:work",
        store=root,
        engine=SerialExecutor(),
        spec={"a": [1, 2]},
    )
    Store(root).write_failure(failure_of(Cell(kind="x", params={"b": 1}), ValueError("no")))

    def observe() -> tuple[str, bool]:
        store = Store(root)
        state = status(store)
        if getattr(state, "documents", ()):
            raise Named
        return digest_of(store.plans(), json.dumps(store.provenance(), sort_keys=True), store.failures()), False

    yield Subject(
        name="plans, runs, failures, store.json",
        folder=root,
        files=lambda: _below(root, "*.json"),
        observe=observe,
        flips=50,
    )


@contextmanager
def artifacts(folder: Path) -> Generator[Subject]:
    """Generated recordings, gaps and samples of a benchmark run; a cell is computed again from them."""
    import giveway.gaps.evaluate as evaluation
    from giveway.experiments import SerialExecutor, run
    from giveway.gaps.experiment import GAPS
    from giveway.gaps.spec import spec_from

    root = folder / "R"
    spec = spec_from(
        {
            "datasets": ["lgap"],
            "t0": ["constant"],
            "n_input": [2],
            "splits": {"random": 1},
            "models": ["LR_1D"],
            "metrics": ["auc"],
            "min_samples": 10,
            "synthetic": {"lgap": {"count": 40}},
        },
        where="faults",
    )

    def compute() -> Path:
        getattr(evaluation, "_cached_samples").cache_clear()  # noqa: B009 - as a new process
        summary = run(GAPS, spec, root, engine=SerialExecutor())
        if not summary.ok:
            raise Named(str(summary.failures))
        (record,) = sorted((root / "cells").rglob("*.json"))
        return record

    def manifests() -> dict[str, int]:
        return {str(p): p.stat().st_ino for p in _below(root / "artifacts", "artifact.json") if "damaged" not in str(p)}

    def observe() -> tuple[str, bool]:
        before = manifests()
        for path in _below(root / "cells", "*"):
            path.unlink()
        record = compute()
        return digest_of(record.read_bytes()), manifests() != before

    compute()
    yield Subject(
        name="artifacts, a cell recomputed",
        folder=root,
        files=lambda: [p for p in _below(root / "artifacts", "*") if p.suffix != ".lock"],
        observe=observe,
        flips=50,
        truncations=60,
    )


@contextmanager
def drive_logs(folder: Path) -> Generator[Subject]:
    """A drive with predictions."""
    from giveway.drive.driving import drive_cases
    from giveway.drive.scenes import GivenScenes
    from giveway.predictors import make_predictor
    from giveway.sim.log_files import read_log, write_log
    from giveway.testing.drive_scenes import crossing_case, crossing_scene

    source = GivenScenes({"crossing": crossing_scene()})
    (drive,) = drive_cases([crossing_case()], source, predictor=make_predictor("idm_along_path"))
    write_log(folder / "log", drive.log)  # pyright: ignore[reportAttributeAccessIssue]

    def observe() -> tuple[str, bool]:
        log = read_log(folder / "log")
        seen: list[Any] = [log.digest, json.dumps(log.facts(), sort_keys=True)]
        for tracks in (log.tracks, log.recorded):
            seen += [tracks.time_s, tracks.xy, tracks.heading, tracks.velocity, tracks.observed, tracks.size]
            seen += [tracks.kind, tracks.ids]
        seen += [log.ego_s, log.recorded_ego_s, log.outside_m, log.recorded_outside_m, log.limit_mps, log.plans]
        return digest_of(*seen), False

    yield Subject(
        name="drive logs", folder=folder / "log", files=lambda: _below(folder / "log", "*"), observe=observe, flips=50
    )


@contextmanager
def clips(folder: Path) -> Generator[Subject]:
    """The clips of a study and their list, as a server serves them."""
    from giveway.serve.web.app import create_app
    from giveway.serve.web.rater_api import Drawings
    from giveway.study.workspace import open_study
    from support.studies import synthetic_study

    root = synthetic_study(folder / "study", num_clips=4)

    async def served(names: Sequence[str]) -> list[bytes]:
        drawings = Drawings(root)
        return [await drawings.get(name) for name in names]

    def observe() -> tuple[str, bool]:
        study = open_study(root)
        try:
            app = create_app(study, researcher_token="x" * 32)
            app.state.web.writer.close()
            return digest_of(study.clips, *asyncio.run(served([clip.clip for clip in study.clips]))), False
        finally:
            study.engine.dispose()

    observe()  # makes key and database
    yield Subject(
        name="clips of a study",
        folder=root,
        files=lambda: [*_below(root / "clips", "*.json"), root / "clips.json"],
        observe=observe,
        flips=50,
    )


@contextmanager
def study_database(folder: Path) -> Generator[Subject]:
    """A study with the answers of eight raters; what is observed is its export."""
    from giveway.study.export import check_answers, long_answers, rater_table
    from giveway.study.rehearsal import answer_all, enroll
    from giveway.study.workspace import declared_fingerprint, open_study
    from support.studies import synthetic_study

    root = synthetic_study(folder / "study", num_clips=4)
    study = open_study(root)
    for _ in range(8):
        answer_all(study, enroll(study), lambda clip: 2 + len(clip.condition) % 3)
    study.engine.dispose()

    def observe() -> tuple[str, bool]:
        opened = open_study(root)
        try:
            tables = [part(opened).write_csv() for part in (long_answers, check_answers, rater_table)]
            return digest_of(*tables, declared_fingerprint(opened)), False
        finally:
            opened.engine.dispose()

    observe()
    yield Subject(
        name="study database",
        folder=root,
        files=lambda: [root / "study.sqlite"],
        observe=observe,
        flips=50,
        avoids_zeros=True,
    )


def _read_all(*readers: Callable[[], Any]) -> Callable[[], tuple[str, bool]]:
    return lambda: (digest_of(*[reader() for reader in readers]), False)


@contextmanager
def checkpoints(folder: Path) -> Generator[Subject]:
    """A policy, a predictor, a fitted model, fitted parameters and the journal of a fit."""
    import shutil

    from giveway.generate.learning.policy import load_policy
    from giveway.generate.policies import shipped_file
    from giveway.predictors.checkpoints import load_arrays, save_arrays
    from giveway.predictors.commotions.config import Configuration
    from giveway.predictors.commotions.fitting.journal import Entry, Journal
    from giveway.predictors.commotions.fitting.result import FittedParameters
    from giveway.predictors.commotions.parameters import PARAMETERS, Theta
    from giveway.predictors.gru import SHAPES, GruPredictor
    from giveway.predictors.gru_training import save_gru

    rng = np.random.default_rng(5)
    place = folder / "files"
    place.mkdir()
    shutil.copy(shipped_file(""), place / "policy.safetensors")
    save_gru(place / "gru.safetensors", {n: rng.random(s) for n, s in SHAPES.items()}, note="a note")
    save_arrays(place / "model", kind="LR_1D", arrays={"coefficients": rng.random(40), "names": np.array(["a", "b"])})
    theta = Theta(**{p.name: p.clip(0.5 * (p.low + p.high)) for p in PARAMETERS})
    config = Configuration.from_name("CM_AIJ11")
    FittedParameters(theta=theta, config=config, loss=1.25, loss_error=0.5, provenance={"seed": 3}).save(
        place / "theta.json"
    )
    header = {"model": "CM", "seed": 3}
    journal = Journal(place / "journal.jsonl", header)
    for _ in range(4):
        journal.append(Entry(stage=0, point=tuple(rng.random(14)), loss=rng.random(), error=0.1, seconds=1.0))

    def policy() -> Any:
        found = load_policy(place / "policy.safetensors")
        return found.fingerprint

    def parameters() -> Any:
        return repr(FittedParameters.load(place / "theta.json"))

    def arrays() -> Any:
        return digest_of(*load_arrays(place / "model", kind="LR_1D", names=("coefficients", "names")).values())

    def entries() -> Any:
        return Journal(place / "journal.jsonl", header).entries

    whole = entries()

    def journaled() -> Any:
        found = entries()
        return whole if found == whole[: len(found)] else found  # a cut line is evaluated again

    observe = _read_all(
        policy, lambda: GruPredictor().load(place / "gru.safetensors").fingerprint, arrays, parameters, journaled
    )
    yield Subject(
        name="checkpoints, policies, fitted models",
        folder=place,
        files=lambda: _below(place, "*"),
        observe=observe,
        flips=50,
    )


@contextmanager
def network_checkpoints(folder: Path) -> Generator[Subject]:
    """A checkpoint of Trajectron++ with the state of its optimizer."""
    import torch

    from giveway.predictors.trajectron.checkpoint import (
        FILE,
        Checkpoint,
        TrainingState,
        arrays_of,
        read_checkpoint,
        write_checkpoint,
    )
    from giveway.predictors.trajectron.config import TrajectronConfig
    from giveway.predictors.trajectron.network import TrajectronNetwork

    torch.manual_seed(0)
    config = TrajectronConfig(num_modes=4, history_size=4, future_size=4, prior_size=4, decoder_size=8)
    network = TrajectronNetwork(config)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    sum(p.sum() for p in network.parameters()).backward()  # pyright: ignore
    optimizer.step()
    state = TrainingState(config=config, dt_s=0.1, seed=7, epoch=1, iteration=1, history=())
    write_checkpoint(folder / "files" / FILE, Checkpoint.of(network, state, optimizer, arrays_of(network)))

    def observe() -> tuple[str, bool]:
        checkpoint = read_checkpoint(folder / "files")
        found, where = checkpoint.network(), checkpoint.state
        restored = torch.optim.Adam(found.parameters(), lr=1e-3)
        checkpoint.restore_optimizer(restored)
        weights = [value.numpy() for value in found.state_dict().values()]
        moments = [np.asarray(value) for entry in restored.state_dict()["state"].values() for value in entry.values()]
        return digest_of(*weights, *moments, *checkpoint.best.values(), where), False

    yield Subject(
        name="checkpoints of networks",
        folder=folder / "files",
        files=lambda: _below(folder / "files", "*"),
        observe=observe,
        flips=50,
    )


SUBJECTS: dict[str, Prepare] = {
    "recordings": converted_recordings,
    "index": index,
    "cells": cells,
    "plans": plans_and_runs,
    "artifacts": artifacts,
    "logs": drive_logs,
    "clips": clips,
    "checkpoints": checkpoints,
    "networks": network_checkpoints,
    "database": study_database,
}
