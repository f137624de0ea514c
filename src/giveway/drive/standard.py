"""Standard sets: about a thousand tagged cases of whatever recordings a user has, made and checked in one call.

A set file holds no states, so it can be shared without the recordings: each case names its recording and carries the
digest of the recorded states during it. Made again from the same recordings it is the same set, with the same content
id; against other recordings :func:`verify_set` names every case that does not fit.

Strata: at most 25 cases per recording and tag, no ego twice within 10 s. Split by recording, so that nothing of a test
recording is ever trained on; the most interesting cases of each recording come first, one recording after the other,
until a split is full. Half of the set is the test split, because that is what differences are decided on
(485 cases for half a point, see docs/drive/power.md).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from giveway import __version__
from giveway.core.case import TICK_S, Case, set_id
from giveway.core.errors import EmptySelectionError, GivewayError
from giveway.core.scene import Scene
from giveway.core.tracks import Tracks
from giveway.drive.gallery import write_gallery
from giveway.drive.mining import TAGS, MiningRules, mine_scene
from giveway.drive.recordings import Count, read_scenes
from giveway.drive.scenes import SceneSource
from giveway.drive.speeds import SiteSpeeds
from giveway.roads.queries import PreparedMap
from giveway.roads.queries import prepare as prepare_road
from giveway.sim.case_files import SET_VERSION, write_cases
from giveway.sim.prepare import resample
from giveway.sim.verify import content_id

Split = Literal["train", "validation", "test"]
QUOTAS: dict[Split, int] = {"test": 500, "validation": 150, "train": 350}
"""Largest number of cases of each split."""
PER_TAG = 25
EGO_PAUSE_S = 10.0
RULES = MiningRules(min_interest=3.0, max_cases=10_000, following=True, pedestrians=True)


def split_of(recording: str) -> Split:
    """Part that a recording belongs to, by a hash of its name: test < 0.2 <= validation < 0.3 <= train."""
    share = split_share(recording)
    return "test" if share < 0.2 else "validation" if share < 0.3 else "train"


def split_share(recording: str) -> float:
    """U in [0, 1) from the first eight hexadecimal digits of SHA-256("giveway-split-1:" + recording)."""
    digest = hashlib.sha256(f"giveway-split-1:{recording}".encode()).hexdigest()
    return int(digest[:8], 16) / 2**32


def stratified(cases: Sequence[Case]) -> list[Case]:
    """Cases of one recording, most interesting first: at most 25 per tag, no ego twice within 10 s."""
    counts: Counter[str] = Counter()
    starts: dict[str, list[float]] = {}
    kept: list[Case] = []
    for case in sorted(cases, key=lambda case: (-(case.interest or 0.0), case.id)):
        tag = case.tags[0]
        before = starts.setdefault(case.ego.id, [])
        if counts[tag] < PER_TAG and all(abs(case.start_s - other) >= EGO_PAUSE_S for other in before):
            counts[tag] += 1
            before.append(case.start_s)
            kept.append(case)
    return kept


def selected(by_recording: Mapping[str, Sequence[Case]], quotas: Mapping[Split, int] = QUOTAS) -> list[Case]:
    """The most interesting case of each recording, then the second, until each split is full; in order of recording."""
    chosen: list[Case] = []
    for split, quota in quotas.items():
        mine = {name: list(cases) for name, cases in by_recording.items() if split_of(name) == split}
        turns = [
            (rank, hashlib.sha256(name.encode()).hexdigest(), case)
            for name, cases in mine.items()
            for rank, case in enumerate(cases)
        ]
        chosen += [case for _, _, case in sorted(turns, key=lambda turn: turn[:2])[:quota]]
    return sorted(chosen, key=lambda case: (case.recording, case.start_s, case.id))


def mine_standard(
    folder: Path,
    out: Path,
    *,
    dataset: str = "interaction",
    sites: Sequence[str] = (),
    max_recordings: int | None = None,
    gallery: Path | None = None,
    quotas: Mapping[Split, int] = QUOTAS,
    progress: Count = lambda done, total, current: None,
) -> dict[str, Any]:
    """Make the standard set of a folder of recordings: one file, and one per split beside it.

    Args:
        folder: with the recordings and their maps.
        out: set file, ``NAME.json``; ``NAME-test.json`` and the like are written, too.
        dataset: registered adapter.
        sites: parts of the names of sites; all if empty.
        max_recordings: read at most this many.
        gallery: also write a page with a picture of every case.
        quotas: largest number of cases of each split.
        progress: told (done, total, recording), twice over all recordings: speeds of the sites, then cases.

    Returns:
        Numbers of cases by split, tag and rule, content id, speeds, recordings without a map and those left out.

    Raises:
        EmptySelectionError: no case.
    """
    chosen: dict[str, Any] = {"dataset": dataset, "sites": sites, "max_recordings": max_recordings}
    speeds: dict[str, SiteSpeeds] = {}
    roads: dict[str, PreparedMap] = {}
    first = read_scenes(folder, progress=progress, **chosen)
    for scene in first:
        if scene.road is not None and scene.location not in roads:
            roads[scene.location] = prepare_road(scene.road)
        speeds.setdefault(scene.location, SiteSpeeds()).add(scene.tracks, roads.get(scene.location))
    found: dict[str, list[Case]] = {}
    pictures: dict[str, tuple[Case, Scene]] = {}
    without_map: list[str] = []
    off_road = 0
    scenes = read_scenes(folder, progress=progress, **chosen)
    for recording, scene in scenes.pairs():
        if scene.road is None:
            without_map.append(recording.id)
            continue
        road = roads[scene.location]
        mined = mine_scene(
            scene, dataset=dataset, recording=recording.id, rules=RULES, speeds=speeds[scene.location]
        ).cases
        cases = [case for case in mined if _has_route(case, scene.tracks, road)]
        off_road += len(mined) - len(cases)
        tracks = _at_ticks(scene.tracks)
        kept = [replace(case, content_id=content_id(case, tracks), tracks_sha256="") for case in stratified(cases)]
        found.setdefault(recording.id, []).extend(kept)
        if gallery is not None:
            pictures |= {case.id: (case, scene) for case in kept}
    cases = selected(found, quotas)
    if not cases:
        hint = "standard sets need maps: FOLDER/maps" if without_map else "lower --min-interest with a plain mine"
        raise EmptySelectionError(
            "no case for a standard set", where=folder, found=f"{len(without_map)} recordings without a map", hint=hint
        )
    facts = _facts(cases, dataset)
    write_cases(out, cases, facts)
    for split in quotas:
        part = [case for case in cases if split_of(case.recording) == split]
        if part:
            write_cases(out.with_name(f"{out.stem}-{split}{out.suffix}"), part, _facts(part, dataset))
    if gallery is not None:
        write_gallery(gallery, [pictures[case.id] for case in cases])
    return {
        "cases": len(cases),
        "content_id": set_id(case.fingerprint for case in cases),
        "splits": dict(Counter(split_of(case.recording) for case in cases)),
        "recordings": len({case.recording for case in cases}),
        "tags": dict(Counter(tag for case in cases for tag in case.tags)),
        "right_of_way_by": dict(Counter(case.conflicts[0].rule for case in cases)),
        "off_road": off_road,
        "without_map": without_map,
        "left_out": list(scenes.notes),
    }


def verify_set(cases: Sequence[Case], source: SceneSource) -> dict[str, Any]:
    """Compare every case of a set with the recordings at hand.

    Returns:
        ``verified``: number of cases; ``failed``: case to reason (recording not there, other content, damaged).
    """
    failed: dict[str, str] = {}
    tracks: dict[str, Tracks] = {}
    for case in sorted(cases, key=lambda case: case.recording):
        try:
            if case.recording not in tracks:
                tracks = {case.recording: _at_ticks(source.scene_of(case).tracks)}
            here = tracks[case.recording]
            if not case.content_id:
                failed[case.id] = "the case carries no content id"
            elif content_id(case, here) != case.content_id:
                failed[case.id] = "the recording has other content than the set was made from"
        except GivewayError as error:
            failed[case.id] = f"{type(error).__name__}: {error.what}"
    return {"cases": len(cases), "verified": len(cases) - len(failed), "failed": failed}


def _facts(cases: Sequence[Case], dataset: str) -> dict[str, Any]:
    """What a set file says about itself."""
    recordings = Counter(case.recording for case in cases)
    return {
        "name": "standard",
        "version": SET_VERSION,
        "made_by": f"giveway {__version__}",
        "dataset": dataset,
        "rules": {**asdict(RULES), "per_tag": PER_TAG, "ego_pause_s": EGO_PAUSE_S, "tags": sorted(TAGS.values())},
        "recordings": {name: {"split": split_of(name), "cases": count} for name, count in sorted(recordings.items())},
    }


def _at_ticks(tracks: Tracks) -> Tracks:
    return tracks if abs(tracks.dt_s - TICK_S) < 1e-6 else resample(tracks, TICK_S)


def _has_route(case: Case, tracks: Tracks, road: PreparedMap) -> bool:
    """Whether at least half of the ego's recorded path lies on lanes: others cannot be judged by the map."""
    row = tracks.index_of(case.ego.id)
    inside = tracks.observed[row] & (tracks.time_s >= case.start_s - 1e-6) & (tracks.time_s <= case.end_s + 1e-6)
    lanes = road.match(tracks.xy[row, inside][::5], tracks.heading[row, inside][::5]).lane
    return bool((lanes >= 0).mean() >= 0.5)
