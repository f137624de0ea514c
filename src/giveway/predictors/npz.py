"""Learned numbers on disk: one ``.npz`` of plain arrays and a sealed JSON fact sheet with its digest, never a pickle.

A model of release 0.1 has neither digest nor seal and is read as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from giveway.core.arrays import AnyArray
from giveway.core.checked import Expect, read_arrays, read_sealed, sha256_of_file
from giveway.core.errors import FileFormatError
from giveway.core.files import write_atomically
from giveway.core.sealed_files import write_document

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
    write_document(folder / FACTS, {"model": kind, "format": 1, "sha256": sha256_of_file(folder / ARRAYS)})


def load_arrays(folder: Path, *, kind: str, names: tuple[str, ...]) -> dict[str, AnyArray]:
    """Read what :func:`save_arrays` wrote.

    Raises:
        FileFormatError: if the folder holds no model, another model, or a damaged file.
    """
    expect = Expect(error=FileFormatError, what=f"the fitted model {kind!r}", hint="fit and save it again")
    found = read_sealed(folder / FACTS, expect=expect)
    facts = found.document
    if facts.get("model") != kind:
        raise FileFormatError(
            "the folder holds another model", where=folder / FACTS, found=facts.get("model"), hint=f"expected {kind!r}"
        )
    sha256 = None if found.seal is None else str(facts.get("sha256"))
    return read_arrays(folder / ARRAYS, names=names, sha256=sha256, expect=expect)
