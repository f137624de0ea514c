"""Facts about a database that hold for good, such as that its raters were simulated.

A fact is set once and never changed or removed; the database itself refuses.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

SQLITE = """
create trigger meta_no_{event} before {event} on meta
begin select raise(abort, 'a fact about this database cannot be changed'); end
"""
POSTGRES = (
    """
create function meta_is_final() returns trigger language plpgsql as
$$ begin raise exception 'a fact about this database cannot be changed'; end $$
""",
    "create trigger meta_no_change before update or delete on meta for each row execute function meta_is_final()",
    "create trigger meta_no_truncate before truncate on meta for each statement execute function meta_is_final()",
)


def upgrade() -> None:
    """A table that only grows."""
    op.create_table(
        "meta",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("value", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_meta"),
    )
    if op.get_bind().dialect.name == "sqlite":
        for event in ("update", "delete"):
            op.execute(SQLITE.format(event=event))
    else:
        for statement in POSTGRES:
            op.execute(statement)
