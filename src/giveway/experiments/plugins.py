"""Plug-ins on workers that are already running: the source of each file travels with the jobs.

A worker writes it below a folder that only its user may read, under its SHA-256, and lets the process that evaluates
cells load it (:data:`giveway.core.registry.PLUGINS`). Runs with other plug-ins get another process.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from giveway.core.checked import Expect, read_bytes, sha256_of_file
from giveway.core.errors import UsageError
from giveway.core.registry import PLUGINS

LARGEST_BYTES = 1 << 20
PLUGIN = Expect(error=UsageError, what="the plug-in", hint="give the Python file with --plugin again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A file of components.

    Attributes:
        name: of the file, for messages.
        source: its content.
    """

    name: str
    source: bytes

    @property
    def sha256(self) -> str:
        """Of the content."""
        return hashlib.sha256(self.source).hexdigest()


def plugins_here() -> tuple[Plugin, ...]:
    """The files that this process loads, in order.

    Raises:
        UsageError: a file cannot be read, or is too large for a plug-in.
    """
    files = [Path(part) for part in os.environ.get(PLUGINS, "").split(os.pathsep) if part]
    return tuple(Plugin(name=file.name, source=read_bytes(file, limit=LARGEST_BYTES, expect=PLUGIN)) for file in files)


def environment_with(plugins: Sequence[Plugin]) -> dict[str, str]:
    """What the environment of a process has to say so that it loads them.

    Files that this machine names itself are loaded as well, but not the same content twice.
    """
    if not plugins:
        return {}
    shipped = {plugin.sha256: _placed(plugin) for plugin in plugins}
    own = [part for part in os.environ.get(PLUGINS, "").split(os.pathsep) if part]
    others = [part for part in own if Path(part).is_file() and sha256_of_file(Path(part)) not in shipped]
    return {PLUGINS: os.pathsep.join([*others, *map(str, shipped.values())])}


def _placed(plugin: Plugin) -> Path:
    path = _folder() / plugin.sha256 / plugin.name
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(plugin.source)
    return path


@cache
def _folder() -> Path:
    """Of this process; readable by its user alone, deleted at the end."""
    folder = Path(tempfile.mkdtemp(prefix="giveway-plugins-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
