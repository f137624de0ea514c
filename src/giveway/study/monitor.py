"""What a researcher wants to see and do while a study runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
from sqlalchemy import delete, func, insert, select

from giveway.core.errors import UsageError
from giveway.core.seeds import stream
from giveway.stats.agreement_summary import AgreementSummary, summarize_agreement
from giveway.stats.agreement_table import RatingTable, rating_table
from giveway.study.export import count_table, long_answers, rater_table
from giveway.study.participation import STEPS
from giveway.study.secrets import new_code
from giveway.study.tables import external_ids, invites, raters
from giveway.study.workspace import Study, StudyState, study_state, utc_now

LIVE_DRAWS = 500
MAX_QUOTA = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipDistribution:
    """Ratings of one clip: ``counts[j]`` raters chose option j."""

    clip: str
    condition: str
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """State of a study.

    Attributes:
        state: open, paused or closed.
        by_step: how many raters are at each step now.
        answers: answers to clips.
        unfinished: (answers given, number of raters) of those who started and did not finish.
        agreement: live, None before there is anything to compare.
        distributions: per clip, first showings.
        external_ids: identifiers of a platform that are stored.
    """

    state: StudyState
    by_step: dict[str, int]
    answers: int
    unfinished: tuple[tuple[int, int], ...]
    agreement: AgreementSummary | None
    distributions: tuple[ClipDistribution, ...]
    external_ids: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Invite:
    """An invite link and how far its quota is used."""

    code: str
    label: str
    quota: int
    used: int


def overview(study: Study) -> Overview:
    """Everything the researcher's page shows."""
    long, people = long_answers(study), rater_table(study)
    steps = dict(people.group_by("step").len().iter_rows())
    started = people.filter((pl.col("num_items") > 0) & (pl.col("step") == "rate"))
    unfinished = started.group_by("num_answers").len().sort("num_answers")
    condition = {clip.clip: clip.condition for clip in study.clips}
    main = [clip.clip for clip in study.clips if clip.role == "main"]
    counts = count_table(long, main, len(study.design.options))
    table = ratings_of(study, long)
    with study.reader.connect() as connection:
        num_external = connection.execute(select(func.count()).select_from(external_ids)).scalar_one()
    return Overview(
        state=study_state(study),
        by_step={step: steps.get(step, 0) for step in (*STEPS, "ineligible")},
        answers=long.height,
        unfinished=tuple((int(a), int(b)) for a, b in unfinished.iter_rows()),
        agreement=None
        if table is None
        else summarize_agreement(
            table, draws=LIVE_DRAWS, profile=study.design.profile, rng=stream(study.design.order.seed, "live")
        ),
        distributions=tuple(
            ClipDistribution(clip=row[0], condition=condition[row[0]], counts=tuple(row[1:]))
            for row in counts.iter_rows()
        ),
        external_ids=num_external,
    )


def ratings_of(study: Study, long: pl.DataFrame) -> RatingTable | None:
    """First showings as a table for agreement; None if no clip has two ratings."""
    first = long.filter(pl.col("repeat") == 0)
    if first.is_empty() or int(first["clip"].value_counts()["count"].to_numpy().max()) < 2:
        return None
    return rating_table(
        first["clip"].to_list(),
        first["rater"].to_list(),
        [str(v) for v in first["rating"].to_list()],
        categories=[str(n) for n in range(1, len(study.design.options) + 1)],
    )


def create_invite(study: Study, *, label: str, quota: int) -> Invite:
    """A new invite link for at most ``quota`` raters.

    Raises:
        UsageError: for an impossible quota.
    """
    if not 1 <= quota <= MAX_QUOTA:
        raise UsageError("a quota must be a positive number", found=quota)
    invite = Invite(code=new_code(16), label=label.replace("\x00", "")[:100], quota=quota, used=0)
    with study.engine.begin() as connection:
        connection.execute(
            insert(invites).values(code=invite.code, label=invite.label, quota=quota, used=0, created_utc=utc_now())
        )
    return invite


def list_invites(study: Study) -> list[Invite]:
    """All invite links, oldest first."""
    with study.reader.connect() as connection:
        rows = connection.execute(select(invites).order_by(invites.c.created_utc, invites.c.code)).all()
    return [Invite(code=r.code, label=r.label, quota=r.quota, used=r.used) for r in rows]


def payments(study: Study) -> list[dict[str, Any]]:
    """External ids with completion codes, for paying people; nothing about what they answered.

    An id that was sealed with another key is given as None.
    """
    joined = external_ids.join(raters, raters.c.id == external_ids.c.rater_id)
    query = (
        select(external_ids.c.sealed, raters.c.completion_code, raters.c.completed_utc)
        .select_from(joined)
        .order_by(raters.c.id)
    )
    with study.reader.connect() as connection:
        rows = connection.execute(query).all()
    return [
        {
            "external_id": study.key.unseal(bytes(row.sealed)),
            "completed": row.completed_utc is not None,
            "completion_code": row.completion_code,
        }
        for row in rows
    ]


def delete_external_ids(study: Study) -> int:
    """Forget all external ids; returns how many there were."""
    with study.engine.begin() as connection:
        return connection.execute(delete(external_ids)).rowcount
