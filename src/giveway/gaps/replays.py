"""What a store of the benchmark keeps beside its cells: why candidates were dropped, and gaps to watch."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.errors import GivewayError
from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.experiments.artifacts import checked_seal, read_manifest
from giveway.experiments.store import Store
from giveway.gaps.extract import Extracted, FoundGaps, SampleRules, samples_at
from giveway.gaps.extractions import EXTRACTIONS
from giveway.gaps.extractions.declared import UNCONFIRMED
from giveway.gaps.found_files import notes_of, read_found
from giveway.gaps.naming import dataset_title
from giveway.gaps.profile import as_profile, profile_with
from giveway.reports.content import Document
from giveway.reports.player.document import Event, Story, Verdict, replay_document
from giveway.reports.player.encounter import Encounter

REPLAY_RATE_HZ = 10.0
REPLAY_MARGIN_S = 1.0


def _artifacts(store: Store, what: str) -> Iterator[tuple[dict[str, Any], Path]]:
    """Descriptions and folders of the artifacts of a kind, all of whose files are what was written."""
    for manifest in sorted(store.artifacts.root.glob("*/*/artifact.json")):
        if manifest.parent.name.endswith(".damaged") or checked_seal(manifest.parent) is None:
            continue  # built again by the next run that needs it
        spec = read_manifest(manifest.parent)[0]["spec"]
        if spec.get("what") == what:
            yield spec, manifest.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSet:
    """One sample set of a benchmark.

    Attributes:
        extracted: its samples, and what became of the other candidates.
        found: candidates it was cut from.
        profile: whose switches it was made with; ``own`` if they are those of none.
        folder: where the candidates are kept, if they are; replays are then made from there.
        is_synthetic: whether the recordings were generated.
    """

    extracted: Extracted
    found: FoundGaps
    profile: str
    folder: Path | None = None
    is_synthetic: bool = False

    def replay(self, sample: str) -> Document | None:
        """Makes the replay of a candidate; None if there is none of this name."""
        ids = self.found.raw.sample_id.tolist()
        if sample not in ids:
            return None
        if self.folder is None:
            return partial(replay_of, self.found, ids.index(sample))
        return partial(_gap_replay, self.folder, self.extracted.report.dataset, ids.index(sample))


def guesses(store: Store, datasets: Collection[str] | None = None) -> list[str]:
    """A sentence for each conflict of a benchmark of which nobody confirmed who yields."""
    found: dict[str, None] = {}
    for spec, folder in _artifacts(store, "gaps"):
        if not datasets or spec["dataset"] in datasets:
            notes = notes_of(folder)
            found |= dict.fromkeys(f"{dataset_title(spec['dataset'])}, {n}" for n in notes if UNCONFIRMED in n)
    return list(found)


def doubts(store: Store, t0: str, datasets: Collection[str] | None = None) -> list[str]:
    """What makes the samples of a prediction time doubtful, see :func:`~giveway.gaps.extraction_report.warnings_of`."""
    reports = [one.extracted.report for one in sample_sets(store, t0, datasets)]
    return list(
        dict.fromkeys(f"{dataset_title(r.dataset)}, {t0}: {warning}" for r in reports for warning in r.warnings)
    )


def sample_sets(store: Store, t0: str | None = None, datasets: Collection[str] | None = None) -> Iterator[SampleSet]:
    """Every sample set of a benchmark (of a prediction time, of datasets), cut anew from the gaps found."""
    gaps = {_origin(spec): (spec, folder) for spec, folder in _artifacts(store, "gaps")}
    for spec, _ in _artifacts(store, "samples"):
        source = gaps.get(_origin(spec))
        if source is None or t0 not in (None, spec["t0"]) or (datasets and spec["dataset"] not in datasets):
            continue
        sampling = spec["sampling"]
        rules = SampleRules(
            choice=spec["t0"],
            num_input=spec["n_input"],
            num_input_max=sampling["n_input_max"],
            relaxed=sampling["relaxed"],
        )
        try:
            found = _found(source[1], spec["dataset"])
            extracted = samples_at(found, rules, as_profile(spec["switches"]))
        except (GivewayError, ValueError):
            continue  # found by another version of the protocol
        yield SampleSet(
            extracted=extracted, found=found, folder=source[1], profile=profile_with(spec["switches"]) or "own"
        )


def _origin(spec: Mapping[str, Any]) -> str:
    """What candidates depend on; the rule for Delta_t acts on samples only."""
    switches = {name: value for name, value in spec["switches"].items() if name != "delta_t_constraints"}
    return json.dumps([spec["dataset"], spec["data"], spec["extraction"], switches], sort_keys=True)


@lru_cache(maxsize=4)
def _found(folder: Path, dataset: str) -> FoundGaps:
    return read_found(folder, EXTRACTIONS.get(dataset))


def gap_replays(store: Store) -> dict[str, dict[str, Document]]:
    """Dataset to sample id to the function that makes its replay."""
    replays: dict[str, dict[str, Document]] = {}
    for spec, folder in _artifacts(store, "gaps"):
        try:
            found = _found(folder, spec["dataset"])
        except (GivewayError, ValueError, KeyError, OSError):
            continue
        known = replays.setdefault(spec["dataset"], {})
        for index, sample in enumerate(found.raw.sample_id.tolist()):
            known.setdefault(sample, partial(_gap_replay, folder, spec["dataset"], index))
    return replays


def _gap_replay(folder: Path, dataset: str, index: int) -> Mapping[str, Any]:
    return replay_of(_found(folder, dataset), index)


def replay_of(found: FoundGaps, index: int) -> Mapping[str, Any]:
    """One candidate gap as it was recorded, in the frame of its sample, with the times that decide it."""
    raw, times = found.raw, found.times
    rows = slice(int(raw.offset[index]), int(raw.offset[index + 1]))
    time_s, xy = raw.time_s[rows], np.moveaxis(raw.xy[rows], 1, 0)
    velocity = np.gradient(xy, time_s, axis=1) if time_s.size > 1 else np.zeros_like(xy)
    kinds = np.where(raw.role_is_vulnerable, int(AgentKind.PEDESTRIAN), int(AgentKind.CAR)).astype(np.int64)
    tracks = Tracks(
        time_s=time_s,
        xy=xy,
        heading=np.full(xy.shape[:2], np.nan),
        velocity=velocity,
        observed=np.asarray(np.isfinite(xy).all(axis=-1)),
        size=np.full((len(raw.roles), 2), np.nan),
        kind=kinds,
        ids=np.array(raw.roles),
    )
    marks = (
        ("gap opens", times.t_open_s, "note"),
        ("last chance to stop", times.t_crit_s, "note"),
        ("accepted", times.t_accept_s, "decision"),
        ("closed", times.t_close_s, "note"),
    )
    events = [
        Event(time_s=float(at[index]), label=label, kind=kind)
        for label, at, kind in marks
        if np.isfinite(at[index]) and time_s[0] <= at[index] <= time_s[-1]
    ]
    step = float(np.median(np.diff(time_s))) if time_s.size > 1 else 0.1
    shown = np.flatnonzero(time_s <= float(np.nanmax([*(e.time_s for e in events), time_s[0]])) + REPLAY_MARGIN_S)
    verdict = "accepted" if times.is_accepted[index] else "rejected"
    decided = [e.time_s for label in ("accepted", "closed") for e in events if e.label == label]
    names = set(raw.roles)
    story = Story(
        encounter=Encounter(time_s=decided[0], kind="decision", partner="E") if decided and "E" in names else None,
        verdict=Verdict(text=verdict),
        role_names={"ego": "T decides", "prio": "E has priority"},
    )
    return replay_document(
        Scene(tracks=tracks, provenance=Provenance(dataset=found.extraction.info.name, recording="")),
        title=f"{raw.sample_id[index]}: {verdict}",
        ego="T" if "T" in names else None,
        roles={"E": "prio"},
        labels={"E": "E", "T": "T"},
        events=events,
        story=story,
        stop=int(shown[-1]) + 1 if shown.size else None,
        every=max(1, round(1 / (step * REPLAY_RATE_HZ))),
    )
