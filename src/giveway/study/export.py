"""What was answered, as tables: long rows, wide matrix, counts, checks, raters, and a code book.

No table holds an external id or a token; raters appear under their random codes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
from sqlalchemy import select

from giveway import __version__
from giveway.core.files import write_atomically, write_text
from giveway.study import printed_form
from giveway.study.integrity import check_rows
from giveway.study.simulated import is_simulated
from giveway.study.tables import answers, assignments, raters
from giveway.study.workspace import Study, declared_fingerprint

LONG_SCHEMA: dict[str, Any] = {
    "study_id": pl.String,
    "rater": pl.String,
    "clip": pl.String,
    "condition": pl.String,
    "position": pl.Int64,
    "repeat": pl.Int64,
    "rating": pl.Int64,
    "rt_ms": pl.Int64,
    "plays": pl.Int64,
    "played_ms": pl.Int64,
    "visible_ms": pl.Int64,
    "ts_utc": pl.String,
    "app_version": pl.String,
    "simulated": pl.Boolean,
}
CHECK_SCHEMA: dict[str, Any] = {
    "rater": pl.String,
    "position": pl.Int64,
    "expected": pl.Int64,
    "rating": pl.Int64,
    "passed": pl.Boolean,
    "simulated": pl.Boolean,
}
RATER_SCHEMA: dict[str, Any] = {
    "rater": pl.String,
    "step": pl.String,
    "slot": pl.Int64,
    "consent_version": pl.String,
    "consent_utc": pl.String,
    "completed_utc": pl.String,
    "language": pl.String,
    "playback_ok": pl.Boolean,
    "age_band": pl.String,
    "driving_band": pl.String,
    "num_items": pl.Int64,
    "num_answers": pl.Int64,
    "comment": pl.String,
    "simulated": pl.Boolean,
}


def long_answers(study: Study) -> pl.DataFrame:
    """One row per answer to a clip, in the order of raters and positions."""
    condition = {clip.clip: clip.condition for clip in study.clips}
    simulated = is_simulated(study)
    rows = [
        (
            study.design.id,
            row.code,
            row.item,
            condition.get(row.item, ""),
            row.position,
            row.repeat,
            row.rating,
            row.rt_ms,
            row.plays,
            row.played_ms,
            row.visible_ms,
            row.ts_utc,
            row.app_version,
            simulated,
        )
        for row in _answered(study, "clip")
    ]
    return pl.DataFrame(rows, schema=LONG_SCHEMA, orient="row")


def check_answers(study: Study) -> pl.DataFrame:
    """One row per answer to an instructed-response item."""
    simulated = is_simulated(study)
    rows = [
        (row.code, row.position, row.expected, row.rating, row.expected == row.rating, simulated)
        for row in _answered(study, "check")
    ]
    return pl.DataFrame(rows, schema=CHECK_SCHEMA, orient="row")


def _answered(study: Study, kind: str) -> list[Any]:
    joined = answers.join(
        assignments,
        (answers.c.rater_id == assignments.c.rater_id) & (answers.c.position == assignments.c.position),
    ).join(raters, raters.c.id == answers.c.rater_id)
    query = (
        select(answers, assignments.c.item, assignments.c.repeat, assignments.c.expected, raters.c.code)
        .select_from(joined)
        .where(assignments.c.kind == kind)
        .order_by(raters.c.id, answers.c.position)
    )
    with study.reader.connect() as connection:
        return list(connection.execute(query))


def rater_table(study: Study) -> pl.DataFrame:
    """One row per person who consented, with how far he or she came."""
    with study.reader.connect() as connection:
        people = connection.execute(select(raters).order_by(raters.c.id)).all()
        items = connection.execute(select(assignments.c.rater_id)).scalars().all()
        given = connection.execute(select(answers.c.rater_id)).scalars().all()
    num_items, num_answers, simulated = _count(items), _count(given), is_simulated(study)
    rows = [
        (
            p.code,
            p.step,
            p.slot,
            p.consent_version,
            p.consent_utc,
            p.completed_utc,
            p.language,
            p.playback_ok,
            p.age_band,
            p.driving_band,
            num_items.get(p.id, 0),
            num_answers.get(p.id, 0),
            harmless_cell(p.comment),
            simulated,
        )
        for p in people
    ]
    return pl.DataFrame(rows, schema=RATER_SCHEMA, orient="row")


def _count(values: Any) -> dict[int, int]:
    counts: dict[int, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts


def harmless_cell(text: str | None) -> str | None:
    """Free text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text and text[0] in "=+-@\t\r" else text


def wide_matrix(long: pl.DataFrame, clips: list[str]) -> pl.DataFrame:
    """Clips x raters: the first rating, empty where there is none."""
    first = long.filter(pl.col("repeat") == 0)
    codes = first["rater"].unique(maintain_order=True).to_list()
    if not codes:
        return pl.DataFrame({"clip": clips}, schema={"clip": pl.String})
    table = first.pivot(on="rater", index="clip", values="rating", on_columns=codes)
    return pl.DataFrame({"clip": clips}).join(table, on="clip", how="left", maintain_order="left")


def count_table(long: pl.DataFrame, clips: list[str], num_options: int) -> pl.DataFrame:
    """Clips x categories: how many raters chose each, first showings only."""
    first = long.filter(pl.col("repeat") == 0)
    columns: dict[str, Any] = {"clip": clips}
    for category in range(1, num_options + 1):
        chosen = first.filter(pl.col("rating") == category)["clip"].value_counts()
        by_clip = dict(zip(chosen["clip"].to_list(), chosen["count"].to_list(), strict=True))
        columns[str(category)] = [by_clip.get(clip, 0) for clip in clips]
    return pl.DataFrame(columns)


def code_book(study: Study) -> dict[str, Any]:
    """What every column means, and everything needed to interpret the numbers."""
    design = study.design
    return {
        "simulated": is_simulated(study),
        "origin": study.origins,
        "study": design.model_dump(mode="json"),
        "design_fingerprint": {"declared": declared_fingerprint(study), "now": design.fingerprint},
        "app_version": __version__,
        "question": design.question,
        "form": printed_form.provenance() if design.is_published else "our own texts",
        "rating": {str(n + 1): option for n, option in enumerate(design.options)},
        "files": {
            "answers.csv": "one row per answer to a clip",
            "wide.csv": "clips x raters, first showings",
            "counts.csv": "clips x categories, first showings; readable by giveway agree",
            "checks.csv": "answers to instructed-response items",
            "raters.csv": "one row per person who consented",
        },
        "columns": {
            "study_id": "id of the study",
            "rater": "random code of the rater",
            "clip": "content-hash id of the clip",
            "condition": "what made the traffic",
            "position": "0-based place in this rater's order, checks included",
            "repeat": "0 first showing, 1 second showing of the same clip",
            "rating": "1 .. k, see rating",
            "rt_ms": "from the moment the clip was shown to saving the answer [ms]",
            "plays": "how often the clip was played to its end",
            "played_ms": "time during which it played [ms]",
            "visible_ms": "time during which the page was visible [ms]",
            "ts_utc": "when the server took the answer",
            "app_version": "version of giveway that took it",
            "simulated": "true if all raters are simulated: the answers then say nothing about anybody's opinion",
        },
        "clips": [
            {
                "clip": clip.clip,
                "condition": clip.condition,
                "scene": clip.scene,
                "role": clip.role,
                "broken": clip.broken,
                "duration_s": clip.duration_s,
                "source": clip.source,
                "origin": clip.origin,
                "origins": list(clip.origins),
                "declared_by": clip.declared_by,
            }
            for clip in study.clips
        ],
    }


def export_study(study: Study, folder: Path) -> list[Path]:
    """Write all tables and the code book into a folder.

    Returns:
        The files, in the order of the code book.

    Raises:
        StoreError: a row of the database is not what was written.
    """
    check_rows(study.reader, study.key)
    long = long_answers(study)
    clips = [clip.clip for clip in study.clips if clip.role == "main"]
    tables = {
        "answers.csv": long,
        "wide.csv": wide_matrix(long, clips),
        "counts.csv": count_table(long, clips, len(study.design.options)),
        "checks.csv": check_answers(study),
        "raters.csv": rater_table(study),
    }
    for name, table in tables.items():
        with write_atomically(folder / name) as path:
            table.write_csv(path)
    write_text(folder / "codebook.json", json.dumps(code_book(study), indent=1, ensure_ascii=False) + "\n")
    return [*(folder / name for name in tables), folder / "codebook.json"]
