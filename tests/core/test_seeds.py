import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from giveway.core.seeds import seed_for, stream


def test_parts_are_not_joined():
    assert seed_for(0, "ab", "c") != seed_for(0, "a", "bc")


@given(st.integers(0, 2**32), st.text(max_size=5), st.text(max_size=5))
def test_streams_with_different_names_differ(root, one, other):
    same = bool((stream(root, one).random(4) == stream(root, other).random(4)).all())
    assert same == (one == other)


def test_seed_does_not_depend_on_the_hash_seed():
    code = "from giveway.core.seeds import seed_for; print(seed_for(3, 'split', 'round', 1))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": value}, capture_output=True, text=True, check=True
        ).stdout
        for value in ("1", "2")
    }
    assert outputs == {f"{seed_for(3, 'split', 'round', 1)}\n"}
