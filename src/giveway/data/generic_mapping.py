"""``dataset.toml``: how the columns of a user's own CSV files are to be understood."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from giveway.core.checked import Expect, read_toml
from giveway.core.errors import ConfigError
from giveway.core.tracks import AgentKind
from giveway.roads.projection import UtmProjection

MAPPING_FILE = "dataset.toml"
MAPPING = Expect(error=ConfigError, what="the mapping", hint="see docs: own data")
Name = Annotated[str, Field(min_length=1)]
Size = Annotated[float, Field(gt=0, le=100)]
Point = tuple[float, float]
Separator = Literal[",", ";", "\t", "|", " "]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Files(_Section):
    """Which files, and how their text is written: the form for one file per scene.

    Attributes:
        tracks: glob below the root; every match is a recording.
        separator: between cells.
        decimal: mark of the fraction.
        location: name of the site.
        map: lanelet2 or OpenDRIVE file below the root, in the frame of the tracks; also ``[map] file``.
    """

    tracks: Name = "*.csv"
    separator: Separator = ","
    decimal: Literal[".", ","] = "."
    location: str = ""
    map: str | None = None

    @model_validator(mode="after")
    def _differ(self) -> Files:
        if self.separator == self.decimal:
            raise ValueError("separator and decimal must differ")
        return self


class SceneFiles(_Section):
    """How the files of a scene are found.

    Attributes:
        name: regular expression for the name of a file, or for its path below the root if it has a ``/``. Files whose
            named groups agree are one scene, and the groups are its name. A group ``location`` is the site.
        location: name of the site of all scenes.
    """

    name: str | None = None
    location: str = ""

    @model_validator(mode="after")
    def _compiles(self) -> SceneFiles:
        if self.name is not None:
            try:
                groups = re.compile(self.name).groupindex
            except re.error as error:
                raise ValueError(f"not a regular expression: {error}") from None
            if not groups:
                raise ValueError("needs a named group, e.g. (?P<clip>[a-z]+_\\d+)")
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
    speed: Name | None = None
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
        if self.speed is not None and (self.heading is None or self.vx is not None):
            raise ValueError("speed is along heading: give heading, and neither vx nor vy")
        if (self.length is None) != (self.width is None):
            raise ValueError("give both length and width, or none")
        return self


class Units(_Section):
    """What numbers mean.

    Attributes:
        position: unit of x, y, length and width.
        speed: unit of vx, vy and speed.
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


class FilePart(_Section):
    """One file of a scene: vehicles, pedestrians, ...

    Attributes:
        match: glob below the root.
        id_prefix: put before the ids of the file, where two files number theirs alike.
        default_kind: of all road users, where there is no column.
        size_m: length and width of road users for whom the file has none.
        separator, decimal: as in :class:`Files`.
        columns: header cells.
        kinds: our kind to the words of the file.
    """

    match: Name = "*.csv"
    id_prefix: str = ""
    default_kind: str | None = None
    size_m: tuple[Size, Size] | None = None
    separator: Separator = ","
    decimal: Literal[".", ","] = "."
    columns: Columns
    kinds: dict[str, list[str]] | None = None

    @property
    def kind_of(self) -> dict[str, AgentKind]:
        """Word of the file to kind."""
        return {word: AgentKind[name.upper()] for name, words in (self.kinds or {}).items() for word in words}


class Georeference(_Section):
    """Where the local coordinates lie: local + origin = UTM.

    Attributes:
        epsg: 32601 to 32660 (north) or 32701 to 32760 (south).
        origin_m: easting and northing of the local origin.
    """

    epsg: int
    origin_m: tuple[float, float] = (0.0, 0.0)

    @model_validator(mode="after")
    def _known(self) -> Georeference:
        UtmProjection.of_epsg(self.epsg)
        return self


class MapFile(_Section):
    """The map of a scene.

    Attributes:
        file: below the root; ``{location}`` and the groups of ``scene.name`` are filled in, and ``*`` matches one file.
            Lanelet2 (``.osm``) or OpenDRIVE (``.xodr``), by the suffix.
    """

    file: Name
    format: Literal["lanelet2", "opendrive"] | None = None

    @model_validator(mode="after")
    def _suffix(self) -> MapFile:
        if not self.file.endswith((".osm", ".osm_xy", ".xodr")):
            raise ValueError("a map is an .osm (lanelet2) or an .xodr (OpenDRIVE) file")
        if self.format is not None and (self.format == "opendrive") != self.file.endswith(".xodr"):
            raise ValueError(f"the suffix of {self.file!r} is not that of {self.format}")
        return self


class DeclaredConflict(_Section):
    """A place that two streams contest.

    Attributes:
        name: for tables.
        target_gate: line that those who may take the gap cross from its left to its right [m].
        priority_gate: the same for those who have priority.
        zone: polygon of the place; found from the paths if left out.
        rule: ``target_yields``, or ``none`` if nobody has priority: both orders are candidates. Without it the target
            yields, and everything made from it says that this is a guess.
    """

    name: Name
    target_gate: tuple[Point, Point]
    priority_gate: tuple[Point, Point]
    zone: list[Point] | None = None
    rule: Literal["target_yields", "none"] | None = None


class Mapping(_Section):
    """A whole ``dataset.toml``.

    Attributes:
        files: which files, one per scene.
        several: the same, for scenes of several files; written ``[[files]]``.
        scene: which files belong together.
        time: grid.
        columns: header cells, of files that do not say otherwise.
        units: meaning of numbers.
        kinds: our kind to the words of the file, e.g. ``car = ["Car", "1"]``.
        default_kind: for files without such a column.
        missing_frames: what a frame missing inside a track means.
        implausible: what columns that contradict one another mean; ``warning`` reads them with a note.
        georeference: where local coordinates lie on earth.
        map: the map of a scene.
        conflict: places that streams contest, for gap extraction.
    """

    files: Files = Files()
    several: list[FilePart] = Field(default_factory=list[FilePart])
    scene: SceneFiles = SceneFiles()
    time: Time
    columns: Columns | None = None
    units: Units = Units()
    kinds: dict[str, list[str]] = Field(default_factory=dict)
    default_kind: str = "unknown"
    missing_frames: Literal["error", "warning", "allowed"] = "error"
    implausible: Literal["error", "warning"] = "error"
    georeference: Georeference | None = None
    map: MapFile | None = None
    conflict: list[DeclaredConflict] = Field(default_factory=list[DeclaredConflict])

    @model_validator(mode="before")
    @classmethod
    def _inherit(cls, content: Any) -> Any:
        """``[[files]]`` is a list of its own; columns of the top hold for every file that has none."""
        table = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
        parts: Any = table.get("files")
        if not isinstance(parts, list):
            return content
        given = {"columns": table["columns"]} if "columns" in table else {}
        rest = {key: value for key, value in table.items() if key != "files"}
        return {
            **rest,
            "several": [{**given, **part} if isinstance(part, dict) else part for part in cast("Any", parts)],
        }

    @model_validator(mode="after")
    def _consistent(self) -> Mapping:
        if not self.several and self.columns is None:
            raise ValueError("a table [columns] is missing")
        if len(self.several) > 1 and self.scene.name is None:
            raise ValueError("several [[files]] need [scene] name, which says which of them belong together")
        known = [kind.name.lower() for kind in AgentKind]
        for part in self.parts():
            for name in (*(part.kinds or {}), part.default_kind or self.default_kind):
                if name not in known:
                    raise ValueError(f"unknown kind {name!r}{_nearest(name, known)}; known: {', '.join(known)}")
            if part.columns.kind is not None and not part.kinds:
                raise ValueError("columns.kind needs a table [kinds]")
        return self

    def parts(self) -> list[FilePart]:
        """The files of a scene, completed from what holds for all."""
        if self.several:
            return [
                part.model_copy(
                    update={"kinds": part.kinds or self.kinds, "default_kind": part.default_kind or self.default_kind}
                )
                for part in self.several
            ]
        assert self.columns is not None  # validated
        return [
            FilePart(
                match=self.files.tracks,
                separator=self.files.separator,
                decimal=self.files.decimal,
                columns=self.columns,
                kinds=self.kinds,
                default_kind=self.default_kind,
            )
        ]

    @property
    def location(self) -> str:
        """Name of the site, where the names of files do not tell."""
        return self.scene.location or self.files.location

    @property
    def map_file(self) -> str | None:
        """Pattern of the map below the root."""
        return self.files.map if self.map is None else self.map.file

    def projection(self) -> UtmProjection | None:
        """Zone and origin of the coordinates, where they are known."""
        given = self.georeference
        return None if given is None else UtmProjection.of_epsg(given.epsg, given.origin_m)


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
    place = ["files" if part == "several" else str(part) for part in first["loc"]]
    key = ".".join(place) or "the file"
    others = f" ({error.error_count() - 1} more problems)" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        known = _keys([str(part) for part in first["loc"]][:-1])
        return ConfigError(
            f"unknown key {key!r}{others}",
            where=path,
            found=f"known here: {', '.join(known)}",
            hint=f"remove it{_nearest(place[-1], known)}",
        )
    found = None if first["type"] == "missing" else first["input"]
    return ConfigError(f"{key}: {first['msg']}{others}", where=path, found=found, hint="see docs: own data")


SECTIONS: dict[str, type[BaseModel]] = {
    "scene": SceneFiles,
    "time": Time,
    "columns": Columns,
    "units": Units,
    "georeference": Georeference,
    "map": MapFile,
    "conflict": DeclaredConflict,
    "files": Files,
    "several": FilePart,
}


def _keys(section: list[str]) -> list[str]:
    model = next((SECTIONS[part] for part in reversed(section) if part in SECTIONS), Mapping)
    return sorted(model.model_fields)


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
