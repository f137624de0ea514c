"""Writing documents and weights with their seal; :mod:`giveway.core.checked` reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from giveway.core.errors import MissingDependencyError
from giveway.core.files import write_atomically, write_text
from giveway.core.seals import NO_SEAL, WEIGHTS_ENTRY, seal, seal_weights


def sealed_document(document: Mapping[str, Any], *, indent: int | None = None) -> bytes:
    """A JSON object with its own SHA-256 as last entry."""
    return seal(json.dumps(document, indent=indent, ensure_ascii=False).encode())


def write_document(path: Path, document: Mapping[str, Any], *, indent: int | None = None) -> None:
    """The same in a file, written atomically."""
    write_text(path, sealed_document(document, indent=indent).decode())


def write_weights(
    path: Path,
    tensors: Mapping[str, Any],
    facts: Mapping[str, str] | None = None,
    *,
    framework: Literal["numpy", "torch"] = "numpy",
    purpose: str = "writing weights",
) -> None:
    """Write :func:`weights_bytes` atomically."""
    data = weights_bytes(tensors, facts, framework=framework, purpose=purpose)
    with write_atomically(path) as temporary:
        temporary.write_bytes(data)


def weights_bytes(
    tensors: Mapping[str, Any],
    facts: Mapping[str, str] | None = None,
    *,
    framework: Literal["numpy", "torch"] = "numpy",
    purpose: str = "writing weights",
) -> bytes:
    """Content of a safetensors file with its own SHA-256 in the header; equal weights and facts give equal bytes.

    Args:
        tensors: by name, each contiguous.
        facts: metadata.
        framework: what the tensors are.
        purpose: what safetensors is needed for, should it be missing.

    Raises:
        MissingDependencyError: without safetensors.
    """
    try:
        if framework == "torch":
            from safetensors.torch import save
        else:
            from safetensors.numpy import save
    except ImportError as error:
        raise MissingDependencyError("safetensors", extra="learn", purpose=purpose) from error
    return seal_weights(_in_order(save(dict(tensors), metadata={**(facts or {}), WEIGHTS_ENTRY: NO_SEAL})))


def _in_order(data: bytes) -> bytes:
    """The file with its metadata sorted by name: safetensors 0.8 writes them in an order that changes between calls."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8 bytes
    return len(text).to_bytes(8, "little") + text + data[8 + size :]
