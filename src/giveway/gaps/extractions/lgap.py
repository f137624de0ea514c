"""L-GAP: the human (T) turns left across the lane of an oncoming car (E).

Frame of a sample: E drives along +x at y = -w/2; T comes from +x at y = +w/2 and turns towards -y. T accepts when its
center crosses y = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from giveway.core import elementary
from giveway.core.arrays import FloatArray, IntArray
from giveway.core.frames import rotated
from giveway.core.kernels import njit
from giveway.core.scene import Scene
from giveway.gaps.order import OrderBook
from giveway.gaps.profile import Profile
from giveway.gaps.protocol import Candidates, ExtractionInfo
from giveway.gaps.raw import Description, OneSample, RawGaps, empty_distances, line_boundary, stack

LANE_WIDTH_M = 3.5
VEHICLE_LENGTH_M = 5.0
BEHIND_CENTER_M = -3.0  # a target that got this far straight on does not turn
NO_OTHERS_M = 500.0
WINDOW_SAMPLES = 5
WINDOW_S = 0.05  # the same five samples at the recorded 97 Hz
MIN_STEP_M = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class LGapExtraction:
    """One candidate per trial, from the row on in which the other car drives steadily."""

    info: ExtractionInfo

    def enumerate(self, scenes: Iterable[Scene], profile: Profile) -> Candidates:
        """Trials in file order; a trial in which the other car never drives has no rows."""
        samples = [_trial(scene) for scene in scenes]
        boundary = line_boundary(len(samples), (0.0, 1.0), 0.0)
        return Candidates(raw=stack(samples, roles=("E", "T"), vulnerable=(), boundary=boundary))

    def describe(self, raw: RawGaps, profile: Profile) -> Description:
        """Distances of E and T to the contested space.

        ::

            D_C = -x_E - (w + l/2)          D_A = sign(y_T) sqrt(y_T² + dx²)
            dx  = min(y_T xdot_T / ydot_T, x_T + w/2): way along x still to go before y = 0

        The first 0.05 s of a track take the direction of its first full window, in ``clean`` too.
        """
        if profile.lgap_window == "samples":
            windows = np.full(raw.num_samples, WINDOW_SAMPLES)
        else:
            windows = _windows_in_seconds(raw.offset, raw.time_s, WINDOW_S)
        way = _way_along_x(raw.offset, raw.xy[:, 1], windows, LANE_WIDTH_M, profile.lgap_window == "samples")
        distance = empty_distances(len(raw.time_s))
        _fill_distances(raw.xy, way, distance)
        distance[:, 2:5] = NO_OTHERS_M
        distance[:, 5] = 2 * LANE_WIDTH_M
        distance[:, 6] = LANE_WIDTH_M
        return Description(valid=raw.xy[:, 1, 0] > BEHIND_CENTER_M, distance=distance, missing_m=NO_OTHERS_M)

    def complete(
        self, xy: FloatArray, roles: tuple[str, ...], constants: Mapping[str, FloatArray], profile: Profile
    ) -> FloatArray:
        """Nobody is ever absent."""
        return xy


def _trial(scene: Scene) -> OneSample:
    tracks, facts = scene.tracks, scene.attributes
    human, bot = tracks.index_of("human"), tracks.index_of("bot")
    start = int(tracks.first[bot])
    rows = slice(start, tracks.num_instants)
    xy = np.stack([tracks.xy[bot, rows], tracks.xy[human, rows]], axis=1)
    if len(xy):
        velocity = tracks.velocity[bot, start]
        theta = -elementary.arctan2(velocity[1], velocity[0])
        xy = rotated(xy - facts["intersection_m"], theta)
    key = "-".join(str(facts[name]) for name in ("subj_id", "session", "route", "intersection_no"))
    return OneSample(
        sample_id=f"lgap/{key}",
        group=str(facts["subj_id"]),
        location=scene.location,
        time_s=tracks.time_s[rows],
        xy=xy,
        constants={},
        order=OrderBook(tracks).between(human, bot, near_s=0.0),
    )


@njit(cache=True)
def _fill_distances(xy: FloatArray, way: FloatArray, distance: FloatArray) -> None:
    """D_C and D_A, without an array for every step of the formula."""
    for k in range(len(xy)):
        y = xy[k, 1, 1]
        distance[k, 0] = -xy[k, 0, 0] - (LANE_WIDTH_M + VEHICLE_LENGTH_M / 2)
        distance[k, 1] = 0.0 if y == 0 else np.copysign(np.sqrt(y * y + way[k] * way[k]), y)


@njit(cache=True)
def _windows_in_seconds(offset: IntArray, time_s: FloatArray, window_s: float) -> IntArray:
    windows = np.ones(len(offset) - 1, dtype=np.int64)
    for i in range(len(windows)):
        if offset[i + 1] - offset[i] > 1:
            step = np.median(np.diff(time_s[offset[i] : offset[i + 1]]))
            windows[i] = max(int(np.floor(window_s / step + 0.5)), 1)
    return windows


@njit(cache=True)
def _way_along_x(
    offset: IntArray, target: FloatArray, windows: IntArray, lane_width: float, uses_whole_track: bool
) -> FloatArray:
    """(K,) dx: from the direction over a window, with the largest value where T points away from the line."""
    out = np.zeros(len(target))
    for i in range(len(windows)):
        first, stop = offset[i], offset[i + 1]
        window = min(windows[i], stop - first - 1)
        if window < 1:
            continue
        for k in range(first + window, stop):
            ux = target[k, 0] - target[k - window, 0]
            uy = target[k, 1] - target[k - window, 1]
            if abs(ux) < MIN_STEP_M:
                ux = MIN_STEP_M if ux > 0 else -MIN_STEP_M
            length = np.sqrt(ux * ux + uy * uy)
            ux, uy = ux / length, uy / length
            middle = (target[k, 1] + target[k - window, 1]) / 2
            out[k] = middle / (uy + 1e-5 + 3e-5 * np.sign(uy)) * ux
        for k in range(first, first + window):
            out[k] = out[first + window]
        largest = -np.inf
        if uses_whole_track:
            for k in range(first, stop):
                largest = max(largest, out[k])
        for k in range(first, stop):
            largest = max(largest, out[k])
            if target[k, 1] > 0:
                if out[k] < 0:
                    out[k] = largest
                out[k] = min(out[k], target[k, 0] + lane_width / 2)
    return out


LGAP = LGapExtraction(
    info=ExtractionInfo(
        name="lgap",
        title="L-GAP",
        dataset="lgap",
        situation="unprotected left turn in a driving simulator",
        switches=frozenset({"lgap_window"}),
        references=(
            "A. Zgonnikov, D. Abbink, G. Markkula, Should I stay or should I go? Cognitive modeling of left-turn gap "
            "acceptance decisions in human drivers, Human Factors 2022",
        ),
    )
)
"""Two agents, E and T."""
