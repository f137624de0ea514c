"""``conflicts.toml``: places that streams contest, declared beside recordings of any dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from giveway.core.checked import Expect, read_toml
from giveway.core.errors import ConfigError
from giveway.data.generic_mapping import DeclaredConflict

CONFLICTS_FILE = "conflicts.toml"
EXPECT = Expect(error=ConfigError, what="the list of conflicts", hint="see docs: own data")


class _Conflicts(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    conflict: list[DeclaredConflict] = Field(min_length=1)


def conflicts_file(root: Path) -> dict[str, Path]:
    """The list beside recordings as a file of each of them, if there is one."""
    path = root / CONFLICTS_FILE
    return {"conflicts": path} if path.is_file() else {}


def declared(path: Path) -> list[dict[str, Any]]:
    """The conflicts of a list, as attributes of a scene hold them.

    Raises:
        ConfigError: naming the field.
    """
    try:
        found = _Conflicts.model_validate(read_toml(path, expect=EXPECT))
    except ValidationError as error:
        first: Any = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"{place}: {first['msg']}", where=path, found=first["input"], hint="see docs: own data"
        ) from None
    return [conflict.model_dump(mode="json") for conflict in found.conflict]
