"""Reading trained weights without PyTorch and without pickle; their seal is checked, see :mod:`giveway.core.seals`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.checked import Expect, read_weights
from giveway.core.errors import DataError, FileFormatError

CHECKPOINT = Expect(error=FileFormatError, what="the checkpoint", hint="train again, or get the file again")


def read_tensors(checkpoint: Path) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """Tensors and metadata of a safetensors file, as they stand in it.

    Raises:
        DataError: no such file.
        FileFormatError: truncated, altered, or not such a file.
        MissingDependencyError: without safetensors.
    """
    if not checkpoint.is_file():
        raise DataError("no such checkpoint", where=checkpoint)
    return read_weights(checkpoint, expect=CHECKPOINT, purpose="reading a checkpoint")


def check_finite(tensors: dict[str, FloatArray], checkpoint: Path) -> None:
    """Refuse weights with NaN or infinity.

    Raises:
        FileFormatError: there are some.
    """
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise FileFormatError("a checkpoint with weights that are not finite", where=checkpoint)
