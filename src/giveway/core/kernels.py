"""Compiled kernels: made once per installation, never silently, and by one process at a time.

Kernels take ``njit`` from here instead of from Numba. A kernel whose compiled form is not on disk is compiled at its
first call; then one line on standard error says what is compiled, and another how long it took. Other processes that
need a kernel meanwhile wait for the one that compiles, and read what it wrote.

Numba keeps compiled kernels beside the sources (``__pycache__``), in the user's cache folder if the installation cannot
be written, or in ``NUMBA_CACHE_DIR``; where nothing can be written each process compiles for itself, which is said.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, config, dispatcher, types

from giveway.core.compile_time import remember_operators, with_room_for_frames
from giveway.core.locks import FolderLock

_CONFIG: Any = config
_UNLITERAL: Any = types.unliteral
_NJIT: Any = numba.njit
PACKAGE = Path(__file__).resolve().parents[1]
MARKS = ("@njit", "@compiled(")
"""Lines that begin a kernel in the sources."""

LINE_EVERY_S = 3.0
"""Between lines, while something is compiled or waited for."""

ASK_EVERY_S = 0.2
LOCK_FILE = "giveway-compiling.lock"


def njit(*args: Any, **options: Any) -> Any:
    """``numba.njit``; without a place for compiled kernels it compiles for this process only."""
    if args:
        return _decorated(args[0], options)
    return lambda function: _decorated(function, options)


def _decorated(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    options = {"no_cfunc_wrapper": True, **options}  # for callers in C, of which there are none
    try:
        return _NJIT(**options)(function)
    except RuntimeError:  # numba: no locator available
        if not options.get("cache"):
            raise
        _watch.cannot_keep = True
        return _NJIT(**{**options, "cache": False})(function)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheState:
    """Where compiled kernels are kept and how many there are.

    Attributes:
        folder: root of the cache; sources keep theirs in ``__pycache__`` below it.
        size_bytes: of all compiled kernels.
        compiled: kernels with a compiled form younger than their source.
        kernels: in the sources.
        fallback: whether the installation cannot be written, so that the user's cache folder is used.
    """

    folder: Path
    size_bytes: int
    compiled: int
    kernels: int
    fallback: bool

    @property
    def state(self) -> str:
        """``cold`` or ``warm``; which kernels a command needs is only known when it runs."""
        return "warm" if self.compiled else "cold"

    def sentence(self) -> str:
        """For people."""
        where = f"{self.folder} (the installation cannot be written)" if self.fallback else str(self.folder)
        size = f"{self.size_bytes / 1e6:.1f} MB"
        hint = "" if self.compiled else "; giveway warmup compiles ahead"
        return f"{self.state}: {self.compiled} compiled kernels, {size} in {where}{hint}"


def cache_state() -> CacheState:
    """The state of the cache, from the names and times of its files."""
    compiled = kernels = size = 0
    for source in _sources():
        lines = source.read_text(encoding="utf-8").splitlines()
        num = sum(line.startswith(MARKS) for line in lines)
        if not num:
            continue
        kernels += num
        files = list(cache_folder(source).glob(f"{source.stem}.*"))
        fresh = [f for f in files if f.suffix == ".nbi" and f.stat().st_mtime >= source.stat().st_mtime]
        version = f".py{sys.version_info.major}{sys.version_info.minor}"
        compiled += min(num, len({f.name for f in fresh if version in f.name}))
        size += sum(f.stat().st_size for f in files if f.suffix in (".nbi", ".nbc"))
    return CacheState(folder=_root(), size_bytes=size, compiled=compiled, kernels=kernels, fallback=_place() == "user")


def cache_folder(source: Path) -> Path:
    """Where Numba keeps the compiled kernels of a source file."""
    if _place() == "sources":
        return source.parent / "__pycache__"
    locator: Any = caching._CacheLocator  # pyright: ignore[reportPrivateUsage]
    return _root() / locator.get_suitable_cache_subpath(str(source))


def _root() -> Path:
    place = _place()
    if place == "sources":
        return PACKAGE
    if place == "given":
        return Path(_CONFIG.CACHE_DIR)
    from numba.misc.appdirs import AppDirs

    return Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)


@cache
def _place() -> str:
    """``given`` (NUMBA_CACHE_DIR), ``sources``, or ``user`` where those cannot be written."""
    given = str(_CONFIG.CACHE_DIR)
    if given and _can_write(Path(given)):
        return "given"
    return "sources" if _can_write(PACKAGE / "core" / "__pycache__") else "user"


def _can_write(folder: Path) -> bool:
    probe = folder / f".probe-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    return True


@cache
def _sources() -> tuple[Path, ...]:
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def _num_kernels() -> int:
    return sum(line.startswith(MARKS) for path in _sources() for line in path.read_text(encoding="utf-8").splitlines())


class _Watch:
    """Hears of every kernel of ours that is compiled.

    Attributes:
        count: kernels compiled by this process, with those that were compiled because another one calls them.
        seconds: of wall time that it took.
    """

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self.cannot_keep = False
        self._depth = threading.local()
        self._name = ""
        self._collecting = True
        self._began = 0.0
        self._lock: FolderLock | None = None

    def install(self) -> None:
        """Listen, once per process."""
        compile_one: Any = dispatcher.Dispatcher.compile
        load: Any = caching.Cache.load_overload
        watch = self

        outermost = with_room_for_frames(compile_one)

        def compiling(kernel: Any, signature: Any) -> Any:
            if not kernel.py_func.__module__.startswith("giveway."):
                return compile_one(kernel, signature)
            if isinstance(signature, tuple):  # a constant argument would make another variant, slow to compile
                signature = tuple(_UNLITERAL(kind) for kind in signature)
            depth: int = getattr(watch._depth, "value", 0)
            watch._depth.value = depth + 1
            if isinstance(kernel._cache, caching.NullCache) and not kernel.overloads:
                watch._start(kernel.py_func)
            try:
                return compile_one(kernel, signature) if depth else outermost(kernel, signature)
            finally:
                watch._depth.value = depth
                if depth == 0:
                    watch._end()

        def checked_load(self: Any, signature: Any, context: Any) -> Any:
            try:
                return load(self, signature, context)
            except (ImportError, AttributeError):  # kept by a version whose modules had other names
                self.flush()
                return None

        def loading(self: Any, signature: Any, context: Any) -> Any:
            found = checked_load(self, signature, context)
            if found is not None or not getattr(watch._depth, "value", 0):
                return found
            if watch._wait_for_others():
                found = checked_load(self, signature, context)
            if found is None:
                watch._start(self._py_func)
            return found

        remember_operators()
        setattr(dispatcher.Dispatcher, "compile", compiling)  # noqa: B010
        setattr(caching.Cache, "load_overload", loading)  # noqa: B010
        Finalize(None, self._sum_up, exitpriority=0)  # unlike atexit also in worker processes

    def _wait_for_others(self) -> bool:
        """Become the one who compiles; whether somebody else was, so that the cache has to be read again."""
        if self._lock is not None:
            return False
        waited, began = False, time.monotonic()
        lock = FolderLock(_lock_path())
        with suppress(OSError):
            while not lock.take():
                if not waited and time.monotonic() - began > LINE_EVERY_S:
                    _say("waiting for another process that is compiling kernels")
                    began = float("inf")
                waited = True
                time.sleep(ASK_EVERY_S)
        self._lock = lock
        return waited

    def _start(self, function: Any) -> None:
        name = f"{function.__module__.removeprefix('giveway.')}.{function.__qualname__}"
        if not self.count:
            kept = "this process only" if self.cannot_keep else "once per installation"
            where = f", kept in {_root()}: the installation cannot be written" if _place() == "user" else ""
            _say(f"compiling kernels, {kept}{where}: {name} …")
            threading.Thread(target=self._keep_telling, daemon=True).start()
        if not self._began:
            self._began = time.monotonic()
            self._collecting = gc.isenabled()
            gc.disable()  # all of it is kept until the end: looking for rubbish finds none, and takes long
        self._name = name
        self.count += 1

    def _end(self) -> None:
        if self._lock is not None:
            self._lock.let_go()
            self._lock = None
        if not self._began:
            return
        self.seconds += time.monotonic() - self._began
        self._began = 0.0
        if self._collecting:
            gc.enable()

    def _keep_telling(self) -> None:
        """A line now and then while something is compiled, however long a single kernel takes."""
        while True:
            time.sleep(LINE_EVERY_S)
            began, name = self._began, self._name
            if began:
                so_far = self.seconds + time.monotonic() - began
                _say(f"compiling kernels: {self.count} of {_num_kernels()}, {name} …, {so_far:.0f} s")

    def _sum_up(self) -> None:
        if self.count:
            _say(f"compiled {self.count} of {_num_kernels()} kernels, took {self.seconds:.1f} s")
            self.count = 0
            gc.freeze()  # the process ends: looking through all that the compiler left takes 0.4 s


def _say(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):  # no or a closed standard error
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def _lock_path() -> Path:
    folder = _root() / "__pycache__" if _place() == "sources" else _root()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / LOCK_FILE


_watch = _Watch()
_watch.install()
