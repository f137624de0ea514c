"""Making sure that what was deleted is gone from the files, too.

SQLite, in WAL mode: the log keeps the old pages until it is truncated, and ``secure_delete`` does not reach bytes that
stay behind when rows move from page to page (4 of 1 620 simulated withdrawals left the id of an answer). So the file is
rebuilt without free space (``VACUUM``) and the log truncated. PostgreSQL: the tables are rewritten (``VACUUM FULL``);
its write-ahead log keeps the old bytes until the segments are recycled, and backups until they are thrown away.

Neither can take back copies that a file system, a disk or a backup made.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from typing import Any

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from giveway.study.database import BUSY_TIMEOUT_MS
from giveway.study.tables import answers, assignments, external_ids, raters

log = logging.getLogger("giveway.serve.web")
WAIT_MS = 2_000
RETRY_S = 2.0
RETRY_WAIT_MS = 500
"""Short, since answers wait for an attempt to end."""
TABLES = (raters, external_ids, answers, assignments)


def forget_deleted(engine: Engine, *, wait_ms: int = WAIT_MS) -> bool:
    """Remove the bytes of deleted rows from the database's own files.

    Args:
        engine: the study's database; no transaction of the caller may be open.
        wait_ms: how long to wait for other readers and writers.

    Returns:
        Whether it is done; False if somebody kept the database busy or the disk is full. Trying again is harmless.
    """
    if engine.dialect.name == "sqlite":
        return _forget_in_sqlite(engine, wait_ms)
    return _forget_in_postgres(engine, wait_ms)


def _forget_in_sqlite(engine: Engine, wait_ms: int) -> bool:
    connection: Any = engine.raw_connection()  # outside a transaction, which VACUUM needs
    try:
        cursor: sqlite3.Cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={wait_ms}")
        try:
            cursor.execute("VACUUM")
            busy, _, _ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
            cursor.close()
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return busy == 0


def _forget_in_postgres(engine: Engine, wait_ms: int) -> bool:
    names = ", ".join(table.name for table in TABLES)
    try:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(f"SET lock_timeout = {wait_ms}"))
            try:
                connection.execute(text(f"VACUUM (FULL) {names}"))
            finally:
                connection.execute(text("RESET lock_timeout"))
    except SQLAlchemyError:
        return False
    return True


class Forgetter:
    """Forgets at once where it can, else in the background until it is done.

    Args:
        engine: database.
        retry_s: time between two attempts.
    """

    def __init__(self, engine: Engine, *, retry_s: float = RETRY_S) -> None:
        self._engine = engine
        self._retry_s = retry_s
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def forget(self) -> bool:
        """Whether what was deleted is gone now; if not, attempts go on by themselves."""
        if forget_deleted(self._engine):
            return True
        log.warning("the database is busy; what was deleted is removed from its files later")
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="forgetting", daemon=True)
                self._thread.start()
        return False

    def close(self) -> None:
        """Stop; if something is left to do, try once more."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(self._retry_s):
            if forget_deleted(self._engine, wait_ms=RETRY_WAIT_MS):
                return
        forget_deleted(self._engine)
