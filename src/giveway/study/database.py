"""Opening a study's database: safe settings for SQLite, PostgreSQL by URL, migrations on the way."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from giveway.core.errors import MissingDependencyError, StoreError
from giveway.study.integrity import check_sqlite

try:
    from alembic import command
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from alembic.util.exc import CommandError
    from sqlalchemy import Connection, Engine, create_engine, event, make_url
    from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
    from sqlalchemy.pool import ConnectionPoolEntry
except ImportError as error:  # pragma: no cover - exercised in an environment without the extra
    raise MissingDependencyError(error.name or "sqlalchemy", extra="study", purpose="the study database") from error

DATABASE_FILE = "study.sqlite"
BUSY_TIMEOUT_MS = 15_000
MIGRATIONS = Path(__file__).parent / "migrations"


def database_url(folder: Path, url: str | None) -> str:
    """The given URL, or SQLite inside the study folder."""
    return url or f"sqlite:///{(folder / DATABASE_FILE).absolute()}"


def open_database(url: str, *, pool_size: int = 8) -> Engine:
    """Connect and bring the tables up to date.

    SQLite runs in WAL mode with ``synchronous=FULL``: a committed answer is on the disk before it is acknowledged.

    Args:
        url: SQLAlchemy URL; ``postgresql://`` uses psycopg.
        pool_size: connections kept open to PostgreSQL.

    Raises:
        StoreError: if the server cannot be reached, the file is damaged, or a newer version wrote it.
        MissingDependencyError: without the driver.
    """
    try:
        parsed = make_url(url)
        if parsed.drivername in ("postgresql", "postgres"):
            parsed = parsed.set(drivername="postgresql+psycopg")
        shown = parsed.render_as_string(hide_password=True)
        options: dict[str, Any] = {}
        if parsed.get_backend_name() == "postgresql":
            options = {"pool_size": pool_size, "max_overflow": pool_size, "pool_pre_ping": True}
        engine = create_engine(parsed, **options)
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise StoreError(
            "the database URL is not understood", found=error, hint="for example postgresql://user@host/name"
        ) from None
    except ModuleNotFoundError as error:
        raise MissingDependencyError(error.name or "psycopg", extra="postgres", purpose="this database") from None
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_immediate)
    try:
        if engine.dialect.name == "sqlite":
            with engine.connect() as connection:
                check_sqlite(connection.connection, shown)
        _migrate(engine, shown)
    except (DBAPIError, UnicodeDecodeError) as error:  # the second: SQLite quotes what it cannot read
        reason = getattr(error, "orig", None) or error
        raise StoreError(
            "the study database cannot be used",
            where=shown,
            found=str(reason).strip().splitlines()[0],
            hint="check that the server runs, the disk is not full, and the file is readable and not damaged",
        ) from error
    return engine


def _configure_sqlite(connection: Any, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # transactions are ours; the driver would begin them too late
    cursor: sqlite3.Cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA secure_delete=ON")  # who withdraws is gone from the file, too
    cursor.close()


def _begin_immediate(connection: Any) -> None:
    # A read transaction that later wants to write would fail at once instead of waiting its turn.
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get("read_only") else "BEGIN IMMEDIATE")


def _migrate(engine: Engine, shown: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    script = ScriptDirectory.from_config(config)
    with engine.connect() as connection, _foreign_keys_off(connection), connection.begin():
        current = MigrationContext.configure(connection).get_current_revision()
        if current == script.get_current_head():
            return
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise StoreError(
                "this database was written by a newer version of giveway",
                where=shown,
                found=error,
                hint="pip install --upgrade giveway",
            ) from None


@contextmanager
def _foreign_keys_off(connection: Connection) -> Generator[None]:
    """On SQLite, where a changed table is a new one: dropping the old one must not delete what refers to it.

    Only possible outside a transaction, hence not by a migration itself.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()
