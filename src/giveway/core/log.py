"""What one drive left behind: everything that is needed to score and to watch it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.case import Case, Role, case_dict
from giveway.core.displays import shown
from giveway.core.lanes import LaneMap
from giveway.core.origins import RowOrigin
from giveway.core.tracks import Tracks

PLAN_EVERY = 5
"""A logged plan has a point each half second."""


class Region(StrEnum):
    """Where a car was hit."""

    FRONT = "front"
    REAR = "rear"
    LEFT = "left"
    RIGHT = "right"


class Grade(StrEnum):
    """What a contact, or another failure, says about the ego; see :mod:`giveway.sim.responsibility`."""

    NONE = ""
    A = "A"
    B = "B"
    C = "C"
    D = "D"
    NEAR_MISS = "near miss"

    @property
    def meaning(self) -> str:
        """In words."""
        return GRADE_MEANINGS[self]


GRADE_MEANINGS = {
    Grade.NONE: "not graded",
    Grade.A: "at fault",
    Grade.B: "obliged",
    Grade.C: "avoidable",
    Grade.D: "not the ego's",
    Grade.NEAR_MISS: "near miss",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Collision:
    """One contact episode of two agents, with what the law says about it.

    Attributes:
        first: id of one agent; of the ego if it is involved.
        second: id of the other agent.
        start_tick: first tick of contact.
        end_tick: last tick of contact.
        time_s: of the first tick, in seconds of the recording.
        relative_speed_mps: norm of the difference of the velocities at the first tick.
        first_region: where ``first`` was hit.
        second_region: where ``second`` was hit.
        at_spawn: the contact began with the first tick of one of them: nobody's fault, counted apart.
        vulnerable: a pedestrian or cyclist is involved: counted apart as well.
        violators: ids of those who are responsible; empty before somebody has judged.
        grade: for the ego; NONE without it, and in logs of earlier releases.
        by_default: neither violated its proper response; the law names the nearer cause.
        obliged: the ego had to cope with this cut-in by UN R157; None where that does not apply.
        avoidable: a careful driver in the ego's place would have avoided it; None without the ego.
        conflict: ``lateral``, ``longitudinal`` or ``junction``; empty if nobody has judged.
        sentence: the verdict in words.
    """

    first: str
    second: str
    start_tick: int
    end_tick: int
    time_s: float
    relative_speed_mps: float
    first_region: Region
    second_region: Region
    at_spawn: bool
    vulnerable: bool
    violators: tuple[str, ...] = ()
    grade: Grade = Grade.NONE
    by_default: bool = False
    obliged: bool | None = None
    avoidable: bool | None = None
    conflict: str = ""
    sentence: str = ""

    @property
    def first_at_fault(self) -> bool:
        """Whether ``first`` is responsible, perhaps with the other one."""
        return self.first in self.violators

    @property
    def second_at_fault(self) -> bool:
        """Whether ``second`` is responsible, perhaps with the other one."""
        return self.second in self.violators


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedPredictions:
    """What the ego's planner was told, N predictions of one case in order of tick and car.

    Attributes:
        tick: (N,) when.
        agent: (N,) row of the car in the tracks.
        states: (N, K, 30, 5) x, y, vx, vy, heading in site coordinates.
        probability: (N, K); unused modes have 0.
    """

    tick: IntArray
    agent: IntArray
    states: FloatArray
    probability: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedMinds:
    """What cars with a mind believed and did, N decisions of one case in order of tick and car; U actions.

    Attributes:
        tick: (N,) when.
        agent: (N,) row of the car in the tracks.
        partner: (N,) row of the car that it thought about; -1 for nobody, then beliefs are NaN.
        merges: (N,) whether both go on along the same way.
        priority: (N,) 1 own, -1 the partner's, 0 nobody's.
        own: (N, 3) distance to the middle of the area [m], speed [m/s], half-extent of the area [m].
        other: (N, 3) the same of the partner.
        observed: (N,) noisy distance of the partner [m].
        estimate: (N, 2) filtered distance and speed of the partner [m, m/s].
        deviation: (N, 2) their standard deviations.
        percept: (N, 2) the draw that the decision is based on.
        possible: (N, 2) whether the partner could pass first, and second.
        p_first: (N, U) probability that the partner passes first, given each own action.
        advantage: (N, U) accumulated value of each action minus that of none.
        actions: (N, U) changes of acceleration [m/s²], or of speed [m/s] for pedestrians.
        threshold: (N,) advantage needed to act.
        action: (N,) the best action.
        acted: (N,) whether it was done.
        wish: (N,) acceleration that the mind, or the free road, wants [m/s²].
        follow: (N,) what the car ahead allows [m/s²]; infinite without one.
        guard: (N,) what the guard demands [m/s²]; infinite if nothing.
        accel: (N,) what was done [m/s²].
        regime: (N,) 0 free, 1 following, 2 thinking.
        area: (N, 4) x, y where the area begins and ends on the own route [m].
        ghost: (N, 6) x, y of the perceived partner and of both ends of one standard deviation [m].
    """

    tick: IntArray
    agent: IntArray
    partner: IntArray
    merges: BoolArray
    priority: IntArray
    own: FloatArray
    other: FloatArray
    observed: FloatArray
    estimate: FloatArray
    deviation: FloatArray
    percept: FloatArray
    possible: BoolArray
    p_first: FloatArray
    advantage: FloatArray
    actions: FloatArray
    threshold: FloatArray
    action: FloatArray
    acted: BoolArray
    wish: FloatArray
    follow: FloatArray
    guard: FloatArray
    accel: FloatArray
    regime: IntArray
    area: FloatArray
    ghost: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEvent:
    """Something that happened, other than a collision.

    Attributes:
        tick: when.
        kind: ``fallback``, ``delayed``, ``left``, ``note``, ...
        car: whom it concerns; empty for the case as a whole.
        text: one sentence.
    """

    tick: int
    kind: str
    car: str
    text: str


def last_known(values: FloatArray) -> float:
    """The last value that is not NaN; 0 without any."""
    known = values[~np.isnan(values)]
    return float(known[-1]) if known.size else 0.0


def _empty() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveLog:
    """One drive; A agents, T ticks, T + 1 instants.

    Attributes:
        case: what was driven.
        tracks: what happened; time in seconds of the recording.
        recorded: what the recording shows of the same agents at the same instants, whatever starts the case alters.
        roles: (A,) who drove each.
        predicted: (A,) who was predicted.
        ego: row of the ego.
        ego_s: (T + 1,) distance of the ego along its path since its start [m]; NaN where absent.
        recorded_ego_s: (T + 1,) the same of the recorded ego, along its own path from its own start.
        expected_progress_m: distance of the recorded ego's last place from the start of the driven one, along its path.
        ego_left: the ego reached the end of its path.
        plans: (T, 10, 2) ego's plan at +0.5 s ... +5 s, made at each tick; NaN where it made none.
        predictions: what its planner was told; None if nobody was asked.
        collisions: contact episodes.
        events: everything else.
        outside_m: (A, T + 1) signed distance of the outermost corner of each driven car from the edge of the drivable
            area [m], positive outside; NaN without a map and for replay cars.
        recorded_outside_m: (A, T + 1) the same of the recorded cars.
        limit_mps: (T + 1,) speed limit where the ego is; NaN where the map gives none.
        meta: seed, versions, planner and predictor with parameters.
        failed: why the run did not finish; empty if it did.
        origins: (A,) origin of the rows of ``tracks``; empty in logs of earlier releases.
        recorded_origins: (A,) the same of ``recorded``.
        road: lane map of the site, where it was kept with the log; not part of what happened.
        minds: what cars with a mind thought, if it was kept; not part of what happened.
    """

    case: Case
    tracks: Tracks
    recorded: Tracks
    roles: tuple[Role, ...]
    predicted: BoolArray
    ego: int
    ego_s: FloatArray
    recorded_ego_s: FloatArray
    expected_progress_m: float
    ego_left: bool
    plans: FloatArray
    predictions: LoggedPredictions | None
    collisions: tuple[Collision, ...]
    events: tuple[LogEvent, ...]
    outside_m: FloatArray
    recorded_outside_m: FloatArray
    limit_mps: FloatArray
    meta: Mapping[str, Any] = field(default_factory=_empty)
    failed: str = ""
    origins: tuple[RowOrigin, ...] = ()
    recorded_origins: tuple[RowOrigin, ...] = ()
    road: LaneMap | None = None
    minds: LoggedMinds | None = None

    def __repr__(self) -> str:
        seconds = float(self.tracks.time_s[-1] - self.tracks.time_s[0]) if self.tracks.num_instants else 0.0
        who = f"{self.meta.get('predictor') or 'no predictor'}, planner {self.meta.get('planner', '')}"
        end = f"failed: {self.failed}" if self.failed else f"{len(self.collisions)} collisions"
        return f"DriveLog({self.case.id}, {who}, {self.tracks.num_agents} agents, {seconds:.1f} s, {end})"

    def _repr_html_(self) -> str:
        return shown("log", self)

    @property
    def num_fallbacks(self) -> int:
        """Predictions that were missing or unusable and were replaced by constant velocity."""
        return sum(event.kind == "fallback" for event in self.events)

    @property
    def digest(self) -> str:
        """SHA-256 over what happened; must not depend on batch size, workers or transport."""
        return self.digest_with(None)

    def digest_with(self, collisions: Any) -> str:
        """The digest with contacts in the words of a file, which may be those of an earlier release; None for ours."""
        parts = hashlib.sha256()
        arrays = [
            self.tracks.xy,
            self.tracks.heading,
            self.tracks.velocity,
            self.tracks.observed,
            self.ego_s,
            self.plans,
        ]
        if self.predictions is not None:
            arrays += [self.predictions.tick, self.predictions.agent, self.predictions.probability]
            arrays.append(self.predictions.states)
        for array in arrays:
            parts.update(str(array.shape).encode())
            parts.update(array.tobytes())
        facts = {name: value for name, value in self.facts().items() if name != "meta"}
        if collisions is not None:
            facts["collisions"] = collisions
        parts.update(json.dumps(facts, sort_keys=True).encode())
        return parts.hexdigest()

    def facts(self) -> dict[str, Any]:
        """Everything that is not an array, in JSON's types; origins only where they are known."""
        known = {"origins": self.origins, "recorded_origins": self.recorded_origins}
        origins = {name: [row.to_plain() for row in rows] for name, rows in known.items() if rows}
        return json.loads(
            json.dumps(
                {
                    "case": case_dict(self.case),
                    "roles": list(self.roles),
                    "predicted": self.predicted.tolist(),
                    "ego": self.ego,
                    "expected_progress_m": self.expected_progress_m,
                    "ego_left": self.ego_left,
                    "collisions": [asdict(c) for c in self.collisions],
                    "events": [asdict(e) for e in self.events],
                    "meta": dict(self.meta),
                    "failed": self.failed,
                    **origins,
                }
            )
        )
