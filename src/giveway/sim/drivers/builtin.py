"""Drivers that the compiled step knows by a code; it decides for them, or is told what they do."""

from __future__ import annotations

from giveway.sim.drivers.base import Driver
from giveway.sim.state import DriverCode


class Replay(Driver, name="replay", title="recorded", needs=("recording",)):
    """Moves as recorded; in traffic that reacts, handed over to IDM where a driven car disturbs it."""

    code = DriverCode.REPLAY


class Idm(Driver, name="idm", title="IDM"):
    """Follows the car ahead on its route; in traffic that reacts, gives way and slows down for curves."""

    code = DriverCode.IDM


class Planned(Driver, name="planner", title="speed lattice", needs=("route", "forecast")):
    """The compiled speed lattice: the planner under test for an ego, version 2 for all other cars."""

    code = DriverCode.PLANNER


class ConstantSpeed(Driver, name="constant_speed", title="constant speed"):
    """Drives on as fast as it is."""

    code = DriverCode.CONSTANT_SPEED


class Actions(Driver, name="actions", title="actions", needs=("actions",)):
    """Pedal and wheel, side speed or manoeuvres from outside."""

    code = DriverCode.ACTIONS


class External(Driver, name="external", title="planner of one's own", needs=("route", "forecast")):
    """A planner in Python, in this process or in one of its own."""
