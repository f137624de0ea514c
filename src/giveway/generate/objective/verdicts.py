"""What the law says about contacts in worlds that have just ended, and what learning cars earn by that.

Contacts end an episode, so few worlds are judged in a step: in Python, over the last ten seconds of the log, by the
same function that judges drives (:func:`giveway.sim.responsibility.judge`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from giveway.core import _box_kernels
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.log import Collision, Grade
from giveway.core.tracks import AgentKind, Tracks
from giveway.generate.objective.arrays import DT_S, Fact, Judged, Results, RewardMode, Rules
from giveway.generate.objective.v1 import NEAR_MISS_SHARE
from giveway.generate.protocol import GRADES, Ending, Outcome
from giveway.roads.queries import prepare
from giveway.roads.road import Road
from giveway.sim import contacts
from giveway.sim.compiling import compiled
from giveway.sim.contacts import REGIONS, boxes_touch, fill_box, touched_side
from giveway.sim.lines import RoadLines, line_through
from giveway.sim.responsibility import LOOK_BACK_TICKS, Verdict, judge
from giveway.sim.state import PAST, State

EGO = "ego"
LOG_COLUMNS = LOOK_BACK_TICKS + 1
"""Ticks that the log of a world must keep for its verdict."""

WORST_FIRST = (Grade.A, Grade.B, Grade.C, Grade.D, Grade.NONE)

WORDS = {
    Outcome.EGO_OFF_ROAD: "the ego left the road",
    Outcome.EGO_STANDSTILL: "the ego stood although the road ahead was free",
    Outcome.PLANNER_RAISED: "the planner raised an error",
    Outcome.PLANNER_HUNG: "the planner gave no plan in time",
    Outcome.PLANNER_INVALID: "the planner gave a plan that cannot be driven",
}


def road_lines(road: Road) -> RoadLines:
    """The lanes in whose coordinates contacts are judged: the map where it says who gives way, else the routes."""
    lanes = road.map()
    if any(lane.yields_to for lane in lanes.lanes.values()):
        return prepare(lanes)
    return [line_through(way, 0.0) for way in road.ways]


class _Judged(NamedTuple):
    contact: Collision
    verdict: Verdict


def settle(
    rules: Rules, state: State, judged: Judged, results: Results, road: RoadLines, ids: list[str]
) -> dict[int, Ending]:
    """Judge the contacts of the last step, note grades and pay what was left open; returns endings by world.

    By grades the team earns the growth of the grade, and a car pays a penalty if it violates in a contact of two cars,
    or in a contact with the ego of grade D. With the reward of release 0.1 a car earns -1 (times the terminal weight)
    if it violates in a contact of two cars, or alone in a contact with the ego that does not count; else the team earns
    1 for a failure that counts.
    """
    found: dict[int, Ending] = {}
    for w in np.flatnonzero(judged.in_contact).tolist():
        judged.in_contact[w] = False
        of_ego, of_cars = _verdicts(last_seconds(state, w, rules.size, ids), road)
        outcome = Outcome(int(judged.outcome[w]))
        if outcome is Outcome.COLLISION:
            ending = _ending(of_ego[0]) if of_ego else Ending()
            judged.grade[w], judged.avoidable[w] = GRADES.index(ending.grade), ending.avoidable
            judged.facts[w, Fact.IMPACT_SPEED] = ending.impact_speed_mps
        else:
            ending = replace(ending_without_contact(judged, w), **_facts(of_cars))
        found[w] = ending
        violators = {name for one in of_cars for name in one.verdict.violators}
        if rules.reward == RewardMode.GRADED:
            _pay_grade(w, rules, judged, results, ending, violators, ids)
        elif rules.reward == RewardMode.V1:
            _pay_v1(w, rules, results, ending, violators, ids)
    return found


def ending_without_contact(judged: Judged, w: int, finding: str = "") -> Ending:
    """What the law says about a world in which nobody touched the ego."""
    grade, outcome = GRADES[int(judged.grade[w])], Outcome(int(judged.outcome[w]))
    if not outcome.is_failure:
        return Ending(grade=grade)
    sentence = f"{grade} ({grade.meaning}). {finding or WORDS[outcome]}"
    return Ending(grade=grade, violators=(EGO,), avoidable=True, avoidable_plus=True, sentence=sentence)


def last_seconds(state: State, w: int, size: FloatArray, ids: list[str]) -> Tracks:
    """The tracks of a world up to now, as far back as the law looks."""
    tick = int(state.tick[w])
    columns: IntArray = (PAST + np.arange(max(tick - LOOK_BACK_TICKS, 0), tick + 1)) % state.log.shape[2]
    return tracks_of(state.log[w][:, columns], state.on[w][:, columns], size, ids)


def tracks_of(states: FloatArray, on: BoolArray, size: FloatArray, ids: list[str]) -> Tracks:
    """Tracks from logged states (n, T, 5) and presence (n, T); cars that are gone are not observed."""
    state: FloatArray = np.where(on[..., None], states, np.nan)
    return Tracks(
        time_s=DT_S * np.arange(states.shape[1]),
        xy=np.ascontiguousarray(state[..., :2]),
        heading=np.ascontiguousarray(state[..., 4]),
        velocity=np.ascontiguousarray(state[..., 2:4]),
        observed=np.ascontiguousarray(on),
        size=size.copy(),
        kind=np.full(len(ids), int(AgentKind.CAR), dtype=np.int64),
        ids=np.array(ids),
    )


def _verdicts(tracks: Tracks, road: RoadLines) -> tuple[list[_Judged], list[_Judged]]:
    """Contacts of the ego at the last instant, worst first, and those of other cars."""
    found = [_Judged(contact, judge(tracks, contact, road, ego=EGO)) for contact in _contacts(tracks)]
    of_ego = [one for one in found if one.contact.first == EGO]
    of_cars = [one for one in found if one.contact.first != EGO]
    return sorted(of_ego, key=lambda one: WORST_FIRST.index(one.verdict.grade)), of_cars


def _contacts(tracks: Tracks) -> list[Collision]:
    """Contacts at the last instant, which are new: an older one would have ended the episode, unless it began so."""
    last = tracks.num_instants - 1
    at = slice(last - 1, last + 1)
    xy, heading, on = (np.ascontiguousarray(a[:, at]) for a in (tracks.xy, tracks.heading, tracks.observed))
    pairs = np.empty((tracks.num_agents * tracks.num_agents, 5), dtype=np.int64)
    count = _touching(xy, heading, on, tracks.size, pairs)
    return [
        Collision(
            first=str(tracks.ids[i]),
            second=str(tracks.ids[j]),
            start_tick=last,
            end_tick=last,
            time_s=float(tracks.time_s[last]),
            relative_speed_mps=math.hypot(*(tracks.velocity[i, last] - tracks.velocity[j, last])),
            first_region=REGIONS[side],
            second_region=REGIONS[other_side],
            at_spawn=bool(older),
            vulnerable=False,
        )
        for i, j, side, other_side, older in pairs[:count].tolist()
    ]


@compiled(_box_kernels, contacts)
def _touching(xy: FloatArray, heading: FloatArray, on: BoolArray, size: FloatArray, pairs: IntArray) -> int:
    """Cars that touch at the second of two instants: (P, 5) both cars, touched sides, whether they touched before."""
    n, count = on.shape[0], 0
    boxes = np.zeros((2, n, 7))
    for i in range(n):
        for k in range(2):
            fill_box(xy[i, k, 0], xy[i, k, 1], heading[i, k], size[i, 0], size[i, 1], boxes[k, i])
    for i in range(n):
        for j in range(i + 1, n):
            if not (on[i, 1] and on[j, 1] and boxes_touch(boxes[1, i], boxes[1, j])):
                continue
            row = pairs[count]
            row[0], row[1] = i, j
            row[2] = touched_side(boxes[0, i], boxes[0, j], boxes[1, i], boxes[1, j])
            row[3] = touched_side(boxes[0, j], boxes[0, i], boxes[1, j], boxes[1, i])
            row[4] = not (on[i, 0] and on[j, 0]) or boxes_touch(boxes[0, i], boxes[0, j])
            count += 1
    return count


def _facts(of_cars: list[_Judged]) -> dict[str, object]:
    if not of_cars:
        return {}
    verdict = of_cars[0].verdict
    return {"violators": verdict.violators, "conflict": verdict.conflict, "sentence": verdict.sentence}


def _ending(one: _Judged) -> Ending:
    contact, verdict = one
    return Ending(
        grade=verdict.grade,
        violators=verdict.violators,
        conflict=verdict.conflict,
        avoidable=bool(verdict.avoidable),
        avoidable_plus=bool(verdict.numbers.get("careful+_avoids", 0.0)),
        other=contact.second,
        impact_speed_mps=contact.relative_speed_mps,
        sentence=verdict.sentence,
    )


def _pay_grade(
    w: int, rules: Rules, judged: Judged, results: Results, ending: Ending, violators: set[str], ids: list[str]
) -> None:
    weights = rules.weights
    worth = {Grade.A: weights.at_fault, Grade.B: weights.obliged, Grade.C: weights.avoidable}
    gain = max(worth.get(ending.grade, 0.0) - float(judged.reached[w]), 0.0) if ending.other else 0.0
    judged.reached[w] += gain
    if ending.grade is Grade.D:
        violators = violators | set(ending.violators)
    for c in range(rules.cars):
        if not results.active[w, c]:
            continue
        terms = results.terms[w, c]
        results.rewards[w, c] += weights.incident * gain
        terms[0] += gain
        if ids[c + 1] in violators and terms[4] == 0.0:  # once: a car that left the road has paid
            terms[4] = -1.0
            results.rewards[w, c] -= weights.penalty


def _pay_v1(w: int, rules: Rules, results: Results, ending: Ending, violators: set[str], ids: list[str]) -> None:
    weights, team = rules.v1, 0.0
    if ending.counts:
        team = 1.0
    elif ending.grade is Grade.NEAR_MISS:
        team = NEAR_MISS_SHARE
    if ending.other and not ending.counts and EGO not in ending.violators:
        violators = violators | set(ending.violators)
    for c in range(rules.cars):
        terms = results.terms[w, c]
        if results.active[w, c] and terms[5] == 0.0:  # a car that left the road has been told
            terms[5] = -1.0 if ids[c + 1] in violators else team
            results.rewards[w, c] += weights.terminal * weights.terminal_scale * terms[5]
