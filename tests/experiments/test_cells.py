from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from giveway.experiments import Cell


def cell(**params: object) -> Cell:
    return Cell(kind="t", params=params, data="d", versions={"auc": 1})


def test_the_key_does_not_depend_on_the_order_of_parameters() -> None:
    assert cell(a=1, b="x").key == cell(b="x", a=1).key


@pytest.mark.parametrize(
    "other",
    [
        Cell(kind="u", params={"a": 1}, data="d", versions={"auc": 1}),
        Cell(kind="t", params={"a": 2}, data="d", versions={"auc": 1}),
        Cell(kind="t", params={"a": "1"}, data="d", versions={"auc": 1}),
        Cell(kind="t", params={"a": 1}, data="e", versions={"auc": 1}),
        Cell(kind="t", params={"a": 1}, data="d", versions={"auc": 2}),
    ],
)
def test_the_key_changes_with_every_part_of_the_description(other: Cell) -> None:
    assert other.key != cell(a=1).key


def test_the_key_is_the_same_in_another_process_with_another_hash_seed() -> None:
    cell = "Cell(kind='t', params={'a': 1, 'b': {'x': [1, 2.5]}}, data='d')"
    code = f"from giveway.experiments import Cell; print({cell}.key)"
    keys = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, **env()},
        ).stdout
        for seed in ("1", "2")
    }
    assert keys == {Cell(kind="t", params={"b": {"x": (1, 2.5)}, "a": np.int64(1)}, data="d").key + "\n"}


def env() -> dict[str, str]:
    import os

    return {k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"}


def test_a_cell_survives_the_way_through_json() -> None:
    original = cell(a=1, b=[1, 2], c=None)
    again = Cell.from_json(original.as_json())
    assert again == original
    assert again.key == original.key


def test_an_object_cannot_slip_into_a_key_through_its_repr() -> None:
    with pytest.raises(TypeError, match="cannot write object"):
        cell(a=object())


def test_names_of_result_columns_are_refused_as_parameters() -> None:
    with pytest.raises(ValueError, match="metric"):
        cell(metric="auc")
