"""``dataset.toml``: how the columns of a user's own CSV files are to be understood."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from giveway.core.checked import Expect, read_toml
from giveway.core.errors import ConfigError
from giveway.core.tracks import AgentKind

MAPPING_FILE = "dataset.toml"
MAPPING = Expect(error=ConfigError, what="the mapping", hint="see docs: own data")
Name = Annotated[str, Field(min_length=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Files(_Section):
    """Which files, and how their text is written.

    Attributes:
        tracks: glob below the root; every match is a recording.
        separator: between cells.
        decimal: mark of the fraction.
        location: name of the site.
        map: lanelet2 file below the root, in the frame of the tracks.
    """

    tracks: Name = "*.csv"
    separator: Literal[",", ";", "\t", "|", " "] = ","
    decimal: Literal[".", ","] = "."
    location: str = ""
    map: str | None = None

    @model_validator(mode="after")
    def _differ(self) -> Files:
        if self.separator == self.decimal:
            raise ValueError("separator and decimal must differ")
        return self


class Time(_Section):
    """The grid in time.

    Attributes:
        frame_rate_hz: frames per second.
        time_unit: unit of the time column; only needed with ``columns.time``.
    """

    frame_rate_hz: float = Field(gt=0, le=10_000)
    time_unit: Literal["s", "ms", "us", "ns"] = "s"


class Columns(_Section):
    """Header cells; ``track``, ``x``, ``y`` and one of ``frame`` and ``time`` are needed."""

    track: Name
    x: Name
    y: Name
    frame: Name | None = None
    time: Name | None = None
    heading: Name | None = None
    vx: Name | None = None
    vy: Name | None = None
    length: Name | None = None
    width: Name | None = None
    kind: Name | None = None

    @model_validator(mode="after")
    def _complete(self) -> Columns:
        if (self.frame is None) == (self.time is None):
            raise ValueError("give one of frame and time")
        named = [name for name in self.model_dump().values() if name is not None]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise ValueError(f"one column cannot be two things: {', '.join(twice)}")
        if (self.vx is None) != (self.vy is None):
            raise ValueError("give both vx and vy, or none")
        if (self.length is None) != (self.width is None):
            raise ValueError("give both length and width, or none")
        return self


class Units(_Section):
    """What numbers mean.

    Attributes:
        position: unit of x, y, length and width.
        speed: unit of vx and vy.
        angle: unit of heading.
        angle_direction: how heading grows.
        angle_zero: axis that heading counts from.
        y_axis: ``down`` for image coordinates; scenes always have it up.
    """

    position: Literal["m", "cm", "mm", "km", "ft"] = "m"
    speed: Literal["m/s", "km/h", "mph", "ft/s"] = "m/s"
    angle: Literal["rad", "deg"] = "rad"
    angle_direction: Literal["counterclockwise", "clockwise"] = "counterclockwise"
    angle_zero: Literal["x", "y"] = "x"
    y_axis: Literal["up", "down"] = "up"


class Mapping(_Section):
    """A whole ``dataset.toml``.

    Attributes:
        files: which files.
        time: grid.
        columns: header cells.
        units: meaning of numbers.
        kinds: our kind to the words of the file, e.g. ``car = ["Car", "1"]``.
        default_kind: for files without such a column.
        missing_frames: what a frame missing inside a track means.
    """

    files: Files = Files()
    time: Time
    columns: Columns
    units: Units = Units()
    kinds: dict[str, list[str]] = Field(default_factory=dict)
    default_kind: str = "unknown"
    missing_frames: Literal["error", "warning", "allowed"] = "error"

    @model_validator(mode="after")
    def _known_kinds(self) -> Mapping:
        known = [kind.name.lower() for kind in AgentKind]
        for name in (*self.kinds, self.default_kind):
            if name not in known:
                raise ValueError(f"unknown kind {name!r}{_nearest(name, known)}; known: {', '.join(known)}")
        if self.columns.kind is not None and not self.kinds:
            raise ValueError("columns.kind needs a table [kinds]")
        return self

    def kind_of(self) -> dict[str, AgentKind]:
        """Word of the file to kind."""
        return {word: AgentKind[name.upper()] for name, words in self.kinds.items() for word in words}


def read_mapping(path: Path) -> Mapping:
    """Read and validate a mapping.

    Raises:
        ConfigError: naming the key; unknown keys are refused with the nearest known one.
    """
    content = read_toml(path, expect=MAPPING)
    try:
        return Mapping.model_validate(content)
    except ValidationError as error:
        raise _config_error(error, path) from error


def _config_error(error: ValidationError, path: Path) -> ConfigError:
    first: Any = error.errors()[0]
    place = [str(part) for part in first["loc"]]
    key = ".".join(place) or "the file"
    others = f" ({error.error_count() - 1} more problems)" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        known = _keys(place[:-1])
        return ConfigError(
            f"unknown key {key!r}{others}",
            where=path,
            found=f"known here: {', '.join(known)}",
            hint=f"remove it{_nearest(place[-1], known)}",
        )
    found = None if first["type"] == "missing" else first["input"]
    return ConfigError(f"{key}: {first['msg']}{others}", where=path, found=found, hint="see docs: own data")


def _keys(section: list[str]) -> list[str]:
    model: Any = Mapping
    for part in section:
        model = model.model_fields[part].annotation
    return sorted(model.model_fields)


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
