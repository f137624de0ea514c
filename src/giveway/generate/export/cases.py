"""Failures as recordings and cases, so that ``drive`` can drive them again and ``study`` can show them.

::

    folder/
      cases.json       case set for ``giveway drive run --cases folder/cases.json --data folder/recordings``
      failures.json    flags of every case: grade, violators, avoidable, kind, realism
      recordings/      what was driven, as a store of recordings; also ``giveway study create
      folder/recordings``
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.case import Car, Case, Role, Route
from giveway.core.files import write_text
from giveway.core.lanes import LaneMap
from giveway.core.origins import Origin, RowOrigin
from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import Tracks
from giveway.data.store import open_store, recording_folder, write_recording
from giveway.generate.evaluation.results import TestResult
from giveway.sim.case_files import write_cases

DATASET = "generated"
EGO = "ego"
AFTER_S = 10.0
"""A recording goes on for so long at most after the failure: everybody rolls to a stop, so that clips have a length."""

AFTER_TICKS = 30
"""A case goes on for so long after the failure, so that it is seen as one."""

BRAKE_MPS2 = 5.0
MIN_RECORDING_S = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure worth keeping.

    Attributes:
        id: name of the case.
        result: what came of the test.
        tracks: all cars, row 0 the ego.
        road: on which it happened.
        site: name of that road.
        method: what moved the other cars, e.g. the label of the campaign.
        route: (P, 2) center line that the ego followed; empty if it is not known.
    """

    id: str
    result: TestResult
    tracks: Tracks
    road: LaneMap | None = None
    site: str = ""
    method: str = ""
    route: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))

    @property
    def origins(self) -> tuple[RowOrigin, ...]:
        """(A,) the ego is driven by the program under test, the others are moved to provoke it."""
        driven = RowOrigin(origin=Origin.DRIVEN, declared_by="file", by="ego under test")
        generated = RowOrigin(origin=Origin.GENERATED, declared_by="file", by=self.method)
        return tuple(driven if str(name) == EGO else generated for name in self.tracks.ids)


def failure_id(result: TestResult, prefix: str) -> str:
    """Name of a case: letters, digits and dashes only."""
    return f"{prefix}-{result.number:04d}"


def case_of(failure: Failure) -> Case:
    """The case that drives a failure again: ego under test, everybody else as they drove."""
    tracks, result = failure.tracks, failure.result
    others = tuple(Car(id=str(name), role=Role.REPLAY, predicted=True) for name in tracks.ids if str(name) != EGO)
    last = int(tracks.last[0]) + min(AFTER_TICKS, rolled_out(tracks).num_instants - tracks.num_instants)
    route = None
    if len(failure.route):
        route = Route(
            points_m=tuple((float(x), float(y)) for x, y in failure.route),
            s_m=float(result.scene["ego_s"]),
            speed_mps=float(result.scene["ego_speed"]),
        )
    return Case(
        id=failure.id,
        dataset="store",
        recording=f"{DATASET}/{failure.id}",
        site=failure.site,
        tracks_sha256=tracks_hash(tracks),
        start_s=float(tracks.time_s[0]),
        end_s=float(rolled_out(tracks).time_s[last]),
        cars=(Car(id=EGO, role=Role.EGO, route=route), *others),
        desired_speed_mps=max(float(result.scene.get("ego_desired_speed", 0.0)), 1.0),
        interest=5.0 if result.counts else 3.0,
        source=f"generated {failure.site}",
        origin=Origin.GENERATED,
    )


def scene_of(failure: Failure) -> Scene:
    """The recording of a failure; after the end of the episode everybody brakes to a stop on the line it was on."""
    rated = failure.result.other or next((str(i) for i in failure.tracks.ids if str(i) != EGO), EGO)
    return Scene(
        tracks=rolled_out(failure.tracks),
        road=failure.road,
        location=failure.site,
        provenance=Provenance(
            dataset=DATASET,
            recording=failure.id,
            files={"tracks": tracks_hash(failure.tracks)},
            notes=("generated traffic",),
            origin=Origin.GENERATED,
            declared_by="file",
        ),
        rows=failure.origins,
        attributes={"frame_rate_hz": 10.0, "ego": EGO, "rated": rated, "start_s": 0.0, "situation": failure.id},
    )


def rolled_out(tracks: Tracks) -> Tracks:
    """The tracks until at least 12 s: whoever is there at the end brakes with 5 m/s^2 along its heading."""
    missing = round(10 * min(AFTER_S, MIN_RECORDING_S - float(tracks.time_s[-1])))
    if missing <= 0:
        return tracks
    time = 0.1 * np.arange(1, missing + 1)
    speed0 = tracks.speed[:, -1:]
    speed = np.maximum(speed0 - BRAKE_MPS2 * time, 0.0)
    stop = speed0 / BRAKE_MPS2
    rolled = np.minimum(time, stop)
    along = speed0 * rolled - 0.5 * BRAKE_MPS2 * rolled**2
    heading = tracks.heading[:, -1:]
    way = np.stack([np.cos(heading), np.sin(heading)], axis=-1)
    there = np.repeat(tracks.observed[:, -1:], missing, axis=1)
    last = tracks.time_s[-1]
    return replace(
        tracks,
        time_s=0.1 * np.arange(tracks.num_instants + missing) + float(tracks.time_s[0])
        if tracks.num_instants
        else last + time,
        xy=np.concatenate([tracks.xy, tracks.xy[:, -1:] + along[..., None] * way], axis=1),
        heading=np.concatenate([tracks.heading, np.repeat(heading, missing, axis=1)], axis=1),
        velocity=np.concatenate([tracks.velocity, speed[..., None] * way], axis=1),
        observed=np.concatenate([tracks.observed, there], axis=1),
    )


def tracks_hash(tracks: Tracks) -> str:
    """SHA-256 over the states, as the name of what was driven."""
    digest = hashlib.sha256()
    for array in (tracks.xy, tracks.heading, tracks.velocity, tracks.observed):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def write_failures(folder: Path, failures: Iterable[Failure]) -> Sequence[Case]:
    """Write recordings, cases and flags; recordings that are there already are left alone."""
    recordings = folder / "recordings"
    open_store(recordings, create=True)
    cases: list[Case] = []
    flags: list[dict[str, Any]] = []
    for failure in failures:
        if not (recording_folder(recordings, DATASET, failure.id) / "scenes.json").exists():
            write_recording(recordings, DATASET, failure.id, [scene_of(failure)])
        cases.append(case_of(failure))
        flags.append({"id": failure.id, **flags_of(failure.result)})
    if cases:
        write_cases(folder / "cases.json", cases)
    write_text(folder / "failures.json", json.dumps(flags, indent=1, allow_nan=False) + "\n")
    return cases


def flags_of(result: TestResult) -> dict[str, Any]:
    """What is stored with every failure, in JSON's types; numbers that are not finite become null."""
    plain = asdict(result)
    plain["genes"] = list(result.genes)
    plain |= {"violators": list(result.violators), "at_fault": result.at_fault, "counts": result.counts}
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in plain.items()
    }
