"""``giveway drive mine --set`` and ``--verify``: standard sets, the cases of the 2020 challenge, and their check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from giveway.cli.command import Call
from giveway.cli.envelope import Done
from giveway.core.errors import UnknownNameError

SETS = ("standard", "challenge")


def mined_set(
    call: Call,
    name: str,
    folder: Path,
    out: Path,
    dataset: str,
    sites: Sequence[str],
    max_recordings: int | None,
    gallery: Path | None,
) -> Done:
    """Make a named set."""
    if name not in SETS:
        raise UnknownNameError("set of cases", name, SETS)
    if name == "challenge":
        return _challenge(folder, out)
    from giveway.drive.standard import mine_standard

    with call.counting("mine") as progress:
        found = mine_standard(
            folder,
            out,
            dataset=dataset,
            sites=sites,
            max_recordings=max_recordings,
            gallery=gallery,
            progress=progress,
        )

    def listed(key: str) -> str:
        return ", ".join(f"{n} {what}" for what, n in sorted(found[key].items()))

    text = [
        f"{found['cases']} cases of {found['recordings']} recordings in {out}, content id {found['content_id'][:12]}",
        f"splits: {listed('splits')} (files beside it)",
        f"tags: {listed('tags')}",
        f"right of way by {listed('right_of_way_by')}",
    ]
    if found["off_road"]:
        text.append(f"{found['off_road']} cases left out: the ego has no route on the map")
    text += [f"{recording}: left out, it has no map" for recording in found["without_map"]]
    text += [f"left out: {note}" for note in found["left_out"]]
    text.append(f"next: giveway drive run -c {out.stem}-test.json --data {folder} -p constant_velocity -o R")
    return Done(result={"file": out, **found}, text=text)


def _challenge(folder: Path, out: Path) -> Done:
    """The 48 cases of the challenge, checked against their recordings, with the row of the recorded humans."""
    from giveway.drive.challenge_set import PUBLISHED, challenge_set

    found = challenge_set(folder, out)
    row, wanted = found["recorded_humans"], PUBLISHED
    values = ", ".join(f"{name} {row[name]:.3f} ({value:.3f})" for name, value in wanted.items())
    text = [
        f"{found['verified']} of {found['cases']} cases fit their recordings; written to {out}",
        f"recorded humans as coded (published): {values}: {'reproduced' if found['reproduced'] else 'NOT reproduced'}",
        *(f"{case} failed: {reason}" for case, reason in found["failed"].items()),
        f"next: giveway drive run -c {out} --data {folder} --traffic paper --metric challenge_coded -p CV -o R",
    ]
    failures = [{"case": case, "reason": reason} for case, reason in found["failed"].items()]
    return Done(result={"file": out, **found}, text=text, failures=failures, holds=bool(found["reproduced"]))


def verified(file: Path, folder: Path) -> Done:
    """Compare the cases of a file with recordings."""
    from giveway.drive.scenes import RecordedScenes
    from giveway.drive.standard import verify_set
    from giveway.sim.case_files import read_cases

    found = verify_set(read_cases(file), RecordedScenes(folder))
    text = [f"{found['verified']} of {found['cases']} cases fit the recordings in {folder}"]
    text += [f"{case}: {reason}" for case, reason in found["failed"].items()]
    failures = [{"case": case, "reason": reason} for case, reason in found["failed"].items()]
    return Done(result={"file": file, **found}, text=text, failures=failures)
