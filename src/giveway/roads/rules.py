"""What the regulatory elements and areas of a lanelet2 map say: speed limits, right of way, keep-out areas."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from giveway.roads.osm import OsmDocument, OsmRelation
from giveway.roads.speeds import parse_speed

Warn = Callable[[int, str], None]
"""Called with a line of the file and a sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Attributes:
    speed_limit_mps: lane to limit; lanes without one are left out.
    yields_to: lane to the lanes that go first.
    """

    speed_limit_mps: Mapping[int, float]
    yields_to: Mapping[int, frozenset[int]]


def read_rules(document: OsmDocument, lanes: Collection[int], warn: Warn) -> Rules:
    """Collect the rules that concern ``lanes``.

    An ``all_way_stop`` makes each of its lanes give way to all the others: whoever comes first goes first.
    """
    limits: dict[int, float] = {}
    yields: dict[int, set[int]] = {}
    for lane in lanes:
        limit = _speed_limit(document, document.relations[lane], warn)
        if limit is not None:
            limits[lane] = limit
    for relation in document.relations.values():
        if relation.tags.get("type") != "regulatory_element":
            continue
        kind = relation.tags.get("subtype")
        if kind not in ("right_of_way", "all_way_stop"):
            continue
        yielding = _lanes_in(relation, "yield", lanes, warn)
        priority = _lanes_in(relation, "right_of_way", lanes, warn) if kind == "right_of_way" else yielding
        for lane in yielding:
            yields.setdefault(lane, set()).update(other for other in priority if other != lane)
    return Rules(speed_limit_mps=limits, yields_to={lane: frozenset(others) for lane, others in yields.items()})


def keepout_rings(document: OsmDocument, warn: Warn) -> list[tuple[int, ...]]:
    """Node ids of each closed keep-out ring, without repeating the first."""
    rings: list[tuple[int, ...]] = []
    for relation in document.relations.values():
        if relation.tags.get("type") != "multipolygon" or relation.tags.get("subtype") != "keepout":
            continue
        chains = [document.ways[ref].nodes for ref in relation.refs("outer", "way")]
        closed, rest = _join([chain for chain in chains if len(chain) > 1])
        rings += closed
        if rest:
            warn(relation.line, f"area {relation.id} is not closed and was left out")
    return rings


def _speed_limit(document: OsmDocument, lane: OsmRelation, warn: Warn) -> float | None:
    """The tag of the lane itself, else the lowest of its rules."""
    texts = [lane.tags["speed_limit"]] if "speed_limit" in lane.tags else []
    if not texts:
        for ref in lane.refs("regulatory_element", "relation"):
            rule = document.relations[ref]
            if rule.tags.get("subtype") == "speed_limit":
                texts.append(rule.tags.get("sign_type", rule.tags.get("value", "")))
    limits: list[float] = []
    for text in texts:
        limit = parse_speed(text)
        if limit is None:
            warn(lane.line, f"the speed limit {text!r} of lane {lane.id} is not understood and was left out")
        else:
            limits.append(limit)
    return min(limits, default=None)


def _lanes_in(rule: OsmRelation, role: str, lanes: Collection[int], warn: Warn) -> list[int]:
    found: list[int] = []
    for member in rule.members:
        if member.role != role:
            continue
        if member.kind != "relation" or member.ref not in lanes:
            what = member.kind if member.kind != "relation" else "relation that is not a lane,"
            warn(member.line, f"rule {rule.id} has a {what} {member.ref} in the role {role!r}; it was ignored")
        else:
            found.append(member.ref)
    return found


def _join(chains: list[tuple[int, ...]]) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Chain ways end to end into rings; what stays open is returned too."""
    closed: list[tuple[int, ...]] = []
    rest: list[tuple[int, ...]] = []
    waiting = list(chains)
    while waiting:
        chain = waiting.pop(0)
        while chain[0] != chain[-1]:
            match = next((n for n, other in enumerate(waiting) if chain[-1] in (other[0], other[-1])), None)
            if match is None:
                break
            other = waiting.pop(match)
            chain = chain + (other[1:] if other[0] == chain[-1] else other[-2::-1])
        if chain[0] == chain[-1] and len(chain) > 3:
            closed.append(chain[:-1])
        else:
            rest.append(chain)
    return closed, rest
