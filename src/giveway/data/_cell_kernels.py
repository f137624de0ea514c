"""Compiled: cells of whole lines to columns, one pass over the bytes."""
# pyright: reportMissingParameterType=false, reportUnknownParameterType=false

from __future__ import annotations

import numpy as np

from giveway.core.arrays import FloatArray
from giveway.core.kernels import njit

SKIPPED, INT, FLOAT, NULLABLE_FLOAT, TEXT = range(5)
"""What becomes of a column."""

IRREGULAR = -1
HARD_CELLS = 1 << 16
"""Most numbers of one call that are left to the caller."""

POWERS: FloatArray = np.array([float(10**k) for k in range(23)])
"""Of ten, all exact."""

_LINE_END, _RETURN, _MINUS, _POINT, _ZERO, _QUOTE, _EXPONENT = (ord(mark) for mark in '\n\r-.0"e')
_MOST_DIGITS, _MOST_DECIMALS = 19, 22
_MOST_INT_DIGITS = 18
_LONGEST_NUMBER, _LONGEST_WORD = 40, 1000
_EXACT = np.uint64(1 << 53)
_SPLIT = 134217729.0
_DOUBT = 2.0**-40


@njit(cache=True)
def quotient(mantissa, power):
    """The double nearest to ``mantissa / power``, and whether that is certain.

    For mantissas above 2^53: the quotient of the leading part is corrected by what it leaves over, found exactly with
    Dekker's product (Numer. Math. 18, 1971). The correction is good to 2^-50 of itself; certain is what 2^-40 more or
    less of it would not change.
    """
    high = np.float64(mantissa)
    ratio = high / power
    low = np.float64(np.int64(mantissa - np.uint64(high)))
    product = ratio * power
    shifted = ratio * _SPLIT
    a = shifted - (shifted - ratio)
    b = ratio - a
    shifted = power * _SPLIT
    c = shifted - (shifted - power)
    d = power - c
    error = ((a * c - product) + a * d + b * c) + b * d
    correction = (((high - product) - error) + low) / power
    value = ratio + correction
    doubt = correction * _DOUBT
    return value, ratio + (correction + doubt) == value and ratio + (correction - doubt) == value


@njit(cache=True)
def is_plain(data, end):
    """Whether the first bytes are ASCII and none is NUL."""
    most, least = np.uint8(0), np.uint8(255)
    for k in range(end):
        most |= data[k]
        least = min(least, data[k])
    return most < 128 and least > 0


@njit(cache=True, nogil=True)
def parse_lines(data, eights, separator, actions, slots, row, ints, floats, powers, words, num_words, hard):
    r"""Parse lines that end in ``\n`` or ``\r\n`` and have one cell per column.

    Args:
        data: (n,) bytes; those after the last line end are left alone.
        eights: (n // 8,) the same bytes, eight by eight.
        separator: byte between cells.
        actions: (C,) what becomes of each column.
        slots: (C,) its row in ``ints``, ``floats`` or ``words``.
        row: first row to fill.
        ints: (I, rows) filled.
        floats: (F, rows) filled; NaN where an empty cell is allowed.
        powers: :data:`POWERS`.
        words: (W, L, 3) of at most L lines, filled: row, begin and end in ``data`` of every word that differs from the
            one of the row above.
        num_words: (W,) how many, filled.
        hard: (:data:`HARD_CELLS`, 4), filled: slot, row, begin and end of cells of floats that may be numbers, but have
            more than 19 digits or 22 decimals, or no certain nearest double.

    Returns:
        The row after the last one, how many cells are hard, and how many bytes the lines have; the row is
        :data:`IRREGULAR` if some line is not as it should be.
    """
    at, end, last, num_hard = 0, len(data), len(actions) - 1, 0
    while end > 0 and data[end - 1] != _LINE_END:
        end -= 1
    tail = last + 1  # from there on all columns are skipped
    while tail > 0 and actions[tail - 1] == SKIPPED:
        tail -= 1
    ones, low_bits = np.uint64(0x0101010101010101), np.uint64(0x7F7F7F7F7F7F7F7F)
    line_ends, separators = ones * np.uint64(_LINE_END), ones * np.uint64(separator)
    if not is_plain(data, end):
        return IRREGULAR, 0, end
    while at < end:
        column = 0
        while column <= last:
            action, slot, begin = actions[column], slots[column], at
            if action == SKIPPED and column == tail:
                left = last - column
                while data[at] != _LINE_END:
                    left -= data[at] == separator
                    at += 1
                    if at % 8 == 0:  # eight bytes at a time; a byte is marked by its highest bit
                        word = at // 8
                        while word < len(eights):
                            ends = eights[word] ^ line_ends
                            if ~(((ends & low_bits) + low_bits) | ends | low_bits) != 0:
                                break
                            cells = eights[word] ^ separators
                            marks = ~(((cells & low_bits) + low_bits) | cells | low_bits)
                            left -= np.int64(((marks >> np.uint64(7)) * ones) >> np.uint64(56))
                            word += 1
                        at = 8 * word
                if left != 0:
                    return IRREGULAR, 0, end
                column = last
            elif action == SKIPPED:
                while data[at] != separator and data[at] != _LINE_END:
                    at += 1
            elif action == TEXT:
                while data[at] != separator and data[at] != _LINE_END and data[at] != _RETURN:
                    if data[at] == _QUOTE:
                        return IRREGULAR, 0, end
                    at += 1
                if at == begin or at - begin > _LONGEST_WORD:
                    return IRREGULAR, 0, end
                count = num_words[slot]
                before = words[slot, count - 1, 1]
                same = count > 0 and words[slot, count - 1, 2] - before == at - begin
                for k in range(at - begin if same else 0):
                    same = same and data[before + k] == data[begin + k]
                if not same:
                    words[slot, count, 0], words[slot, count, 1], words[slot, count, 2] = row, begin, at
                    num_words[slot] = count + 1
            else:
                negative = data[at] == _MINUS
                at += negative
                start = at
                mantissa = np.uint64(0)
                digit = np.uint8(data[at] - np.uint8(_ZERO))
                while digit <= 9:
                    mantissa = mantissa * np.uint64(10) + np.uint64(digit)
                    at += 1
                    digit = np.uint8(data[at] - np.uint8(_ZERO))
                digits = at - start
                if action == INT:
                    if digits == 0 or digits > _MOST_INT_DIGITS:
                        return IRREGULAR, 0, end
                    ints[slot, row] = -np.int64(mantissa) if negative else np.int64(mantissa)
                elif at == begin and action == NULLABLE_FLOAT and (data[at] == separator or data[at] <= _RETURN):
                    floats[slot, row] = np.nan
                else:
                    decimals = 0
                    if digits > 0 and data[at] == _POINT:
                        at += 1
                        start = at
                        digit = np.uint8(data[at] - np.uint8(_ZERO))
                        while digit <= 9:
                            mantissa = mantissa * np.uint64(10) + np.uint64(digit)
                            at += 1
                            digit = np.uint8(data[at] - np.uint8(_ZERO))
                        decimals = at - start
                        digits = digits + decimals if decimals else 0
                    if digits > _MOST_DIGITS:
                        zero = begin + negative
                        while data[zero] == _ZERO or data[zero] == _POINT:
                            digits -= data[zero] == _ZERO
                            zero += 1
                    if digits > 0 and data[at] == _EXPONENT and data[at + 1] == _MINUS and data[at + 2] == _ZERO:
                        digit = np.uint8(data[at + 3] - np.uint8(_ZERO))  # e-05, as numbers below 0.0001 are written
                        if digit <= 9:
                            decimals += digit
                            at += 4
                    sure = 0 < digits <= _MOST_DIGITS and decimals <= _MOST_DECIMALS
                    sure = sure and (data[at] == separator or data[at] <= _RETURN)
                    if sure:
                        if (
                            mantissa <= _EXACT
                        ):  # both exact, so their quotient is correctly rounded (Clinger, PLDI 1990)
                            value = np.float64(np.int64(mantissa)) / powers[decimals]
                        else:
                            value, sure = quotient(mantissa, powers[decimals])
                        floats[slot, row] = -value if negative else value
                    if not sure:
                        while data[at] != separator and data[at] > _RETURN:
                            at += 1
                        if at == begin or at - begin > _LONGEST_NUMBER or num_hard == len(hard):
                            return IRREGULAR, 0, end
                        hard[num_hard, 0], hard[num_hard, 1], hard[num_hard, 2], hard[num_hard, 3] = (
                            slot,
                            row,
                            begin,
                            at,
                        )
                        num_hard += 1
            if column < last:
                if data[at] != separator:
                    return IRREGULAR, 0, end
            else:
                at += data[at] == _RETURN
                if data[at] != _LINE_END:
                    return IRREGULAR, 0, end
            at += 1
            column += 1
        row += 1
    return row, num_hard, end
