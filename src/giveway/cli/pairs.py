"""Options of the form NAME=VALUE."""

from __future__ import annotations

import json
from typing import Any

from giveway.core.errors import UsageError


def pairs_from(texts: list[str], option: str, form: str) -> list[tuple[str, str]]:
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


def switches_from(texts: list[str]) -> dict[str, Any]:
    """Switches of the protocol; values are numbers where they read as such, otherwise words."""
    values: dict[str, Any] = {}
    for name, text in pairs_from(texts, "--set", "NAME=VALUE"):
        try:
            value = json.loads(text)
        except ValueError:
            value = None if text == "none" and name == "horizon_cap" else text
        values[name] = text if isinstance(value, bool) else value
    return values
