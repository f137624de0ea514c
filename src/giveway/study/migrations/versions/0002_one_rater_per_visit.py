"""Ids of raters are never given again, and one visit makes one rater.

SQLite gives the id of a deleted newest row to the next one unless the table says ``AUTOINCREMENT``, which only a new
table can; the caller switches foreign keys off meanwhile, since dropping the old one would delete all answers. There is
no way back: an older program would not know whom a visit belongs to.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Rebuild the table on SQLite, add a column elsewhere."""
    recreate = "always" if op.get_bind().dialect.name == "sqlite" else "never"
    with op.batch_alter_table("raters", recreate=recreate, table_kwargs={"sqlite_autoincrement": True}) as raters:
        raters.add_column(sa.Column("visit_hash", sa.String(64), nullable=True))
        raters.create_unique_constraint("uq_raters_visit_hash", ["visit_hash"])
