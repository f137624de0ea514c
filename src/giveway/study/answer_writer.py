"""Saving answers: many at once, acknowledged one by one, only when they are on the disk.

A commit that waits for the disk takes milliseconds. One thread therefore takes whatever answers are waiting,
writes them in one transaction and tells each of them its outcome after the commit ("group commit"). Under light load
a batch holds one answer; under heavy load the batch grows and the number of commits does not.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

MAX_BATCH = 256
MAX_WAITING = 20_000


class Outcome(StrEnum):
    """What became of an answer."""

    SAVED = "saved"
    DUPLICATE = "duplicate"
    """The same answer (same id) had been saved before."""
    CONFLICT = "conflict"
    """Another answer had been saved for this place; that one stays."""
    REFUSED = "refused"
    """No such place in this rater's order, or the clip was not played."""
    CLOSED = "closed"
    """The study does not take answers now."""


class NotSavedError(Exception):
    """The database could not take the answer (disk full, server away); nothing was saved, sending again is safe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer as it is stored; see :data:`giveway.study.tables.answers`."""

    id: str
    rater_id: int
    position: int
    rating: int
    rt_ms: int
    plays: int
    played_ms: int
    visible_ms: int
    ts_utc: str
    app_version: str


COLUMNS = tuple(Answer.__dataclass_fields__)
_INSERT = text(
    f"INSERT INTO answers ({', '.join(COLUMNS)}) "
    "SELECT :id, rater_id, position, :rating, :rt_ms, :plays, :played_ms, :visible_ms, :ts_utc, :app_version "
    "FROM assignments WHERE rater_id = :rater_id AND position = :position AND (kind <> 'clip' OR :plays >= 1) "
    "ON CONFLICT DO NOTHING"
)
_EXISTING = text("SELECT id, rater_id, position FROM answers WHERE rater_id = :rater_id AND position = :position")
_STATE = text("SELECT state FROM studies")


def write_answers(connection: Connection, answers: Sequence[Answer]) -> list[Outcome]:
    """Insert answers inside the caller's transaction; an outcome counts only after its commit."""
    if connection.execute(_STATE).scalar_one() != "open":
        return [Outcome.CLOSED] * len(answers)
    return [_write(connection, answer) for answer in answers]


def _write(connection: Connection, answer: Answer) -> Outcome:
    values = {name: getattr(answer, name) for name in COLUMNS}
    if connection.execute(_INSERT, values).rowcount == 1:
        return Outcome.SAVED
    place = {"rater_id": answer.rater_id, "position": answer.position}
    existing = connection.execute(_EXISTING, place).first()
    if existing is None:
        return Outcome.REFUSED
    return Outcome.DUPLICATE if existing.id == answer.id else Outcome.CONFLICT


class AnswerWriter:
    """A thread that saves answers in batches.

    Args:
        engine: database.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: queue.Queue[tuple[Answer, Future[Outcome]] | None] = queue.Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._run, name="answers", daemon=True)
        self._thread.start()

    def save(self, answer: Answer) -> Future[Outcome]:
        """Queue an answer; the future is set after the commit, or fails with :class:`NotSavedError`."""
        future: Future[Outcome] = Future()
        try:
            self._waiting.put_nowait((answer, future))
        except queue.Full:
            future.set_exception(NotSavedError("too many answers are waiting"))
        return future

    def close(self) -> None:
        """Save what is waiting and stop."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        running = True
        while running:
            batch = [self._waiting.get()]
            while len(batch) < MAX_BATCH and not self._waiting.empty():
                batch.append(self._waiting.get())
            running = None not in batch
            entries = [entry for entry in batch if entry is not None]
            if entries:
                self._commit(entries)

    def _commit(self, entries: list[tuple[Answer, Future[Outcome]]]) -> None:
        try:
            with self._engine.begin() as connection:
                outcomes = write_answers(connection, [answer for answer, _ in entries])
        except SQLAlchemyError as error:
            if len(entries) > 1 and isinstance(error, DBAPIError) and not error.connection_invalidated:
                for entry in entries:  # one impossible answer must not take the others with it
                    self._commit([entry])
                return
            for _, future in entries:
                future.set_exception(NotSavedError(str(error.__cause__ or error)))
            return
        for (_, future), outcome in zip(entries, outcomes, strict=True):
            future.set_result(outcome)
