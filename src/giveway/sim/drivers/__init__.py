"""What moves a car: one module per driver, one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveway.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveway.sim.drivers.base import Driver

DRIVERS: Registry[Callable[[], Driver]] = Registry(
    "driver",
    {
        "replay": "giveway.sim.drivers.builtin:Replay",
        "idm": "giveway.sim.drivers.builtin:Idm",
        "planner": "giveway.sim.drivers.builtin:Planned",
        "constant_speed": "giveway.sim.drivers.builtin:ConstantSpeed",
        "actions": "giveway.sim.drivers.builtin:Actions",
        "cognitive": "giveway.sim.drivers.cognitive:Cognitive",
        "external": "giveway.sim.drivers.builtin:External",
    },
    group="giveway.drivers",
)
"""Makers of drivers by name."""
