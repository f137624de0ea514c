"""Text that came over the network in a log: one request, one line, and nothing a terminal would obey.

A path with ``%0a`` in it, decoded, begins a second line that looks like one of ours; an escape sequence in a header
moves the cursor and paints over what stands there. Nothing that a client chose is therefore logged as it came.
"""

from __future__ import annotations

import logging
import unicodedata
from types import TracebackType

MAX_REQUEST_BYTES = 200
SysExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
HIDDEN_KINDS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that are not printed: controls, formats (also those that turn the direction), separators."""


def one_line(text: str) -> str:
    """The text with every control, format and line-separating character written as its escape in Python."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(c) for c in text)


def _shown(character: str) -> str:
    if unicodedata.category(character) not in HIDDEN_KINDS:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def request_text(raw: bytes) -> str:
    """A part of a request line as it came: at most 200 bytes, every byte outside 0x21 .. 0x7e as ``%XX``."""
    return "".join(chr(b) if 0x21 <= b <= 0x7E else f"%{b:02X}" for b in raw[:MAX_REQUEST_BYTES])


class LineFormatter(logging.Formatter):
    """Writes a record as one line; the lines of a traceback follow, each marked, so that none passes for a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The record's own line."""
        return one_line(super().formatMessage(record))

    def formatException(self, ei: SysExcInfo) -> str:
        """The traceback, line by line behind a bar."""
        text = super().formatException(ei)
        return "\n".join(f"    | {one_line(line)}" for line in text.split("\n"))

    def formatStack(self, stack_info: str) -> str:
        """Likewise."""
        return "\n".join(f"    | {one_line(line)}" for line in stack_info.split("\n"))
