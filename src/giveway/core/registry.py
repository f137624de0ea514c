"""A table of names to import paths, so that listing imports nothing.

Third-party packages add entries through the entry-point group of a registry::

    [project.entry-points."giveway.datasets"]
    mine = "my_package.adapter:MyDataset"
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Generic, TypeVar, cast

from giveway.core.errors import UnknownNameError

T = TypeVar("T")

PLUGINS = "GIVEWAY_PLUGINS"
"""Environment variable with files of components, separated as in ``PATH``; worker processes inherit it."""


class Registry(Generic[T]):
    """Lazily imported components of one kind.

    Args:
        kind: what an entry is, in the singular (``"dataset"``); used in messages.
        builtin: name to ``"package.module:attribute"``.
        group: entry-point group scanned for third-party entries, on first use.
        aliases: other names of entries, which are not listed.
    """

    def __init__(
        self, kind: str, builtin: Mapping[str, str], *, group: str, aliases: Mapping[str, str] | None = None
    ) -> None:
        self.kind = kind
        self.group = group
        self._paths: dict[str, str] = dict(builtin)
        self._objects: dict[str, T] = {}
        self._scanned = False
        self._aliases = dict(aliases or {})

    def register(self, name: str, path_or_object: str | T) -> None:
        """Add an entry at run time; a name can be taken only once.

        Raises:
            ValueError: if the name is taken.
        """
        self._scan()
        if name in self:
            raise ValueError(f"{self.kind} {name!r} is registered already")
        if isinstance(path_or_object, str):
            self._paths[name] = path_or_object
        else:
            self._objects[name] = path_or_object

    def forget(self, name: str) -> None:
        """Take an entry away that was registered at run time."""
        self._paths.pop(name, None)
        self._objects.pop(name, None)

    def canonical(self, name: str) -> str:
        """The registered name that an alias stands for; every other name stays as it is."""
        return self._aliases.get(name, name)

    def names(self) -> list[str]:
        """All names, sorted; imports nothing."""
        self._scan()
        return sorted({*self._paths, *self._objects})

    def get(self, name: str) -> T:
        """The component, imported on first use.

        Raises:
            UnknownNameError: naming the nearest known entries.
        """
        self._scan()
        name = self.canonical(name)
        if name not in self._objects:
            if name not in self._paths:
                raise UnknownNameError(self.kind, name, sorted({*self.names(), *self._aliases}))
            module, _, attribute = self._paths[name].partition(":")
            self._objects[name] = cast(T, getattr(importlib.import_module(module), attribute))
        return self._objects[name]

    def __contains__(self, name: object) -> bool:
        self._scan()
        known = self._aliases.get(name, name) if isinstance(name, str) else name
        return known in self._paths or known in self._objects

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def _scan(self) -> None:
        if self._scanned:
            return
        self._scanned = True
        for point in entry_points(group=self.group):
            if point.name in self._paths and self._paths[point.name] != point.value:
                raise ValueError(f"{self.kind} {point.name!r} is provided twice: built in and by {point.value!r}")
            self._paths[point.name] = point.value
        if os.environ.get(PLUGINS):
            # Files register themselves through the front door, which lies above this module: imported by name.
            importlib.import_module("giveway.components").load_plugins_of_environment()
