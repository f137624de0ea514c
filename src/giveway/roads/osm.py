"""Read the XML of OpenStreetMap: nodes, ways and relations with the lines they stand on.

Nothing in a file can make the reader open another one or grow beyond it: document types and entities are refused, and
so are files above :data:`MAX_BYTES`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from giveway.core.errors import MapError

MAX_BYTES = 256 * 1024 * 1024
CHUNK_BYTES = 1 << 20
MAX_NUMBER_CHARS = 40
MAX_COORDINATE_M = 1e7
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OsmWay:
    """A chain of nodes.

    Attributes:
        id: identifier.
        nodes: references, all of which exist.
        tags: key to value.
        line: of the file, 1-based.
    """

    id: int
    nodes: tuple[int, ...]
    tags: Mapping[str, str]
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OsmMember:
    """Part of a relation: ``kind`` is node, way or relation."""

    kind: str
    ref: int
    role: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OsmRelation:
    """Elements that belong together; members that do not exist were left out."""

    id: int
    members: tuple[OsmMember, ...]
    tags: Mapping[str, str]
    line: int

    def refs(self, role: str, kind: str) -> tuple[int, ...]:
        """References of one role and kind, in the order of the file."""
        return tuple(member.ref for member in self.members if member.role == role and member.kind == kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class OsmDocument:
    """A whole file; nodes of ways exist, members of relations that do not were left out.

    Attributes:
        path: of the file.
        nodes: id to (latitude, longitude) in degrees, or to (x, y) in meters if ``is_metric``.
        ways: by id.
        relations: by id.
        is_metric: nodes carry ``x`` and ``y`` (``.osm_xy``).
        dangling: line and text for each member that was left out.
    """

    path: Path
    nodes: Mapping[int, tuple[float, float]]
    ways: Mapping[int, OsmWay]
    relations: Mapping[int, OsmRelation]
    is_metric: bool
    dangling: tuple[tuple[int, str], ...] = ()


def read_osm(path: Path) -> OsmDocument:
    """Parse and check a file.

    Raises:
        MapError: if the file cannot be read or is too large, and as :func:`parse_osm` does.
    """
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise MapError("a map file is too large", where=path, found=f"{size} bytes, at most {MAX_BYTES} are read")
        with path.open("rb") as file:
            return parse_osm(iter(lambda: file.read(CHUNK_BYTES), b""), path)
    except OSError as error:
        raise MapError("a map file cannot be read", where=path, found=error.strerror or str(error)) from error


def parse_osm(chunks: Iterable[bytes], path: Path) -> OsmDocument:
    """Parse and check the pieces of a document; ``path`` is only named in errors.

    Raises:
        MapError: naming file and line, if the document is not well-formed, declares a document type or entities,
            repeats an id, lacks an attribute, or a way refers to a node that does not exist. Members of relations
            may be missing (maps are cut out of larger ones).
    """
    handler = _Handler(path)
    parser = expat.ParserCreate()
    handler.attach(parser)
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise MapError(
            "a map file is not well-formed XML",
            where=f"{path}, line {error.lineno}, column {error.offset + 1}",
            found=expat.ErrorString(error.code),
            hint="the file may be cut short; copy it again from the dataset",
        ) from error
    except (LookupError, ValueError) as error:
        raise MapError(
            "a map file is in an encoding that cannot be read", where=path, found=error, hint="save it in UTF-8"
        ) from error
    return handler.document()


@dataclass(slots=True)
class _Open:
    """An element whose end tag has not come yet."""

    kind: str
    id: int
    line: int
    tags: dict[str, str] = field(default_factory=dict[str, str])
    refs: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    members: list[OsmMember] = field(default_factory=list[OsmMember])
    is_deleted: bool = False


class _Handler:
    """Collects elements while expat walks through the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nodes: dict[int, tuple[float, float]] = {}
        self.ways: dict[int, OsmWay] = {}
        self.relations: dict[int, OsmRelation] = {}
        self._ref_lines: list[tuple[int, int, int]] = []
        self._names: tuple[str, str] | None = None
        self._open: _Open | None = None
        self._depth = 0

    def attach(self, parser: expat.XMLParserType) -> None:
        self._parser = parser
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._refuse

    def document(self) -> OsmDocument:
        for node, way, line in self._ref_lines:
            if node not in self.nodes:
                raise MapError(
                    f"way {way} refers to node {node}, which does not exist",
                    where=f"{self.path}, line {line}",
                    hint="the file may be cut or edited by hand; copy it again from the dataset",
                )
        known = {"node": self.nodes, "way": self.ways, "relation": self.relations}
        relations: dict[int, OsmRelation] = {}
        dangling: list[tuple[int, str]] = []
        for n, relation in self.relations.items():
            there = tuple(member for member in relation.members if member.ref in known[member.kind])
            dangling += [
                (member.line, f"relation {n} names {member.kind} {member.ref}, which does not exist; it was left out")
                for member in relation.members
                if member.ref not in known[member.kind]
            ]
            relations[n] = relation if len(there) == len(relation.members) else replace(relation, members=there)
        return OsmDocument(
            path=self.path,
            nodes=self.nodes,
            ways=self.ways,
            relations=relations,
            is_metric=self._names == ("x", "y"),
            dangling=tuple(dangling),
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name != "osm":
            self._fail("a map file is not in the OpenStreetMap form", found=f"the outermost element is <{name}>")
        if self._depth == 2 and name in ("node", "way", "relation"):
            self._open = _Open(name, self._integer(name, attributes, "id"), self._parser.CurrentLineNumber)
            self._open.is_deleted = attributes.get("action") == "delete" or attributes.get("visible") == "false"
            if name == "node" and not self._open.is_deleted:
                self._node(self._open.id, attributes)
        elif self._depth == 3 and self._open is not None:
            self._child(self._open, name, attributes)

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._depth != 1 or self._open is None:
            return
        done, self._open = self._open, None
        if done.is_deleted:
            return
        if name == "way":
            self._new(self.ways, done.id, name)
            nodes = tuple(node for node, _ in done.refs)
            for (node, _), (after, line) in pairwise(done.refs):
                if node == after:
                    raise MapError(
                        f"way {done.id} passes node {node} twice in a row",
                        where=f"{self.path}, line {line}",
                        hint="remove one of the two lines; if nobody edited the file, copy it again from the dataset",
                    )
            self.ways[done.id] = OsmWay(id=done.id, nodes=nodes, tags=done.tags, line=done.line)
            self._ref_lines.extend((node, done.id, line) for node, line in done.refs)
        elif name == "relation":
            self._new(self.relations, done.id, name)
            self.relations[done.id] = OsmRelation(
                id=done.id, members=tuple(done.members), tags=done.tags, line=done.line
            )

    def _child(self, parent: _Open, name: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        if name == "tag":
            parent.tags[self._text(name, attributes, "k")] = self._text(name, attributes, "v")
        elif name == "nd" and parent.kind == "way":
            parent.refs.append((self._integer(name, attributes, "ref"), line))
        elif name == "member" and parent.kind == "relation":
            kind = self._text(name, attributes, "type")
            if kind not in ("node", "way", "relation"):
                self._fail(f"relation {parent.id} has a member of unknown type", found=repr(kind))
            ref = self._integer(name, attributes, "ref")
            parent.members.append(OsmMember(kind=kind, ref=ref, role=attributes.get("role", ""), line=line))

    def _node(self, node: int, attributes: dict[str, str]) -> None:
        if self._names is None:
            self._names = ("lat", "lon") if "lat" in attributes or "x" not in attributes else ("x", "y")
        first, second = (self._number(node, attributes, name) for name in self._names)
        if self._names[0] == "x" and not max(abs(first), abs(second)) <= MAX_COORDINATE_M:
            self._fail(f"node {node} is too far away", found=f"x {first}, y {second}")
        if self._names[0] == "lat" and not (abs(first) <= 90.0 and abs(second) <= 360.0):
            self._fail(f"node {node} is not on the globe", found=f"lat {first}, lon {second}")
        self._new(self.nodes, node, "node")
        self.nodes[node] = (first, second)

    def _new(self, known: Mapping[int, object], n: int, kind: str) -> None:
        if n in known:
            self._fail(f"the id {n} is given to two {kind}s")

    def _number(self, node: int, attributes: dict[str, str], name: str) -> float:
        text = self._text("node", attributes, name)
        try:
            value = float(text) if len(text) <= MAX_NUMBER_CHARS else float("nan")
        except ValueError:
            value = float("nan")
        if not isfinite(value):
            self._fail(f"coordinate {name!r} of node {node} is not a number", found=repr(text[:60]))
        return value

    def _integer(self, element: str, attributes: dict[str, str], name: str) -> int:
        text = self._text(element, attributes, name)
        if WHOLE_NUMBER.fullmatch(text) is None:
            self._fail(f"attribute {name!r} of <{element}> is not a whole number", found=repr(text[:40]))
        return int(text)

    def _text(self, element: str, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            self._fail(f"<{element}> has no attribute {name!r}", found=f"attributes {', '.join(attributes) or 'none'}")
        return attributes[name]

    def _refuse(self, *_: object) -> NoReturn:
        self._fail(
            "a map file declares a document type, which maps never need and attackers use for entities",
            hint="do not trust this file; if you do, remove the <!DOCTYPE ...> part",
        )

    def _fail(self, what: str, *, found: str | None = None, hint: str | None = None) -> NoReturn:
        where = f"{self.path}, line {self._parser.CurrentLineNumber}"
        raise MapError(what, where=where, found=found, hint=hint)
