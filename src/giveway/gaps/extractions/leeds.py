"""Leeds (UDISS): the participant (T) drives straight across a stream of cars (E and its neighbors).

Frame of a sample: E drives along +y at x < 0, T along -x at y < 0; the origin is where the two center lines meet. T
accepts when its front crosses x = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import BoolArray, FloatArray
from giveway.core.frames import rotated
from giveway.core.scene import Scene
from giveway.core.tracks import Tracks
from giveway.gaps.order import OrderBook
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import Description, OneSample, RawGaps, empty_distances, line_boundary, stack

LANE_WIDTH_M, PRINTED_WIDTH_M = 3.65, 3.5
VEHICLE_LENGTH_M = 5.0
ISLAND_M = 1.0  # traffic island between the directions
MISSING_M, FAR_M = 1000.0, 500.0  # absent cars, as published and as printed
SUBSAMPLING = 12  # frames; two fifths of a second at 30 Hz
ROLES = ("E", "T", "1", "2")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeedsExtraction:
    """One candidate per car of the stream, while both it and the participant are logged."""

    info: ExtractionInfo

    def enumerate(self, scenes: Iterable[Scene], profile: Profile) -> Candidates:
        """Every car as E, in the order of participants, crossings and car numbers."""
        samples = [sample for scene in scenes for sample in _crossing(scene, profile)]
        boundary = line_boundary(len(samples), (1.0, 0.0), VEHICLE_LENGTH_M / 2)
        return Candidates(raw=stack(samples, roles=ROLES, vulnerable=(), boundary=boundary))

    def describe(self, raw: RawGaps, profile: Profile) -> Description:
        """Distances along the two lanes.

        ::

            D_C = -y_E - (w + 1 + l/2)   D_A = x_T - l/2   D_1 = y_1 - y_E - l   D_2 = y_E - y_2 - l
            valid: -(w + 1) < y_T < 0    L_E = w + 1       L_T = w               D_3 = 1000

        Eq. 12 of the supplement prints D_C in the place of D_A, so profile ``printed`` has the same D_A.
        """
        ego, target, ahead, behind = (raw.xy[:, k] for k in range(4))
        width = PRINTED_WIDTH_M if profile.lane_width == "printed" else LANE_WIDTH_M
        missing = FAR_M if profile.phantoms == "far" else MISSING_M
        distance = empty_distances(len(raw.time_s))
        distance[:, 0] = -ego[:, 1] - (width + ISLAND_M + VEHICLE_LENGTH_M / 2)
        distance[:, 1] = target[:, 0] - VEHICLE_LENGTH_M / 2
        distance[:, 2] = ahead[:, 1] - ego[:, 1] - VEHICLE_LENGTH_M
        distance[:, 3] = ego[:, 1] - behind[:, 1] - VEHICLE_LENGTH_M
        distance[:, 4] = MISSING_M
        distance[:, 5] = width + ISLAND_M
        distance[:, 6] = width
        valid = (target[:, 1] > -(width + ISLAND_M)) & (target[:, 1] < 0)
        return Description(valid=valid, distance=distance, missing_m=missing)

    def complete(
        self, xy: FloatArray, roles: tuple[str, ...], constants: Mapping[str, FloatArray], profile: Profile
    ) -> FloatArray:
        """Absent neighbors 1000 m ahead of and behind E; one that comes and goes keeps its offset to E."""
        if profile.phantoms == "mask" or "1" not in roles:
            return xy
        xy = xy.copy()
        away = FAR_M if profile.phantoms == "far" else MISSING_M
        for role, side in (("1", away), ("2", -away)):
            k = roles.index(role)
            xy[:, k] = xy[:, 0] + _held_offset(xy[:, k] - xy[:, 0], np.array([0.0, side]))
        return xy


def _held_offset(offset: FloatArray, default: FloatArray) -> FloatArray:
    """Nearest known offset along the inputs (earlier before later), or the default where there is none; (M, n_I, 2)."""
    known: BoolArray = np.asarray(~np.isnan(offset).any(axis=2))
    steps = np.arange(offset.shape[1])
    separation = np.abs(steps[:, None] - steps[None, :]) + 0.25 * (steps[None, :] > steps[:, None])
    cost = np.where(known[:, None, :], separation[None], np.inf)
    nearest = cost.argmin(axis=2)
    held = np.take_along_axis(offset, nearest[..., None], axis=1)
    return np.where(np.asarray(known.any(axis=1))[:, None, None], held, default)


def _crossing(scene: Scene, profile: Profile) -> Iterator[OneSample]:
    tracks, facts = scene.tracks, scene.attributes
    subject = tracks.index_of("subject")
    drones = [k for k in range(tracks.num_agents) if k != subject]
    if not drones:
        return
    xy = _normalized(tracks, subject, drones[0], facts, profile)
    index = {str(name): k for k, name in enumerate(tracks.ids)}
    book = OrderBook(tracks)
    for ego in drones:
        pair = [ego, subject]
        rows = slice(int(tracks.first[pair].max()), int(tracks.last[pair].min()) + 1)
        if rows.stop <= rows.start:
            continue
        neighbors = (index.get(str(facts[name][ego])) for name in ("leader_id", "follower_id"))
        absent = np.full((rows.stop - rows.start, 2), np.nan)
        parts = [absent if k is None else xy[k, rows] for k in (ego, subject, *neighbors)]
        yield OneSample(
            sample_id=f"leeds/{scene.provenance.recording}/{tracks.ids[ego]}",
            group=str(facts["participant"]),
            location=scene.location,
            time_s=tracks.time_s[rows],
            xy=np.stack(parts, axis=1),
            constants={},
            order=book.between(subject, ego, near_s=float(tracks.time_s[rows.start])),
        )


def _normalized(
    tracks: Tracks, subject: int, drone: int, facts: Mapping[str, FloatArray], profile: Profile
) -> FloatArray:
    """(A, T, 2) positions with E along +y, T along -x, and the origin where the center lines meet."""
    own = np.flatnonzero(tracks.observed[subject])[::SUBSAMPLING]
    other = np.flatnonzero(tracks.observed[drone])[::SUBSAMPLING]
    apart = np.linalg.norm(tracks.xy[subject, own][:, None] - tracks.xy[drone, other][None], axis=2)
    at_own, at_other = np.unravel_index(int(apart.argmin()), apart.shape)
    step = max(int(at_other), 1)
    heading = tracks.xy[drone, other[step]] - tracks.xy[drone, other[step - 1]]
    theta = np.pi / 2 - elementary.arctan2(heading[1], heading[0])
    xy = rotated(tracks.xy, theta)
    frame_own, frame_other = int(own[at_own]), int(other[at_other])
    if profile.leeds_offset == "integer_part":
        drone_offset = float(int(facts["first_offset_m"][drone]))
    else:
        drone_offset = float(facts["offset_m"][drone, frame_other])
    origin = np.array(
        [
            xy[drone, frame_other, 0] + abs(drone_offset),
            xy[subject, frame_own, 1] + abs(float(facts["offset_m"][subject, frame_own])),
        ]
    )
    return xy - origin


LEEDS = LeedsExtraction(
    info=ExtractionInfo(
        name="leeds",
        title="Leeds",
        dataset="leeds",
        situation="straight crossing of a stream of cars in a driving simulator",
        switches=frozenset({"leeds_offset", "leeds_d_a", "phantoms", "lane_width"}),
        references=("COMMOTIONS urban driving in simulator study (UDISS), arXiv 2305.11909, 2023",),
        revision=1,
    )
)
"""Four agents: E, T, and the cars ahead of and behind E."""

LEEDS_2V = LeedsExtraction(info=replace(LEEDS.info, name="leeds_2v", title="Leeds_{2V}", is_reduced=True))
"""The same samples and times, only E and T visible."""
