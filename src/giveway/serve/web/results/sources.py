"""What applications tell a report: replays of drives and gaps, drop reasons, the analysis of a study."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from giveway.drive.roads import road_of

if TYPE_CHECKING:
    from giveway.core.lanes import LaneMap
    from giveway.experiments import Store
    from giveway.gaps.extract import FoundGaps
    from giveway.reports.site.content import Limits, Section, Sources

REPLAY_RATE_HZ = 10.0
REPLAY_MARGIN_S = 1.0


def run(root: Path, id: str, *, title: str, limits: Limits, data: Path | None, recorded: Path | None = None) -> Section:
    """The section of a run store."""
    from giveway.experiments import Store
    from giveway.reports.site.content import Sources
    from giveway.reports.site.runs import run_section

    store = Store(root)
    if any(plan.spec.get("command") == "generate run" for plan in store.plans()):
        sources = _generated(root, recorded if recorded is not None else data)
    else:
        sources = Sources(
            drive_replay=partial(_drive_replay, data=data),
            sample_replays=_sample_replays(store),
            drops=tuple(_drops(store)),
        )
    return run_section(root, id=id, title=title, sources=sources, limits=limits)


def _generated(root: Path, recorded: Path | None) -> Sources:
    """Numbers of all campaigns of a store of generated traffic, and replays of their failures."""
    from giveway.core.errors import EmptySelectionError
    from giveway.generate.campaign.kept import stored_campaigns
    from giveway.generate.report.page import MEASURES, REALISM
    from giveway.generate.report.summary import recorded_reference, summarize
    from giveway.reports.site.content import Sources

    try:
        stored = stored_campaigns(root)
    except EmptySelectionError:
        return Sources()
    reference = recorded_reference(recorded)
    campaigns = [
        {"label": s.campaign.label, "measures": s.measures, "realism": s.realism, "kinds": s.kinds}
        for s in summarize(root, reference)
    ]
    replays: dict[str, Callable[[], Mapping[str, Any]]] = {}
    for campaign in stored:
        road = str(campaign.params["road"])
        failed = [(r.counts, key) for r, key in zip(campaign.results, campaign.keys, strict=True) if r.failed]
        for _, key in sorted(failed, key=lambda pair: not pair[0]):
            replays[key] = partial(_failure_replay, root, key, road)
    return Sources(
        cell_replays=replays,
        generated={
            "campaigns": campaigns,
            "titles": {name: title for name, title, _ in MEASURES},
            "realism_titles": dict(REALISM),
            "reference": f"{reference.name}, {reference.vehicles} road users",
        },
    )


def _failure_replay(root: Path, key: str, road: str) -> Mapping[str, Any]:
    from giveway.experiments import Store
    from giveway.generate.campaign.kept import result_from
    from giveway.generate.export.cases import Failure
    from giveway.generate.export.frames import tracks_of
    from giveway.generate.report.page import failure_document

    store = Store(root)
    result = result_from(store.read_record(key)["info"]["result"])
    frame = store.read_samples(key)
    if frame is None:
        return {}
    tracks = tracks_of(frame)
    return failure_document(
        Failure(id=f"test {result.number}", result=result, tracks=tracks, road=_generated_road(road), site=road)
    )


@lru_cache(maxsize=4)
def _generated_road(name: str) -> LaneMap:
    from giveway.generate.roads import make_road

    return make_road(name).map()


def study(root: Path, id: str, *, draws: int, database: str | None) -> Section:
    """The section of a study; one without answers says so."""
    import polars as pl

    from giveway.core.errors import EmptySelectionError
    from giveway.reports.site.browsing import finite
    from giveway.reports.site.content import Page, Paragraph, Section
    from giveway.reports.site.studies import study_section
    from giveway.study.analysis import analyze_study
    from giveway.study.export import count_table, long_answers
    from giveway.study.manifest import CLIP_FOLDER
    from giveway.study.workspace import open_study

    opened = open_study(root, url=database)
    try:
        try:
            analysis = finite(asdict(analyze_study(opened, draws=draws)))
        except EmptySelectionError as error:
            page = Page(
                file="index.html", title=opened.design.title, blocks=(Paragraph(text=str(error), warning=True),)
            )
            return Section(
                id=id, title=opened.design.title, kind="study", lead="no answers yet", facts=(), pages=(page,)
            )
        main = [clip for clip in opened.clips if clip.role == "main"]
        options = list(opened.design.options)
        counts = count_table(long_answers(opened), [clip.clip for clip in main], len(options))
    finally:
        opened.engine.dispose()
    facts = pl.DataFrame(
        {"clip": [c.clip for c in main], "condition": [c.condition for c in main], "scene": [c.scene for c in main]}
    )
    numbers = counts.drop("clip").to_numpy()
    total = numbers.sum(axis=1)
    rating = np.arange(1, len(options) + 1)
    mean = np.divide(numbers @ rating, total, out=np.full(len(total), np.nan), where=total > 0)
    named = {f"{n + 1} {option}": numbers[:, n].astype(np.float64) for n, option in enumerate(options)}
    frame = facts.with_columns(pl.Series("mean", mean), pl.Series("ratings", total.astype(np.float64))).with_columns(
        *(pl.Series(name, values) for name, values in named.items())
    )
    documents = {c.clip: path for c in main if (path := root / CLIP_FOLDER / f"{c.clip}.json").exists()}
    return study_section(
        id,
        title=opened.design.title,
        question=opened.design.question,
        options=options,
        analysis=analysis,
        clips=frame,
        documents=documents,
    )


def _drive_replay(log: Path, *, data: Path | None) -> Mapping[str, Any]:
    from giveway.drive.replay import drive_document
    from giveway.sim.log_files import read_log

    found = read_log(log)
    return drive_document(found, road_of(found.case, data))


def _artifacts(store: Store, what: str) -> Iterator[tuple[dict[str, Any], Path]]:
    """Descriptions and folders of the artifacts of a kind, all of whose files are what was written."""
    from giveway.experiments.artifacts import checked_seal, read_manifest

    for manifest in sorted(store.artifacts.root.glob("*/*/artifact.json")):
        if manifest.parent.name.endswith(".damaged") or checked_seal(manifest.parent) is None:
            continue  # built again by the next run that needs it
        spec = read_manifest(manifest.parent)[0]["spec"]
        if spec.get("what") == what:
            yield spec, manifest.parent


def _drops(store: Store) -> Iterator[Mapping[str, Any]]:
    """What became of the candidates of every sample set of a benchmark, counted anew from the gaps found."""
    from giveway.core.errors import GivewayError
    from giveway.gaps.extract import SampleRules, samples_at
    from giveway.gaps.profile import as_profile

    gaps = {_origin(spec): (spec, folder) for spec, folder in _artifacts(store, "gaps")}
    for spec, _ in _artifacts(store, "samples"):
        source = gaps.get(_origin(spec))
        if source is None:
            continue
        sampling = spec["sampling"]
        rules = SampleRules(
            choice=spec["t0"],
            num_input=spec["n_input"],
            num_input_max=sampling["n_input_max"],
            relaxed=sampling["relaxed"],
        )
        try:
            profile = as_profile(spec["switches"])
            yield samples_at(_found(source[1], spec["dataset"]), rules, profile).report.as_dict()
        except (GivewayError, ValueError):
            continue  # found by another version of the protocol


def _origin(spec: Mapping[str, Any]) -> str:
    return json.dumps([spec["dataset"], spec["data"], spec["extraction"], spec["switches"]], sort_keys=True)


@lru_cache(maxsize=4)
def _found(folder: Path, dataset: str) -> FoundGaps:
    from giveway.gaps.extractions import EXTRACTIONS
    from giveway.gaps.found_files import read_found

    return read_found(folder, EXTRACTIONS.get(dataset))


def _sample_replays(store: Store) -> dict[str, dict[str, Callable[[], Mapping[str, Any]]]]:
    """Dataset to sample id to the function that makes its replay."""
    from giveway.core.errors import GivewayError

    replays: dict[str, dict[str, Callable[[], Mapping[str, Any]]]] = {}
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
    """One candidate gap as it was recorded, in the frame of its sample, with the times that decide it."""
    from giveway.core.scene import Provenance, Scene
    from giveway.core.tracks import AgentKind, Tracks
    from giveway.reports.player.document import Event, replay_document

    found = _found(folder, dataset)
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
    return replay_document(
        Scene(tracks=tracks, provenance=Provenance(dataset=dataset, recording="")),
        title=f"{raw.sample_id[index]}: {verdict}",
        roles={"E": "ego", "T": "rated"},
        labels={"E": "E has priority", "T": "T decides"},
        events=events,
        stop=int(shown[-1]) + 1 if shown.size else None,
        every=max(1, round(1 / (step * REPLAY_RATE_HZ))),
    )
