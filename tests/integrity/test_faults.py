"""Damage on disk is refused, named or repaired, never read: single-bit flips and truncations of everything we write.

The default run makes up to a fifth of the flips and a few truncations; ``pytest -m faults`` and ``tools/faults`` all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from integrity.harness import Account, as_table, run_faults
from integrity.subjects import SUBJECTS

EXPENSIVE = {"artifacts": 0.04, "recordings": 0.1}
"""Share of the flips in the default run where one takes long; a fifth elsewhere."""

SMALL = [name for name in SUBJECTS if name != "networks"]
"""The default run leaves out what needs torch."""


def check(accounts: list[Account]) -> None:
    print(as_table(accounts))
    assert [account.failures for account in accounts if account.failures] == []
    for account in accounts:
        assert account.total > 0
        assert account.counts["silent"] == account.counts["crash"] == 0


@pytest.mark.parametrize("name", SMALL)
def test_no_damage_is_read_silently(name: str, tmp_path: Path) -> None:
    share = EXPENSIVE.get(name, 0.2)
    check(list(run_faults([SUBJECTS[name]], tmp_path, share=share, max_truncations=round(40 * share))))


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("name", SUBJECTS)
def test_no_damage_at_all_is_read_silently(name: str, tmp_path: Path) -> None:
    check(list(run_faults([SUBJECTS[name]], tmp_path)))
