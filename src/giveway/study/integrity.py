"""Rows of a study's database that were not written by this program are noticed.

Every row of ``studies``, ``raters``, ``assignments`` and ``answers`` carries 8 bytes of HMAC-SHA256 over its fields,
made with a key derived from that of the study. They are compared when a study is opened and before it is exported or
analyzed. Rows of a database of release 0.1 are sealed when it is first opened; from then on a row without a code is
damaged.
"""

from __future__ import annotations

import hmac
import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Engine, Table, bindparam, select, update
from sqlalchemy.exc import DBAPIError

from giveway.core.errors import StoreError
from giveway.study.secrets import StudyKey
from giveway.study.tables import answers, assignments, raters, studies

MAC = "mac"
MAC_BYTES = 8
SEALED = (studies, raters, assignments, answers)
UNSEALED_COLUMNS = {"raters": {"last_seen_utc"}, "studies": {"state"}}
"""What changes often and is in no result."""

HINT = (
    "restore a copy of the database, or go on with the last export; if GIVEWAY_STUDY_KEY or secret.key was changed, "
    "give the key that the study was started with"
)


def row_mac(key: StudyKey, table: Table, row: Mapping[Any, Any]) -> str:
    """Code of a row: 16 hexadecimal digits over the table's name and all fields that enter results."""
    left_out = {MAC, *UNSEALED_COLUMNS.get(table.name, ())}
    values = [row.get(column.name) for column in table.columns if column.name not in left_out]
    message = json.dumps([table.name, *values], default=repr).encode()
    return hmac.digest(key.derive("rows"), message, "sha256")[:MAC_BYTES].hex()


def seal_rater(connection: Connection, key: StudyKey, rater_id: int) -> None:
    """Seal the row of a rater as it is now; inside the transaction that changed it."""
    row = connection.execute(select(raters).where(raters.c.id == rater_id)).mappings().first()
    if row is not None:
        connection.execute(update(raters).where(raters.c.id == rater_id).values(mac=row_mac(key, raters, row)))


def seal_old_rows(engine: Engine, key: StudyKey) -> None:
    """Seal everything in a database of release 0.1; does nothing if the study's own row is sealed."""
    with engine.begin() as connection:
        rows = connection.execute(select(studies).with_for_update()).mappings().all()
        if not rows or any(row[MAC] is not None for row in rows):
            return
        for table in reversed(SEALED):
            _seal_table(connection, key, table)


def _seal_table(connection: Connection, key: StudyKey, table: Table) -> None:
    names = [column.name for column in table.primary_key.columns]
    statement = update(table).values(mac=bindparam("new_mac"))
    for name in names:
        statement = statement.where(table.c[name] == bindparam(f"old_{name}"))
    given = [
        {"new_mac": row_mac(key, table, row), **{f"old_{name}": row[name] for name in names}}
        for row in connection.execute(select(table)).mappings()
    ]
    if given:
        connection.execute(statement, given)


def check_rows(engine: Engine, key: StudyKey) -> None:
    """Compare every row with its code.

    Raises:
        StoreError: naming the tables and how many rows are not what was written.
    """
    where = engine.url.render_as_string(hide_password=True)
    try:
        with engine.connect() as connection:
            wrong = {table.name: _count_wrong(connection, key, table) for table in SEALED}
    except DBAPIError as error:
        raise StoreError("the study database is damaged", where=where, found=error.orig or error, hint=HINT) from error
    if any(wrong.values()):
        found = ", ".join(f"{count} in {name}" for name, count in wrong.items() if count)
        raise StoreError(
            "the study database is damaged", where=where, found=f"rows that were not written here: {found}", hint=HINT
        )


def _count_wrong(connection: Connection, key: StudyKey, table: Table) -> int:
    rows = connection.execute(select(table)).mappings()
    return sum(not hmac.compare_digest(str(row[MAC]), row_mac(key, table, row)) for row in rows)


def check_sqlite(connection: Any, where: str) -> None:
    """Let SQLite look through its file, indexes included: a join goes by them, and a damaged one loses rows silently.

    Raises:
        StoreError: naming the first thing it complains about.
    """
    cursor = connection.cursor()
    try:
        found = [str(row[0]) for row in cursor.execute("PRAGMA integrity_check(1)").fetchall()]
        orphans = cursor.execute("PRAGMA foreign_key_check").fetchmany(1)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise StoreError("the study database is damaged", where=where, found=error, hint=HINT) from error
    finally:
        cursor.close()
    if found != ["ok"] or orphans:
        reason = found[0] if found != ["ok"] else f"a row of {orphans[0][0]} refers to nothing"
        raise StoreError("the study database is damaged", where=where, found=reason, hint=HINT)
