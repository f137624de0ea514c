"""INTERACTION v1.2 (and the segmented form of 2020): thousands of four-second cases per site.

One CSV per site in ``train``, ``val`` and ``test_*``; vehicles and pedestrians share it, and heading and size are
empty for the latter. Test files end after the ten observed frames and mark who is to be predicted. The two forms
differ only in the order and the number of columns, so both are read by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from giveway.core.arrays import IntArray
from giveway.core.scene import Scene
from giveway.data.assemble import Grouping, StateRows, frame_range, tracks_from_rows
from giveway.data.case_rows import CASES, SEGMENTED_HEADER, CaseRows, read_case_rows
from giveway.data.findings import Findings, relative_name
from giveway.data.interaction import FRAME_RATE_HZ
from giveway.data.layout import files, first_line, folders, no_recordings
from giveway.data.origins import provenance_of
from giveway.data.protocol import DatasetInfo, Progress, Recording, RecordingSummary, Verification
from giveway.data.roads import check_road, read_road
from giveway.data.tables import read_table
from giveway.data.verification import verify_recordings

SPLIT = re.compile(r"train|val|test.*")
SUFFIX = re.compile(r"_(train|val|obs|test)$")


class InteractionCases:
    """Adapter; one recording per file, one scene per case."""

    @property
    def info(self) -> DatasetInfo:
        """Fact sheet."""
        return DatasetInfo(
            name="interaction_cases",
            title="INTERACTION v1.2 cases",
            frame_rate_hz=FRAME_RATE_HZ,
            license="non-commercial research after registration; no redistribution",
            obtain="register at https://interaction-dataset.com and unpack the multi-agent release",
            layout="train/<site>_train.csv, val/<site>_val.csv, test_*/<site>_obs.csv\nmaps/<site>.osm",
            references=(
                "Zhan, W. et al. (2019). INTERACTION Dataset: An INTERnational, Adversarial and Cooperative moTION "
                "Dataset in Interactive Driving Scenarios with Semantic Maps. arXiv:1910.03088.",
            ),
            has_map=True,
        )

    def recognizes(self, root: Path) -> bool:
        """Whether a file of cases lies below the root."""
        return any(_has_our_header(path) for _, path in _case_files(root))

    def recordings(self, root: Path) -> Sequence[Recording]:
        """All files of all splits; a root may also be one split folder."""
        found: list[Recording] = []
        for split, path in _case_files(root):
            if not SUFFIX.search(path.stem) and not _has_our_header(path):
                continue
            site = SUFFIX.sub("", path.stem)
            paths = {"cases": path}
            for folder in (root / "maps", root.resolve().parent / "maps"):
                if (folder / f"{site}.osm").is_file():
                    paths["map"] = folder / f"{site}.osm"
                    break
            found.append(
                Recording(dataset="interaction_cases", id=f"{split}/{path.stem}", root=root, files=paths, location=site)
            )
        if not found:
            raise no_recordings(self.info, root)
        return sorted(found, key=lambda recording: recording.id)

    def scenes(self, recording: Recording) -> Iterator[Scene]:
        """One scene per case in ascending order; all cases of a file span the same frames.

        A file whose header is followed by no rows has none, and ``verify`` remarks it.
        """
        findings = Findings.of(recording)
        content = _read(recording, findings)
        if content is None:  # a header without rows; strict findings raise for everything else
            return
        path = recording.files["cases"]
        hashes = {relative_name(path, recording.root): content.sha256}
        road = None
        if "map" in recording.files:
            road, hashes[relative_name(recording.files["map"], recording.root)] = read_road(recording.files["map"])
        provenance = provenance_of(recording, hashes, notes=findings.notes)
        frames = frame_range([content.rows])
        by_case = np.argsort(content.case, kind="stable")
        cases, starts = np.unique(content.case[by_case], return_index=True)
        for case, agents in zip(cases.tolist(), np.split(by_case, starts[1:]), strict=True):
            part = _take(content.rows, agents)
            yield Scene(
                tracks=tracks_from_rows([part], frame_rate_hz=FRAME_RATE_HZ, frames=frames),
                road=road,
                location=recording.location,
                provenance=provenance,
                attributes={
                    "frame_rate_hz": FRAME_RATE_HZ,
                    "first_frame": frames[0],
                    "case_id": int(case),
                    "split": recording.id.split("/")[0],
                    **_marks(content, agents),
                },
            )

    def verify(self, root: Path, *, progress: Progress | None = None, accept_implausible: bool = False) -> Verification:
        """Check every file below the root."""
        header = next((first_line(path) for _, path in _case_files(root)), "") if root.is_dir() else ""
        version = "2020, segmented" if "agent_role" in header else "1.2"
        return verify_recordings(
            self, root, _check, version=version, progress=progress, accept_implausible=accept_implausible
        )


INTERACTION_CASES = InteractionCases()


def _case_files(root: Path) -> list[tuple[str, Path]]:
    """(split, file) below the root."""
    name = root.resolve().name
    if SPLIT.fullmatch(name) and not any(SPLIT.fullmatch(folder.name) for folder in folders(root)):
        return [(name, path) for path in files(root) if path.suffix == ".csv"]
    splits = [folder for folder in folders(root) if SPLIT.fullmatch(folder.name)]
    return [(folder.name, path) for folder in splits for path in files(folder) if path.suffix == ".csv"]


def _has_our_header(path: Path) -> bool:
    return first_line(path).startswith("case_id")


def _check(recording: Recording, findings: Findings) -> RecordingSummary | None:
    if "map" in recording.files:
        check_road(recording.files["map"], findings)
    before = findings.num_errors
    content = _read(recording, findings)
    if content is None:
        empty = RecordingSummary(
            id=recording.id, location=recording.location, num_tracks=0, num_frames=0, num_rows=0, duration_s=0.0
        )
        return empty if findings.num_errors == before else None
    first, last = frame_range([content.rows])
    cases = len(np.unique(content.case))
    return RecordingSummary(
        id=recording.id,
        location=recording.location,
        num_tracks=content.rows.num_agents,
        num_frames=cases * (last - first + 1),
        num_rows=content.rows.num_rows,
        duration_s=cases * (last - first + 1) / FRAME_RATE_HZ,
    )


def _read(recording: Recording, findings: Findings) -> CaseRows | None:
    path = recording.files["cases"]
    segmented = "agent_role" in first_line(path)
    table = read_table(path, SEGMENTED_HEADER if segmented else CASES, findings)
    return None if table is None else read_case_rows(table, findings)


def _take(rows: StateRows, agents: IntArray) -> StateRows:
    """Some agents of a table of rows."""
    offsets = rows.grouping.offsets
    index = np.concatenate([np.arange(int(offsets[a]), int(offsets[a + 1])) for a in agents.tolist()])
    lengths = (offsets[1:] - offsets[:-1])[agents]
    return StateRows(
        file=rows.file,
        grouping=Grouping(
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            order=None,
            ids=np.array(rows.grouping.ids[agents].tolist(), dtype=np.str_),
        ),
        frame=rows.frame[index],
        x=rows.x[index],
        y=rows.y[index],
        heading=rows.heading[index],
        vx=rows.vx[index],
        vy=rows.vy[index],
        size=rows.size[agents],
        kind=rows.kind[agents],
    )


def _marks(content: CaseRows, agents: IntArray) -> Mapping[str, Any]:
    """Ids of the agents that the file singles out."""
    return {
        name: tuple(str(name) for name in content.rows.grouping.ids[agents[flags[agents]]].tolist())
        for name, flags in content.marks.items()
    }
