"""Options of the form NAME=VALUE, and specifications with single fields replaced."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from giveway.core.errors import UnknownNameError, UsageError


def pairs_from(texts: Sequence[str], option: str, form: str) -> list[tuple[str, str]]:
    """Names and values, in order.

    Raises:
        UsageError: for a text without a name, an equals sign or a value.
    """
    pairs: list[tuple[str, str]] = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} needs the form {form}", where=option, found=text)
        pairs.append((name, value))
    return pairs


def settings_from(
    texts: Sequence[str], fields: Collection[str], parts: Mapping[str, Collection[str]] | None = None
) -> dict[str, Any]:
    """Fields of a specification from ``--set`` texts; values are JSON where they read as such, otherwise words.

    Args:
        texts: ``NAME=VALUE`` or ``PART.NAME=VALUE``.
        fields: names of the specification's fields.
        parts: fields that hold named settings themselves, with the names that they know; such a name may be given
            without its part, since no two parts share one.

    Raises:
        UsageError: a text of another form.
        UnknownNameError: a name that does not exist, with the nearest ones.
    """
    found: dict[str, Any] = {}
    known = parts or {}
    for name, text in pairs_from(texts, "--set", "NAME=VALUE"):
        first, _, rest = name.partition(".")
        part = first if rest else next((p for p, names in known.items() if name in names and name not in fields), "")
        if not part and name in fields:
            found[name] = _value(text)
            continue
        names = {f"{p}.{n}" for p, inner in known.items() for n in inner}
        if part not in known or (rest or name) not in known[part]:
            everything = [*fields, *names, *(n for inner in known.values() for n in inner)]
            raise UnknownNameError("setting", name, dict.fromkeys(everything), where=f"--set {name}={text}")
        found.setdefault(part, {})[rest or name] = _value(text)
    return found


def given(**values: Any) -> dict[str, Any]:
    """Values that were given: neither None nor an empty list."""
    return {name: value for name, value in values.items() if value is not None and value != []}


def merged(spec: Path | None, *layers: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a TOML file, replaced by those of the layers, later ones first; nested settings are merged."""
    from giveway.experiments.specs import values_of

    values = values_of(spec)
    for layer in layers:
        for name, value in layer.items():
            inner = values.get(name)
            values[name] = {**inner, **value} if isinstance(inner, dict) and isinstance(value, dict) else value
    return values


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, bool) else value
