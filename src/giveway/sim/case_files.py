"""Case sets on disk: one JSON document with units, validated on reading."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from giveway.core.case import Case, case_dict, fingerprint_of, set_id
from giveway.core.checked import Expect, read_json, read_text
from giveway.core.errors import DataError, EmptySelectionError, FileFormatError
from giveway.core.files import write_text
from giveway.sim.challenge_cases import is_challenge_case, read_challenge_case

FORMAT = "giveway-cases"
VERSION = 1
SET_VERSION = 1
"""Version of the rules by which standard sets are made."""
UNITS = {"_s": "seconds", "_m": "meters, site frame", "_rad": "radians, counter-clockwise from +x", "_mps": "m/s"}
"""Meaning of the endings of field names; written into every file."""

MAX_FILE_BYTES = 64 * 1024 * 1024
CASE_FILE = Expect(
    what="the case file", hint="give a case set (giveway drive mine), or one of the challenge's plain-text cases"
)

_ADAPTER: TypeAdapter[Case] = TypeAdapter(with_config(ConfigDict(extra="forbid"))(Case))


def read_cases(path: Path) -> tuple[Case, ...]:
    """All cases of a file or folder.

    A file is a JSON case set or one of the challenge's plain-text cases; of a folder every ``*.json`` and ``*.txt`` is
    read, in natural order of the names.

    Raises:
        DataError: missing, too large, of another format, or with a case that does not validate.
    """
    if not path.exists():
        raise DataError("no such case file or folder", where=path, hint="giveway drive mine --help")
    if path.is_dir():
        files = sorted([*path.glob("*.json"), *path.glob("*.txt")], key=natural_key)
        if not files:
            raise EmptySelectionError("the folder holds no case files", where=path, found="no *.json and no *.txt")
        cases = tuple(case for file in files for case in read_cases(file))
    else:
        cases = _read_text(path)
    ids = [case.id for case in cases]
    twice = sorted({i for i in ids if ids.count(i) > 1})
    if twice:
        raise DataError("case ids must be unique", where=path, found=f"twice: {', '.join(twice[:5])}")
    return cases


def write_cases(path: Path, cases: Sequence[Case], facts: Mapping[str, Any] | None = None) -> None:
    """Write a case set; the file appears complete or not at all.

    Args:
        path: file.
        cases: in order.
        facts: what the set says about itself, under ``set``: name, version, rules, recordings.
    """
    plain = [case_dict(case) for case in cases]
    about = {} if facts is None else {"set": {**facts, "content_id": set_id(fingerprint_of(case) for case in plain)}}
    document = {"format": FORMAT, "version": VERSION, "units": UNITS, **about, "cases": plain}
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def natural_key(path: Path) -> list[tuple[int, str]]:
    """Sort key that puts ``config_2`` before ``config_10``."""
    parts: list[tuple[int, str]] = []
    digits = ""
    for char in path.name + "\0":
        if char.isdigit():
            digits += char
            continue
        if digits:
            parts.append((int(digits), ""))
            digits = ""
        parts.append((-1, char))
    return parts


def _read_text(path: Path) -> tuple[Case, ...]:
    text = read_text(path, limit=MAX_FILE_BYTES, expect=CASE_FILE)
    if is_challenge_case(text):
        return (read_challenge_case(text, where=path),)
    document: Any = read_json(path, limit=MAX_FILE_BYTES, expect=CASE_FILE)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileFormatError("not a case set", where=path, found='no "format": "giveway-cases"')
    if document.get("version") != VERSION:
        raise FileFormatError(
            "a case set of another version",
            where=path,
            found=document.get("version"),
            hint=f"this release reads {VERSION}",
        )
    entries = document.get("cases")
    if not isinstance(entries, list) or not entries:
        raise EmptySelectionError("the case set is empty", where=path, found='no entry under "cases"')
    cases = tuple(case_from(entry, f"{path}, case {index}") for index, entry in enumerate(entries))
    about: Any = document.get("set")
    if about is not None:
        found = set_id(case.fingerprint for case in cases)
        if not isinstance(about, dict) or about.get("content_id") != found:
            told = about.get("content_id") if isinstance(about, dict) else about
            raise FileFormatError(
                "the cases are not those the set was made with",
                where=path,
                found=f"content id {found[:12]}, the file says {str(told)[:12]}",
                hint="get the file again; a changed set is another set: remove its entry 'set'",
            )
        if about.get("version") != SET_VERSION:
            raise FileFormatError(
                "a standard set of another version",
                where=path,
                found=about.get("version"),
                hint=f"this release drives version {SET_VERSION}; scores of two versions do not compare",
            )
    return cases


def case_from(entry: Any, where: str) -> Case:
    """A case from plain values.

    Raises:
        FileFormatError: naming the field.
    """
    try:
        return _ADAPTER.validate_python(entry)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise FileFormatError(
            f"a case does not validate: {first['msg']}",
            where=f"{where}, field {field}",
            found=repr(first["input"])[:200],
        ) from error
