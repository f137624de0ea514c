"""Mutate a file, read, compare with what the unmutated one meant; nothing may crash, hang or differ without a word."""

from __future__ import annotations

import contextlib
import random
import signal
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from types import FrameType

from fuzz.subjects import Meaning, Subject
from giveway.core.errors import GivewayError

HANG_S = 10.0
ROW_PARTS = ("observed", "time_s", "ids", "kind", "scenes", "recordings")
VALUE_PARTS = ("xy", "heading", "velocity", "size")


class Hang(BaseException):
    """Reading took longer than :data:`HANG_S`; no reader catches this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What became of one mutated file.

    Attributes:
        subject: name of the reader.
        file: that was mutated.
        mutation: its name.
        outcome: ``refused``, ``equal``, ``noted``, ``rows``, ``values``, ``labels`` (three kinds of
            accepted differences), ``traceback`` or ``hang``.
        detail: message or differing parts.
        data: the mutated bytes.
    """

    subject: str
    file: str
    mutation: str
    outcome: str
    detail: str = ""
    data: bytes = field(default=b"", repr=False)


@contextlib.contextmanager
def limited() -> Generator[None]:
    """Raise :class:`Hang` in the block after :data:`HANG_S`."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, HANG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Fuzzer:
    """Expected meanings of subjects, and trials on them."""

    def __init__(self, subjects: Sequence[Subject]) -> None:
        self.subjects = subjects
        self.expected = {subject.name: subject.read() for subject in subjects}
        self.remarks = {subject.name: subject.remarks() for subject in subjects}
        self.content = {path: path.read_bytes() for subject in subjects for path in subject.targets}

    def trial(self, rng: random.Random) -> Trial:
        """Mutate one file of one subject, read, put it back."""
        while True:
            subject = rng.choice(self.subjects)
            path = rng.choice(list(subject.targets))
            mutation = rng.choice(list(subject.targets[path]))
            original = self.content[path]
            data = subject.targets[path][mutation](rng, original)
            if data != original:
                break
        name = path.relative_to(subject.root).as_posix()
        path.write_bytes(data)
        try:
            outcome, detail = self.read(subject)
        finally:
            path.write_bytes(original)
        return Trial(subject=subject.name, file=name, mutation=mutation, outcome=outcome, detail=detail, data=data)

    def read(self, subject: Subject) -> tuple[str, str]:
        """Outcome and detail of reading a subject as it lies on the disk now."""
        try:
            with limited():
                found = subject.read()
                differing = _differing(self.expected[subject.name], found)
                if not differing:
                    return "equal", ""
                if subject.remarks() > self.remarks[subject.name]:
                    return "noted", ", ".join(differing[:3])
        except Hang:
            return "hang", ""
        except GivewayError as error:
            if not error.what or not error.where:
                return "traceback", f"an error without a place: {error}"
            return "refused", error.what
        except AssertionError as error:
            return "traceback", f"verify and scenes disagree: {str(error)[:300]}"
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # Polars' panic is no Exception
            return "traceback", f"{type(error).__name__}: {str(error)[:300]}"
        return _effect(differing), ", ".join(differing[:3])


def run(fuzzer: Fuzzer, *, seed: int, count: int) -> list[Trial]:
    """Trials that a seed determines, each with a generator of its own so that one can be repeated alone."""
    return [fuzzer.trial(random.Random(f"{seed}:{number}")) for number in range(count)]


def table(trials: Sequence[Trial]) -> str:
    """Counts of outcomes per subject, in Markdown."""
    outcomes = ("refused", "equal", "noted", "values", "rows", "labels", "traceback", "hang")
    counts = Counter((trial.subject, trial.outcome) for trial in trials)
    lines = [f"| reader | files | {' | '.join(outcomes)} |", "|---" * (len(outcomes) + 2) + "|"]
    for name in [*dict.fromkeys(sorted(trial.subject for trial in trials))]:
        row = [counts[name, outcome] for outcome in outcomes]
        lines.append(f"| {name} | {sum(row)} | {' | '.join(map(str, row))} |")
    row = [sum(trial.outcome == outcome for trial in trials) for outcome in outcomes]
    lines.append(f"| **all** | {len(trials)} | {' | '.join(map(str, row))} |")
    return "\n".join(lines)


def _differing(expected: Meaning, found: Meaning) -> list[str]:
    return sorted(key for key in {*expected, *found} if expected.get(key) != found.get(key))


def _effect(differing: Sequence[str]) -> str:
    ends = {name.rsplit(".", 1)[-1] for name in differing}
    if ends & set(ROW_PARTS):
        return "rows"
    return "values" if ends & set(VALUE_PARTS) else "labels"
