"""What was learned on disk, never a pickle: arrays of small models, weights of networks.

Arrays are one ``.npz`` and a sealed JSON fact sheet with its digest; weights are a sealed safetensors file, read
without PyTorch, see :mod:`giveway.core.seals`. A model of release 0.1 has neither digest nor seal and is read as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from giveway.core.arrays import AnyArray, FloatArray
from giveway.core.checked import Expect, read_arrays, read_sealed, read_weights, sha256_of_file
from giveway.core.errors import DataError, FileFormatError
from giveway.core.files import write_atomically
from giveway.core.sealed_files import write_document

ARRAYS = "model.npz"
FACTS = "model.json"
T = TypeVar("T")
WEIGHTS = Expect(error=FileFormatError, what="the checkpoint", hint="train again, or get the file again")


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


def save_fields(folder: Path, fitted: Any) -> None:
    """Write the fields of a fitted model, all but its fact sheet ``info``, through :func:`save_arrays`."""
    arrays = {name: np.asarray(getattr(fitted, name)) for name in _saved(type(fitted))}
    save_arrays(folder, kind=fitted.info.name, arrays=arrays)


def load_fields(folder: Path, model: Callable[..., T], info: Any) -> T:
    """Read what :func:`save_fields` wrote; arrays without a dimension become plain numbers."""
    found = load_arrays(folder, kind=info.name, names=_saved(model))
    return model(info=info, **{name: array if array.ndim else array.item() for name, array in found.items()})


def _saved(model: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(model) if field.name != "info")


def read_tensors(checkpoint: Path) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """Tensors and metadata of a safetensors file, as they stand in it.

    Raises:
        DataError: no such file.
        FileFormatError: truncated, altered, or not such a file; weights that are not finite.
        MissingDependencyError: without safetensors.
    """
    if not checkpoint.is_file():
        raise DataError("no such checkpoint", where=checkpoint)
    tensors, meta = read_weights(checkpoint, expect=WEIGHTS, purpose="reading a checkpoint")
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise FileFormatError("a checkpoint with weights that are not finite", where=checkpoint)
    return tensors, meta


def fingerprint_of(weights: Mapping[str, FloatArray], *more: str) -> str:
    """Short text that tells networks of the same name apart in result stores."""
    digest = hashlib.sha256("".join(more).encode())
    for value in weights.values():
        digest.update(value.tobytes())
    return digest.hexdigest()[:12]


def fingerprint_of_path(path: Path) -> str:
    """Short text that tells the contents of a file, or of all files of a folder, apart from others."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(path).as_posix()} {sha256_of_file(file)}".encode())
    return digest.hexdigest()[:12]
