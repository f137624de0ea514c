"""A chapter on the closed loop: three predictors steer the same planner through the bundled cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from giveway.demo.chapter import Chapter, Section
from giveway.drive.bundled import bundled_set
from giveway.drive.case_sets import open_cases
from giveway.drive.replay import write_replay_page
from giveway.drive.runs import run_predictor, write_summary
from giveway.metrics.driving_challenge import rules_called
from giveway.planning import make_planner
from giveway.predictors import make_predictor
from giveway.sim.log_files import logs_below, read_log

PREDICTORS = ("echo", "constant_velocity", "oracle")
SHOWN_CASES = ("merge-00", "roundabout-00", "junction-00")
COLUMNS = ("n_col", "s_eff", "s_jer", "s_vel", "s_cou", "score")


def _run(root: Path, seed: int) -> tuple[Section, ...]:
    folder = root / "drive" / "results"
    cases, source = open_cases(None, None, None)
    planner, rules = make_planner("default"), rules_called("default")
    runs = [
        run_predictor(
            cases, source, predictor=make_predictor(name, None), planner=planner, out=folder, rules=rules, seed=seed
        )
        for name in PREDICTORS
    ]
    document: dict[str, Any] = write_summary(folder, runs, planner)
    rows = [("predictor", *COLUMNS)]
    rows += [
        (row["name"], *(_number(row[column]) for column in COLUMNS))
        for row in (*document["predictors"], document["humans"])
    ]
    links: list[tuple[str, Path]] = []
    for file in logs_below(folder / "logs"):
        log = read_log(file)
        if log.case.id not in SHOWN_CASES:
            continue
        page = Path("drive") / f"{log.case.id}-{file.parent.name}.html"
        write_replay_page(root / page, log, bundled_set()[1].scene_of(log.case).road)
        links.append((f"{log.case.id}, {file.parent.name}", page))
    return (
        Section(
            heading="Does a better prediction make a better drive?",
            text=f"{len(cases)} synthetic cases, {document['note']}. The oracle knows the true future, echo expects "
            "everybody to stop at once.",
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
