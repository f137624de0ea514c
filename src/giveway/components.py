"""Components of one's own: registered by a call, or by a single file that defines them."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from giveway.core.errors import GivewayError, UnknownNameError, UsageError
from giveway.core.registry import PLUGINS, Registry

REGISTRIES = {
    "dataset": "giveway.data:DATASETS",
    "predictor": "giveway.predictors:PREDICTORS",
    "planner": "giveway.planning:PLANNERS",
    "driver": "giveway.sim.drivers:DRIVERS",
    "metric": "giveway.metrics:METRICS",
    "road": "giveway.roads.library:ROADS",
    "search": "giveway.generate.search:SEARCHES",
    "section": "giveway.reports.section:SECTIONS",
}
"""Kind of component to the registry it goes into."""

METHODS = {
    "predictor": ("giveway.predictors.base:Predictor", "predict"),
    "planner": ("giveway.planning.base:Planner", "plan"),
    "driver": ("giveway.sim.drivers.base:Driver", "decide"),
}
"""Kind of component to its base class and the method that the base class leaves to its authors."""


_registered: list[tuple[str, str]] = []
"""Kind and name of what was registered in this process, in order."""


def register(kind: str, name: str, component: Any) -> None:
    """Make a component available under a name, in this process.

    Worker processes import what they need themselves: for them give an entry point of group ``giveway.<plural>``, name
    the component by its import path, or put the call into a file for :func:`load_plugin`.

    Args:
        kind: ``dataset``, ``predictor``, ``planner``, ``metric``, ``road``, ``search`` or ``section``.
        name: how commands and specifications call it.
        component: the object, or its import path ``"package.module:attribute"``. Planners, roads and searches are made
            by calling it; a planner that is an object is used as it is. A predictor may be a class or an object.

    Raises:
        UnknownNameError: an unknown kind.
        UsageError: the name is taken, or the component lacks a method.
    """
    if kind not in REGISTRIES:
        raise UnknownNameError("kind of component", kind, REGISTRIES)
    _check(kind, name, component)
    made = component
    if kind == "planner" and not isinstance(component, str | type) and not callable(component):
        made = _always(component)
    try:
        registry_of(kind).register(name, made)
        _registered.append((kind, name))
    except ValueError as error:
        raise UsageError(str(error), where="register", found=name, hint="choose another name") from error


def load_plugin(path: Path | str) -> ModuleType:
    """Import one Python file and register the components it defines.

    A file registers with calls of :func:`register`, or just defines classes: every class of the file that derives from
    ``giveway.Predictor`` or ``giveway.Planner`` and has a name, and every metric made by a decorator, is registered
    under its name. The file is added to the environment variable ``GIVEWAY_PLUGINS`` (paths separated as in ``PATH``),
    so worker processes that are started later load it as well. A file that was loaded before is not loaded again.

    Args:
        path: the file; its folder is not put on the import path.

    Raises:
        UsageError: no such file; code that raises; a class without its method; a name that is taken. Names the file and
            the line.
    """
    file = Path(path).expanduser().resolve()
    name = f"giveway_plugin_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    if not file.is_file() or file.suffix != ".py":
        raise UsageError("a plug-in is a Python file", where=path, found="no such file ending in .py")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    known, component = len(_registered), None
    try:
        spec.loader.exec_module(module)
        for kind, own, component in list(_defined_in(module)):
            register(kind, own, component)
    except Exception as error:
        failure = _failure(error, file, component)
        del sys.modules[name]
        for kind, own in _registered[known:]:
            registry_of(kind).forget(own)  # so that the mended file can be loaded
        del _registered[known:]
        raise failure from error
    known = [part for part in os.environ.get(PLUGINS, "").split(os.pathsep) if part]
    if str(file) not in known:
        os.environ[PLUGINS] = os.pathsep.join([*known, str(file)])
    return module


def load_plugins_of_environment() -> None:
    """Load the files that ``GIVEWAY_PLUGINS`` names; called before a registry is read for the first time."""
    for part in os.environ.get(PLUGINS, "").split(os.pathsep):
        if part:
            load_plugin(part)


def registry_of(kind: str) -> Registry[Any]:
    """The registry of a kind of component."""
    return _imported(REGISTRIES[kind])


def _imported(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _check(kind: str, name: str, component: Any) -> None:
    """Refuse a component that could never work: without ``info``, or without the method of its kind."""
    if kind not in METHODS or isinstance(component, str):
        return
    base, method = METHODS[kind]
    made_by_call = not isinstance(component, type) and callable(component) and not hasattr(component, "info")
    if made_by_call:
        return  # a function that makes one is looked at when it is called
    own = getattr(component, method, None)
    base_method = getattr(_imported(base), method)
    lacks = method if not callable(own) or getattr(own, "__func__", own) is base_method else ""
    lacks = lacks or ("" if hasattr(component, "info") else "info")
    if lacks:
        raise UsageError(
            f"the {kind} {name!r} lacks {lacks!r}",
            where=getattr(component, "__name__", type(component).__name__),
            hint=f"it needs an attribute 'info' and a method '{method}'",
        )


def _defined_in(module: ModuleType) -> Iterator[tuple[str, str, Any]]:
    """Kind, name and component of what a file defines and has not registered itself."""
    from giveway.metrics import METRICS, Metric

    bases = {kind: _imported(base) for kind, (base, _) in METHODS.items()}
    for value in list(vars(module).values()):
        if isinstance(value, Metric):
            if value.info.name not in METRICS or METRICS.get(value.info.name) is not value:
                yield "metric", value.info.name, value
        elif isinstance(value, type) and value.__module__ == module.__name__:
            for kind, base in bases.items():
                info = getattr(value, "info", None)
                if issubclass(value, base) and info is not None and not _is_registered(kind, info.name, value):
                    yield kind, info.name, value


def _is_registered(kind: str, name: str, component: type) -> bool:
    registry = registry_of(kind)
    found = registry.get(name) if name in registry else None
    return found is component or isinstance(found, component)


def _failure(error: Exception, file: Path, component: Any) -> UsageError:
    """The same as a sentence that names the file and the line, that of the component if one was being registered."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    if isinstance(error, SyntaxError):
        lines.append(error.lineno)
    elif isinstance(component, type):
        lines.append(inspect.getsourcelines(component)[1])
    where = f"{file}, line {lines[-1]}" if lines else str(file)
    if isinstance(error, GivewayError):
        what = f"the plug-in cannot be loaded: {error.what}"
        return UsageError(what, where=where, found=error.found, hint=error.hint)
    return UsageError(
        "the plug-in cannot be loaded",
        where=where,
        found=f"{type(error).__name__}: {error}",
        hint="the file is ordinary Python; python FILE shows the whole traceback",
    )


def _always(component: Any) -> Any:
    return lambda: component
