"""Seals: a document that carries the SHA-256 of its own bytes, so that damage is noticed before anything is parsed.

A sealed document is a JSON object whose last entry is ``"seal"``: the SHA-256 of the text with that entry taken out. A
sealed weights file (safetensors) has an entry ``seal`` in its header: the SHA-256 of the file with 64 zeros in its
place. Neither needs a second serialization for checking. Files of earlier releases have no seal and are told apart from
files whose seal was damaged: what still looks like half a seal is refused.
"""

from __future__ import annotations

import hashlib
import json
import re

SEAL = re.compile(rb',"seal":"([0-9a-f]{64})"\}\n\Z')
REMAINS = re.compile(rb'"seal":|[0-9a-f]{64}"\}\n?\Z')
"""What the last bytes of a document look like whose seal was damaged; see :func:`open_seal`."""

TAIL_BYTES = 88
"""A seal and a little more: only there its remains are looked for."""

WEIGHTS_ENTRY = "seal"
NO_SEAL = "0" * 64
WEIGHTS_SEAL = re.compile(rb'"seal":"([0-9a-f]{64})"')


class SealError(ValueError):
    """A document that is truncated or altered; the message says which."""


def sha256_of_bytes(data: bytes | bytearray | memoryview) -> str:
    """SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def seal(body: bytes) -> bytes:
    """A JSON object with its own SHA-256 as last entry.

    Args:
        body: text of a JSON object that is not empty; white space after it is dropped.

    Raises:
        ValueError: if it is none.
    """
    body = body.rstrip()
    if not body.endswith(b"}") or body[:-1].rstrip().endswith(b"{"):
        raise ValueError("only a JSON object with entries can be sealed")
    return body[:-1] + b',"seal":"' + sha256_of_bytes(body).encode() + b'"}\n'


def open_seal(data: bytes) -> tuple[bytes, str | None]:
    """Text of the object without its seal, and the seal; None if the document never had one.

    Raises:
        SealError: truncated, altered, or a seal that is damaged itself.
    """
    found = SEAL.search(data, max(0, len(data) - TAIL_BYTES))
    if found is not None:
        body = data[: found.start()] + b"}"
        if sha256_of_bytes(body) != found[1].decode():
            raise SealError("the checksum does not match")
        return body, found[1].decode()
    if not data.rstrip().endswith(b"}"):
        raise SealError("truncated, or not a document of ours")
    if REMAINS.search(data, max(0, len(data) - TAIL_BYTES)):
        raise SealError("the checksum is damaged")
    return data, None


def seal_of(data: bytes) -> str | None:
    """The seal that a document carries, unchecked; None without one."""
    found = SEAL.search(data, max(0, len(data) - TAIL_BYTES))
    return None if found is None else found[1].decode()


def weights_header(data: bytes) -> bytes:
    """The JSON header of a safetensors file.

    Raises:
        SealError: the file is shorter than it says.
    """
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        raise SealError("truncated, or not a safetensors file")
    return data[8 : 8 + size]


def seal_weights(data: bytes) -> bytes:
    """A safetensors file whose header has ``{"seal": NO_SEAL}`` among its metadata, with the seal filled in.

    Raises:
        ValueError: without the entry.
    """
    header = weights_header(data)
    found = WEIGHTS_SEAL.search(header)
    if found is None or found[1].decode() != NO_SEAL:
        raise ValueError("the header has no place for a seal")
    start = 8 + found.start(1)
    return data[:start] + sha256_of_bytes(data).encode() + data[start + 64 :]


def open_weights_seal(data: bytes) -> str | None:
    """The checked seal of a safetensors file; None if it was written without one.

    Raises:
        SealError: truncated, altered, or a seal that is damaged itself.
    """
    header = weights_header(data)
    found = WEIGHTS_SEAL.search(header)
    if found is None:
        if _has_remains(header):
            raise SealError("the checksum is damaged")
        return None
    start = 8 + found.start(1)
    if sha256_of_bytes(data[:start] + NO_SEAL.encode() + data[start + 64 :]) != found[1].decode():
        raise SealError("the checksum does not match")
    return found[1].decode()


def _has_remains(header: bytes) -> bool:
    """Whether the header's metadata has the name or something like the value of a seal."""
    try:
        metadata = json.loads(header).get("__metadata__", {})
    except (ValueError, AttributeError, RecursionError):
        return True
    return isinstance(metadata, dict) and any(
        name == WEIGHTS_ENTRY or (isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value))
        for name, value in metadata.items()  # pyright: ignore[reportUnknownVariableType]
    )
