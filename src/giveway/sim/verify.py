"""Is this the recording a case was made for? Decided by content; names of files are the same in every release.

The challenge's case files carry no hash. What they do carry identifies the recording. Measured on the challenge's 48
cases, with the right recordings and with the files of the same names from the public release (25 of the cases have
one there):

====================================  ==================  ==============================  =========
check                                 right recording     another release                 tolerance
====================================  ==================  ==============================  =========
``ego_end_m`` against the recording   below 1e-9 m        absent, or 12.3 m to 64.8 m     0.05 m
cast present in the window            48 of 48            2 of 25                         exact
altered start to its recorded path    at most 1.36 m      --                              5 m
size of an altered start              0 m                 --                              0.02 m
====================================  ==================  ==============================  =========
"""

from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np

from giveway.core.case import TICK_S, Car, Case
from giveway.core.errors import DataError
from giveway.core.scene import Scene
from giveway.core.tracks import Tracks
from giveway.roads.routes import path_through, project

END_TOLERANCE_M = 0.05
START_REACH_M = 5.0
"""An altered start lies within this distance of the recorded path of its car."""

SIZE_TOLERANCE_M = 0.02
HINT = "same file name, other content: get the recording the case was made from, or mine again"


def content_id(case: Case, tracks: Tracks) -> str:
    """SHA-256 over the recorded states of all agents during a case; survives another encoding of the file.

    Lines ``id,tick,X,Y,VX,VY`` in millimeters and mm/s, rounded half up; ids sorted as text, ticks from 0 at the start,
    where an agent is present.

    Args:
        case: whose window.
        tracks: its recording at 10 Hz.
    """
    first = round((case.start_s - float(tracks.time_s[0])) / TICK_S)
    part = slice(first, first + case.num_ticks + 1)
    digest = hashlib.sha256()
    states = np.concatenate([tracks.xy[:, part], tracks.velocity[:, part]], axis=-1)
    for row in sorted(range(tracks.num_agents), key=lambda i: str(tracks.ids[i])):
        ticks = np.flatnonzero(tracks.observed[row, part])
        whole = np.floor(1000.0 * np.nan_to_num(states[row, ticks]) + 0.5).astype(np.int64)
        name = str(tracks.ids[row])
        for tick, (x, y, vx, vy) in zip(ticks.tolist(), whole.tolist(), strict=True):
            digest.update(f"{name},{tick},{x},{y},{vx},{vy}\n".encode())
    return digest.hexdigest()


def verify_recording(case: Case, scene: Scene, tracks: Tracks) -> Literal["hash", "content"]:
    """Compare a case with the recording it is about to be driven on.

    A hash, or else a content id, decides alone. Without them the recorded position of the ego at the end, the whole
    cast and every altered start must fit; a case without both says nothing about its recording and is refused.

    Args:
        case: what is to be driven; its window lies inside the tracks.
        scene: the recording, with the hashes of its files.
        tracks: its tracks at 10 Hz.

    Raises:
        DataError: another recording, or a case that cannot tell.
    """
    where = f"case {case.id!r}, recording {case.recording!r}"
    if case.tracks_sha256:
        hashes = set(scene.provenance.files.values())
        if case.tracks_sha256 not in hashes:
            known = ", ".join(sorted(h[:12] for h in hashes)) or "unknown"
            found = f"SHA-256 {known}, expected {case.tracks_sha256[:12]}"
            raise DataError("the track file is not the one this case was made for", where=where, found=found, hint=HINT)
        return "hash"
    if case.content_id:
        found = content_id(case, tracks)
        if found != case.content_id:
            told = f"content {found[:12]}, expected {case.content_id[:12]}"
            raise DataError("the recording is not the one this case was made for", where=where, found=told, hint=HINT)
        return "content"
    if case.ego_end_m is None:
        raise DataError(
            "nothing in this case tells its recording from another one of the same name",
            where=where,
            found="neither tracks_sha256 nor ego_end_m",
            hint="add the SHA-256 of the track file to the case",
        )
    differences = _differences(case, tracks)
    if differences:
        raise DataError(
            "the recording is not the one this case was made for", where=where, found="; ".join(differences), hint=HINT
        )
    return "content"


def _differences(case: Case, tracks: Tracks) -> list[str]:
    """Everything in which the recording is not as the case says."""
    first = round((case.start_s - float(tracks.time_s[0])) / TICK_S)
    last = first + case.num_ticks
    rows = {str(name): i for i, name in enumerate(tracks.ids)}
    present = np.asarray(tracks.observed[:, first : last + 1].any(axis=1))
    cast = [car.id for car in case.cars] + [car for car in case.right_of_way if car not in {c.id for c in case.cars}]
    missing = [car for car in cast if car not in rows or not present[rows[car]]]
    found = [f"no car {', '.join(missing)} in the window"] if missing else []
    ego = rows.get(case.ego.id)
    if ego is not None and case.ego.id not in missing:
        if not tracks.observed[ego, last]:
            found.append("the ego is not recorded at the end of the case")
        else:
            away = float(np.hypot(*(tracks.xy[ego, last] - np.array(case.ego_end_m))))
            if away > END_TOLERANCE_M:
                found.append(f"the ego ends {away:.2f} m away from where the case says")
    found += [
        text for car in case.cars if car.id in rows and car.id not in missing for text in _start(car, tracks, rows)
    ]
    return found


def _start(car: Car, tracks: Tracks, rows: dict[str, int]) -> list[str]:
    """What contradicts an altered start: its distance from the car's path, the size of the car."""
    if car.start is None:
        return []
    row = rows[car.id]
    way = tracks.xy[row, tracks.observed[row]]
    found: list[str] = []
    place = np.array([car.start.x_m, car.start.y_m])
    path = path_through(way, car.start.heading_rad)
    s, aside = project(path, place)
    before_or_after = float(np.min(np.hypot(*(way - place).T))) if s < 0 or s > (path.x.size - 1) * path.step_m else 0.0
    away = max(abs(aside), before_or_after)
    if away > START_REACH_M:
        found.append(f"the start of car {car.id} is {away:.1f} m from its recorded path")
    for name, given, recorded in zip(
        ("length", "width"), (car.start.length_m, car.start.width_m), tracks.size[row].tolist(), strict=True
    ):
        if given is not None and recorded > 0 and abs(given - recorded) > SIZE_TOLERANCE_M:
            found.append(f"the {name} of car {car.id} is {recorded:.2f} m, not {given:.2f} m")
    return found
