"""How commands speak: one JSON document or readable lines, errors in four parts."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from giveway.core.errors import GivewayError


def jsonable(value: Any) -> Any:
    """The same value in JSON's types: NaN and infinities become null, arrays lists, paths text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(v) for v in value]
    as_list = getattr(
        value, "tolist", None
    )  # arrays and array scalars; importing numpy would double the time of --help
    if as_list is not None:
        return jsonable(as_list())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    return value


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(jsonable(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def report_error(error: GivewayError, *, as_json: bool) -> None:
    """The four-part message on standard error; with ``--json`` also as a document on standard output."""
    if as_json:
        print_json({"ok": False, **error.as_dict()})
    sys.stderr.write(f"{type(error).__name__}: {error}\n")
