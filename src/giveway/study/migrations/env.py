"""Runs migrations on the connection that :func:`giveway.study.database.open_database` hands over."""

from alembic import context

from giveway.study.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
