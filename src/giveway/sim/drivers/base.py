"""What moves a car: the contract that every driver keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from giveway.core.arrays import AnyArray, BoolArray, FloatArray
from giveway.core.errors import UsageError
from giveway.core.lanes import LaneMap
from giveway.core.log import LogEvent, LoggedMinds
from giveway.planning.profiles import DT_S, PLAN_STEPS
from giveway.roads.routes import CarPath
from giveway.sim.state import LANE_S, Decision, Decisions, DriverCode, State, Static
from giveway.sim.traffic import Traffic

NEEDS = ("route", "recording", "forecast", "actions", "map")
"""What a driver may need of the car that it moves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverInfo:
    """Fact sheet of a driver.

    Attributes:
        name: registered name.
        title: for tables.
        version: drives compare only within one version.
        needs: of :data:`NEEDS`.
        parameters: numbers that change what it does.
    """

    name: str
    title: str
    version: str = "1"
    needs: frozenset[str] = frozenset({"route"})
    parameters: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The worlds that drivers look at; everybody reads the state before the tick.

    Attributes:
        static: what does not change.
        state: now.
        decisions: where a driver writes what its cars do next.
        episodes: (W,) identifiers of the episodes.
        ids: (W, A) identifiers of the cars; empty text beyond the last.
        kinds: (W, A) codes of AgentKind.
        paths: path of each car of each world, None without one.
        roads: (W,) lane maps, None without one; empty if nobody has any.
        traffic: areas that routes share, where traffic gives way; None where it does not.
        seed: root of all random streams.
        roll_out: number of the roll-out of the same episodes.
        events: per world, what a log should tell; drivers append.
        thoughts: per world, what minds thought; drivers append.
    """

    static: Static
    state: State
    decisions: Decisions
    episodes: list[str]
    ids: AnyArray
    kinds: AnyArray
    paths: list[Sequence[CarPath | None]]
    roads: list[LaneMap | None] = field(default_factory=list["LaneMap | None"])
    traffic: Traffic | None = None
    seed: int = 0
    roll_out: int = 0
    events: Sequence[list[LogEvent]] = ()
    thoughts: Sequence[list[LoggedMinds]] = ()

    @property
    def running(self) -> BoolArray:
        """(W,) worlds whose episode goes on."""
        return self.state.tick < self.static.num_ticks

    def along(self, mine: BoolArray, accel_mps2: FloatArray) -> None:
        """Let cars (W, A) go on along their routes with an acceleration (W, A) [m/s^2], held until they stand.

        s_k = sum of (v_j + v_{j+1}) dt / 2 with v_{j+1} = max(v_j + a dt, 0)
        """
        speed, accel = self.state.car[..., 3][mine], accel_mps2[mine]
        steps = np.arange(PLAN_STEPS + 1)
        speeds = np.maximum(speed[:, None] + accel[:, None] * DT_S * steps, 0.0)
        way = np.cumsum(0.5 * (speeds[:, 1:] + speeds[:, :-1]) * DT_S, axis=1)
        self.decisions.kind[mine] = Decision.ALONG
        self.decisions.along_s[mine] = self.state.lane[..., LANE_S][mine][:, None] + way
        self.decisions.speed[mine] = speeds[:, 1]


class Driver:
    """What moves cars of a batch: derive from it and give a name.

    ::

        class Coasting(giveway.Driver, name="coasting"):
            def decide(self, batch, mine, own):
                batch.along(mine, np.full(mine.shape, -0.3))

    ``decide`` is called once per tick for all cars of all worlds that have this driver; it writes their rows of
    ``batch.decisions``. It must not look at other worlds, and draws random numbers from streams named by episode and
    car, never by their place in the batch. A driver with a compiled ``kernel(static, state, decisions, mine, own,
    first, last)`` is called so instead, chunk by chunk. Built-in drivers that the step itself knows have a ``code``.
    """

    info: DriverInfo
    code: DriverCode = DriverCode.EXTERNAL
    kernel: Callable[..., None] | None = None

    def __init_subclass__(
        cls,
        *,
        name: str = "",
        title: str = "",
        version: str = "1",
        needs: Iterable[str] = ("route",),
        parameters: Mapping[str, float] | None = None,
        **more: Any,
    ) -> None:
        super().__init_subclass__(**more)
        if not name:
            return
        unknown = sorted(set(needs) - set(NEEDS))
        if unknown:
            raise UsageError(
                f"the driver {name!r} needs something unknown",
                where=f"class {cls.__name__}",
                found=", ".join(unknown),
                hint=f"of {', '.join(NEEDS)}",
            )
        cls.info = DriverInfo(
            name=name, title=title or name, version=version, needs=frozenset(needs), parameters=dict(parameters or {})
        )

    def reset(self, batch: Batch, mine: BoolArray, worlds: BoolArray, own: Any) -> Any:
        """Arrays of its own for episodes that begin.

        Args:
            batch: the worlds.
            mine: (W, A) the cars that it drives.
            worlds: (W,) whose episodes begin now.
            own: what it returned before; None at first.
        """
        return own

    def decide(self, batch: Batch, mine: BoolArray, own: Any) -> None:
        """Write the decisions of the cars ``mine`` (W, A) that are present."""
        raise NotImplementedError
