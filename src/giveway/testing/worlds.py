"""Synthetic worlds: small scenes with known answers, in three lines.

::

    from giveway.testing import worlds

    scene = worlds.crossing(arrival_s=(3.0, 4.5))          # a ready one
    scene = worlds.world(                                   # or your own
        worlds.car([[0, 0], [80, 0]], speed_mps=10.0),
        worlds.pedestrian([[40, -5], [40, 5]], speed_mps=1.4, enter_s=1.0),
    )

For property tests, :func:`scenes` and :func:`poses` are strategies of hypothesis, which is imported only there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from giveway.core.arrays import FloatArray
from giveway.core.errors import MissingDependencyError
from giveway.core.frames import Pose
from giveway.core.lanes import LaneMap
from giveway.core.origins import Origin
from giveway.core.polylines import Polyline, polyline
from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.testing.roads import TestRoad, crossing_road, merge_road, roundabout_road, straight_road

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

CAR_SIZE_M = (4.5, 1.8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """An agent that follows a path.

    Attributes:
        path: what it follows; it is present only while on it.
        speed_mps: constant, or (T,) one value per instant.
        start_s: arc length at time 0 [m], also if it enters later or starts before the path (negative).
        enter_s: first moment of presence [s].
        leave_s: end of presence, excluded [s].
        kind: of road user.
        size: length and width [m]; NaN for none.
        has_heading: pedestrians of drone recordings have none.
    """

    path: Polyline
    speed_mps: float | FloatArray
    start_s: float = 0.0
    enter_s: float = 0.0
    leave_s: float = float("inf")
    kind: AgentKind = AgentKind.CAR
    size: tuple[float, float] = CAR_SIZE_M
    has_heading: bool = True


def car(
    path: Polyline | ArrayLike,
    speed_mps: float | FloatArray = 8.0,
    *,
    start_s: float = 0.0,
    enter_s: float = 0.0,
    leave_s: float = float("inf"),
) -> Mover:
    """A car of 4.5 m x 1.8 m along a path or a list of points."""
    return Mover(path=_path(path), speed_mps=speed_mps, start_s=start_s, enter_s=enter_s, leave_s=leave_s)


def pedestrian(
    path: Polyline | ArrayLike, speed_mps: float = 1.4, *, start_s: float = 0.0, enter_s: float = 0.0
) -> Mover:
    """A pedestrian without size and heading, as drone recordings give them."""
    return Mover(
        path=_path(path),
        speed_mps=speed_mps,
        start_s=start_s,
        enter_s=enter_s,
        kind=AgentKind.PEDESTRIAN,
        size=(np.nan, np.nan),
        has_heading=False,
    )


def tracks_of(*movers: Mover, duration_s: float = 6.0, dt_s: float = 0.1) -> Tracks:
    """The tracks of movers from time 0; ids are "1", "2", ..."""
    time_s = np.arange(round(duration_s / dt_s) + 1) * dt_s
    agents = len(movers)
    xy, velocity = np.full((agents, len(time_s), 2), np.nan), np.full((agents, len(time_s), 2), np.nan)
    heading, observed = np.full((agents, len(time_s)), np.nan), np.zeros((agents, len(time_s)), dtype=bool)
    for row, mover in enumerate(movers):
        speed = np.broadcast_to(np.asarray(mover.speed_mps, dtype=np.float64), time_s.shape)
        s = mover.start_s + np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(time_s))])
        here = (time_s >= mover.enter_s - 1e-9) & (time_s < mover.leave_s - 1e-9)
        here &= (s >= -1e-9) & (s <= mover.path.length_m + 1e-9)
        place = mover.path.at(s[here])
        direction = np.stack([np.cos(place.heading), np.sin(place.heading)], axis=-1)
        observed[row], xy[row, here] = here, place.xy
        velocity[row, here] = speed[here, None] * direction
        if mover.has_heading:
            heading[row, here] = place.heading
    return Tracks(
        time_s=time_s,
        xy=xy,
        heading=heading,
        velocity=velocity,
        observed=observed,
        size=np.array([mover.size for mover in movers], dtype=np.float64).reshape(agents, 2),
        kind=np.array([mover.kind for mover in movers], dtype=np.int64),
        ids=np.array([str(n + 1) for n in range(agents)], dtype=np.str_),
    )


def world(
    *movers: Mover, duration_s: float = 6.0, dt_s: float = 0.1, road: LaneMap | None = None, name: str = "world"
) -> Scene:
    """A scene of movers."""
    return Scene(
        tracks=tracks_of(*movers, duration_s=duration_s, dt_s=dt_s),
        road=road,
        location=name,
        provenance=Provenance(dataset="synthetic", recording=name, origin=Origin.SYNTHETIC, declared_by="file"),
    )


def straight(*, num_cars: int = 3, speed_mps: float = 10.0, headway_s: float = 2.0, duration_s: float = 6.0) -> Scene:
    """Cars one after the other on the right lane of a straight road; "1" leads."""
    site = straight_road()
    movers = [car(site.paths["right"], speed_mps, start_s=-n * headway_s * speed_mps) for n in range(num_cars)]
    return world(*movers, duration_s=duration_s, road=site.road, name="straight")


def crossing(
    *,
    arrival_s: tuple[float, float] = (3.0, 5.0),
    speed_mps: tuple[float, float] = (10.0, 8.0),
    duration_s: float = 8.0,
) -> Scene:
    """Two cars whose centers reach the same point at given times; "1" has priority, "2" gives way."""
    return _meeting(crossing_road(), ("east", "north"), np.array([0.0, 0.0]), arrival_s, speed_mps, duration_s)


def merge(
    *,
    arrival_s: tuple[float, float] = (4.0, 6.0),
    speed_mps: tuple[float, float] = (15.0, 12.0),
    duration_s: float = 8.0,
) -> Scene:
    """A car on the main road ("1") and one on the ramp ("2") that reach the point of merging at given times."""
    return _meeting(merge_road(), ("main", "ramp"), np.array([0.0, 0.0]), arrival_s, speed_mps, duration_s)


def roundabout(*, num_cars: int = 4, speed_mps: float = 7.0, headway_s: float = 4.0, duration_s: float = 14.0) -> Scene:
    """Cars that enter one arm after the other and leave at the opposite one."""
    site = roundabout_road()
    movers = [
        car(site.paths[f"{n % 4}-{(n + 2) % 4}"], speed_mps, start_s=-(n // 4) * headway_s * speed_mps)
        for n in range(num_cars)
    ]
    return world(*movers, duration_s=duration_s, road=site.road, name="roundabout")


def poses() -> SearchStrategy[Pose]:
    """Hypothesis strategy: one pose with moderate coordinates."""
    st = _strategies()
    meters, angles = st.floats(-1000.0, 1000.0), st.floats(-np.pi, np.pi)
    return st.builds(Pose.of, meters, meters, angles)


def scenes(*, max_agents: int = 4, duration_s: float = 3.0, dt_s: float = 0.1) -> SearchStrategy[Scene]:
    """Hypothesis strategy: scenes of cars and pedestrians on arcs, some of which come late or leave early."""
    st = _strategies()

    @st.composite
    def movers(draw: DrawFn) -> Mover:
        x, y = draw(st.floats(-30.0, 30.0)), draw(st.floats(-30.0, 30.0))
        heading, curvature = draw(st.floats(-np.pi, np.pi)), draw(st.sampled_from([0.0, 0.05, -0.1]))
        course = heading + curvature * np.linspace(0.0, 60.0, 31)
        steps = 2.0 * np.stack([np.cos(course), np.sin(course)], axis=-1)
        path = polyline(np.array([x, y]) + np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)]))
        enter, stay = draw(st.sampled_from([0.0, 0.5, 1.0])), draw(st.sampled_from([0.5, 1.5, 10.0]))
        if draw(st.booleans()):
            return car(path, draw(st.floats(0.0, 15.0)), enter_s=enter, leave_s=enter + stay)
        return pedestrian(path, draw(st.floats(0.5, 2.5)), enter_s=enter)

    return st.lists(movers(), min_size=1, max_size=max_agents).map(
        lambda drawn: world(*drawn, duration_s=duration_s, dt_s=dt_s)
    )


def _meeting(
    site: TestRoad,
    names: tuple[str, str],
    point: FloatArray,
    arrival_s: tuple[float, float],
    speed_mps: tuple[float, float],
    duration_s: float,
) -> Scene:
    movers: list[Mover] = []
    for name, arrival, speed in zip(names, arrival_s, speed_mps, strict=True):
        path = site.paths[name]
        movers.append(car(path, speed, start_s=float(path.project(point).s) - arrival * speed))
    return world(*movers, duration_s=duration_s, road=site.road, name=site.road.name)


def _path(path: Polyline | ArrayLike) -> Polyline:
    return path if isinstance(path, Polyline) else polyline(path)


def _strategies():
    try:
        import hypothesis.strategies as st
    except ImportError as error:
        raise MissingDependencyError("hypothesis", extra="dev", purpose="a property test") from error
    return st
