"""Components of one's own in today's registries."""

from __future__ import annotations

import importlib
from typing import Any

from giveway.core.errors import UnknownNameError, UsageError
from giveway.core.registry import Registry

REGISTRIES = {
    "dataset": "giveway.data:DATASETS",
    "model": "giveway.predictors:MODELS",
    "predictor": "giveway.predictors.motion:TRAJECTORY_PREDICTORS",
    "planner": "giveway.planning:PLANNERS",
    "metric": "giveway.metrics:METRICS",
    "road": "giveway.generate.roads:ROADS",
    "search": "giveway.generate.search:SEARCHES",
    "section": "giveway.reports.section:SECTIONS",
}
"""Kind of component to the registry it goes into."""


def register(kind: str, name: str, component: Any) -> None:
    """Make a component available under a name, in this process.

    Worker processes import what they need themselves: for them give an entry point of group ``giveway.<plural>``, or
    name the component by its import path.

    Args:
        kind: ``dataset``, ``model`` (of gap acceptance), ``predictor`` (of a drive), ``planner``, ``metric``, ``road``,
            ``search`` or ``section``.
        name: how commands and specifications call it.
        component: the object, or its import path ``"package.module:attribute"``. Planners, roads and searches are made
            by calling it; a planner that is an object is used as it is.

    Raises:
        UnknownNameError: an unknown kind.
        UsageError: the name is taken.
    """
    registry = registry_of(kind)
    made = component
    if kind == "planner" and not isinstance(component, str | type) and not callable(component):
        made = _always(component)
    try:
        registry.register(name, made)
    except ValueError as error:
        raise UsageError(str(error), where="register", found=name, hint="choose another name") from error


def registry_of(kind: str) -> Registry[Any]:
    """The registry of a kind of component.

    Raises:
        UnknownNameError: an unknown kind.
    """
    if kind not in REGISTRIES:
        raise UnknownNameError("kind of component", kind, REGISTRIES)
    module, _, attribute = REGISTRIES[kind].partition(":")
    return getattr(importlib.import_module(module), attribute)


def _always(component: Any) -> Any:
    return lambda: component
