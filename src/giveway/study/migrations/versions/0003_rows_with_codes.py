"""Every row that enters results carries a code over its fields.

Codes need the key of the study, which a migration does not have: rows are sealed when the study is opened, see
:mod:`giveway.study.integrity`.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
TABLES = ("studies", "raters", "assignments", "answers")


def upgrade() -> None:
    """Add the columns, empty."""
    for table in TABLES:
        op.add_column(table, sa.Column("mac", sa.String(16), nullable=True))


def downgrade() -> None:
    """Remove them."""
    for table in TABLES:
        with op.batch_alter_table(table) as changed:
            changed.drop_column("mac")
