"""Settings of a training as they are given on the command line."""

from __future__ import annotations

from typing import Any

from giveway.core.errors import UnknownNameError, UsageError


def named_values(items: list[str], option: str, example: str) -> dict[str, Any]:
    """Values of NAME=VALUE texts: JSON where they are, else the text.

    Raises:
        UsageError: a text without ``=``.
    """
    import json

    values: dict[str, Any] = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not equals:
            raise UsageError("a setting is NAME=VALUE", where=option, found=item, hint=f"{option} {example}")
        try:
            values[name] = json.loads(text)
        except json.JSONDecodeError:
            values[name] = text
    return values


def reward_weights(items: list[str], option: str = "--weight") -> dict[str, float]:
    """Weights of the full reward that were given, by name.

    Raises:
        UnknownNameError: a weight that does not exist.
        UsageError: a weight that is no number.
    """
    import math

    from giveway.generate.environment.arrays import RewardWeights

    values = named_values(items, option, "terminal_scale=5")
    for name, value in values.items():
        if name not in RewardWeights._fields:
            raise UnknownNameError("weight of the reward", name, RewardWeights._fields, where=option)
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise UsageError("a weight is a number", where=f"{option} {name}", found=value, hint=f"{option} {name}=0.5")
    return {name: float(value) for name, value in values.items()}
