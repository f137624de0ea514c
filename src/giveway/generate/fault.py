"""Who is to blame for a crash, and could it have been avoided? For any clip, wherever it was driven."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import UsageError
from giveway.core.tracks import Tracks
from giveway.generate.objective.arrays import HISTORY, LOOK_BACK
from giveway.generate.objective.careful import could_be_avoided
from giveway.generate.objective.contact import blame, boxes_touch, fill_box, in_one_lane, touched_side
from giveway.generate.protocol import Fault
from giveway.roads.tables import RoadTables
from giveway.sim.locate import locate, wrapped


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of looking at a clip.

    Attributes:
        fault: class of fault; NONE without contact.
        avoidable: a careful driver in the ego's place would have avoided the contact; False without one.
        car: id of the car in contact; empty without one.
        step: instant of the contact; -1 without one.
    """

    fault: Fault
    avoidable: bool
    car: str
    step: int


def judge_clip(tracks: Tracks, road: RoadTables, *, ego: str = "ego") -> Verdict:
    """Find the first contact of the ego and judge it as the environment does.

    Args:
        tracks: at 10 Hz; sizes and headings must be known.
        road: the road the clip was driven on.
        ego: identifier of the car under test.

    Raises:
        UsageError: no such car, or another rate than 10 Hz.
    """
    if ego not in tracks.ids:
        raise UsageError("the clip has no such car", where=ego, found=", ".join(tracks.ids.tolist()))
    if tracks.num_instants > 1 and abs(tracks.dt_s - 0.1) > 1e-6:
        raise UsageError("clips are judged at 10 Hz", found=f"steps of {tracks.dt_s:g} s")
    own = tracks.index_of(ego)
    order = [own, *(i for i in range(tracks.num_agents) if i != own)]
    clip = tracks.select(np.array(order))
    for step in range(clip.num_instants):
        hit = _first_touch(clip, step)
        if hit >= 0:
            return _judge(clip, road, step, hit)
    return Verdict(fault=Fault.NONE, avoidable=False, car="", step=-1)


def _box(clip: Tracks, i: int, step: int) -> FloatArray:
    out = np.empty(7)
    x, y = clip.xy[i, step].tolist()
    length, width = clip.size[i].tolist()
    fill_box(x, y, float(clip.heading[i, step]), length, width, out)
    return out


def _first_touch(clip: Tracks, step: int) -> int:
    if not clip.observed[0, step]:
        return -1
    own = _box(clip, 0, step)
    for j in range(1, clip.num_agents):
        if clip.observed[j, step] and boxes_touch(own, _box(clip, j, step)):
            return j
    return -1


def _judge(clip: Tracks, road: RoadTables, step: int, hit: int) -> Verdict:
    before = max(step - 1, 0)
    way, _, d, direction = _nearest_way(road, clip.xy[0, step], float(clip.heading[0, step]))
    _, _, _, other_direction = _nearest_way(road, clip.xy[hit, step], float(clip.heading[hit, step]))
    turn = wrapped(float(clip.heading[0, step]) - direction)
    length, width = clip.size[0].tolist()
    lies = in_one_lane(d, turn, length, width, road.half_width)
    side = touched_side(_box(clip, 0, before), _box(clip, hit, before), _box(clip, 0, step), _box(clip, hit, step))
    speed = clip.speed
    other_turn = wrapped(float(clip.heading[hit, step]) - other_direction)
    fault = blame(side, lies, float(speed[hit, before]), other_turn, float(speed[0, before]))
    start = max(step - LOOK_BACK, 0)
    way, _, _, _ = _nearest_way(road, clip.xy[0, start], float(clip.heading[0, start]))
    avoidable = could_be_avoided(_history(clip, road, way, start, step), step, way, road, clip.size)
    return Verdict(fault=Fault(int(fault)), avoidable=bool(avoidable), car=str(clip.ids[hit]), step=step)


def _nearest_way(road: RoadTables, xy: FloatArray, heading: float) -> tuple[int, float, float, float]:
    """Way, s, d and direction of the way that fits a pose best: 1 rad of heading counts like 10 m of offset."""
    best, found = np.inf, (0, 0.0, 0.0, 0.0)
    for way in range(len(road.first)):
        rows = road.path[road.first[way] : road.first[way] + road.num_rows[way], :2]
        row = int(np.argmin(((rows - xy) ** 2).sum(axis=1)))
        _, s, d, direction = locate(road, way, row, float(xy[0]), float(xy[1]))
        cost = abs(d) + 10.0 * abs(wrapped(heading - direction))
        if cost < best - 1e-9:
            best, found = cost, (way, s, d, direction)
    return found


def _history(clip: Tracks, road: RoadTables, ego_way: int, start: int, step: int) -> FloatArray:
    """(n, 41, 7) ring of the last seconds; the ego's lane coordinates on the way where it began."""
    out = np.zeros((clip.num_agents, HISTORY, 7))
    for i in range(clip.num_agents):
        for frame in range(start, step + 1):
            if not clip.observed[i, frame]:
                continue
            way, s, d, _ = _nearest_way(road, clip.xy[i, frame], float(clip.heading[i, frame]))
            if i == 0 and way != ego_way:
                rows = road.path[road.first[ego_way] : road.first[ego_way] + road.num_rows[ego_way], :2]
                row = int(np.argmin(((rows - clip.xy[i, frame]) ** 2).sum(axis=1)))
                _, s, d, _ = locate(road, ego_way, row, *clip.xy[i, frame])
            out[i, frame % HISTORY] = (
                *clip.xy[i, frame],
                clip.heading[i, frame],
                clip.speed[i, frame],
                s,
                d,
                1.0,
            )
    return out
