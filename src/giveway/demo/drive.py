"""A chapter on the closed loop: three predictors steer the same planner through the bundled cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from giveway.core.log import DriveLog
from giveway.demo.chapter import Chapter, Section
from giveway.drive.document import document_of
from giveway.drive.replay import replay_documents, write_replay_page
from giveway.drive.run import run_drive

PREDICTORS = ("echo", "constant_velocity", "oracle")
SHOWN_CASES = ("merge-00", "roundabout-00", "junction-00")
COLUMNS = ("n_col", "s_eff", "s_jer", "s_vel", "s_cou", "score")


def _run(root: Path, seed: int) -> tuple[Section, ...]:
    folder = root / "drive" / "results"
    results = run_drive(out=folder, predictors=PREDICTORS, seed=seed)
    document: dict[str, Any] = document_of(results.store)
    rows = [("predictor", *COLUMNS)]
    rows += [
        (row["name"], *(_number(row[column]) for column in COLUMNS))
        for row in (*document["predictors"], document["humans"])
    ]
    links: list[tuple[str, Path]] = []
    for case in SHOWN_CASES:
        for predictor in PREDICTORS:
            log = results.log(case=case, predictor=predictor)
            assert isinstance(log, DriveLog)
            page = Path("drive") / f"{case}-{predictor}.html"
            write_replay_page(root / page, replay_documents([log]))
            links.append((f"{case}, {predictor}", page))
    return (
        Section(
            heading="Does a better prediction make a better drive?",
            text=f"{document['humans']['cases']} synthetic cases, {document['note']}. The oracle knows the future, "
            "echo expects everybody to stop.",
            command="giveway drive run -p echo -p constant_velocity -p oracle --out results",
            table=tuple(rows),
            links=tuple(links),
        ),
    )


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


chapter = Chapter(name="drive", title="Closed loop", run=_run)
