"""Saving answers: many at once, acknowledged one by one, only when they are on the disk.

A commit that waits for the disk takes milliseconds. One thread therefore takes whatever answers are waiting,
writes them in one transaction and tells each of them its outcome after the commit ("group commit"). Commits start at
least 20 ms apart: under light load a batch holds one answer, which waits for nothing; under heavy load the batch grows
and the number of commits does not.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Engine, TextClause, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from giveway.study.integrity import MAC, row_mac
from giveway.study.secrets import StudyKey
from giveway.study.tables import answers as answer_table

MAX_BATCH = 256
MAX_WAITING = 20_000
COMMIT_EVERY_S = 0.02


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


FIELDS = tuple(Answer.__dataclass_fields__)
COLUMNS = (*FIELDS, MAC)
_TYPES = {"id": "VARCHAR(36)", "ts_utc": "VARCHAR(32)", "app_version": "VARCHAR(32)", MAC: "VARCHAR(16)"}
_EXISTING = text("SELECT id FROM answers WHERE rater_id = :rater_id AND position = :position")
_STATE = text("SELECT state FROM studies")


@lru_cache(maxsize=MAX_BATCH)
def _insertion(count: int) -> TextClause:
    """One statement for a whole batch: inserts what may be inserted and returns the ids of exactly that."""
    first = ", ".join(f"CAST(:{name}_0 AS {_TYPES.get(name, 'INTEGER')})" for name in COLUMNS)
    others = "".join(f", ({', '.join(f':{name}_{n}' for name in COLUMNS)})" for n in range(1, count))
    given = ", ".join(f"given.{name}" for name in COLUMNS)
    return text(
        f"WITH given ({', '.join(COLUMNS)}) AS (VALUES ({first}){others}) "
        f"INSERT INTO answers ({', '.join(COLUMNS)}) SELECT {given} FROM given "
        "JOIN assignments ON assignments.rater_id = given.rater_id AND assignments.position = given.position "
        "WHERE (assignments.kind <> 'clip' OR given.plays >= :min_plays) AND (SELECT state FROM studies) = 'open' "
        "ON CONFLICT DO NOTHING RETURNING id"
    )


def write_answers(
    connection: Connection, answers: Sequence[Answer], key: StudyKey, *, min_plays: int = 1
) -> list[Outcome]:
    """Insert answers inside the caller's transaction, each with its code; an outcome counts only after its commit.

    Args:
        connection: in a transaction.
        answers: what came in.
        key: of the study.
        min_plays: full playbacks of a clip without which its answer is refused; 0 in the printed form.
    """
    values: dict[str, Any] = {"min_plays": min_plays}
    for n, one in enumerate(answers):
        row = {name: getattr(one, name) for name in FIELDS}
        values |= {f"{name}_{n}": value for name, value in row.items()}
        values[f"{MAC}_{n}"] = row_mac(key, answer_table, row)
    saved = set(connection.execute(_insertion(len(answers)), values).scalars())
    outcomes: list[Outcome] = []
    for answer in answers:
        if answer.id in saved:
            saved.remove(answer.id)  # the same answer a second time in one batch is a duplicate
            outcomes.append(Outcome.SAVED)
        else:
            outcomes.append(_why_not(connection, answer))
    return outcomes


def _why_not(connection: Connection, answer: Answer) -> Outcome:
    if connection.execute(_STATE).scalar_one() != "open":
        return Outcome.CLOSED
    place = {"rater_id": answer.rater_id, "position": answer.position}
    existing = connection.execute(_EXISTING, place).scalar_one_or_none()
    if existing is None:
        return Outcome.REFUSED
    return Outcome.DUPLICATE if existing == answer.id else Outcome.CONFLICT


_Entry = tuple[Answer, Future[Outcome]]


class AnswerWriter:
    """A thread that saves answers in batches.

    Args:
        engine: database.
        key: of the study.
        min_plays: see :func:`write_answers`.
    """

    def __init__(self, engine: Engine, key: StudyKey, *, min_plays: int = 1) -> None:
        self._engine, self._key = engine, key
        self._min_plays = min_plays
        self._waiting: queue.Queue[_Entry | None] = queue.Queue(MAX_WAITING)
        self._connection: Connection | None = None
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
        if self._connection is not None:
            self._connection.close()

    def _run(self) -> None:
        running = True
        due_s = 0.0
        while running:
            batch = [self._waiting.get()]
            if (early_s := due_s - time.monotonic()) > 0:
                time.sleep(early_s)
            due_s = time.monotonic() + COMMIT_EVERY_S
            while len(batch) < MAX_BATCH and not self._waiting.empty():
                batch.append(self._waiting.get())
            running = None not in batch
            entries = [entry for entry in batch if entry is not None]
            if entries:
                self._commit(entries)

    def _commit(self, entries: list[_Entry]) -> None:
        try:
            outcomes = self._write([answer for answer, _ in entries])
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

    def _write(self, answers: list[Answer]) -> list[Outcome]:
        if self._engine.dialect.name == "sqlite":
            with self._engine.begin() as connection:
                return write_answers(connection, answers, self._key, min_plays=self._min_plays)
        try:
            return self._write_at_once(answers)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            return self._write_at_once(answers)  # the server was restarted; writing twice stores once

    def _write_at_once(self, answers: list[Answer]) -> list[Outcome]:
        """A batch is one statement, so it needs no transaction around it: one way to the server and back."""
        if self._connection is None:
            self._connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            with self._connection.begin():
                return write_answers(self._connection, answers, self._key, min_plays=self._min_plays)
        except DBAPIError as error:
            if error.connection_invalidated:
                self._connection.close()
                self._connection = None
            raise
