"""On which numeric platform the golden sets were made; bytes are promised only there."""

from __future__ import annotations

import importlib.metadata
import platform

LIBRARIES = ("numpy", "scipy", "numba", "polars", "scikit-learn")


def header(name: str = "") -> str:
    """First line of a set: system, C library and the versions that make numbers.

    Args:
        name: of the set; what is learned also depends on PyTorch and the vector instructions that it chose.
    """
    versions = " ".join(f"{library}={importlib.metadata.version(library)}" for library in LIBRARIES)
    first = f"# {platform.system()} {platform.machine()} {' '.join(platform.libc_ver())} {versions}"
    if name != "training":
        return first
    import torch

    return f"{first} torch={torch.__version__} {torch.backends.cpu.get_cpu_capability()}"
