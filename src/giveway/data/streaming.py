"""The fast way through a delimited file: block by block, hashed and parsed while the bytes are in the cache.

Only files without any oddity come through here. Everything else (an empty cell where none may be, an exponent other
than ``e-05`` and the like, a quoted word, letters beyond ASCII, a line too short, a last line without its end) is left
to :mod:`giveway.data.tables`, which reads the file again and knows what to say. Both find the same numbers, to the bit.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from giveway.core.arrays import IntArray
from giveway.data._cell_kernels import (
    FLOAT,
    HARD_CELLS,
    INT,
    IRREGULAR,
    NULLABLE_FLOAT,
    POWERS,
    SKIPPED,
    TEXT,
    parse_lines,
)
from giveway.data.cells import NUMBER

if TYPE_CHECKING:
    from giveway.data.tables import Column, TableFormat

BLOCK_BYTES = 1 << 21
"""Fits a cache; no line of any format is as long."""

_ACTIONS = {"int": INT, "float": FLOAT, "text": TEXT}
_MARK = b"\xef\xbb\xbf"

TextRuns = tuple[list[str], IntArray]
"""Equal words that follow each other, taken as one: the word of each run, and how many rows it has."""

Streamed = tuple[tuple[str, ...], Mapping[str, pl.Series], Mapping[str, TextRuns], str]
"""Header cells, wanted columns of numbers, of words, SHA-256."""


def stream_table(path: Path, form: TableFormat) -> Streamed | None:
    """Parse a file that is as it should be.

    Args:
        path: file to read.
        form: what to expect.

    Returns:
        None if anything is unusual; nothing is reported.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        first = file.read(BLOCK_BYTES)
        length = first.find(b"\n") + 1
        head = first[:length]
        if form.decimal != "." or b'"' in head or not head.removeprefix(_MARK).isascii():
            return None
        header = tuple(cell.strip() for cell in head.removeprefix(_MARK).decode().strip("\r\n").split(form.separator))
        names = tuple(form.rename.get(cell, cell) for cell in header)
        columns = [column for column in form.columns if column.name in names]
        needed = [column.name for column in form.columns if column in columns or not column.optional]
        if len(names) < 2 or any(names.count(name) != 1 for name in needed):
            return None
        left = os.fstat(file.fileno()).st_size - len(first)
        result = _Columns(names, columns, form.separator, (len(first) + left) // len(names) + 1)
        digest = hashlib.sha256(head)
        buffer = memoryview(bytearray(2 * BLOCK_BYTES))
        filled, held = len(first) - length, 0  # held: bytes of a line that began in the block before
        buffer[:filled] = first[length:]
        with ThreadPoolExecutor(max_workers=1) as pool:
            while filled > held:
                hashing = pool.submit(digest.update, buffer[held:filled])
                parsed = result.parse(buffer[:filled])
                hashing.result()
                if not parsed:
                    return None
                held = filled - parsed
                buffer[:held] = bytes(buffer[parsed:filled])
                filled = held + (file.readinto(buffer[held : held + min(BLOCK_BYTES, left)]) or 0)
                left -= filled - held
    return None if held or left or not result.row else (header, *result.columns_and_words(), digest.hexdigest())


class _Columns:
    """Columns that grow block by block."""

    def __init__(self, names: tuple[str, ...], columns: list[Column], separator: str, most_rows: int) -> None:
        self.columns, self.separator, self.row = columns, ord(separator), 0
        self.actions, self.slots = np.full(len(names), SKIPPED), np.zeros(len(names), dtype=np.int64)
        of_kind = {name: [c for c in columns if c.type == name] for name in _ACTIONS}
        for kind, members in of_kind.items():
            for slot, column in enumerate(members):
                at = names.index(column.name)
                self.actions[at] = NULLABLE_FLOAT if kind == "float" and column.nullable else _ACTIONS[kind]
                self.slots[at] = slot
        self.ints = np.empty((len(of_kind["int"]), most_rows), dtype=np.int64)  # only what is filled takes memory
        self.floats = np.empty((len(of_kind["float"]), most_rows))
        self.hard = np.empty((HARD_CELLS, 4), dtype=np.int64)
        self.words: list[dict[bytes, int]] = [{} for _ in of_kind["text"]]
        self.runs: list[list[tuple[IntArray, IntArray]]] = [[] for _ in of_kind["text"]]

    def parse(self, block: memoryview) -> int:
        """Take in all whole lines of a block; how many bytes they have, 0 if one is irregular."""
        most = len(block) // len(self.actions) + 1 if self.words else 0
        words, counts = np.empty((len(self.words), most, 3), dtype=np.int64), np.zeros(len(self.words), dtype=np.int64)
        columns = self.actions, self.slots, self.row, self.ints, self.floats
        data, eights = (
            np.frombuffer(block, dtype=np.uint8),
            np.frombuffer(block[: len(block) // 8 * 8], dtype=np.uint64),
        )
        row, num_hard, size = parse_lines(data, eights, self.separator, *columns, POWERS, words, counts, self.hard)
        if row == IRREGULAR:
            return 0
        for slot, at, begin, end in self.hard[:num_hard].tolist():
            cell = bytes(block[begin:end]).decode()
            if NUMBER.fullmatch(cell) is None or not math.isfinite(value := float(cell)):
                return 0
            self.floats[slot, at] = value
        self.row = int(row)
        for known, runs, found, count in zip(self.words, self.runs, words, counts.tolist(), strict=True):
            spans = found[:count]
            codes = [known.setdefault(bytes(block[b:e]), len(known)) for b, e in spans[:, 1:].tolist()]
            runs.append((spans[:, 0], np.array(codes, dtype=np.int64)))
        return size

    def columns_and_words(self) -> tuple[dict[str, pl.Series], dict[str, TextRuns]]:
        """All columns, each in one piece."""
        numbers = {"int": iter(self.ints), "float": iter(self.floats)}
        texts = iter(zip(self.words, self.runs, strict=True))
        columns: dict[str, pl.Series] = {}
        words: dict[str, TextRuns] = {}
        for column in self.columns:
            if column.type == "text":
                known, runs = next(texts)
                starts, codes = (np.concatenate(parts) for parts in zip(*runs, strict=True))
                new = np.append(True, codes[1:] != codes[:-1])  # a word may go on in the next block
                names = [word.decode() for word in known]
                words[column.name] = [names[code] for code in codes[new]], np.diff(np.append(starts[new], self.row))
            else:
                columns[column.name] = pl.Series(column.name, next(numbers[column.type])[: self.row])
        return columns, words
