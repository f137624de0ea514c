"""Watching drives again: pages with the player, films."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.case import TICK_S
from giveway.core.files import write_text
from giveway.core.lanes import LaneMap
from giveway.core.log import Collision, DriveLog, Grade
from giveway.core.origins import Origin, banner, sorted_origins
from giveway.core.scene import Provenance, Scene
from giveway.drive.minds import minds_shown
from giveway.drive.roads import road_of_log
from giveway.reports.player.document import Event, Fan, Story, Verdict, replay_document, side_by_side
from giveway.reports.player.encounter import Encounter, closest, find_encounter
from giveway.reports.player.notebook import replay_frame
from giveway.reports.rendering import replay_page

STANDS_MPS = 0.3
"""An ego that was faster and becomes slower than this stops."""
MARKED = ("handover", "deadlock", "guard", "fallback", "emergency")
"""Kinds of logged events that have a mark of their own; others are notes."""


def drive_document(log: DriveLog, road: LaneMap | None, *, fans: bool = True) -> dict[str, Any]:
    """The player's document of one drive: map, boxes, ghosts, predictions as fans, the ego's plan, events, verdict."""
    tracks = log.tracks
    ids = [str(i) for i in tracks.ids.tolist()]
    ego = ids[log.ego]
    traffic = sorted_origins(row for row in log.origins if row.origin is not Origin.DRIVEN)
    notice = banner("the replayed traffic", traffic) if traffic not in ([], [Origin.RECORDED]) else ""
    encounter = encounter_of(log)
    has_priority = [name for name in log.case.right_of_way if name in ids]
    met = {encounter.partner} if encounter else set[str]()
    chosen = {car.id: car.driver for car in log.case.cars if car.driver}
    drivers = {name: chosen.get(name) or str(log.roles[k]) for k, name in enumerate(ids)}
    handed = {e.car: e.tick for e in log.events if e.kind == "handover"}
    document = replay_document(
        Scene(
            tracks=tracks,
            road=road,
            location=log.case.site,
            provenance=Provenance(
                dataset="simulation", recording=log.case.id, origin=Origin.DRIVEN, declared_by="file"
            ),
            rows=log.origins,
        ),
        title=f"{log.case.id}, planner {log.meta.get('planner', '')}",
        ego=ego,
        roles=dict.fromkeys({*has_priority, *met}, "prio") | {ego: "ego"},
        labels={ego: "ego"},
        events=_events(log),
        fans=list(_fans(log)) if fans else [],
        story=Story(
            name=str(log.meta.get("predictor") or "no predictor"),
            notice=notice,
            encounter=encounter,
            verdict=verdict_of(log, encounter),
            recorded=log.recorded,
            drivers=drivers,
            handed_over=handed,
            cruise_mps=log.case.desired_speed_mps,
            role_names={"ego": "ego", "prio": "car with priority" if met <= set(has_priority) else "car it meets"},
        ),
    )
    return document if log.minds is None else {**document, "minds": minds_shown(log, log.minds, document["origin"])}


def encounter_of(log: DriveLog) -> Encounter | None:
    """First contact of the ego, else a near miss, else the closest approach; cars with the right of way come first."""
    ego = str(log.tracks.ids[log.ego])
    contact = _contact(log)
    if contact is not None:
        other = contact.second if contact.first == ego else contact.first
        return Encounter(time_s=contact.time_s, kind="contact", partner=other)
    rows = [log.tracks.index_of(name) for name in log.case.right_of_way if name in log.tracks.ids]
    return find_encounter(log.tracks, log.ego, prefer=rows)


def _contact(log: DriveLog) -> Collision | None:
    ego = str(log.tracks.ids[log.ego])
    found = [c for c in log.collisions if ego in (c.first, c.second) and not c.at_spawn]
    return min(found, key=lambda c: c.start_tick, default=None)


def verdict_of(log: DriveLog, encounter: Encounter | None) -> Verdict | None:
    """How a drive ended, in a few words: contact and fault, else who went first and the smallest gap."""
    if log.failed:
        return Verdict(text=f"failed: {log.failed}", bad=True)
    contact = _contact(log)
    if contact is not None:
        grade = f", {contact.grade.meaning}" if contact.grade is not Grade.NONE else ""
        return Verdict(text=f"contact at {contact.relative_speed_mps:.1f} m/s{grade}", bad=True)
    if encounter is None:
        return None
    near = closest(log.tracks, log.ego, log.tracks.index_of(encounter.partner))
    order = {True: "went first, ", False: "gave way, ", None: ""}[near.ego_first]
    return Verdict(text=f"{order}smallest gap {near.gap_m:.1f} m")


def log_html(log: DriveLog) -> str:
    """The replay of a drive inside a notebook; with its map if that was kept or the case is a bundled one."""
    return replay_frame(drive_document(log, road_of_log(log)))


def replay_documents(logs: Sequence[DriveLog], data: Path | None = None) -> list[dict[str, Any]]:
    """Documents of drives of one case, for :func:`write_replay_page` and films."""
    return [drive_document(log, road_of_log(log, data)) for log in logs]


def write_replay_page(path: Path, documents: Sequence[Mapping[str, Any]]) -> None:
    """One self-contained HTML file; several drives can be chosen and compared on one clock."""
    write_text(path, replay_page(documents[0] if len(documents) == 1 else side_by_side(documents)))


def _events(log: DriveLog) -> list[Event]:
    start = float(log.tracks.time_s[0])
    events = [
        Event(
            time_s=c.time_s,
            label=f"{c.first} and {c.second} collide, {c.relative_speed_mps:.1f} m/s; {c.sentence}".rstrip("; "),
            kind="contact",
        )
        for c in log.collisions
    ]
    told = [(e.tick, e.kind if e.kind in MARKED else "note", e.car, e.text) for e in log.events]
    told += [(tick, "guard", car, "is stopped by the guard") for tick, car in _guarded(log)]
    told += [(tick, "stop", str(log.tracks.ids[log.ego]), "stops") for tick in _stops(log)]
    return events + [
        Event(time_s=start + TICK_S * tick, label=f"{car} {text}".strip(), kind=kind)
        for tick, kind, car, text in _onsets(told)
    ]


def _onsets(told: Sequence[tuple[int, str, str, str]]) -> Iterator[tuple[int, str, str, str]]:
    """Of the same thing at successive ticks (within half a second), only the first."""
    last: dict[tuple[str, str], int] = {}
    for tick, kind, car, text in sorted(told):
        if kind == "note" or tick - last.get((kind, car), -100) > 5:
            yield tick, kind, car, text
        last[kind, car] = tick


def _guarded(log: DriveLog) -> Iterator[tuple[int, str]]:
    """When the guard of a mind decides instead of the mind."""
    if log.minds is not None:
        for row in np.flatnonzero(log.minds.guard <= log.minds.accel + 1e-9).tolist():
            yield int(log.minds.tick[row]), str(log.tracks.ids[int(log.minds.agent[row])])


def _stops(log: DriveLog) -> list[int]:
    """Instants at which the ego comes to a stop."""
    stands = log.tracks.speed[log.ego] < STANDS_MPS
    return (np.flatnonzero(stands[1:] & ~stands[:-1] & log.tracks.observed[log.ego, :-1]) + 1).tolist()


def _fans(log: DriveLog) -> Iterator[Fan]:
    ids = log.tracks.ids.tolist()
    ego = str(ids[log.ego])
    for tick in range(log.plans.shape[0]):
        plan = log.plans[tick]
        if not np.isnan(plan).any():
            xy = np.concatenate([log.tracks.xy[log.ego, tick][None], plan])[None]
            yield Fan(frame=tick, agent_id=ego, kind="plan", xy=xy, probability=np.ones(1))
    told = log.predictions
    if told is None:
        return
    for row in range(told.tick.size):
        used = told.probability[row] > 0
        tick, agent = int(told.tick[row]), int(told.agent[row])
        now = np.broadcast_to(log.tracks.xy[agent, tick], (int(used.sum()), 1, 2))
        xy = np.concatenate([now, told.states[row, used, 4::5, :2]], axis=1)
        yield Fan(
            frame=tick, agent_id=str(ids[agent]), kind="prediction", xy=xy, probability=told.probability[row, used]
        )
