"""A rater's way through a study: join, be eligible, check playback, practice, rate, comment, finish, withdraw."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from giveway.core.errors import GivewayError
from giveway.core.seeds import seed_for
from giveway.study.integrity import row_mac, seal_rater
from giveway.study.orders import Item, order_for_slot
from giveway.study.secrets import new_code, new_token, token_hash
from giveway.study.tables import answers, assignments, external_ids, invites, raters, studies
from giveway.study.workspace import Study, utc_now

Step = Literal["eligibility", "playback", "practice", "rate", "comment", "done", "ineligible"]
STEPS: tuple[Step, ...] = ("eligibility", "playback", "practice", "rate", "comment", "done")
MAX_COMMENT = 4000
MAX_EXTERNAL_ID = 200
PLAYBACK_CHOICES = 4
AGE_BANDS = ("18-24", "25-34", "35-44", "45-54", "55-64", "65+")
DRIVING_BANDS = ("0-2", "3-9", "10-19", "20+")

_BY_TOKEN = select(raters.c.id, raters.c.code, raters.c.step, raters.c.language, raters.c.completion_code).where(
    raters.c.token_hash == bindparam("token_hash")
)
_BY_VISIT = select(raters.c.code).where(raters.c.visit_hash == bindparam("visit_hash"))

RefusalReason = Literal["paused", "closed", "full", "invite", "quota"]


class JoinRefusedError(GivewayError):
    """Nobody can join now; ``reason`` says why."""

    def __init__(self, reason: RefusalReason) -> None:
        super().__init__(f"joining is not possible: {reason}")
        self.reason: RefusalReason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """What the pages need to know of a rater."""

    id: int
    code: str
    step: Step
    language: str
    completion_code: str | None


def join(study: Study, *, invite: str | None = None, external_id: str | None = None, visit: str | None = None) -> str:
    """Record consent and create a rater; the same visit always gets the same one, until he withdraws.

    Args:
        study: the study.
        invite: code of the invite link that was followed.
        external_id: identifier of the recruiting platform; stored sealed and apart from everything else.
        visit: secret of the browser's visit; without it every call creates a rater.

    Returns:
        The resume token; only its hash is stored.

    Raises:
        JoinRefusedError: if the study is not open, full, or the invite is unknown or used up.
    """
    now = utc_now()
    with study.engine.begin() as connection:
        state = connection.execute(select(studies.c.state).with_for_update()).scalar_one()
        known = None if visit is None else connection.execute(_BY_VISIT, {"visit_hash": token_hash(visit)}).scalar()
        if known is not None:
            return _token(study, visit, known)
        if state != "open":
            raise JoinRefusedError(cast(RefusalReason, state))
        if connection.execute(select(func.count()).select_from(raters)).scalar_one() >= study.design.limits.max_raters:
            raise JoinRefusedError("full")
        _take_invite(connection, study, invite)
        code = _free_code(connection)
        token = _token(study, visit, code)
        rater_id = connection.execute(
            insert(raters)
            .values(
                code=code,
                token_hash=token_hash(token),
                step="rate" if study.design.is_published else "eligibility",
                invite=invite,
                consent_version=study.design.flow.consent_version,
                consent_utc=now,
                language=study.design.language,
                last_seen_utc=now,
                visit_hash=None if visit is None else token_hash(visit),
            )
            .returning(raters.c.id)
        ).scalar_one()
        if external_id:
            sealed = study.key.seal(external_id[:MAX_EXTERNAL_ID])
            connection.execute(insert(external_ids).values(rater_id=rater_id, sealed=sealed))
        if study.design.is_published:  # the printed form begins with its first video
            _take_slot(connection, study, rater_id)
        seal_rater(connection, study.key, rater_id)
    return token


def _token(study: Study, visit: str | None, code: str) -> str:
    """Made from what only the study and the browser know, so that it can be told again without being stored."""
    return new_token() if visit is None else study.key.sign("rater", f"{visit} {code}")


def _take_invite(connection: Connection, study: Study, invite: str | None) -> None:
    if invite is None:
        if study.design.flow.access == "invite":
            raise JoinRefusedError("invite")
        return
    taken = connection.execute(
        update(invites)
        .where(invites.c.code == invite, invites.c.used < invites.c.quota)
        .values(used=invites.c.used + 1)
    )
    if taken.rowcount == 0:
        known = connection.execute(select(invites.c.code).where(invites.c.code == invite)).first()
        raise JoinRefusedError("invite" if known is None else "quota")


def _free_code(connection: Connection) -> str:
    while True:
        code = new_code(8)
        if connection.execute(select(raters.c.id).where(raters.c.code == code)).first() is None:
            return code


def find_rater(study: Study, token: str) -> Rater | None:
    """The rater with this resume token, or None."""
    with study.reader.connect() as connection:
        row = connection.execute(_BY_TOKEN, {"token_hash": token_hash(token)}).first()
    return None if row is None else _rater(row)


def _rater(row: Any) -> Rater:
    return Rater(id=row.id, code=row.code, step=row.step, language=row.language, completion_code=row.completion_code)


def record_eligibility(study: Study, rater: Rater, *, confirmed: bool) -> Step:
    """Go on if every statement was confirmed; otherwise end, and give the place of the invite back."""
    if rater.step != "eligibility":
        return rater.step
    step: Step = "playback" if confirmed else "ineligible"
    with study.engine.begin() as connection:
        if _go(connection, study, rater, step) and not confirmed:
            invite = connection.execute(select(raters.c.invite).where(raters.c.id == rater.id)).scalar_one()
            connection.execute(update(invites).where(invites.c.code == invite).values(used=invites.c.used - 1))
    return step


def playback_number(study: Study, rater: Rater) -> int:
    """The number (1 .. 4) that the car of the playback check carries for this rater."""
    return seed_for(study.design.order.seed, "playback", rater.code) % PLAYBACK_CHOICES + 1


def record_playback(study: Study, rater: Rater, *, seen: int) -> bool:
    """Whether the number was right; then go on to practice, or to the main block if there is none."""
    right = seen == playback_number(study, rater)
    if rater.step != "playback":
        return right
    with study.engine.begin() as connection:
        connection.execute(update(raters).where(raters.c.id == rater.id).values(playback_ok=right))
        if right:
            _go(connection, study, rater, "practice")
        seal_rater(connection, study.key, rater.id)
    if right and not study.practice:
        start_rating(study, replace(rater, step="practice"))
    return right


def start_rating(study: Study, rater: Rater) -> Step:
    """Take the lowest free slot, store its order, and open the main block."""
    if rater.step != "practice":
        return rater.step
    with study.engine.begin() as connection:
        connection.execute(select(studies.c.id).with_for_update())  # one at a time: slots must not collide
        if connection.execute(select(raters.c.slot).where(raters.c.id == rater.id)).scalar_one() is None:
            _take_slot(connection, study, rater.id)
        _go(connection, study, rater, "rate")
        seal_rater(connection, study.key, rater.id)
    return "rate"


def _take_slot(connection: Connection, study: Study, rater_id: int) -> None:
    """Store the order of the lowest free slot; the caller holds the lock on the study and seals the rater."""
    taken = connection.execute(select(raters.c.slot).where(raters.c.slot.is_not(None))).scalars().all()
    slot = next(n for n in range(len(taken) + 1) if n not in set(taken))
    items = order_for_slot(study.stimuli, study.plan, slot)
    connection.execute(update(raters).where(raters.c.id == rater_id).values(slot=slot))
    connection.execute(insert(assignments), [_assignment(study, rater_id, item) for item in items])


def _assignment(study: Study, rater_id: int, item: Item) -> dict[str, Any]:
    row = {
        "rater_id": rater_id,
        "position": item.position,
        "kind": item.kind,
        "item": item.item,
        "repeat": item.repeat,
        "expected": item.expected,
    }
    return {**row, "mac": row_mac(study.key, assignments, row)}


def assigned_items(study: Study, rater: Rater) -> tuple[list[Item], set[int]]:
    """The stored order of a rater, and the positions that are answered."""
    both = assignments.outerjoin(
        answers, (answers.c.rater_id == assignments.c.rater_id) & (answers.c.position == assignments.c.position)
    )
    with study.reader.connect() as connection:
        rows = connection.execute(
            select(assignments, answers.c.id.label("answer"))
            .select_from(both)
            .where(assignments.c.rater_id == rater.id)
            .order_by(assignments.c.position)
        ).all()
    items = [Item(position=r.position, kind=r.kind, item=r.item, repeat=r.repeat, expected=r.expected) for r in rows]
    return items, {r.position for r in rows if r.answer is not None}


def count_items(study: Study, rater: Rater) -> tuple[int, int]:
    """How many items a rater has, and how many are answered."""
    assigned, answered = (
        select(func.count()).select_from(table).where(table.c.rater_id == rater.id).scalar_subquery()
        for table in (assignments, answers)
    )
    with study.reader.connect() as connection:
        row = connection.execute(select(assigned, answered)).one()
    return row[0], row[1]


def finish_rating(study: Study, rater: Rater) -> Step:
    """Leave the main block once every item is answered; the printed form asks nothing after it."""
    if rater.step != "rate":
        return rater.step
    items, done = assigned_items(study, rater)
    if not items or any(item.position not in done for item in items):
        return rater.step
    with study.engine.begin() as connection:
        _go(connection, study, rater, "comment")
    if study.design.is_published:
        return finish(study, replace(rater, step="comment"), comment="", age_band=None, driving_band=None)
    return "comment"


def finish(study: Study, rater: Rater, *, comment: str, age_band: str | None, driving_band: str | None) -> Step:
    """Store what is optional and hand out the completion code."""
    if rater.step != "comment":
        return rater.step
    with study.engine.begin() as connection:
        connection.execute(
            update(raters)
            .where(raters.c.id == rater.id, raters.c.step == "comment")
            .values(
                comment=comment.replace("\x00", "")[:MAX_COMMENT] or None,
                age_band=age_band if age_band in AGE_BANDS else None,
                driving_band=driving_band if driving_band in DRIVING_BANDS else None,
                completion_code=new_code(10),
                completed_utc=utc_now(),
                last_seen_utc=utc_now(),
                step="done",
            )
        )
        seal_rater(connection, study.key, rater.id)
    return "done"


def withdraw(study: Study, rater: Rater) -> None:
    """Delete the rater with everything that belongs to him: answers, order, external id.

    The rows are gone then; :func:`giveway.study.forgetting.forget_deleted` removes their bytes from the files.
    """
    with study.engine.begin() as connection:
        for table in (external_ids, answers, assignments):
            connection.execute(delete(table).where(table.c.rater_id == rater.id))
        connection.execute(delete(raters).where(raters.c.id == rater.id))


def _go(connection: Connection, study: Study, rater: Rater, step: Step) -> bool:
    """Move on, unless another tab already did."""
    moved = connection.execute(
        update(raters)
        .where(raters.c.id == rater.id, raters.c.step == rater.step)
        .values(step=step, last_seen_utc=utc_now())
    )
    seal_rater(connection, study.key, rater.id)
    return moved.rowcount == 1
