"""Specifications of runs: the same validated model from a model, a mapping, a TOML file or a preset."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from giveway.core.checked import Expect, read_toml
from giveway.core.errors import ConfigError, UnknownNameError, UsageError

S = TypeVar("S", bound=BaseModel)
SpecLike = BaseModel | Mapping[str, Any] | Path | str
"""What a caller may give as specification: a model, plain values, a TOML file, or the name of a preset."""
FILE = Expect(
    error=ConfigError, what="the specification", hint="give a TOML file, see docs/gaps/run.md, or --preset quick"
)


def values_of(spec: SpecLike | None, presets: Callable[[], Mapping[str, Mapping[str, Any]]] = dict) -> dict[str, Any]:
    """The plain values of a specification; none for None.

    Args:
        spec: see :data:`SpecLike`; a text that ends in ``.toml`` is a file, any other the name of a preset.
        presets: gives the presets by name.

    Raises:
        ConfigError: a file that cannot be read or is not TOML.
        UnknownNameError: an unknown preset.
        UsageError: something else.
    """
    if spec is None:
        return {}
    if isinstance(spec, BaseModel):
        return {name: getattr(spec, name) for name in type(spec).model_fields}
    if isinstance(spec, Mapping):
        return dict(spec)
    if isinstance(spec, Path) or str(spec).endswith(".toml"):
        return read_toml(Path(spec), expect=FILE)
    if isinstance(spec, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers need not check types
        known = presets()
        if spec not in known:
            raise UnknownNameError("preset", spec, known, where="specification")
        return dict(known[spec])
    raise UsageError(
        "a specification is a mapping, a TOML file or the name of a preset",
        where="specification",
        found=type(spec).__name__,
    )


def validated(model: type[S], values: Mapping[str, Any], *, where: str) -> S:
    """The model of some values.

    Raises:
        ConfigError: naming the key, and the nearest known one.
    """
    try:
        return model(**values)
    except ValidationError as error:
        raise config_error(error, model, where) from error


def not_for_workers(what: str, given: object) -> UsageError:
    """What to say about an object of this process that an engine with worker processes would need."""
    return UsageError(
        f"workers of an engine cannot be given a {what} as an object",
        where=what,
        found=type(given).__name__,
        hint=f"put it into a module and give its import path, {what}='package.module:Class', or leave the engine out",
    )


def config_error(error: ValidationError, model: type[BaseModel], where: str) -> ConfigError:
    """The first problem of a validation, with the nearest known key if one is misspelt."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"]) or "(all)"
    known = sorted(model.model_fields)
    hint = f"known keys: {', '.join(known)}"
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else hint
    return ConfigError(
        f"{key}: {first['msg'].lower()}",
        where=where,
        found=repr(first.get("input"))[:200],
        hint=hint if first["type"] == "extra_forbidden" else None,
    )
