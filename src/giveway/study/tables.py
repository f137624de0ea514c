"""Tables of a study's database; the same on SQLite and PostgreSQL.

What a rater answered and who the rater is for the recruiting platform are kept apart: ``external_ids`` holds one
encrypted value per rater, nothing else refers to it, and it can be emptied after payment. No table holds a name, an
e-mail address, an IP address or a browser's description of itself. ``mac`` is a code over the fields of a row; see
:mod:`giveway.study.integrity`.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

studies = Table(
    "studies",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("state", String(8), nullable=False),
    Column("design_fingerprint", String(16), nullable=False),
    Column("created_utc", String(32), nullable=False),
    Column("mac", String(16), nullable=True),
    CheckConstraint("state in ('open', 'paused', 'closed')", name="state"),
)
"""One row: the study this database belongs to and whether it takes answers."""

invites = Table(
    "invites",
    metadata,
    Column("code", String(32), primary_key=True),
    Column("label", String(100), nullable=False),
    Column("quota", Integer, nullable=False),
    Column("used", Integer, nullable=False),
    Column("created_utc", String(32), nullable=False),
    CheckConstraint("used >= 0 and used <= quota", name="quota"),
)
"""Invite links; the database itself refuses one more rater than the quota."""

raters = Table(
    "raters",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("code", String(16), nullable=False, unique=True),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("slot", Integer, nullable=True, unique=True),
    Column("step", String(16), nullable=False),
    Column("invite", String(32), ForeignKey("invites.code"), nullable=True),
    Column("consent_version", String(400), nullable=False),
    Column("consent_utc", String(32), nullable=False),
    Column("language", String(8), nullable=False),
    Column("playback_ok", Boolean, nullable=True),
    Column("age_band", String(16), nullable=True),
    Column("driving_band", String(16), nullable=True),
    Column("comment", Text, nullable=True),
    Column("completion_code", String(16), nullable=True),
    Column("completed_utc", String(32), nullable=True),
    Column("last_seen_utc", String(32), nullable=False),
    Column("visit_hash", String(64), nullable=True, unique=True),
    Column("mac", String(16), nullable=True),
    sqlite_autoincrement=True,
)
"""One row per person who consented; an id is never given again, not even after its rater withdrew.

Of the resume token and of the visit on which somebody consented only hashes are kept.
"""

assignments = Table(
    "assignments",
    metadata,
    Column("rater_id", Integer, ForeignKey("raters.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("kind", String(8), nullable=False),
    Column("item", String(64), nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("expected", Integer, nullable=False),
    Column("mac", String(16), nullable=True),
    UniqueConstraint("rater_id", "item", "repeat"),
)
"""The stored order of every rater."""

answers = Table(
    "answers",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("rater_id", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("rating", Integer, nullable=False),
    Column("rt_ms", Integer, nullable=False),
    Column("plays", Integer, nullable=False),
    Column("played_ms", Integer, nullable=False),
    Column("visible_ms", Integer, nullable=False),
    Column("ts_utc", String(32), nullable=False),
    Column("app_version", String(32), nullable=False),
    Column("mac", String(16), nullable=True),
    UniqueConstraint("rater_id", "position"),
    ForeignKeyConstraint(
        ["rater_id", "position"], ["assignments.rater_id", "assignments.position"], ondelete="CASCADE"
    ),
    CheckConstraint("rating >= 1 and rating <= 11", name="rating"),
    CheckConstraint("rt_ms >= 0 and plays >= 0 and played_ms >= 0 and visible_ms >= 0", name="times"),
)
"""One row per answer. The client makes the id, so sending twice is harmless; a place in the order takes one answer."""

external_ids = Table(
    "external_ids",
    metadata,
    Column("rater_id", Integer, ForeignKey("raters.id", ondelete="CASCADE"), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
)
"""Encrypted identifiers of the recruiting platform; see :mod:`giveway.study.secrets`."""

meta = Table(
    "meta",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", String(64), nullable=False),
)
"""Facts that hold for good; triggers refuse to change or remove one."""

Index("ix_raters_step", raters.c.step)
