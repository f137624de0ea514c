"""Learned numbers on disk: one ``.npz`` of plain arrays and a JSON fact sheet, never a pickle."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from giveway.core.arrays import AnyArray
from giveway.core.errors import FileFormatError
from giveway.core.files import write_atomically, write_text

ARRAYS = "model.npz"
FACTS = "model.json"


def save_arrays(folder: Path, *, kind: str, arrays: Mapping[str, AnyArray]) -> None:
    """Write arrays of numbers or text below ``folder``, atomically, with the name of the model that can read them."""
    plain = {name: np.asarray(value) for name, value in arrays.items()}
    objects = [name for name, value in plain.items() if value.dtype.hasobject]
    if objects:
        raise ValueError(f"only plain numbers and text can be saved, not {objects}")
    with write_atomically(folder / ARRAYS) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **plain)
    write_text(folder / FACTS, json.dumps({"model": kind, "format": 1}) + "\n")


def load_arrays(folder: Path, *, kind: str, names: tuple[str, ...]) -> dict[str, AnyArray]:
    """Read what :func:`save_arrays` wrote.

    Raises:
        FileFormatError: if the folder holds no model, another model, or a damaged file.
    """
    try:
        facts = json.loads((folder / FACTS).read_text())
        with np.load(folder / ARRAYS, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in names}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise FileFormatError(
            f"no fitted model {kind!r} can be read", where=folder, found=str(error), hint="fit and save it again"
        ) from error
    if facts.get("model") != kind:
        raise FileFormatError(
            "the folder holds another model", where=folder / FACTS, found=facts.get("model"), hint=f"expected {kind!r}"
        )
    return arrays
