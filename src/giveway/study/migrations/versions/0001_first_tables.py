"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create everything."""
    op.create_table(
        "studies",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("design_fingerprint", sa.String(16), nullable=False),
        sa.Column("created_utc", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
        sa.CheckConstraint("state in ('open', 'paused', 'closed')", name="ck_studies_state"),
    )
    op.create_table(
        "invites",
        sa.Column("code", sa.String(32), nullable=False),
        sa.Column("label", sa.String(100), nullable=False),
        sa.Column("quota", sa.Integer, nullable=False),
        sa.Column("used", sa.Integer, nullable=False),
        sa.Column("created_utc", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("code", name="pk_invites"),
        sa.CheckConstraint("used >= 0 and used <= quota", name="ck_invites_quota"),
    )
    op.create_table(
        "raters",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("code", sa.String(16), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("slot", sa.Integer, nullable=True),
        sa.Column("step", sa.String(16), nullable=False),
        sa.Column("invite", sa.String(32), nullable=True),
        sa.Column("consent_version", sa.String(400), nullable=False),
        sa.Column("consent_utc", sa.String(32), nullable=False),
        sa.Column("language", sa.String(8), nullable=False),
        sa.Column("playback_ok", sa.Boolean, nullable=True),
        sa.Column("age_band", sa.String(16), nullable=True),
        sa.Column("driving_band", sa.String(16), nullable=True),
        sa.Column("comment", sa.Text, nullable=True),
        sa.Column("completion_code", sa.String(16), nullable=True),
        sa.Column("completed_utc", sa.String(32), nullable=True),
        sa.Column("last_seen_utc", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_raters"),
        sa.UniqueConstraint("code", name="uq_raters_code"),
        sa.UniqueConstraint("token_hash", name="uq_raters_token_hash"),
        sa.UniqueConstraint("slot", name="uq_raters_slot"),
        sa.ForeignKeyConstraint(["invite"], ["invites.code"], name="fk_raters_invite"),
    )
    op.create_index("ix_raters_step", "raters", ["step"])
    op.create_table(
        "assignments",
        sa.Column("rater_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("item", sa.String(64), nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("expected", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("rater_id", "position", name="pk_assignments"),
        sa.UniqueConstraint("rater_id", "item", "repeat", name="uq_assignments_rater_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["raters.id"], name="fk_assignments_rater_id", ondelete="CASCADE"),
    )
    op.create_table(
        "answers",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("rater_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("rating", sa.Integer, nullable=False),
        sa.Column("rt_ms", sa.Integer, nullable=False),
        sa.Column("plays", sa.Integer, nullable=False),
        sa.Column("played_ms", sa.Integer, nullable=False),
        sa.Column("visible_ms", sa.Integer, nullable=False),
        sa.Column("ts_utc", sa.String(32), nullable=False),
        sa.Column("app_version", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_answers"),
        sa.UniqueConstraint("rater_id", "position", name="uq_answers_rater_id"),
        sa.ForeignKeyConstraint(
            ["rater_id", "position"],
            ["assignments.rater_id", "assignments.position"],
            name="fk_answers_rater_id",
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("rating >= 1 and rating <= 11", name="ck_answers_rating"),
        sa.CheckConstraint("rt_ms >= 0 and plays >= 0 and played_ms >= 0 and visible_ms >= 0", name="ck_answers_times"),
    )
    op.create_table(
        "external_ids",
        sa.Column("rater_id", sa.Integer, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("rater_id", name="pk_external_ids"),
        sa.ForeignKeyConstraint(["rater_id"], ["raters.id"], name="fk_external_ids_rater_id", ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Remove everything."""
    for name in ("external_ids", "answers", "assignments", "raters", "invites", "studies"):
        op.drop_table(name)
