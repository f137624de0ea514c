"""Ways in which a file goes wrong: by chance, by an editor, by somebody who means harm."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Mutation = Callable[[random.Random, bytes], bytes]

NASTY = (
    "",
    "nan",
    "-inf",
    "1e308",
    "1e999",
    "-1",
    "0",
    "1e-320",
    "9" * 5000,
    "0." + "1" * 5000,
    "9223372036854775808",
    "1_000",
    "0x10",
    "١٢",
    "1,5",
    "[" * 200,
    '"',
    "\x00",
    "\x1b[31m",
    "true",
    "None",
)


def _separator(data: bytes) -> bytes:
    head = data.split(b"\n", 1)[0]
    return max((b",", b"\t", b";"), key=head.count)


def _lines(data: bytes) -> list[bytes]:
    return data.split(b"\n")


def _row(rng: random.Random, lines: list[bytes]) -> int:
    """A line that is not the header and not the empty end."""
    last = len(lines) - 1 - (not lines[-1])
    return rng.randint(min(1, last), max(1, last)) if last > 0 else 0


def flip_bit(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def change_digit(rng: random.Random, data: bytes) -> bytes:
    places = [k for k in rng.sample(range(len(data)), min(400, len(data))) if data[k : k + 1].isdigit()]
    if not places:
        return data
    at = places[0]
    return data[:at] + str(rng.randrange(10)).encode() + data[at + 1 :]


def change_byte(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def delete_byte(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at + 1 :]


def insert_byte(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes([rng.randrange(256)]) + data[at:]


def nul_block(rng: random.Random, data: bytes) -> bytes:
    at, size = rng.randrange(len(data)), rng.choice((1, 16, 512))
    return data[:at] + bytes(size) + data[at + size :]


def insert_nul(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes(rng.choice((1, 8))) + data[at:]


def noise_block(rng: random.Random, data: bytes) -> bytes:
    at, size = rng.randrange(len(data)), rng.choice((4, 64, 512))
    return data[:at] + rng.randbytes(size) + data[at + size :]


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def truncate_at_line(rng: random.Random, data: bytes) -> bytes:
    lines = _lines(data)
    return b"\n".join(lines[: _row(rng, lines)]) + b"\n"


def drop_row(rng: random.Random, data: bytes) -> bytes:
    lines = _lines(data)
    del lines[_row(rng, lines)]
    return b"\n".join(lines)


def double_row(rng: random.Random, data: bytes) -> bytes:
    lines = _lines(data)
    at = _row(rng, lines)
    lines.insert(at, lines[at])
    return b"\n".join(lines)


def swap_rows(rng: random.Random, data: bytes) -> bytes:
    lines = _lines(data)
    a, b = _row(rng, lines), _row(rng, lines)
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def swap_header_names(rng: random.Random, data: bytes) -> bytes:
    lines = _lines(data)
    mark = _separator(data)
    cells = lines[0].split(mark)
    a, b = rng.randrange(len(cells)), rng.randrange(len(cells))
    cells[a], cells[b] = cells[b], cells[a]
    lines[0] = mark.join(cells)
    return b"\n".join(lines)


def swap_cells(rng: random.Random, data: bytes) -> bytes:
    lines = _lines(data)
    mark, at = _separator(data), _row(rng, lines)
    cells = lines[at].split(mark)
    a, b = rng.randrange(len(cells)), rng.randrange(len(cells))
    cells[a], cells[b] = cells[b], cells[a]
    lines[at] = mark.join(cells)
    return b"\n".join(lines)


def nasty_cell(rng: random.Random, data: bytes) -> bytes:
    lines = _lines(data)
    mark, at = _separator(data), _row(rng, lines)
    cells = lines[at].split(mark)
    cells[rng.randrange(len(cells))] = rng.choice(NASTY).encode()
    lines[at] = mark.join(cells)
    return b"\n".join(lines)


def drop_cell(rng: random.Random, data: bytes) -> bytes:
    lines = _lines(data)
    mark, at = _separator(data), _row(rng, lines)
    cells = lines[at].split(mark)
    del cells[rng.randrange(len(cells))]
    lines[at] = mark.join(cells)
    return b"\n".join(lines)


def utf16(rng: random.Random, data: bytes) -> bytes:
    return data.decode("utf-8", errors="replace").encode(rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32")))


def byte_order_mark(rng: random.Random, data: bytes) -> bytes:
    del rng
    return b"\xef\xbb\xbf" + data


def windows_ends(rng: random.Random, data: bytes) -> bytes:
    del rng
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def empty(rng: random.Random, data: bytes) -> bytes:
    del data
    return rng.choice((b"", b"\n", b" \n \n"))


def first_line_only(rng: random.Random, data: bytes) -> bytes:
    del rng
    return _lines(data)[0] + b"\n"


def no_first_line(rng: random.Random, data: bytes) -> bytes:
    del rng
    return b"\n".join(_lines(data)[1:])


def deep_nesting(rng: random.Random, data: bytes) -> bytes:
    at, sign = rng.randrange(len(data) + 1), rng.choice((b"[", b"{", b'{"a":', b"[[", b"x = ["))
    return data[:at] + sign * 20_000 + data[at:]


def endless_integer(rng: random.Random, data: bytes) -> bytes:
    """Digits where digits are, or somewhere."""
    places = [k for k in rng.sample(range(len(data)), min(200, len(data))) if data[k : k + 1].isdigit()]
    at = places[0] if places else rng.randrange(len(data) + 1)
    return data[:at] + b"7" * rng.choice((25, 400, 5000, 300_000)) + data[at:]


def _change_document(rng: random.Random, data: bytes, change: Callable[[random.Random, Any], None]) -> bytes:
    try:
        document = json.loads(data)
    except ValueError:
        return flip_bit(rng, data)
    node, path = document, 0
    while isinstance(node, dict | list) and node and path < 6:
        path += 1
        child = rng.choice(list(node.values()) if isinstance(node, dict) else node)
        if not isinstance(child, dict | list) or not child or rng.random() < 0.3:
            break
        node = child
    if isinstance(node, dict | list) and node:
        change(rng, node)
    return json.dumps(document).encode()


def drop_key(rng: random.Random, data: bytes) -> bytes:
    def change(rng: random.Random, node: Any) -> None:
        del node[rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))]

    return _change_document(rng, data, change)


def replace_value(rng: random.Random, data: bytes) -> bytes:
    def change(rng: random.Random, node: Any) -> None:
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        node[key] = rng.choice((None, [], {}, "", -1, 1e308, 10**30, True, "\u0000", [[1]], {"a": 1}))

    return _change_document(rng, data, change)


BYTES: dict[str, Mutation] = {
    "bit flipped": flip_bit,
    "byte changed": change_byte,
    "byte deleted": delete_byte,
    "byte inserted": insert_byte,
    "NUL block": nul_block,
    "NUL inserted": insert_nul,
    "noise block": noise_block,
    "cut anywhere": truncate,
    "emptied": empty,
}
TEXT: dict[str, Mutation] = {
    **BYTES,
    "digit changed": change_digit,
    "UTF-16 or UTF-32": utf16,
    "byte-order mark": byte_order_mark,
    "Windows line ends": windows_ends,
    "endless integer": endless_integer,
    "deep nesting": deep_nesting,
    "cut at a line": truncate_at_line,
    "line dropped": drop_row,
    "line doubled": double_row,
    "lines swapped": swap_rows,
}
TABLE: dict[str, Mutation] = {
    **TEXT,
    "header names swapped": swap_header_names,
    "cells swapped": swap_cells,
    "nasty cell": nasty_cell,
    "cell dropped": drop_cell,
    "header only": first_line_only,
    "header missing": no_first_line,
}
DOCUMENT: dict[str, Mutation] = {**TEXT, "key dropped": drop_key, "value replaced": replace_value}
