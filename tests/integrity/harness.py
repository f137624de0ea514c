"""Damage on disk: flip single bits and cut files off, read again, and sort what happens.

Size and time of a file are restored after a flip, so that only its content tells. Every outcome is one of

* ``equal``: what is read is what was written;
* ``refused``: an error for the user, or damage that is named;
* ``recomputed``: made again, and equal to what was written;
* ``silent``: something else is read, and nobody says so;
* ``crash``: any other exception.

The last two are failures.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from giveway.core.errors import GivewayError

OutcomeName = Literal["equal", "refused", "recomputed", "silent", "crash"]
OUTCOMES: tuple[OutcomeName, ...] = ("equal", "refused", "recomputed", "silent", "crash")
STEP_BYTES = 64


class Named(Exception):
    """Raised by a reader that goes on but says what is damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Something on disk that can be damaged.

    Attributes:
        name: for the table.
        folder: everything below it is put back after each damage.
        files: which of its files are damaged.
        observe: reads everything as a new process would; gives a digest of what it read and whether anything was made
            again. Damage that it reports is a :class:`GivewayError` or :class:`Named`.
        flips: how many single-bit flips the full form makes.
        truncations: at how many places the full form cuts at most; None for every 64th byte of every file.
        avoids_zeros: only bits of bytes that are not zero are flipped, where most of a file is empty.
    """

    name: str
    folder: Path
    files: Callable[[], Sequence[Path]]
    observe: Callable[[], tuple[str, bool]]
    flips: int
    truncations: int | None = None
    avoids_zeros: bool = False


Prepare = Callable[[Path], AbstractContextManager[Subject]]


@dataclass(slots=True, kw_only=True)
class Account:
    """What happened to one subject.

    Attributes:
        name: of the subject.
        kind: ``"flips"`` or ``"truncations"``.
        counts: by outcome.
        failures: which damage was silent or crashed.
    """

    name: str
    kind: str
    counts: Counter[str] = field(default_factory=Counter[str])
    failures: list[str] = field(default_factory=list[str])

    @property
    def total(self) -> int:
        """How many damages."""
        return sum(self.counts.values())


class Snapshot:
    """The content and times of all files of a folder, to be put back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = {
            path: (path.read_bytes(), path.stat().st_atime_ns, path.stat().st_mtime_ns)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    def restore(self) -> None:
        """Put everything back; what has come into being meanwhile is removed."""
        for path in self.folder.rglob("*"):
            if path.is_file() and path not in self.files:
                path.unlink()
        for path, (content, accessed, modified) in self.files.items():
            if not path.is_file() or path.read_bytes() != content or path.stat().st_mtime_ns != modified:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                os.utime(path, ns=(accessed, modified))

    def damage(self, path: Path, content: bytes) -> None:
        """Write other content in place, with the old time."""
        with path.open("rb+") as file:
            file.write(content)
            file.truncate(len(content))
        os.utime(path, ns=self.files[path][1:])


def flip(subject: Subject, *, count: int, seed: int) -> Account:
    """Flip ``count`` single bits, one at a time, in files chosen with equal probability."""
    account = Account(name=subject.name, kind="flips")
    rng = np.random.default_rng(seed)
    snapshot = Snapshot(subject.folder)
    files = [path for path in subject.files() if snapshot.files[path][0]]
    expected = _clean(subject, snapshot)
    for _ in range(count):
        path = files[int(rng.integers(len(files)))]
        content = bytearray(snapshot.files[path][0])
        bytes_in_use = np.flatnonzero(np.frombuffer(content, dtype=np.uint8)) if subject.avoids_zeros else None
        at = int(rng.integers(len(content)) if bytes_in_use is None else rng.choice(bytes_in_use))
        bit = 8 * at + int(rng.integers(8))
        content[bit // 8] ^= 1 << bit % 8
        _try(subject, snapshot, path, bytes(content), expected, account, f"bit {bit}")
    return account


def truncate(subject: Subject, *, at_most: int | None, seed: int) -> Account:
    """Cut files off at every 64th byte; at so many of these places if there are more than ``at_most``."""
    account = Account(name=subject.name, kind="truncations")
    snapshot = Snapshot(subject.folder)
    places = [(path, size) for path in subject.files() for size in range(0, len(snapshot.files[path][0]), STEP_BYTES)]
    if at_most is not None and len(places) > at_most:
        chosen = np.random.default_rng(seed).choice(len(places), at_most, replace=False)
        places = [places[i] for i in sorted(chosen.tolist())]
    expected = _clean(subject, snapshot)
    for path, size in places:
        _try(subject, snapshot, path, snapshot.files[path][0][:size], expected, account, f"first {size} bytes")
    return account


def _clean(subject: Subject, snapshot: Snapshot) -> str:
    seen, is_remade = subject.observe()
    snapshot.restore()
    if is_remade:
        raise AssertionError(f"{subject.name}: something is made again although nothing is damaged")
    return seen


def _try(
    subject: Subject, snapshot: Snapshot, path: Path, content: bytes, expected: str, account: Account, what: str
) -> None:
    snapshot.damage(path, content)
    outcome: OutcomeName
    found = ""
    try:
        seen, is_remade = subject.observe()
        outcome = "silent" if seen != expected else "recomputed" if is_remade else "equal"
    except (GivewayError, Named):
        outcome = "refused"
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of native code is no Exception
        outcome, found = "crash", f": {type(error).__name__}: {error}"[:200]
    snapshot.restore()
    account.counts[outcome] += 1
    if outcome in ("silent", "crash"):
        account.failures.append(f"{path.relative_to(subject.folder)}, {what}: {outcome}{found}")


def run_faults(
    subjects: Sequence[Prepare], folder: Path, *, share: float = 1.0, max_truncations: int | None = None, seed: int = 15
) -> Iterator[Account]:
    """Flips and truncations of all subjects.

    Args:
        subjects: how to make each in an empty folder.
        folder: where.
        share: of the flips of the full form.
        max_truncations: per subject.
        seed: of all choices.
    """
    for number, prepare in enumerate(subjects):
        place = folder / str(number)
        place.mkdir(parents=True)
        with prepare(place) as subject:
            yield flip(subject, count=max(1, round(share * subject.flips)), seed=seed + number)
            limits = [limit for limit in (max_truncations, subject.truncations) if limit is not None]
            yield truncate(subject, at_most=min(limits, default=None), seed=seed + number)


def as_table(accounts: Sequence[Account]) -> str:
    """A Markdown table of all outcomes."""
    lines = [f"| damaged | | {' | '.join(OUTCOMES)} |", "|---|---|" + "---:|" * len(OUTCOMES)]
    for account in accounts:
        counts = " | ".join(f"{account.counts[name]:,}" for name in OUTCOMES)
        lines.append(f"| {account.name} | {account.total:,} {account.kind} | {counts} |")
    return "\n".join(lines) + "\n"
