"""Outputs of all applications equal what was frozen: to the bit on the same numeric platform, else to 1e-6.

What optimizers of other libraries find is compared on the same vector unit only: its last bits lead elsewhere.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from numeric_platform import UNSTABLE, header, vector_unit
from sets import SETS

FROZEN = Path(__file__).parent / "frozen"
CLOSE = 1e-6


def frozen(name: str) -> tuple[str, dict[str, str]]:
    first, *lines = (FROZEN / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return first, dict(line.split("\t") for line in lines)


def differences(expected: dict[str, str], found: dict[str, str], *, exact: bool) -> list[str]:
    """Lines that are not as frozen; digests only count on the same platform."""
    wrong = []
    for key, value in found.items():
        known = expected.get(key)
        if known is None:
            wrong.append(f"{key}: not frozen")
        elif value != known and (exact or not _close(value, known)):
            wrong.append(f"{key}: {known} became {value}")
    return wrong


def _close(value: str, known: str) -> bool:
    if not (value.lstrip("-").startswith("0x") and known.lstrip("-").startswith("0x")):
        return len(value) == len(known) == 64  # digests of another platform say nothing
    return math.isclose(float.fromhex(value), float.fromhex(known), rel_tol=CLOSE, abs_tol=1e-9)


def check(name: str, *, whole: bool) -> None:
    first, expected = frozen(name)
    made_on, _, unit = first.partition(" vector=")
    if unit == vector_unit() or not unit:
        found = dict(SETS[name](whole=whole))
    elif UNSTABLE[name] == ("",):
        pytest.skip(f"made with {unit}, this is {vector_unit()}")
    else:
        found = {key: v for key, v in SETS[name](whole=whole) if not any(part in key for part in UNSTABLE[name])}
        expected = {key: v for key, v in expected.items() if not any(part in key for part in UNSTABLE[name])}
    assert found
    wrong = differences(expected, found, exact=made_on == header(name))
    assert not wrong, f"{len(wrong)} of {len(found)} lines changed:\n" + "\n".join(wrong[:10])
    if whole:
        assert found.keys() == expected.keys()


@pytest.mark.parametrize("name", sorted(SETS))
def test_a_part_of_every_set_is_as_frozen(name: str) -> None:
    check(name, whole=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SETS))
def test_every_set_is_as_frozen(name: str) -> None:
    check(name, whole=True)


def test_a_changed_bit_is_noticed() -> None:
    one = {"a": (1.0).hex(), "b": "0" * 64}
    assert differences(one, {"a": math.nextafter(1.0, 2.0).hex(), "b": "0" * 64}, exact=True)
    assert not differences(one, {"a": math.nextafter(1.0, 2.0).hex(), "b": "1" * 64}, exact=False)
    assert differences(one, {"a": (1.001).hex(), "b": "0" * 64}, exact=False)
    assert differences(one, {"c": "0x1p+0"}, exact=True)
