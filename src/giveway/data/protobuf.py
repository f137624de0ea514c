"""Records of TensorFlow and messages of Protocol Buffers, as far as reading fields by number needs.

A record is its length (8 bytes, little endian), a checksum of the length, the message, a checksum of the message; the
checksums are masked CRC-32C. A message is a sequence of (field number, wire type, value).
References: TensorFlow, "TFRecord and tf.train.Example"; Protocol Buffers, "Encoding".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from giveway.data.logged import refuse

HEAD_BYTES, TAIL_BYTES = 12, 4
VARINT, WIDE, BYTES, NARROW = 0, 1, 2, 5
CUT = "the file is cut; get it again"
MAX_SHIFT = 63

Field = tuple[int, int, int | bytes]
"""Number, wire type, value: whole numbers for varints, bytes for everything else."""


def records(data: bytes, path: Path) -> Iterator[bytes]:
    """The messages of a file of records.

    Raises:
        FileFormatError: the file ends inside a record.
    """
    at = number = 0
    while at < len(data):
        if at + HEAD_BYTES > len(data):
            refuse("a record is cut", path, f"record {number}, length", found=f"{len(data) - at} bytes left", hint=CUT)
        (size,) = struct.unpack_from("<Q", data, at)
        at += HEAD_BYTES
        if size + TAIL_BYTES > len(data) - at:
            found = f"{size} bytes announced, {len(data) - at} left"
            refuse("a record is cut", path, f"record {number}", found=found, hint=CUT)
        yield data[at : at + size]
        at += size + TAIL_BYTES
        number += 1


def fields(data: bytes, path: Path, name: str) -> Iterator[Field]:
    """The fields of a message, in the order of the file.

    Args:
        data: of the message.
        path: for errors.
        name: of the message, for errors.

    Raises:
        FileFormatError: the message is cut or not a message.
    """
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at, path, name)
        kind = key & 7
        if kind == VARINT:
            value, at = _varint(data, at, path, name)
            yield key >> 3, kind, value
            continue
        if kind == BYTES:
            size, at = _varint(data, at, path, name)
        elif kind in (WIDE, NARROW):
            size = 8 if kind == WIDE else 4
        else:
            refuse("the message is not of Protocol Buffers", path, name, found=f"wire type {kind} at byte {at}")
        if size > end - at:
            refuse("the message is cut", path, f"{name}.{key >> 3}", found=f"{size} bytes, {end - at} left", hint=CUT)
        yield key >> 3, kind, data[at : at + size]
        at += size


def real(value: int | bytes) -> float:
    """A float or double."""
    if isinstance(value, int):
        return float(value)
    return struct.unpack("<d" if len(value) == 8 else "<f", value)[0]


def integers(value: int | bytes, path: Path, name: str) -> list[int]:
    """Whole numbers of a repeated field, packed or single."""
    if isinstance(value, int):
        return [value]
    found: list[int] = []
    at = 0
    while at < len(value):
        number, at = _varint(value, at, path, name)
        found.append(number)
    return found


def _varint(data: bytes, at: int, path: Path, name: str) -> tuple[int, int]:
    result = shift = 0
    while True:
        if at >= len(data) or shift > MAX_SHIFT:
            refuse("the message is cut or not of Protocol Buffers", path, name, found=f"at byte {at}", hint=CUT)
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7
