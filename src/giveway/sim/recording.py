"""Turning a finished batch into logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.boxes import corners, footprints
from giveway.core.case import TICK_S, Role
from giveway.core.log import PLAN_EVERY, DriveLog, LogEvent, LoggedPredictions, last_known
from giveway.core.origins import Origin, RowOrigin
from giveway.core.tracks import Tracks
from giveway.predictors.acceptance import AcceptedPredictions
from giveway.roads.queries import PreparedMap
from giveway.roads.routes import CarPath, project
from giveway.sim.drivers.cognitive_log import joined_minds
from giveway.sim.prepare import PreparedCase
from giveway.sim.responsibility import judged_contacts
from giveway.sim.simulation import ORIGIN_M, Simulation
from giveway.sim.state import PAST, DriverCode


class PredictionLog:
    """Collects what was predicted, tick by tick, for all cases of a batch."""

    def __init__(self) -> None:
        self._case: list[IntArray] = []
        self._agent: list[IntArray] = []
        self._tick: list[IntArray] = []
        self._answers: list[AcceptedPredictions] = []

    def add(self, simulation: Simulation, accepted: AcceptedPredictions) -> None:
        """Keep the predictions about to be used; call before the step."""
        case, agent = simulation.waiting()
        if case.size:
            self._case.append(case)
            self._agent.append(agent)
            self._tick.append(np.full(case.size, simulation.tick, dtype=np.int64))
            self._answers.append(accepted)

    def of_case(self, index: int, ids: Sequence[str]) -> tuple[LoggedPredictions | None, list[LogEvent]]:
        """The predictions of one case and its fallbacks."""
        ticks: list[IntArray] = []
        agents: list[IntArray] = []
        states: list[FloatArray] = []
        weights: list[FloatArray] = []
        events: list[LogEvent] = []
        for case, agent, tick, answer in zip(self._case, self._agent, self._tick, self._answers, strict=True):
            rows = np.flatnonzero(case == index)
            if rows.size == 0:
                continue
            ticks.append(tick[rows])
            agents.append(agent[rows])
            states.append(answer.states[rows])
            weights.append(answer.probability[rows])
            for row in rows.tolist():
                if answer.reasons[row]:
                    car = str(ids[int(agent[row])])
                    events.append(LogEvent(tick=int(tick[row]), kind="fallback", car=car, text=answer.reasons[row]))
        if not ticks:
            return None, events
        modes = max(int(np.flatnonzero((w > 0).any(axis=0)).max()) + 1 for w in weights)
        used = [_to_modes(s, w, modes) for s, w in zip(states, weights, strict=True)]
        all_states = np.concatenate([s for s, _ in used])
        weight = np.concatenate([w for _, w in used])
        shift = np.zeros(5)
        shift[:2] = ORIGIN_M
        logged = LoggedPredictions(
            tick=np.concatenate(ticks),
            agent=np.concatenate(agents),
            states=np.where((weight > 0)[..., None, None], all_states + shift, 0.0),
            probability=weight,
        )
        return logged, events


def _to_modes(states: FloatArray, weight: FloatArray, modes: int) -> tuple[FloatArray, FloatArray]:
    """The same predictions with exactly ``modes`` modes; what is cut off or added has probability 0."""
    if states.shape[1] == modes:
        return states, weight
    missing = max(modes - states.shape[1], 0)
    states = np.pad(states[:, :modes], ((0, 0), (0, missing), (0, 0), (0, 0)))
    return states, np.pad(weight[:, :modes], ((0, 0), (0, missing)))


def drive_logs(
    simulation: Simulation,
    predictions: PredictionLog,
    *,
    roads: Mapping[tuple[str, str], PreparedMap | None],
    meta: Mapping[str, Any],
) -> list[DriveLog]:
    """One log per case of a finished batch.

    Args:
        simulation: a batch that is done.
        predictions: what was predicted in it.
        roads: maps with their indices, by dataset and site.
        meta: seed, versions, planner and predictor.
    """
    return [
        drive_log(simulation, c, predictions, roads.get((prepared.case.dataset, prepared.case.site)), meta)
        for c, prepared in enumerate(simulation.cases)
    ]


def driven_tracks(simulation: Simulation, c: int) -> Tracks:
    """What has happened in one world of a batch so far."""
    prepared, state = simulation.cases[c], simulation.state
    agents, shown = len(prepared.ids), slice(PAST, PAST + prepared.case.num_ticks + 1)
    return _tracks(prepared, state.log[c, :agents, shown], state.on[c, :agents, shown], prepared.size)


def recorded_tracks(prepared: PreparedCase) -> Tracks:
    """What was recorded during a case, same rows."""
    shown = slice(PAST, PAST + prepared.case.num_ticks + 1)
    return _tracks(prepared, prepared.rec[:, shown], prepared.rec_on[:, shown], prepared.recorded_size)


def drive_log(
    simulation: Simulation, c: int, predictions: PredictionLog, road: PreparedMap | None, meta: Mapping[str, Any]
) -> DriveLog:
    """The log of one world of a batch."""
    prepared = simulation.cases[c]
    case, ticks = prepared.case, prepared.case.num_ticks
    tracks, recorded = driven_tracks(simulation, c), recorded_tracks(prepared)
    logged, events = predictions.of_case(c, prepared.ids.tolist())
    events += [LogEvent(tick=0, kind="note", car="", text=note) for note in prepared.notes]
    events += _life_events(simulation, c, tracks) + _reactions(simulation, c) + simulation.batch.events[c]
    path, start_s = prepared.paths[prepared.ego], float(prepared.start_s[prepared.ego])
    recorded_ego_s = _progress(prepared.recorded_path, recorded, prepared.ego, prepared.recorded_start_s)
    expected = prepared.expected_progress_m
    ego_seen = np.flatnonzero(tracks.observed[prepared.ego])
    driven = np.array([role is not Role.REPLAY for role in prepared.role], dtype=np.bool_)
    on_replay = prepared.driver[prepared.ego] == DriverCode.REPLAY
    if on_replay and case.ego.start is not None:  # it is the recorded car, on its own path and from its own start
        path, start_s, expected = prepared.recorded_path, prepared.recorded_start_s, last_known(recorded_ego_s)
    return DriveLog(
        case=case,
        tracks=tracks,
        recorded=recorded,
        roles=prepared.role,
        predicted=prepared.predicted,
        ego=prepared.ego,
        ego_s=_progress(path, tracks, prepared.ego, start_s),
        recorded_ego_s=recorded_ego_s,
        expected_progress_m=expected,
        ego_left=bool(not on_replay and ego_seen.size > 0 and ego_seen[-1] < ticks),
        plans=_plans(path, simulation.state.ego_plans[c, :ticks]),
        predictions=logged,
        collisions=judged_contacts(tracks, road, ego=str(prepared.ids[prepared.ego]), right_of_way=case.right_of_way),
        events=tuple(sorted(events, key=lambda e: (e.tick, e.kind, e.car))),
        outside_m=_outside(road, tracks, driven),
        recorded_outside_m=_outside(road, recorded, driven),
        limit_mps=_limit(road, tracks, prepared.ego),
        meta=meta,
        origins=_driven_origins(prepared, str(meta.get("planner", ""))),
        recorded_origins=prepared.origins,
        minds=joined_minds(simulation.batch.thoughts[c]) if simulation.batch.thoughts else None,
    )


def _driven_origins(prepared: PreparedCase, planner: str) -> tuple[RowOrigin, ...]:
    """(A,) a replayed row is what its recording is; what a driver moved is driven, whatever the car was before."""
    names = [
        planner if i == prepared.ego and planner else DriverCode(d).name.lower() for i, d in enumerate(prepared.driver)
    ]
    return tuple(
        row
        if driver == DriverCode.REPLAY
        else RowOrigin(origin=Origin.DRIVEN, declared_by="file", by=name, was=row.origin)
        for row, driver, name in zip(prepared.origins, prepared.driver.tolist(), names, strict=True)
    )


def _tracks(prepared: PreparedCase, states: FloatArray, on: BoolArray, size: FloatArray) -> Tracks:
    states = np.where(on[..., None], states, np.nan)
    heading = np.where(prepared.heading_known[:, None], states[..., 4], np.nan)
    return Tracks(
        time_s=prepared.case.start_s + TICK_S * np.arange(on.shape[1]),
        xy=states[..., :2].copy(),
        heading=heading,
        velocity=states[..., 2:4].copy(),
        observed=on.copy(),
        size=size,
        kind=prepared.kind,
        ids=prepared.ids,
    )


def _progress(path: CarPath | None, tracks: Tracks, ego: int, start_s: float) -> FloatArray:
    progress = np.full(tracks.num_instants, np.nan)
    if path is not None:
        for k in np.flatnonzero(tracks.observed[ego]).tolist():
            progress[k] = project(path, tracks.xy[ego, k])[0] - start_s
    return progress


def _plans(path: CarPath | None, plans: FloatArray) -> FloatArray:
    s = plans[:, PLAN_EVERY - 1 :: PLAN_EVERY]
    if path is None:
        return np.full((*s.shape, 2), np.nan)
    table = np.arange(path.x.size) * path.step_m
    xy = np.stack([np.interp(s, table, path.x), np.interp(s, table, path.y)], axis=-1)
    return np.where(np.isnan(s)[..., None], np.nan, xy)


def _life_events(simulation: Simulation, c: int, tracks: Tracks) -> list[LogEvent]:
    prepared = simulation.cases[c]
    events: list[LogEvent] = []
    for i, name in enumerate(prepared.ids.tolist()):
        delay = int(simulation.state.delayed[c, i])
        if delay:
            seen = bool(tracks.observed[i].any())
            text = (
                f"appeared {delay} ticks late, its place was taken" if seen else "never appeared, its place was taken"
            )
            events.append(LogEvent(tick=int(prepared.spawn_tick[i]), kind="delayed", car=name, text=text))
        if prepared.driver[i] == DriverCode.REPLAY:
            continue
        seen = np.flatnonzero(tracks.observed[i])
        if seen.size and seen[-1] < prepared.case.num_ticks:
            events.append(LogEvent(tick=int(seen[-1]), kind="left", car=name, text="reached the end of its path"))
    return events


def _reactions(simulation: Simulation, c: int) -> list[LogEvent]:
    """Hand-overs with their cause, and cars that were let go so that a circle of waiting cars could dissolve."""
    traffic, ids = simulation.traffic, simulation.cases[c].ids
    events: list[LogEvent] = []
    for i in np.flatnonzero(traffic.handed[c] >= 0).tolist():
        text = f"driven from here on: as recorded it would run into car {ids[traffic.cause[c, i]]}"
        events.append(LogEvent(tick=int(traffic.handed[c, i]), kind="handover", car=str(ids[i]), text=text))
    memory = traffic.waiting.car[c]
    for i in np.flatnonzero(memory["num_freed"] > 0).tolist():
        count = int(memory["num_freed"][i])
        text = "goes first: cars waited for each other in a circle" + (f" (time {count})" if count > 1 else "")
        events.append(LogEvent(tick=int(memory["freed_tick"][i]), kind="deadlock", car=str(ids[i]), text=text))
    return events


def _outside(road: PreparedMap | None, tracks: Tracks, driven: BoolArray) -> FloatArray:
    """(A, T + 1) of the outermost corner of each driven car."""
    outside = np.full(tracks.observed.shape, np.nan)
    if road is not None and driven.any():
        box = footprints(tracks.select(driven))
        outside[driven] = road.off_road(corners(box)).max(axis=-1)
    return outside


def _limit(road: PreparedMap | None, tracks: Tracks, ego: int) -> FloatArray:
    limit = np.full(tracks.num_instants, np.nan)
    if road is not None:
        known = {n: lane.speed_limit_mps for n, lane in road.road.lanes.items() if lane.speed_limit_mps is not None}
        lanes = road.match(tracks.xy[ego], tracks.heading[ego]).lane
        for k, lane in enumerate(lanes.tolist()):
            limit[k] = known.get(lane, np.nan)
    return limit
