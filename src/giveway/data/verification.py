"""Drives ``verify`` for every adapter: one recording after the other, all problems at once, counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from giveway.core.errors import GivewayError
from giveway.data.assemble import StateRows, frame_range
from giveway.data.findings import Findings
from giveway.data.protocol import Dataset, Problem, Progress, Recording, RecordingSummary, Verification

CheckRecording = Callable[[Recording, Findings], RecordingSummary | None]


def verify_recordings(
    dataset: Dataset,
    root: Path,
    check: CheckRecording,
    *,
    version: str,
    progress: Progress | None = None,
    accept_implausible: bool = False,
) -> Verification:
    """Check everything below a root.

    Args:
        dataset: the adapter; its ``recordings`` finds the work.
        root: data root.
        check: reads one recording with collecting findings; returns its counts, or None if it is unusable.
        version: which release of the format this is.
        progress: called with (done, total, recording id) before each recording.
        accept_implausible: numbers that contradict one another are warnings.

    Returns:
        All problems in order of the recordings. A root without recordings gives one problem.
    """
    name = dataset.info.name
    try:
        recordings = dataset.recordings(root)
    except GivewayError as error:
        return Verification(dataset=name, root=str(root), version=version, problems=(problem_of(error, root),))
    findings = Findings(root, strict=False, accept_implausible=accept_implausible)
    summaries: list[RecordingSummary] = []
    for index, recording in enumerate(recordings):
        if progress is not None:
            progress(index, len(recordings), recording.id)
        try:
            summary = check(recording, findings)
        except GivewayError as error:
            findings.forward(error)
            summary = None
        if summary is not None:
            summaries.append(summary)
    return Verification(
        dataset=name, root=str(root), version=version, recordings=tuple(summaries), problems=findings.problems
    )


def problem_of(error: GivewayError, root: Path) -> Problem:
    """An error as an entry of a verification."""
    return Problem(
        severity="error", message=error.what, file=error.where or str(root), found=error.found, hint=error.hint
    )


def summarize(recording: Recording, parts: list[StateRows], *, frame_rate_hz: float) -> RecordingSummary:
    """Counts of a recording; its duration runs from the first to the last frame, both included."""
    first, last = frame_range(parts)
    frames = last - first + 1
    return RecordingSummary(
        id=recording.id,
        location=recording.location,
        num_tracks=sum(part.num_agents for part in parts),
        num_frames=frames,
        num_rows=sum(part.num_rows for part in parts),
        duration_s=frames / frame_rate_hz,
    )
