"""Checks of text before a parser sees it: encoding, NUL bytes, depth, length of numbers and words."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

MAX_INTEGER = 20
"""Characters of an integer; 64 bits need 20."""

MAX_NUMBER = 40
"""Characters of any number; a double needs 24."""

MAX_WORD = 1024
"""Characters of a key or value of TOML that is not quoted."""

MARKS = (b"\xff\xfe", b"\xfe\xff")

_LONG_DIGITS = re.compile("[0-9]{21}")
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_TOML = re.compile(
    rb'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|\#[^\n]*|[\[\]{}]|[A-Za-z0-9_.+:-]+',
    re.DOTALL,
)


class TextError(ValueError):
    """Text that no parser should see.

    Args:
        message: what is wrong.
        line: from 1; 0 if it is not known.
    """

    def __init__(self, message: str, *, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def as_text(data: bytes) -> str:
    """The text, without a byte-order mark.

    Raises:
        TextError: UTF-16, NUL bytes, or not UTF-8.
    """
    if data[:2] in MARKS:
        raise TextError("UTF-16 text: save it as UTF-8", line=1)
    at = data.find(b"\0")
    if at >= 0:
        raise TextError(f"a NUL byte at offset {at}", line=data.count(b"\n", 0, at) + 1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TextError(f"not UTF-8 text: byte {data[error.start]:#04x} at offset {error.start}", line=line) from error


def check_json(data: bytes, *, depth: int) -> None:
    """Refuse arrays and objects nested deeper than ``depth``; brackets inside strings do not count.

    Raises:
        TextError: naming the line.
    """
    if data.count(b"[") + data.count(b"{") <= depth:
        return
    if b"\\" in data:
        data = _ESCAPED.sub(b"  ", data)
    values = np.frombuffer(data, dtype=np.uint8)
    places = np.flatnonzero(
        (values == 0x22) | (values == 0x5B) | (values == 0x5D) | (values == 0x7B) | (values == 0x7D)
    )
    found = values[places]
    is_quote = found == 0x22
    is_outside = np.cumsum(is_quote) % 2 == 0
    step = np.where((found == 0x5B) | (found == 0x7B), 1, -1)
    level = np.cumsum(np.where(is_outside & ~is_quote, step, 0))
    too_deep = np.flatnonzero(level > depth)
    if too_deep.size:
        line = data.count(b"\n", 0, int(places[too_deep[0]])) + 1
        raise TextError(f"nested more than {depth} deep", line=line)


def check_toml(data: bytes, *, depth: int) -> None:
    """Refuse nesting deeper than ``depth`` (also of dotted keys) and words that are too long; quoted text is skipped.

    Raises:
        TextError: naming the line.
    """
    level = 0
    for match in _TOML.finditer(data):
        token = match[0]
        if token in b"[{":
            level += 1
        elif token in b"]}":
            level = max(level - 1, 0)
        elif token[:1] in b"\"'#":
            continue
        elif len(token) > MAX_WORD or (len(token) > MAX_NUMBER and token.strip(b"+-_0123456789.eE") == b""):
            raise TextError(f"a word of {len(token)} characters", line=data.count(b"\n", 0, match.start()) + 1)
        if level > depth or token.count(b".") > depth:
            raise TextError(f"nested more than {depth} deep", line=data.count(b"\n", 0, match.start()) + 1)


def parse_json(text: str) -> Any:
    """The document; integers of more than 20 and numbers of more than 40 characters are refused.

    Raises:
        TextError: a number that is too long, or nesting that Python gives up on.
        json.JSONDecodeError: no JSON.
    """
    try:
        if _LONG_DIGITS.search(text) is None:
            return json.loads(text)
        return json.loads(text, parse_int=_integer, parse_float=_number)
    except RecursionError:
        raise TextError("nested too deep") from None


def _integer(text: str) -> int:
    if len(text) > MAX_INTEGER + 1:
        raise TextError(f"an integer of {len(text)} characters")
    return int(text)


def _number(text: str) -> float:
    if len(text) > MAX_NUMBER:
        raise TextError(f"a number of {len(text)} characters")
    return float(text)
