"""Contacts among background cars, and how many of them had to be handed over: how sound the traffic itself is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from giveway.core.boxes import VULNERABLE, overlapping_pairs
from giveway.core.case import Role
from giveway.core.log import DriveLog
from giveway.metrics.metric import MetricValue, metric
from giveway.metrics.shared import once_per_log

SHRINK_M = 0.05
"""Boxes are shrunk by this in length and width, as for all contacts."""

HANDED_OVER = "handed over"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundContact:
    """An episode of contact of two agents other than the ego, neither at an appearance nor in the recording.

    Attributes:
        first: id of one agent.
        second: id of the other agent.
        start_tick: first tick of the episode.
        seconds: time in contact that people did not have.
        drivers: what moved both when it began, sorted.
    """

    first: str
    second: str
    start_tick: int
    seconds: float
    drivers: tuple[str, str]


@once_per_log
def contacts_of(log: DriveLog) -> list[BackgroundContact]:
    """Episodes among background agents; ticks at which the recorded boxes overlap too are taken out."""
    ego = str(log.tracks.ids[log.ego])
    human = _recorded_contacts(log)
    index = {str(name): i for i, name in enumerate(log.tracks.ids)}
    found: list[BackgroundContact] = []
    for c in log.collisions:
        if c.at_spawn or ego in (c.first, c.second):
            continue
        ticks = set(range(c.start_tick, c.end_tick + 1)) - human.get(frozenset((c.first, c.second)), set())
        if not ticks:
            continue
        drivers = sorted(_driver(log, index[name], c.start_tick) for name in (c.first, c.second))
        found.append(
            BackgroundContact(
                first=c.first,
                second=c.second,
                start_tick=c.start_tick,
                seconds=round(len(ticks) * log.tracks.dt_s, 9),
                drivers=(drivers[0], drivers[1]),
            )
        )
    return found


def _recorded_contacts(log: DriveLog) -> dict[frozenset[str], set[int]]:
    """Pairs of agents to the ticks at which their recorded boxes overlap."""
    contacts = overlapping_pairs(log.recorded, shrink_m=SHRINK_M)
    out: dict[frozenset[str], set[int]] = {}
    ids = log.recorded.ids
    for a, b, tick in zip(contacts.first.tolist(), contacts.second.tolist(), contacts.instant.tolist(), strict=True):
        out.setdefault(frozenset((str(ids[a]), str(ids[b]))), set()).add(tick)
    return out


def _driver(log: DriveLog, agent: int, tick: int) -> str:
    name = str(log.tracks.ids[agent])
    if any(e.kind == "handover" and e.car == name and e.tick <= tick for e in log.events):
        return HANDED_OVER
    named = next((car.driver for car in log.case.cars if car.id == name), "")
    return named or str(log.roles[agent])


def agent_seconds(log: DriveLog) -> float:
    """Sum of the time that agents other than the ego are present [s]."""
    others = np.ones(log.tracks.num_agents, dtype=np.bool_)
    others[log.ego] = False
    return float(log.tracks.observed[others].sum()) * log.tracks.dt_s


def _facts(name: str, title: str, formula: str, unit: str, column: str = "") -> Any:
    return metric(
        name=name,
        title=title,
        formula=formula,
        unit=unit,
        better="lower",
        range=(0.0, math.inf),
        of="drive",
        column=column,
        version=1,
        reference="Boxes shrunk by 0.05 m, contacts within 0.5 s are one; without contacts at an appearance and those "
        "that the recording has at that tick.",
    )


@_facts("background_contacts", "Background contacts", "episodes of contact of two agents other than the ego", "")
def background_contacts(log: DriveLog) -> int:
    """Number of contacts among background agents."""
    return len(contacts_of(log))


@_facts("background_contact_s", "Time of background contacts", "time of these contacts", "s")
def background_contact_s(log: DriveLog) -> float:
    """Seconds of contact among background agents."""
    return sum(contact.seconds for contact in contacts_of(log))


@_facts(
    "background_contacts_per_1000_s",
    "Background contacts per 1000 s",
    "1000 * these contacts / sum of the time that background agents are present",
    "1/1000 s",
)
def background_contacts_per_1000_s(log: DriveLog) -> MetricValue:
    """Contacts among background agents per 1000 agent-seconds; undefined without background agents."""
    present = agent_seconds(log)
    if present == 0.0:
        return MetricValue(value=math.nan, note="there are no other agents")
    return MetricValue(value=1000.0 * len(contacts_of(log)) / present)


@_facts("handed_over", "Replay cars handed over", "replay cars handed over / replay cars", "")
def handed_over(log: DriveLog) -> MetricValue:
    """Share of the motor vehicles on replay that a driven car disturbed; undefined without one."""
    replayed = np.array([role is Role.REPLAY for role in log.roles]) & ~np.isin(log.tracks.kind, VULNERABLE)
    count = int((replayed & log.tracks.observed.any(axis=1)).sum())
    if count == 0:
        return MetricValue(value=math.nan, note="no car is on replay")
    return MetricValue(value=sum(e.kind == "handover" for e in log.events) / count)
