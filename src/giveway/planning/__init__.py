"""Planners: how fast to drive along a fixed path."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from giveway.core.errors import UsageError
from giveway.core.registry import Registry

if TYPE_CHECKING:
    from giveway.planning.protocol import Planner

PLANNERS: Registry[Callable[[], Planner]] = Registry(
    "planner",
    {
        "default": "giveway.planning.builtin:DefaultPlanner",
        "lattice": "giveway.planning.builtin:DefaultPlanner",
        "lattice-3": "giveway.planning.builtin:Lattice3Planner",
        "idm": "giveway.planning.builtin:IdmPlanner",
        "idm-3": "giveway.planning.builtin:Idm3Planner",
        "constant_speed": "giveway.planning.builtin:ConstantSpeedPlanner",
        "delayed": "giveway.planning.impaired:DelayedPlanner",
        "noisy": "giveway.planning.impaired:NoisyPlanner",
        "short_sighted": "giveway.planning.impaired:ShortSightedPlanner",
        "replay": "giveway.planning.builtin:ReplayPlanner",
        "ppo": "giveway.planning.learned:PPO",
        "imitation": "giveway.planning.learned:IMITATION",
        "tuned": "giveway.planning.tuned:TUNED",
    },
    group="giveway.planners",
)
"""Makers of planners by name."""


def make_planner(name: str) -> Planner:
    """A planner by registered name, as ``NAME:FILE`` if it was learned, or as ``package.module:attribute``.

    Raises:
        UnknownNameError: nothing of that name.
        UsageError: an import path that does not lead to a planner, or a file without one.
        FileFormatError: a file that is damaged.
    """
    from giveway.planning.protocol import Planner

    if ":" not in name or name in PLANNERS:
        return PLANNERS.get(name)()
    module, _, attribute = name.partition(":")
    load = getattr(PLANNERS.get(module), "load", None) if module in PLANNERS else None
    if load is not None:
        return load(Path(attribute))
    try:
        made = getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError) as error:
        raise UsageError("cannot import the planner", where=name, found=str(error)) from error
    if not isinstance(made, Planner):
        raise UsageError(
            "this is not a planner",
            where=name,
            found=type(made).__name__,
            hint="it needs an attribute 'info' and a method 'plan'; see docs/drive/planner.md",
        )
    return made
