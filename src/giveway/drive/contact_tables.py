"""Tables of contacts, from the logs of a store: of the ego under both presets of the law, and among other agents."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import polars as pl

from giveway.core.log import DriveLog, Grade
from giveway.drive.experiment import RECORDED
from giveway.drive.roads import road_of_log
from giveway.metrics.background import BackgroundContact, agent_seconds, contacts_of
from giveway.metrics.safety import ego_contacts
from giveway.reports.table import Block, Column, Table, entry
from giveway.roads.queries import prepare
from giveway.sim.log_files import read_log
from giveway.sim.responsibility import judge
from giveway.sim.rss import LAWS

if TYPE_CHECKING:
    from giveway.reports.results import Results

GRADES = (Grade.A, Grade.B, Grade.C, Grade.D)


def contacts_table(results: Results, *, predictor: str | None = None) -> Table:
    """Contacts of the ego by grade under every preset of the law, and of other agents by pair of drivers.

    Verdicts under the default law are those of the logs; under the other presets each contact is judged again, on the
    map of the log.

    Args:
        results: of a drive run.
        predictor: only its drives.
    """
    frame = results.frame().filter(pl.col("predictor") != RECORDED).unique(subset="key", maintain_order=True)
    grades: dict[tuple[str, str], Counter[Grade]] = {}
    pairs: dict[tuple[str, str], list[tuple[str, BackgroundContact]]] = defaultdict(list)
    seconds: dict[str, float] = defaultdict(float)
    for name, key in frame.sort("predictor", "case").select("predictor", "key").iter_rows():
        if predictor not in (None, name):
            continue
        log = read_log(results.store.attachments(key))
        for law, found in _grades(log, results).items():
            grades.setdefault((name, law), Counter()).update(found)
        seconds[name] += agent_seconds(log)
        for contact in contacts_of(log):
            pairs[name, " – ".join(contact.drivers)].append((log.case.id, contact))
    by_law = Block(
        title="Contacts of the ego, by preset of the law",
        columns=(Column(head="predictor"), Column(head="law"), *(Column(head=f"{g} ({g.meaning})") for g in GRADES)),
        rows=tuple(
            (entry(name), entry(law), *(entry(found[grade]) for grade in GRADES))
            for (name, law), found in grades.items()
        ),
    )
    heads = ("predictor", "drivers", "cases", "episodes", "seconds", "per 1000 agent-s")
    by_pair = Block(
        title="Contacts among other agents, by pair of drivers",
        columns=tuple(Column(head=head) for head in heads),
        rows=tuple(
            (
                entry(name),
                entry(drivers),
                entry(len({case for case, _ in found})),
                entry(len(found)),
                entry(round(sum(contact.seconds for _, contact in found), 9)),
                entry(1000.0 * len(found) / seconds[name]),
            )
            for (name, drivers), found in sorted(pairs.items())
        ),
    )
    note = "" if pairs else "no contacts among other agents"
    return Table(title="Contacts", blocks=(by_law, by_pair), notes=(note,) if note else ())


def _grades(log: DriveLog, results: Results) -> dict[str, Counter[Grade]]:
    """Grades of the ego's contacts by law."""
    contacts, ego = ego_contacts(log), str(log.tracks.ids[log.ego])
    found = {"default": Counter(c.grade for c in contacts)}
    road = road_of_log(log, results.options.get("data")) if contacts else None
    lines = None if road is None else prepare(road)
    for name, law in LAWS.items():
        if name != "default":
            yields = {ego: log.case.right_of_way}
            found[name] = Counter(judge(log.tracks, c, lines, law, ego=ego, yields_to=yields).grade for c in contacts)
    return found
