"""highD: a vehicle (T) moves to the lane on its left before or after a faster one (E) comes up there.

Frame of a sample: x along the road, y to the left from the marking T would cross, origin at T's first recorded place
along x. T accepts when its center crosses y = 0.

Reference:
    Schumann, Kober, Zgonnikov, IEEE T-IV 2023. Differs in: the random thinning of rejected gaps has a seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from giveway.core.scene import Scene
from giveway.core.seeds import stream
from giveway.core.tracks import AgentKind, Tracks
from giveway.gaps.order import OrderBook
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import Description, OneSample, RawGaps, empty_distances, line_boundary, stack
from giveway.gaps.times import characteristic_times, velocity_windows

VEHICLE_LENGTH_M = 5.0
LANE_WIDTH_M = 3.5
MISSING_M = 500.0
NEAR_M = 100.0
MIN_SHARED_FRAMES = 50
MIN_FRAMES_BEFORE = 5
ROLES = ("E", "T", "1", "2", "3")
RESTRICTED_FACTOR = 2.0
KEEP = {(True, False): 0.30, (True, True): 0.10, (False, False): 0.08, (False, True): 0.02}
"""Share of rejected gaps without a later lane change that is kept: (1 was alongside, T is a truck) to probability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carriageway:
    """One direction of travel, turned so that everybody drives along +x with left at +y.

    Attributes:
        agents: (n,) rows of the tracks.
        xy: (n, T, 2) [m]; y from the right marking of the rightmost lane.
        markings: (M,) y of the markings, ascending from 0.
        lane: (n, T) lane number from 1 on the right; 0 where not recorded.
        neighbors: name to (n, T) rows of ``agents``, -1 for none.
    """

    agents: IntArray
    xy: FloatArray
    markings: FloatArray
    lane: IntArray
    neighbors: Mapping[str, AnyArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class HighDExtraction:
    """One candidate per vehicle that pulls alongside T on the left, and one per lane change of T.

    Attributes:
        info: fact sheet.
        restricted: of the rejected gaps keep those where T shows that it wants to change lanes, see
            :func:`wants_to_change`.
    """

    info: ExtractionInfo
    restricted: bool = False

    def enumerate(self, scenes: Iterable[Scene], profile: Profile) -> Candidates:
        """Recordings in order, directions, targets, events in order of time."""
        samples = [
            sample
            for scene in scenes
            for book in (OrderBook(scene.tracks),)
            for way in _carriageways(scene)
            for sample in _gaps(scene, way, book)
        ]
        boundary = line_boundary(len(samples), (0.0, -1.0), 0.0)
        note = "rejected gaps without a later lane change are thinned at random, with a fixed seed"
        raw = stack(samples, roles=ROLES, vulnerable=(), boundary=boundary)
        if not self.restricted or not samples:
            return Candidates(raw=raw, notes=(note,))
        kept = np.flatnonzero(wants_to_change(raw, self.describe(raw, profile), profile))
        left_out = f"{len(samples) - len(kept)} rejected gaps were left out because T shows no wish to change lanes"
        return Candidates(raw=raw.take(kept), notes=(note, left_out))

    def describe(self, raw: RawGaps, profile: Profile) -> Description:
        """Distances along the road.

        ::

            D_C = x_T - x_E - l   D_A = -y_T   D_1 = x_1 - x_E - l   D_2 = x_T - x_2 - l   D_3 = x_3 - x_T - l
            L_E = l, so that a gap is open when 1 is a length ahead of T;  L_T = w
        """
        ego, target, ahead, behind, before = (raw.xy[:, k] for k in range(5))
        distance = empty_distances(len(raw.time_s))
        distance[:, 0] = target[:, 0] - ego[:, 0] - VEHICLE_LENGTH_M
        distance[:, 1] = -target[:, 1]
        distance[:, 2] = ahead[:, 0] - ego[:, 0] - VEHICLE_LENGTH_M
        distance[:, 3] = target[:, 0] - behind[:, 0] - VEHICLE_LENGTH_M
        distance[:, 4] = before[:, 0] - target[:, 0] - VEHICLE_LENGTH_M
        distance[:, 5] = VEHICLE_LENGTH_M
        distance[:, 6] = LANE_WIDTH_M
        valid = np.isfinite(distance[:, 0])
        return Description(valid=valid, distance=distance, missing_m=MISSING_M)

    def complete(
        self, xy: FloatArray, roles: tuple[str, ...], constants: Mapping[str, FloatArray], profile: Profile
    ) -> FloatArray:
        """Absent neighbors half a kilometer away in their lane where the profile wants it."""
        if profile.phantoms == "mask" or len(roles) <= 2:
            return xy
        xy = xy.copy()
        for role, reference, side in (("1", "E", MISSING_M), ("2", "T", -MISSING_M), ("3", "T", MISSING_M)):
            k, anchor = roles.index(role), roles.index(reference)
            absent = np.isnan(xy[:, k]).any(axis=2)
            xy[:, k][absent] = (xy[:, anchor] + [side, 0.0])[absent]
        return xy


def wants_to_change(raw: RawGaps, description: Description, profile: Profile) -> BoolArray:
    """(N,) accepted gaps, and rejected ones in which T would rather have taken the gap.

    ::

        T changes lanes after E has passed,   or   G(t_S) >= 2 (t_3 - t_S),   t_3 - t_S = D_3 / max(-dD_3/dt, 0)

    G(t_S) is the offered gap and t_3 the time at which T would reach the vehicle ahead of it. Candidates without an
    observable decision stay, to be counted by admission.

    Reference:
        Schumann, Kober, Zgonnikov, IEEE T-IV 2023, the "restricted" set: 1025 and 133 rejected gaps, union 1075.
    """
    times = characteristic_times(offset=raw.offset, time_s=raw.time_s, description=description, profile=profile)
    window = velocity_windows(offset=raw.offset, time_s=raw.time_s, rule=profile.velocity_window)
    first, row = raw.offset[:-1], np.maximum(times.open_row, 0)
    now = np.minimum(np.maximum(row, first + window), raw.offset[1:] - 1)
    before = np.maximum(now - window, first)
    ahead = description.distance[:, 4]
    with np.errstate(divide="ignore", invalid="ignore"):
        closing = (ahead[before] - ahead[now]) / (raw.time_s[now] - raw.time_s[before])
        reach_s = np.where(closing > 0, ahead[row] / closing, np.inf)
        squeezed = times.gap_at_open_s >= RESTRICTED_FACTOR * reach_s
    return ~times.is_decided | times.is_accepted | (raw.constants["changes_later"] > 0) | squeezed


def _carriageways(scene: Scene) -> Iterator[Carriageway]:
    tracks, facts = scene.tracks, scene.attributes
    numbers = tracks.ids.astype(np.int64)  # 1, 2, ...; 0 stands for no neighbor
    dense = {name: _dense(tracks, np.asarray(facts[name])) for name in _NEIGHBORS}
    far_end = float(np.nanmax(tracks.xy[..., 0])) if tracks.num_agents else 0.0
    for direction, markings in ((1, facts["upper_lane_markings_m"]), (2, facts["lower_lane_markings_m"])):
        agents = np.flatnonzero(np.asarray(facts["driving_direction"]) == direction)
        xy = tracks.xy[agents].copy()
        edges = np.asarray(markings, dtype=float)
        if direction == 1:
            xy[..., 0], xy[..., 1] = far_end - xy[..., 0], edges.max() - xy[..., 1]
            edges = edges.max() - edges
        else:
            xy[..., 1] -= edges.min()
            edges = edges - edges.min()
        edges = np.sort(edges)
        lane = np.where(np.isnan(xy[..., 1]), 0, np.clip(np.searchsorted(edges, xy[..., 1]), 1, len(edges) - 1))
        place = np.full(int(numbers.max(initial=0)) + 1, -1, dtype=np.int32)
        place[numbers[agents]] = np.arange(len(agents))
        neighbors = {name: place[values[agents]] for name, values in dense.items()}
        yield Carriageway(agents=agents, xy=xy, markings=edges, lane=lane, neighbors=neighbors)


_NEIGHBORS = ("preceding_id", "following_id", "left_alongside_id", "left_following_id")


def _dense(tracks: Tracks, flat: AnyArray) -> AnyArray:
    """(A, T) from values in the order of ``tracks.observed``; 0 where not recorded."""
    values = np.zeros(tracks.observed.shape, dtype=np.int32)
    values[tracks.observed] = flat
    return values


def _gaps(scene: Scene, way: Carriageway, book: OrderBook) -> Iterator[OneSample]:
    """Events of every target, by frame."""
    following, alongside = way.neighbors["left_following_id"], way.neighbors["left_alongside_id"]
    behind = way.neighbors["following_id"]
    for target in range(len(way.agents)):
        lane = way.lane[target]
        rises = np.flatnonzero((lane[1:] == lane[:-1] + 1) & (lane[:-1] > 0))
        passed = np.flatnonzero((following[target, :-1] == alongside[target, 1:]) & (following[target, :-1] >= 0))
        events = [(int(k), int(following[target, k]), False) for k in passed]
        for k in rises:
            ego = int(behind[target, k + 1])
            if ego >= 0 and _matters(way, target, ego, int(k)):
                events.append((int(k), ego, True))
        for frame, ego, accepted in sorted(events):
            later_change = bool((rises > frame).any())
            sample = _sample(scene, way, target, ego, frame, book, changes_later=later_change)
            if sample is not None and (accepted or later_change or _is_drawn(scene, way, target, ego, frame, sample)):
                yield sample


def _matters(way: Carriageway, target: int, ego: int, frame: int) -> bool:
    """The follower in the new lane is slower than T is fast enough to notice, or near."""
    dx = way.xy[target, frame, 0] - way.xy[ego, frame, 0]
    before = max(frame - 1, 0)
    closing = (way.xy[target, frame, 0] - way.xy[target, before, 0]) - (way.xy[ego, frame, 0] - way.xy[ego, before, 0])
    return bool(closing > 0 or dx < NEAR_M)


def _is_drawn(scene: Scene, way: Carriageway, target: int, ego: int, frame: int, sample: OneSample) -> bool:
    is_truck = int(scene.tracks.kind[way.agents[target]]) == int(AgentKind.TRUCK)
    ahead = int(way.neighbors["preceding_id"][ego, frame])
    alongside = ahead >= 0 and bool((way.neighbors["left_alongside_id"][target, : frame + 1] == ahead).any())
    return stream(0, "highd", sample.sample_id).random() < KEEP[alongside, is_truck]


def _sample(
    scene: Scene, way: Carriageway, target: int, ego: int, frame: int, book: OrderBook, *, changes_later: bool
) -> OneSample | None:
    tracks = scene.tracks
    both = np.isfinite(way.xy[target, :, 0]) & np.isfinite(way.xy[ego, :, 0])
    shared = np.flatnonzero(both)
    lane = int(way.lane[target, frame])
    if len(shared) < MIN_SHARED_FRAMES or frame - shared[0] < MIN_FRAMES_BEFORE or lane >= len(way.markings) - 1:
        return None
    rows = slice(int(shared[0]), int(shared[-1]) + 1)
    ahead = int(way.neighbors["preceding_id"][ego, frame])
    others = (
        -1 if ahead == target else ahead,
        int(way.neighbors["following_id"][target, frame]),
        int(way.neighbors["preceding_id"][target, frame]),
    )
    absent = np.full((rows.stop - rows.start, 2), np.nan)
    xy = np.stack([absent if k < 0 else way.xy[k, rows] for k in (ego, target, *others)], axis=1)
    xy = xy - [float(way.xy[target, rows.start, 0]), float(way.markings[lane])]
    names = [str(tracks.ids[way.agents[k]]) for k in (target, ego)]
    recording = scene.provenance.recording
    return OneSample(
        sample_id=f"highd/{recording}/T{names[0]}/E{names[1]}@{frame}",
        group=f"{recording}/{names[0]}",
        location=scene.location,
        time_s=tracks.time_s[rows],
        xy=xy,
        constants={"changes_later": float(changes_later)},
        order=book.between(int(way.agents[target]), int(way.agents[ego]), near_s=float(tracks.time_s[frame])),
    )


HIGHD = HighDExtraction(
    info=ExtractionInfo(
        name="highd",
        title="highD",
        dataset="highd",
        situation="lane change to the left on a highway",
        switches=frozenset({"phantoms"}),
        references=(
            "R. Krajewski et al., The highD Dataset: A Drone Dataset of Naturalistic Vehicle Trajectories on German "
            "Highways, ITSC 2018",
        ),
        revision=1,
    )
)
"""Five agents: E, T, ahead of E, behind T, ahead of T."""

HIGHD_RESTRICTED = HighDExtraction(
    info=replace(
        HIGHD.info,
        name="highd_restricted",
        title="highD (restricted)",
        situation="lane change to the left on a highway, by drivers who show that they want to",
    ),
    restricted=True,
)
"""The same without drivers who seem content in their lane."""
