"""States of agents over time: the one type that recordings, logs, clips and predictions share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from giveway.core.displays import shown


class AgentKind(IntEnum):
    """What kind of road user an agent is; stored as int8 so that arrays stay small."""

    UNKNOWN = 0
    CAR = 1
    VAN = 2
    TRUCK = 3
    BUS = 4
    TRAILER = 5
    MOTORCYCLE = 6
    BICYCLE = 7
    PEDESTRIAN = 8
    PEDESTRIAN_OR_BICYCLE = 9

    @property
    def is_vulnerable(self) -> bool:
        """Pedestrians and cyclists."""
        return self in (AgentKind.BICYCLE, AgentKind.PEDESTRIAN, AgentKind.PEDESTRIAN_OR_BICYCLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracks:
    """States of A agents at T equally spaced instants, in one planar frame.

    Attributes:
        time_s: (T,) seconds since the start of the recording, strictly increasing.
        xy: (A, T, 2) position of the box center [m]; NaN where not observed.
        heading: (A, T) radians, counter-clockwise from +x; NaN where not observed or not known.
        velocity: (A, T, 2) m/s in the axes of the frame; NaN where not observed.
        observed: (A, T) bool. The only source of truth about presence.
        size: (A, 2) length and width [m]; NaN where the source gives none.
        kind: (A,) int8 codes of :class:`AgentKind`.
        ids: (A,) identifiers as given by the source, as text.
    """

    time_s: FloatArray
    xy: FloatArray
    heading: FloatArray
    velocity: FloatArray
    observed: BoolArray
    size: FloatArray
    kind: IntArray
    ids: StrArray

    def __post_init__(self) -> None:
        agents, instants = self.observed.shape
        expected = {
            "time_s": (instants,),
            "xy": (agents, instants, 2),
            "heading": (agents, instants),
            "velocity": (agents, instants, 2),
            "size": (agents, 2),
            "kind": (agents,),
            "ids": (agents,),
        }
        for name, shape in expected.items():
            actual = getattr(self, name).shape
            if actual != shape:
                raise ValueError(
                    f"Tracks.{name} has shape {actual}, expected {shape} from observed {(agents, instants)}"
                )
        if self.observed.dtype != np.bool_:
            raise ValueError(f"Tracks.observed has dtype {self.observed.dtype}, expected bool")
        if instants > 1 and not bool((np.diff(self.time_s) > 0).all()):
            raise ValueError("Tracks.time_s must increase strictly")

    def __repr__(self) -> str:
        seconds = float(self.time_s[-1] - self.time_s[0]) if self.num_instants else 0.0
        return f"Tracks({self.num_agents} agents, {self.num_instants} instants, {seconds:.1f} s)"

    def _repr_html_(self) -> str:
        return shown("tracks", self)

    @property
    def num_agents(self) -> int:
        """A."""
        return self.observed.shape[0]

    @property
    def num_instants(self) -> int:
        """T."""
        return self.observed.shape[1]

    @property
    def dt_s(self) -> float:
        """Median spacing of the instants [s]; NaN with fewer than two."""
        if self.num_instants < 2:
            return float("nan")
        steps = np.sort(np.diff(self.time_s))  # as np.median, without its overhead
        return float(0.5 * (steps[(steps.size - 1) // 2] + steps[steps.size // 2]))

    @property
    def speed(self) -> FloatArray:
        """(A, T) norm of the velocity [m/s]; NaN where not observed."""
        return np.hypot(self.velocity[..., 0], self.velocity[..., 1])

    @property
    def first(self) -> IntArray:
        """(A,) index of the first observed instant; T for an agent that is never observed."""
        return np.where(self.observed.any(axis=1), self.observed.argmax(axis=1), self.num_instants)

    @property
    def last(self) -> IntArray:
        """(A,) index of the last observed instant; -1 for an agent that is never observed."""
        from_end = self.observed[:, ::-1].argmax(axis=1)
        return np.where(self.observed.any(axis=1), self.num_instants - 1 - from_end, -1)

    def index_of(self, agent_id: str) -> int:
        """Row of the agent with this identifier.

        Raises:
            KeyError: if there is none.
        """
        hits = np.flatnonzero(self.ids == agent_id)
        if hits.size == 0:
            raise KeyError(agent_id)
        return int(hits[0])

    def select(self, agents: IntArray | BoolArray | slice) -> Tracks:
        """The same instants for some of the agents."""
        return replace(
            self,
            xy=self.xy[agents],
            heading=self.heading[agents],
            velocity=self.velocity[agents],
            observed=self.observed[agents],
            size=self.size[agents],
            kind=self.kind[agents],
            ids=self.ids[agents],
        )

    def between(self, start: int, stop: int) -> Tracks:
        """The same agents at instants ``start <= k < stop``; agents that are absent throughout stay."""
        return replace(
            self,
            time_s=self.time_s[start:stop],
            xy=self.xy[:, start:stop],
            heading=self.heading[:, start:stop],
            velocity=self.velocity[:, start:stop],
            observed=self.observed[:, start:stop],
        )
