"""Mutations that once crashed a reader or changed its numbers without a word, each as small as it gets.

An entry is (reader of tests/fuzz/subjects.py, part of the file's name, change of the bytes, words of the refusal); the
change is what the fuzzer did, reduced by hand.
"""

from __future__ import annotations

from collections.abc import Callable

Change = Callable[[bytes], bytes]


def _cell(line: int, cell: int, value: bytes, separator: bytes = b",") -> Change:
    def change(data: bytes) -> bytes:
        lines = data.split(b"\n")
        cells = lines[line - 1].split(separator)
        cells[cell] = value
        lines[line - 1] = separator.join(cells)
        return b"\n".join(lines)

    return change


def _names(first: bytes, second: bytes, separator: bytes = b",") -> Change:
    def change(data: bytes) -> bytes:
        header, _, rest = data.partition(b"\n")
        swapped = {first: second, second: first}
        return separator.join(swapped.get(name, name) for name in header.split(separator)) + b"\n" + rest

    return change


def _insert(before: bytes, text: bytes) -> Change:
    return lambda data: data.replace(before, text + before, 1)


FOUND: dict[str, tuple[str, str, Change, str]] = {
    "integer of 5000 digits in a table": (
        "round",
        "recordingMeta",
        _cell(2, 1, b"7" * 5000),
        "more than 40 characters",
    ),
    "integer of 25 digits in a table": ("lgap", "processed", _cell(2, 0, b"7" * 25), "beyond 64 bits"),
    "decimal of 5000 digits": ("interaction", "vehicle", _cell(2, 4, b"1." + b"0" * 5000), "more than 40 characters"),
    "position beyond the world": ("interaction", "vehicle", _cell(2, 4, b"3e6"), "outside the possible range"),
    "heading of 1e308": ("generic", "a.csv", _cell(2, 6, b"1e308"), "outside the possible range"),
    "a NUL byte in a text cell": ("ind", "recordingMeta", _cell(2, 4, b"mon\0day"), "a NUL byte"),
    "a block of NUL bytes": ("lgap", "processed", lambda d: d[:3000] + bytes(40) + d[3040:], "a NUL byte"),
    "a word of 20 000 characters": ("highd", "recordingMeta", _cell(2, 5, b"[" * 20_000), "more than 1000 characters"),
    "cases in UTF-16": ("interaction_cases", "obs", lambda d: d.decode().encode("utf-16"), "UTF-16"),
    "cases in UTF-16 without a mark": ("interaction_cases", "obs", lambda d: d.decode().encode("utf-16-le"), "UTF-16"),
    "cases without a byte": ("interaction_cases", "obs", lambda d: b"", "the file is empty"),
    "cases without a header": ("interaction_cases", "obs", lambda d: d.split(b"\n", 1)[1], "a column is missing"),
    "a row of a case lost": ("interaction_cases", "obs", lambda d: b"\n".join(_without(d, 4)), "frames are missing"),
    "velocities swapped": ("interaction", "vehicle", _names(b"vx", b"vy"), "velocity and change of position"),
    "velocities swapped in rounD": ("round", "00_tracks.", _names(b"xVelocity", b"yVelocity"), "velocity and change"),
    "heading and width swapped": ("generic", "a.csv", _names(b"heading", b"width"), "heading and direction of motion"),
    "length and width swapped": ("round", "tracksMeta", _names(b"length", b"width"), "wider than long"),
    "driving directions swapped": ("highd", "tracksMeta", lambda d: _directions(d), "drive backwards"),
    "yaw of the other car": ("lgap", "processed", _names(b"ego_yaw", b"bot_yaw"), "heading and direction of motion"),
    "time and place swapped": ("leeds", "drone305", _names(b"%simTime", b"x_r", b"\t"), "clock of a log"),
    "integer of 300 000 digits in TOML": ("spec", "spec", _insert(b"\n[splits]", b"7" * 300_000), "does not parse"),
    "deep nesting in TOML": ("spec", "spec", _insert(b"seed", b"x = " + b"[" * 20_000 + b"\n"), "does not parse"),
    "deep nesting in a mapping": (
        "generic",
        "toml",
        _insert(b"[time]", b"x = " + b"[" * 20_000 + b"\n"),
        "does not parse",
    ),
    "a model that does not exist": ("spec", "spec", lambda d: d.replace(b"LR_1D", b"LR_3D"), "unknown predictor"),
    "deep nesting in cases": ("cases", "json", _insert(b'"cases"', b'"x": ' + b"[" * 20_000), "does not parse"),
    "a case file with a NUL byte": ("cases", "txt", _insert(b"Track", b"\0"), "does not parse"),
    "a name of 5000 characters": ("cases", "json", _insert(b"DR_TEST/000", b"7" * 5000), "more than 500 characters"),
    "scenes.json without scenes": ("store", "scenes.json", lambda d: d.replace(b'"scenes"', b'"scene5"'), "is damaged"),
    "Parquet that makes Polars panic": (
        "store",
        "segments",
        lambda d: d[:8] + bytes(40) + d[48:],
        "not what was written",
    ),
    "clips that are not UTF-8": ("study", "clips", lambda d: d[:40] + b"\xd2" + d[41:], "the list of clips is damaged"),
    "a node twice in a row": ("map", "osm", lambda d: _twice(d), "twice in a row"),
    "a node beyond the globe": (
        "map",
        "osm",
        lambda d: d.replace(b'lat="0.', b'lat="' + b"0" * 60 + b".", 1),
        "not a number",
    ),
}


def _without(data: bytes, line: int) -> list[bytes]:
    lines = data.split(b"\n")
    return lines[: line - 1] + lines[line:]


def _directions(data: bytes) -> bytes:
    header, *rows = data.split(b"\n")
    at = header.split(b",").index(b"drivingDirection")
    found = [header]
    for row in rows:
        cells = row.split(b",")
        if len(cells) > at:
            cells[at] = b"1" if cells[at] == b"2" else b"2"
        found.append(b",".join(cells))
    return b"\n".join(found)


def _twice(data: bytes) -> bytes:
    at = data.index(b"<nd ")
    end = data.index(b"\n", at) + 1
    return data[:end] + data[at:end] + data[end:]
