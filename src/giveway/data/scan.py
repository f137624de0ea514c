"""One pass over the bytes of a delimited file for what a parser lets through: NUL bytes, endless numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from giveway.core.arrays import BoolArray, IntArray
from giveway.data.findings import MAX_PER_KIND, Findings

if TYPE_CHECKING:
    from giveway.data.tables import Column

CHUNK_BYTES = 1 << 18
"""Small enough for the masks to stay in the cache of a core."""

MAX_NUMBER_CHARS = 40
"""No number of any format needs more: a double has 17 significant digits, a sign, a point and an exponent."""

WORD_BYTES = 8
LONG_WORDS = 4
"""A cell of more than 40 bytes covers four whole aligned words of eight, so such runs without separator show where."""

MAX_TEXT_CHARS = 1000
"""Longest word of any format, with room."""

UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
SAVE_AS_UTF8 = "save the file as UTF-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What was counted.

    Attributes:
        separators: in the whole file, the header included.
        long_blocks: (n,) first bytes of runs of :data:`LONG_WORDS` aligned words without separator and line end.
    """

    separators: int
    long_blocks: IntArray


def scan_bytes(data: bytes, separator: str) -> Scan:
    """Count separators and find stretches without any."""
    array = np.frombuffer(data, dtype=np.uint8)
    code, count = ord(separator), 0
    empty: list[BoolArray] = []
    for start in range(0, len(array), CHUNK_BYTES):
        part = array[start : start + CHUNK_BYTES]
        ends = part == code
        count += int(np.count_nonzero(ends))
        ends |= part == ord("\n")
        empty.append(ends[: len(part) - len(part) % WORD_BYTES].view(np.uint64) == 0)
    words = np.concatenate([*empty, np.zeros(LONG_WORDS, dtype=np.bool_)])
    runs = words[:-3] & words[1:-2] & words[2:-1] & words[3:]
    return Scan(separators=count, long_blocks=np.flatnonzero(runs) * WORD_BYTES)


def has_nul(data: bytes, path: Path, names: tuple[str, ...], separator: str, findings: Findings) -> bool:
    """Report the first NUL byte with line and column; text never has any."""
    at = data.find(0)
    if at < 0:
        return False
    column = data.count(separator.encode(), data.rfind(b"\n", 0, at) + 1, at)
    findings.error(
        "a NUL byte, which text never has",
        path,
        line=data.count(b"\n", 0, at) + 1,
        column=names[min(column, len(names) - 1)],
        found=f"{data.count(0)} of them, the first at byte {at}",
        hint="get the file again; if it is UTF-16, save it as UTF-8",
    )
    return True


def has_long_cells(
    data: bytes,
    scan: Scan,
    names: tuple[str, ...],
    wanted: Sequence[Column],
    separator: str,
    path: Path,
    findings: Findings,
) -> bool:
    """Report cells of wanted columns with more than :data:`MAX_NUMBER_CHARS` or :data:`MAX_TEXT_CHARS` characters."""
    limits = {column.name: MAX_TEXT_CHARS if column.type == "text" else MAX_NUMBER_CHARS for column in wanted}
    mark, found, last = separator.encode(), 0, -1
    for block in scan.long_blocks.tolist():
        begin = max(data.rfind(mark, 0, block), data.rfind(b"\n", 0, block)) + 1
        if begin == last:
            continue
        last = begin
        ends = [at for at in (data.find(mark, block), data.find(b"\n", block)) if at >= 0]
        end = min(ends, default=len(data))
        line_begin = data.rfind(b"\n", 0, begin) + 1
        name = names[min(data.count(mark, line_begin, begin), len(names) - 1)]
        limit = limits.get(name, len(data))
        if end - begin <= limit or line_begin == 0:
            continue
        found += 1
        if found > MAX_PER_KIND:
            break
        findings.error(
            f"a {'number' if limit == MAX_NUMBER_CHARS else 'word'} of more than {limit} characters",
            path,
            line=data.count(b"\n", 0, begin) + 1,
            column=name,
            found=f"{end - begin} characters, {data[begin : begin + 20].decode(errors='replace')!r} ...",
        )
    return found > 0


def is_utf16(data: bytes) -> bool:
    """Whether bytes are text in UTF-16, with its mark or without: then every second byte of ASCII text is NUL."""
    if data.startswith(UTF16_MARKS):
        return True
    head = data[:512]
    return len(head) >= 8 and max(head[0::2].count(0), head[1::2].count(0)) > len(head) // 4
