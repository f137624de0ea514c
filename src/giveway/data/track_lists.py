"""The three files of one recording, and whether they fit together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from giveway.data.assemble import Grouping
from giveway.data.findings import Findings
from giveway.data.levelx_files import SUFFIXES
from giveway.data.protocol import Recording
from giveway.data.tables import Table, TableFormat, line_of, read_table


def read_triple(recording: Recording, forms: Mapping[str, TableFormat], findings: Findings) -> list[Table] | None:
    """The files of a recording in the order of ``forms``; None if one is missing or unusable (collecting mode)."""
    tables: list[Table] = []
    for role, form in forms.items():
        if role not in recording.files:
            findings.error(
                "a file of the recording is missing",
                recording.files["tracks"].with_name(f"{recording.id}_{SUFFIXES[role]}.csv"),
                hint="unpack the archive again",
            )
            continue
        table = read_table(recording.files[role], form, findings)
        if table is not None:
            tables.append(table)
    return tables if len(tables) == len(forms) else None


def same_recording(tables: Sequence[Table], findings: Findings) -> bool:
    """Whether all rows of all files state the number of the first one."""
    number = int(tables[0].ints("recordingId")[0])
    for table in tables:
        stated = table.ints("recordingId")
        other = np.flatnonzero(stated != number)
        if other.size:
            findings.error(
                "the files of a recording are of two recordings",
                table.path,
                line=int(line_of(other[:1])[0]),
                column="recordingId",
                found=f"{stated[other[0]]}, but {number} in {tables[0].path.name}",
                hint="copy the files again from the archive",
            )
            return False
    return True


def same_tracks(
    meta: Table,
    tracks_meta: Table,
    tracks: Table,
    grouping: Grouping,
    findings: Findings,
    *,
    track: str = "trackId",
    count: str = "numTracks",
) -> bool:
    """Whether the three files speak of the same tracks over the same frames; this is how a truncated file shows.

    Args:
        meta: one row about the recording.
        tracks_meta: one row per track.
        tracks: one row per track and frame.
        grouping: of the rows of ``tracks``.
        findings: where problems go.
        track: name of the identifier column of ``tracks_meta``.
        count: name of the column of ``meta`` with the number of tracks.
    """
    fine = True
    listed, written = tracks_meta.ints(track), grouping.ids
    announced = int(meta.ints(count)[0])
    hint = "one of the files is cut short or belongs to another recording; get them again"
    if announced != len(listed):
        fine = False
        findings.error(
            "the announced number of tracks differs from the rows of tracksMeta",
            meta.path,
            line=2,
            column=count,
            found=f"{announced}, but {len(listed)} rows",
            hint=hint,
        )
    if not np.array_equal(listed.astype(np.str_), written):
        differing = np.flatnonzero(listed[: len(written)].astype(np.str_) != written[: len(listed)])
        index = int(differing[0]) if differing.size else min(len(listed), len(written))
        found = (
            f"{len(listed)} tracks listed, {len(written)} in {tracks.path.name}, differing from entry {index + 1} on"
        )
        findings.error(
            "tracksMeta lists other tracks than the tracks file",
            tracks_meta.path,
            line=min(index, len(listed) - 1) + 2,
            column=track,
            found=found,
            hint=hint,
        )
        return False
    frame = tracks.ints("frame")
    actual = {
        "initialFrame": frame[grouping.offsets[:-1]],
        "finalFrame": frame[grouping.offsets[1:] - 1],
        "numFrames": np.diff(grouping.offsets),
    }
    for column, values in actual.items():
        stated = tracks_meta.ints(column)
        bad = np.flatnonzero(stated != values)
        fine = fine and not bad.size
        findings.rows(
            "tracksMeta does not fit the tracks file",
            tracks_meta.path,
            line_of(bad),
            column=column,
            values=[f"{stated[i]}, but {values[i]} in {tracks.path.name}" for i in bad.tolist()],
            hint=hint,
        )
    return fine
