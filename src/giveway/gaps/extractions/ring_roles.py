"""Gaps at the entries of a roundabout: who enters (T), who has priority (E), and who else matters.

Reference:
    Schumann et al. 2023 (supplement) and released code, read from text. Differs in: counts of frames are times, so that
    recordings at other rates than 25 Hz can be used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.frames import rotated
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.gaps.encounters import NOT_DRIVERS
from giveway.gaps.extractions.ring_geometry import reference_row, wraps
from giveway.gaps.order import OrderBook
from giveway.gaps.profile import Profile
from giveway.gaps.raw import OneSample

ROLES = ("E", "T", "1", "2", "3", "4")
APPROACH_M = 10.0  # T is seen from at least this far outside the ring
SECTOR = np.pi / 6
NEAR_ENTRY_M = 5.0
WATCH_RADIUS_M = 10.0
FAR_SCORE = 1000.0
DISPLACEMENT_S = 0.2
MIN_TURN_IN = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """Attributes:
    center: (2,) in the frame of the recording [m].
    outer_m: R, outer radius of the circulating lanes.
    inner_m: r, radius of the island.
    turn: +1 where traffic goes around counter-clockwise, -1 clockwise.
    """

    center: FloatArray
    outer_m: float
    inner_m: float
    turn: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Attributes:
    owner: agent, index within the window of T.
    frame: window frame in which it enters the sector in front of T's entry.
    """

    owner: int
    frame: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Everybody who is recorded while T is, in T's frame.

    Attributes:
        agents: (n,) rows of the tracks.
        target: index of T among them.
        start: first frame of the tracks.
        xy: (n, L, 2) [m]; NaN where not recorded.
        radius, angle: (n, L).
        is_driver: (n,) bool, may be E.
        is_vulnerable: (n,) bool, may be role 4.
        acceptance: window frame in which T enters the ring.
        phi: direction from which T comes [rad].
        entry_y: lateral position of T when it comes within 10 m of the ring.
    """

    agents: IntArray
    target: int
    start: int
    xy: FloatArray
    radius: FloatArray
    angle: FloatArray
    is_driver: BoolArray
    is_vulnerable: BoolArray
    acceptance: int
    phi: float
    entry_y: float


def ring_gaps(scene: Scene, ring: Ring, *, prefix: str, profile: Profile) -> Iterator[OneSample | None]:
    """Candidate gaps of a scene by target, None stands for a role conflict.

    Rejected ones come in order of time. The accepted one comes after them, or before them with ``candidate_order =
    accepted_first``, as in the published code.
    """
    tracks = scene.tracks
    kinds = tracks.kind
    is_driver = ~np.isin(kinds, [int(kind) for kind in NOT_DRIVERS])
    vulnerable = np.isin(kinds, [int(k) for k in AgentKind if k.is_vulnerable])
    radius = np.hypot(tracks.xy[..., 0] - ring.center[0], tracks.xy[..., 1] - ring.center[1])
    first, last = tracks.first, tracks.last
    book = OrderBook(tracks)
    for target in np.flatnonzero(is_driver & (last >= 0)):
        window = _window(tracks, int(target), radius, first, last, ring, is_driver, vulnerable)
        if window is None:
            continue
        in_ring, entering = _passages(window, ring, tracks.dt_s)
        before, after = _offered(window, ring)
        ordered = after + before if profile.candidate_order == "accepted_first" else before + after
        for passage in ordered:
            yield _sample(scene, window, ring, passage, in_ring, entering, prefix, profile, book)


def _window(
    tracks: Tracks,
    target: int,
    radius: FloatArray,
    first: IntArray,
    last: IntArray,
    ring: Ring,
    is_driver: BoolArray,
    vulnerable: BoolArray,
) -> Window | None:
    start, stop = int(first[target]), int(last[target]) + 1
    own = radius[target, start:stop]
    with np.errstate(invalid="ignore"):
        inside = own < ring.outer_m
        if (own < ring.inner_m).any() or not inside.any() or own[0] <= ring.outer_m + APPROACH_M:
            return None
        entry = int(np.argmax(own < ring.outer_m + APPROACH_M))
    outward = tracks.xy[target, start] - tracks.xy[target, start + entry]
    phi = float(elementary.arctan2(outward[1], outward[0]))
    agents = np.flatnonzero((first < stop) & (last >= start))
    xy = rotated(tracks.xy[agents, start:stop] - ring.center, -phi)
    position = int(np.flatnonzero(agents == target)[0])
    return Window(
        agents=agents,
        target=position,
        start=start,
        xy=xy,
        radius=radius[agents, start:stop],
        angle=elementary.arctan2(xy[..., 1], xy[..., 0]),
        is_driver=is_driver[agents],
        is_vulnerable=vulnerable[agents],
        acceptance=int(np.argmax(inside)),
        phi=phi,
        entry_y=float(xy[position, entry, 1]),
    )


def _offered(window: Window, ring: Ring) -> tuple[list[Passage], list[Passage]]:
    """Passages of possible egos: all before T enters, and the first one after."""
    with np.errstate(invalid="ignore"):
        circulating = window.radius <= ring.outer_m
        ahead = circulating & (window.angle > 0) & (window.angle < SECTOR)
    enters = ahead[:, 1:] & ~ahead[:, :-1] & circulating[:, :-1]
    enters &= window.is_driver[:, None]
    enters[window.target] = False
    recorded = np.isfinite(window.radius)
    starts_late = recorded.argmax(axis=1) > window.acceptance
    enters[starts_late] = False
    owners, frames = np.nonzero(enters)
    order = np.lexsort((owners, frames))
    passages = [Passage(owner=int(owners[k]), frame=int(frames[k]) + 1) for k in order]
    before = [p for p in passages if p.frame <= window.acceptance]
    after = [p for p in passages if p.frame > window.acceptance]
    return before, after[:1]


def _passages(window: Window, ring: Ring, dt_s: float) -> tuple[list[Passage], list[Passage]]:
    """In-ring and entering passages of everybody but T through the sector around T's entry, by frame."""
    with np.errstate(invalid="ignore"):
        inside = (window.radius <= ring.outer_m) & (np.abs(window.angle) < SECTOR)
        came_in = (window.radius > ring.outer_m) & (window.angle > 0)
    recorded = np.isfinite(window.radius)
    steps = max(1, round(DISPLACEMENT_S / dt_s))
    in_ring: list[Passage] = []
    entering: list[Passage] = []
    for agent in np.flatnonzero(inside.any(axis=1)):
        if agent == window.target:
            continue
        begin = int(recorded[agent].argmax())
        if inside[agent, begin]:
            kind = entering if _turns_in(window, int(agent), begin, steps) else in_ring
            kind.append(Passage(owner=int(agent), frame=begin))
        for frame in np.flatnonzero(inside[agent, 1:] & ~inside[agent, :-1] & recorded[agent, :-1]) + 1:
            kind = entering if came_in[agent, frame - 1] else in_ring
            kind.append(Passage(owner=int(agent), frame=int(frame)))
    in_ring.sort(key=lambda p: (p.frame, p.owner))
    entering.sort(key=lambda p: (p.frame, p.owner))
    return in_ring, entering


def _turns_in(window: Window, agent: int, begin: int, steps: int) -> bool:
    """Whether a track that begins inside the sector points into the ring rather than along it."""
    later = min(begin + steps, window.xy.shape[1] - 1)
    step = window.xy[agent, later] - window.xy[agent, begin]
    angle = float(window.angle[agent, begin])
    if not np.isfinite(step).all() or angle <= 0:
        return False
    return float(elementary.arctan2(step[1], step[0])) - np.pi / 2 - angle > MIN_TURN_IN


def _sample(
    scene: Scene,
    window: Window,
    ring: Ring,
    passage: Passage,
    in_ring: list[Passage],
    entering: list[Passage],
    prefix: str,
    profile: Profile,
    book: OrderBook,
) -> OneSample | None:
    tracks = scene.tracks
    recorded = np.isfinite(window.radius[passage.owner])
    begin = int(recorded.argmax())
    end = len(recorded) - int(recorded[::-1].argmax())
    rows = slice(begin, end)
    ahead, behind = _neighbors(passage.owner, in_ring, profile.role_2)
    before = [p.owner for p in entering if p.frame < window.acceptance]
    agents = (
        passage.owner,
        window.target,
        ahead,
        behind,
        before[-1] if before else None,
        _most_relevant(window, ring, rows, profile.role_4),
    )
    absent = np.full((end - begin, 2), np.nan)
    xy = np.stack([absent if k is None else window.xy[k, rows] for k in agents], axis=1)
    radius, angle = np.hypot(xy[..., 0], xy[..., 1]), elementary.arctan2(xy[..., 1], xy[..., 0])
    rows_of = {r: reference_row(radius[:, k], angle[:, k], ring.outer_m) for k, r in enumerate(ROLES[:5])}
    if rows_of["1"] >= rows_of["E"] >= 0 or 0 <= rows_of["2"] <= rows_of["E"]:
        return None
    laps = wraps(angle.T).cumsum(axis=1)
    ids = [("-" if k is None else str(tracks.ids[window.agents[k]])) for k in agents]
    recording = scene.provenance.recording
    order = book.between(
        int(window.agents[window.target]),
        int(window.agents[passage.owner]),
        near_s=float(tracks.time_s[window.start + passage.frame]),
    )
    place = rotated(np.array(order.place) - ring.center, -window.phi)
    return OneSample(
        sample_id=f"{prefix}/{recording}/T{ids[1]}/E{ids[0]}@{window.start + passage.frame}",
        group=f"{recording}/{ids[1]}",
        location=scene.location,
        time_s=tracks.time_s[window.start + begin : window.start + end],
        xy=xy,
        constants={"radius_m": round(ring.outer_m, 3) if profile.ring_radius == "rounded" else ring.outer_m}
        | {"entry_rad": float(elementary.arctan2(place[1], place[0])), "entry_radius_m": float(np.hypot(*place))}
        | {f"laps_{r}": float(laps[k, rows_of[r]]) if rows_of[r] >= 0 else 0.0 for k, r in enumerate(ROLES[:5])},
        order=order,
    )


def _neighbors(ego: int, in_ring: list[Passage], rule: str) -> tuple[int | None, int | None]:
    """Owners of the passages before and after the first one of E, which the rule ``any_owner`` lets follow itself."""
    owners = [p.owner for p in in_ring]
    if ego not in owners:
        return None, None
    place = owners.index(ego)
    ahead = owners[place - 1] if place > 0 else None
    behind = next((owner for owner in owners[place + 1 :] if owner != ego or rule == "any_owner"), None)
    return ahead, behind


def _most_relevant(window: Window, ring: Ring, rows: slice, rule: str) -> int | None:
    """The pedestrian or cyclist who comes closest to T near its entry.

    With the rule ``first_absent`` the first one who is not recorded during the sample wins, as NaN does in a minimum;
    the role is then absent.
    """
    candidates = np.flatnonzero(window.is_vulnerable)
    best: tuple[float, int] | None = None
    point = np.array([ring.outer_m + NEAR_ENTRY_M, window.entry_y])
    for agent in candidates:
        to_entry = np.linalg.norm(window.xy[agent, rows] - point, axis=1)
        if not np.isfinite(to_entry).any():
            if rule == "first_absent":
                return None
            continue
        to_target = np.linalg.norm(window.xy[agent, rows] - window.xy[window.target, rows], axis=1)
        with np.errstate(invalid="ignore"):
            near = to_entry < WATCH_RADIUS_M
        score = float(np.nanmin(to_target[near])) if near.any() else FAR_SCORE + float(np.nanmin(to_entry))
        if best is None or score < best[0]:
            best = (score, int(agent))
    return None if best is None else best[1]
