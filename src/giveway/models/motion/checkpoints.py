"""Reading trained weights without PyTorch and without pickle."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.errors import DataError, FileFormatError, MissingDependencyError


def read_tensors(checkpoint: Path) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """Tensors and metadata of a safetensors file, as they stand in it.

    Raises:
        DataError: no such file.
        FileFormatError: truncated, or not such a file.
        MissingDependencyError: without safetensors.
    """
    if not checkpoint.is_file():
        raise DataError("no such checkpoint", where=checkpoint)
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise MissingDependencyError("safetensors", extra="learn", purpose="reading a checkpoint") from error
    try:
        with safe_open(str(checkpoint), framework="numpy") as file:
            found = {name: np.asarray(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
            return found, dict(file.metadata() or {})
    except (SafetensorError, OSError) as error:
        raise FileFormatError("the checkpoint does not parse", where=checkpoint, found=str(error)) from error


def check_finite(tensors: dict[str, FloatArray], checkpoint: Path) -> None:
    """Refuse weights with NaN or infinity.

    Raises:
        FileFormatError: there are some.
    """
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise FileFormatError("a checkpoint with weights that are not finite", where=checkpoint)
