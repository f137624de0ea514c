"""Whether the raters of a database were simulated: marked for good, and never mixed with people."""

from __future__ import annotations

from sqlalchemy import func, insert, select

from giveway.core.errors import StoreError
from giveway.study.tables import answers, meta, raters
from giveway.study.workspace import Study

NAME, YES = "simulated", "true"
PREFIX = "simulated "
"""Simulated answers say so in place of the version of the program that took them."""

BANNER = "Simulated raters: these answers were drawn by a program and say nothing about anybody's opinion."


def mark_simulated(study: Study) -> None:
    """Mark a database whose raters will be simulated; this cannot be undone.

    Raises:
        StoreError: if somebody has joined already.
    """
    with study.engine.begin() as connection:
        if connection.execute(select(func.count()).select_from(raters)).scalar_one():
            raise StoreError(
                "simulated raters cannot be added to people",
                where=study.folder,
                hint="rehearse a copy of the study",
            )
        if connection.execute(select(meta.c.value).where(meta.c.name == NAME)).scalar() is None:
            connection.execute(insert(meta).values(name=NAME, value=YES))


def is_marked(study: Study) -> bool:
    """Whether the database is marked as one of simulated raters."""
    with study.reader.connect() as connection:
        return connection.execute(select(meta.c.value).where(meta.c.name == NAME)).scalar() == YES


def is_simulated(study: Study) -> bool:
    """Whether all raters are simulated; databases of earlier rehearsals are known by their answers.

    Raises:
        StoreError: answers of people and of simulated raters in one database.
    """
    simulated = answers.c.app_version.startswith(PREFIX, autoescape=True)
    marked = is_marked(study)
    with study.reader.connect() as connection:
        drawn = connection.execute(select(func.count()).select_from(answers).where(simulated)).scalar_one()
        given = connection.execute(select(func.count()).select_from(answers).where(~simulated)).scalar_one()
    if given and (marked or drawn):
        raise StoreError(
            "answers of people and of simulated raters are mixed in one database",
            where=study.folder,
            found=f"{given} of people, {drawn} simulated",
            hint="no table is made of both; collect in a study that was never rehearsed in place",
        )
    return marked or drawn > 0
