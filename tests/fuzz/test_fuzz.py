"""Mutated files of every reader: refused with a sentence, equal, remarked, or accepted for a stated reason."""

from __future__ import annotations

import os
import random
import secrets
from collections import Counter

import pytest

from fuzz.found.cases import FOUND
from fuzz.harness import Fuzzer, Trial, run, table
from fuzz.reasons import ACCEPTED, REASONS, reason_of
from giveway.core.errors import GivewayError

DEFAULT_COUNT = 300
FULL_COUNT = 10_000


def failures(fuzzer: Fuzzer, trials: list[Trial]) -> list[str]:
    """What must not happen, with how to see it again."""
    found: list[str] = []
    for number, trial in enumerate(trials):
        bad = trial.outcome in ("traceback", "hang")
        if trial.outcome in ACCEPTED:
            bad = reason_of(trial, original_of(fuzzer, trial)) is None
        if bad:
            found.append(f"{number}: {trial.subject} {trial.file}, {trial.mutation}: {trial.outcome}, {trial.detail}")
    return found


def original_of(fuzzer: Fuzzer, trial: Trial) -> bytes:
    subject = next(s for s in fuzzer.subjects if s.name == trial.subject)
    return fuzzer.content[subject.root / trial.file]


def counted(fuzzer: Fuzzer, trials: list[Trial]) -> str:
    """The tables of docs/explanation/inputs.md."""
    reasons = Counter(reason_of(t, original_of(fuzzer, t)) for t in trials if t.outcome in ACCEPTED)
    lines = ["| accepted on purpose | files | why |", "|---|---|---|"]
    lines += [f"| {reason.name} | {reasons[reason]} | {reason.why} |" for reason in REASONS]
    return table(trials) + "\n\n" + "\n".join(lines)


def test_mutated_files_never_crash_hang_or_mean_something_else_without_a_word(
    fuzzer: Fuzzer, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = int(os.environ.get("GIVEWAY_FUZZ_SEED") or secrets.randbelow(10**9))
    with capsys.disabled():
        print(f"\nfuzz: {DEFAULT_COUNT} files with GIVEWAY_FUZZ_SEED={seed}")
    assert failures(fuzzer, run(fuzzer, seed=seed, count=DEFAULT_COUNT)) == []


@pytest.mark.faults
@pytest.mark.parametrize("seed", [15])
def test_ten_thousand_mutated_files_and_the_counted_list(
    fuzzer: Fuzzer, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = run(fuzzer, seed=seed, count=FULL_COUNT)
    with capsys.disabled():
        print(f"\n{counted(fuzzer, trials)}")
    assert failures(fuzzer, trials) == []


def test_the_same_seed_gives_the_same_files(fuzzer: Fuzzer) -> None:
    assert fuzzer.trial(random.Random("7:1")) == fuzzer.trial(random.Random("7:1"))


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_once_is_refused_with_a_place(fuzzer: Fuzzer, name: str) -> None:
    reader, part, change, words = FOUND[name]
    subject = next(s for s in fuzzer.subjects if s.name == reader)
    path = next(path for path in subject.targets if part in path.name)
    original = fuzzer.content[path]
    data = change(original)
    assert data != original
    path.write_bytes(data)
    try:
        with pytest.raises(GivewayError, match=words) as caught:
            subject.read()
    finally:
        path.write_bytes(original)
    assert caught.value.where
