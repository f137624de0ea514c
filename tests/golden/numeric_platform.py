"""On which numeric platform the golden sets were made; bytes are promised only there."""

from __future__ import annotations

import importlib.metadata
import platform

LIBRARIES = ("numpy", "scipy", "numba", "polars", "scikit-learn")


UNSTABLE = {
    "methods": (" cma_es ",),
    "rehearsal": (" effect ", " model "),
    "training": ("",),
}
"""Lines of a set that come from optimizers of other libraries: promised on the same vector unit only."""


def vector_unit() -> str:
    """The widest instructions that numpy uses in this process, the kernels of its BLAS, and those of PyTorch."""
    import scipy.linalg  # noqa: F401 - loads its BLAS
    import threadpoolctl
    import torch
    from numpy._core._multiarray_umath import __cpu_features__ as features

    known = [name for name in ("X86_V4", "X86_V3", "AVX512_SKX", "AVX2", "ASIMD") if features.get(name)]
    blas = {str(pool["architecture"]) for pool in threadpoolctl.threadpool_info() if "architecture" in pool}
    torch_unit = torch.backends.cpu.get_cpu_capability()
    return " ".join([known[0] if known else "baseline", *sorted(blas), torch_unit])


def header(name: str = "") -> str:
    """First line of a set: system, C library and the versions that make numbers; of some sets also the vector unit."""
    versions = " ".join(f"{library}={importlib.metadata.version(library)}" for library in LIBRARIES)
    first = f"# {platform.system()} {platform.machine()} {' '.join(platform.libc_ver())} {versions}"
    if name != "training":
        return first
    return f"{first} torch={importlib.metadata.version('torch')}"
