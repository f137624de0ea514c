"""L-GAP: unprotected left turns of humans in a driving simulator (Zgonnikov, Abbink, Markkula).

The files call the human ``ego`` and the oncoming car ``bot``; in the terms of gap acceptance the human is the target T
and the bot has priority (E). Tracks are named ``human`` and ``bot`` to keep the two vocabularies apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.arrays import BoolArray, FloatArray, IntArray
from giveway.core.scene import Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.data.assemble import Grouping, group_rows
from giveway.data.checks import check_jumps, check_steps
from giveway.data.findings import Findings, relative_name
from giveway.data.layout import first_line, no_recordings
from giveway.data.lgap_files import BOOLEANS, DECISIONS, KEY, PROCESSED, find_pair, measures_format
from giveway.data.origins import provenance_of
from giveway.data.plausibility import Motion, check_plausible
from giveway.data.protocol import DatasetInfo, Progress, Recording, RecordingSummary, Verification
from giveway.data.tables import Table, line_of, read_table
from giveway.data.verification import verify_recordings

HUMAN, BOT = "human", "bot"
STEADY_MPS = 0.001
DRIVING_MPS = 5.0
LONGEST_STEP_S = 0.1
"""Velocities are compared over steps up to this; the usual one is about 10 ms."""


class LGap:
    """Adapter; the two files are one recording with one scene per trial."""

    @property
    def info(self) -> DatasetInfo:
        """Fact sheet."""
        return DatasetInfo(
            name="lgap",
            title="L-GAP",
            frame_rate_hz=97.0,
            license="open data; the terms are stated at the record",
            obtain="download CoR_data_raw.zip from 4TU.ResearchData, record 21334548 (also OSF x3ns6)",
            layout="measures.csv\nprocessed_data.csv   (both in the root or in one folder below it)",
            references=(
                "Zgonnikov, A., Abbink, D., Markkula, G. (2022). Should I stay or should I go? Cognitive modeling of "
                "left-turn gap acceptance decisions in human drivers. Human Factors. doi:10.1177/00187208221144561.",
            ),
        )

    def recognizes(self, root: Path) -> bool:
        """Whether both files lie below the root."""
        pair = find_pair(root)
        return pair is not None and "subj_id" in first_line(pair["measures"])

    def recordings(self, root: Path) -> Sequence[Recording]:
        """The one recording."""
        pair = find_pair(root)
        if pair is None:
            raise no_recordings(self.info, root)
        return [Recording(dataset="lgap", id="trials", root=root, files=pair, location="carla")]

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """One scene per row of ``measures.csv``, in its order; time starts at 0 in each."""
        findings = Findings.of(recording)
        content = _read(recording, findings)
        assert content is not None  # strict findings raise instead
        measures, rows, trials = content
        hashes = {relative_name(table.path, recording.root): table.sha256 for table in (measures, rows)}
        for index, (begin, end) in enumerate(trials):
            attributes = _attributes(measures, index)
            yield Scene(
                tracks=_tracks(rows, begin, end),
                location="carla",
                provenance=provenance_of(recording, hashes, notes=findings.notes),
                attributes={
                    **attributes,
                    "intersection_m": np.array([rows.floats(f"intersection_{axis}")[begin] for axis in "xy"]),
                    "turn_direction": float(rows.floats("turn_direction")[begin]),
                    **{name: rows.floats(name)[begin:end].copy() for name in ("throttle", "brake", "steer")},
                },
            )

    def verify(self, root: Path, *, progress: Progress | None = None, accept_implausible: bool = False) -> Verification:
        """Check both files and that they fit together."""
        pair = find_pair(root) if root.is_dir() else None
        old = pair is not None and "is_turn_decision" in first_line(pair["measures"])
        version = "earlier public version" if old else "4TU"
        return verify_recordings(
            self, root, _check, version=version, progress=progress, accept_implausible=accept_implausible
        )


LGAP = LGap()


def _check(recording: Recording, findings: Findings) -> RecordingSummary | None:
    content = _read(recording, findings)
    if content is None:
        return None
    _, rows, trials = content
    time = rows.floats("t")
    silent = [index for index, (begin, end) in enumerate(trials) if _spawn_row(rows, begin, end) < 0]
    findings.rows(
        "the other car never drives at a steady speed in this trial",
        recording.files["measures"],
        line_of(np.array(silent, dtype=np.int64)),
        column="idx_bot_spawn",
        values=["no such row"] * len(silent),
        severity="warning",
    )
    return RecordingSummary(
        id=recording.id,
        location=recording.location,
        num_tracks=2 * len(trials),
        num_frames=sum(end - begin for begin, end in trials),
        num_rows=rows.num_rows,
        duration_s=float(sum(time[end - 1] - time[begin] for begin, end in trials)),
    )


def _read(recording: Recording, findings: Findings) -> tuple[Table, Table, list[tuple[int, int]]] | None:
    path = recording.files["measures"]
    measures = read_table(path, measures_format(first_line(path)), findings)
    rows = read_table(recording.files["states"], PROCESSED, findings)
    if measures is None or rows is None:
        return None
    before = findings.num_errors
    _check_words(measures, findings)
    trials = _trials(measures, rows, findings)
    if trials is not None:
        _check_motion(rows, trials, findings)
    return None if trials is None or findings.num_errors > before else (measures, rows, trials)


def _trials(measures: Table, rows: Table, findings: Findings) -> list[tuple[int, int]] | None:
    """First and end row of each trial of ``measures``, after checking keys and times."""
    wanted, keys = _keys(measures), _keys(rows)
    heads = np.concatenate([[0], np.flatnonzero((np.diff(keys, axis=0) != 0).any(axis=1)) + 1])
    known: dict[tuple[int, ...], int] = {}
    codes = np.array([known.setdefault(tuple(key), len(known)) for key in keys[heads].tolist()], dtype=np.int64)
    lengths = np.diff(np.append(heads, len(keys)))
    steps = np.arange(len(keys)) - np.repeat(heads, lengths)
    grouping = group_rows(np.repeat(codes, lengths), steps, rows.path, findings, columns=("subj_id", "t"))
    if grouping is None or not _time_runs(rows, grouping, findings):
        return None
    places = {int(code): index for index, code in enumerate(grouping.ids.astype(np.int64).tolist())}
    seen: set[tuple[int, ...]] = set()
    result: list[tuple[int, int]] = []
    for row, key in enumerate(map(tuple, wanted.tolist())):
        message = hint = ""
        if key in seen:
            message, hint = "a trial is listed twice", "remove one of the rows"
        elif key not in known:
            message = "a trial has no rows in the other file"
            hint = f"{rows.path.name} is cut short or of another release; get both files again"
        else:
            place = places[known[key]]
            result.append((int(grouping.offsets[place]), int(grouping.offsets[place + 1])))
        if message:
            found = ", ".join(map(str, key))
            findings.error(message, measures.path, line=row + 2, column="subj_id", found=found, hint=hint)
        seen.add(key)
    unused = np.array([heads[codes == code][0] for key, code in known.items() if key not in seen], dtype=np.int64)
    message = "a trial is not listed in measures.csv and is left out"
    values = [", ".join(map(str, keys[row].tolist())) for row in unused.tolist()]
    findings.rows(message, rows.path, line_of(unused), column="subj_id", values=values, severity="warning")
    return result


def _keys(table: Table) -> IntArray:
    return np.stack([table.ints(name) for name in KEY], axis=1)


def _time_runs(rows: Table, grouping: Grouping, findings: Findings) -> bool:
    time = rows.floats("t")
    inner: BoolArray = np.ones(len(time) - 1, dtype=np.bool_)
    inner[grouping.offsets[1:-1] - 1] = False
    stuck = np.flatnonzero(inner & (np.diff(time) <= 0)) + 1
    findings.rows(
        "time does not increase inside a trial",
        rows.path,
        line_of(stuck),
        column="t",
        values=time[stuck],
        hint="remove doubled rows, sort by trial and time",
    )
    if stuck.size:
        return False
    check_steps(time, inner, rows.path, findings, column="t")
    return check_jumps(
        rows.floats("ego_x"), rows.floats("ego_y"), time, inner, rows.path, line_of, findings, column="ego_x"
    )


def _check_motion(rows: Table, trials: list[tuple[int, int]], findings: Findings) -> None:
    """Recorded velocity and yaw of both cars against their positions; the bot's only where it is observed."""
    time = rows.floats("t")
    spans = {"ego": trials, "bot": [(b + k, e) for b, e in trials if (k := _spawn_row(rows, b, e)) >= 0]}
    for car, parts in spans.items():
        if not parts:
            continue
        index = np.concatenate([np.arange(begin, end) for begin, end in parts])
        offsets = np.concatenate([[0], np.cumsum([end - begin for begin, end in parts])]).astype(np.int64)
        motion = Motion(
            file=rows.path,
            lines=lambda at, index=index: line_of(index[np.minimum(at, len(index) - 1)]),
            ids=np.array([f"{car} of the trial in line {begin + 2}" for begin, _ in parts]),
            offsets=offsets,
            time_s=time[index],
            step_s=LONGEST_STEP_S,
            x=rows.floats(f"{car}_x")[index],
            y=rows.floats(f"{car}_y")[index],
            vx=rows.floats(f"{car}_vx")[index],
            vy=rows.floats(f"{car}_vy")[index],
            heading=-np.radians(rows.floats(f"{car}_yaw")[index]),
            kind=np.full(len(parts), int(AgentKind.CAR)),
            columns=(f"{car}_vx", f"{car}_yaw"),
        )
        check_plausible(motion, findings)


def _check_words(measures: Table, findings: Findings) -> None:
    """Decisions and truth values must be known words and say the same."""
    for column, known in (("is_go_decision", BOOLEANS), ("decision", DECISIONS), ("is_collision", BOOLEANS)):
        if column not in measures:
            continue
        words = measures.text(column).to_list()
        bad = np.array([row for row, word in enumerate(words) if word not in known], dtype=np.int64)
        findings.rows(
            "unknown word",
            measures.path,
            line_of(bad),
            column=column,
            values=[words[row] for row in bad.tolist()],
            hint=f"known: {', '.join(known)}",
        )
        if bad.size:
            return
    go = [BOOLEANS[word] for word in measures.text("is_go_decision").to_list()]
    decision = measures.text("decision").to_list()
    differing = [row for row, word in enumerate(decision) if DECISIONS[word] != go[row]]
    findings.rows(
        "decision and is_go_decision contradict each other",
        measures.path,
        line_of(np.array(differing, dtype=np.int64)),
        column="decision",
        values=[decision[row] for row in differing],
        hint="get the file again",
    )


def _attributes(measures: Table, row: int) -> Mapping[str, Any]:
    cells = {name: measures.cell(name, row) for name in (*measures.columns, *measures.words)}
    collided = cells.get("is_collision")
    return {
        **{name: cells[name] for name in KEY},
        "is_go": BOOLEANS[cells["is_go_decision"]],
        "is_collision": None if collided is None else BOOLEANS[collided],
        "tta_condition_s": cells["tta_condition"],
        "d_condition_m": cells["d_condition"],
        "v_condition_mps": cells["v_condition"],
        "response_time_s": cells["RT"],
        "min_distance_m": cells["min_distance"],
        **{name: _index(cells[name]) for name in ("idx_bot_spawn", "idx_response", "idx_min_distance")},
    }


def _index(value: float) -> int | None:
    return None if np.isnan(value) else int(value)


def _tracks(rows: Table, begin: int, end: int) -> Tracks:
    """Two agents; the bot counts as observed from the row on in which it drives steadily.

    Before that its columns are zero or, because the authors smoothed them, a blend of zero and the real value.
    """
    span = slice(begin, end)

    def pair(ego: str) -> FloatArray:
        return np.stack([rows.floats(f"{car}_{ego}")[span] for car in ("ego", "bot")])

    time = rows.floats("t")[span]
    spawn = _spawn_row(rows, begin, end)
    observed = np.ones((2, end - begin), dtype=np.bool_)
    observed[1, : spawn if spawn >= 0 else None] = False
    hidden = ~observed
    xy = np.stack([pair("x"), pair("y")], axis=-1)
    velocity = np.stack([pair("vx"), pair("vy")], axis=-1)
    heading = -np.radians(pair("yaw"))  # CARLA counts yaw clockwise
    xy[hidden] = velocity[hidden] = heading[hidden] = np.nan
    return Tracks(
        time_s=time - time[0],
        xy=xy,
        heading=heading,
        velocity=velocity,
        observed=observed,
        size=np.full((2, 2), np.nan),
        kind=np.full(2, AgentKind.CAR, dtype=np.int64),
        ids=np.array([HUMAN, BOT]),
    )


def _spawn_row(rows: Table, begin: int, end: int) -> int:
    """First row, relative to the trial, in which the bot drives at a steady speed; -1 if there is none.

    |v_{k+1} - v_k| < 0.001 in both components, and |v_k| > 5 m/s in one of them
    """
    velocity = np.stack([rows.floats("bot_vx")[begin:end], rows.floats("bot_vy")[begin:end]])
    steady = (np.abs(np.diff(velocity, axis=1)) < STEADY_MPS).all(axis=0)
    hits = np.flatnonzero(steady & (np.abs(velocity[:, :-1]) > DRIVING_MPS).any(axis=0))
    return int(hits[0]) if hits.size else -1
