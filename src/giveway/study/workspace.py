"""An opened study: folder, declaration, clips, database and key in one value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, cast

from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from giveway.core.errors import StoreError, UnknownNameError
from giveway.study.database import database_url, open_database
from giveway.study.design import STUDY_FILE, StudyDesign, read_design
from giveway.study.integrity import check_rows, row_mac, seal_old_rows
from giveway.study.manifest import Clip, read_manifest
from giveway.study.orders import OrderPlan, Stimulus
from giveway.study.secrets import StudyKey, load_key
from giveway.study.tables import studies
from giveway.study.texts import Texts, load_texts

StudyState = Literal["open", "paused", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Everything that serving, exporting and analyzing need.

    Attributes:
        folder: study folder.
        design: declaration.
        clips: all clips, in the order of the manifest.
        engine: database.
        key: root key.
        texts: what raters read.
    """

    folder: Path
    design: StudyDesign
    clips: tuple[Clip, ...]
    engine: Engine
    key: StudyKey
    texts: Texts

    @property
    def reader(self) -> Engine:
        """The same database for reading single statements: nobody waits for a writer, or for a transaction to end."""
        if self.engine.dialect.name == "sqlite":
            return self.engine.execution_options(read_only=True)
        return self.engine.execution_options(isolation_level="AUTOCOMMIT")

    @property
    def stimuli(self) -> list[Stimulus]:
        """Main clips as the order sees them."""
        return [clip.stimulus for clip in self.clips if clip.role == "main"]

    @property
    def practice(self) -> list[Clip]:
        """Practice clips, at most as many as declared."""
        return [clip for clip in self.clips if clip.role == "practice"][: self.design.order.practice_clips]

    @property
    def recorded(self) -> str | None:
        """Condition that is declared to be recorded traffic."""
        return self.design.recorded or None

    @property
    def reference(self) -> str | None:
        """Condition which the others are compared with, if one is declared."""
        return self.design.reference or self.recorded

    @property
    def origins(self) -> dict[str, list[str]]:
        """Condition to the origins of its rated vehicles, main clips only."""
        found: dict[str, list[str]] = {}
        for clip in self.clips:
            if clip.role == "main" and clip.origin not in found.setdefault(clip.condition, []):
                found[clip.condition].append(str(clip.origin))
        return found

    @property
    def plan(self) -> OrderPlan:
        """Order rules."""
        return self.design.plan

    def by_id(self) -> dict[str, Clip]:
        """Clips by id."""
        return {clip.clip: clip for clip in self.clips}


def open_study(folder: Path, *, url: str | None = None) -> Study:
    """Read declaration and clips, open the database, note the study in it on first use.

    Raises:
        ConfigError, StoreError: if a part is missing or damaged, or the database belongs to another study.
        UnknownNameError: if the condition declared as recorded has no clips.
    """
    design, clips = read_design(folder), tuple(read_manifest(folder))
    conditions = {clip.condition for clip in clips}
    for key, name in (("recorded", design.recorded), ("reference", design.reference)):
        if isinstance(name, str) and name not in conditions:
            raise UnknownNameError("condition", name, conditions, where=f"{folder / STUDY_FILE}, {key}")
    study = Study(
        folder=folder,
        design=design,
        clips=clips,
        engine=open_database(database_url(folder, url)),
        key=load_key(folder),
        texts=load_texts(folder, design.language),
    )
    _register(study)
    seal_old_rows(study.engine, study.key)
    check_rows(study.reader, study.key)
    return study


def _register(study: Study) -> None:
    with study.reader.connect() as connection:
        known = connection.execute(select(studies.c.id)).scalars().all()
    if not known:
        try:
            row = {
                "id": study.design.id,
                "state": "open",
                "design_fingerprint": study.design.fingerprint,
                "created_utc": utc_now(),
            }
            with study.engine.begin() as connection:
                connection.execute(insert(studies).values(**row, mac=row_mac(study.key, studies, row)))
        except IntegrityError:
            pass  # another process was faster
    elif study.design.id not in known:
        raise StoreError(
            "this database belongs to another study",
            where=study.engine.url.render_as_string(hide_password=True),
            found=f"study {known[0]!r}, expected {study.design.id!r}",
            hint="give another --database",
        )


def study_state(study: Study) -> StudyState:
    """Whether the study takes raters and answers."""
    with study.reader.connect() as connection:
        return cast(StudyState, connection.execute(select(studies.c.state)).scalar_one())


def set_study_state(study: Study, state: StudyState) -> None:
    """Open, pause or close."""
    with study.engine.begin() as connection:
        connection.execute(update(studies).values(state=state))


def declared_fingerprint(study: Study) -> str:
    """Fingerprint of the declaration when the study was opened for the first time."""
    with study.reader.connect() as connection:
        return connection.execute(select(studies.c.design_fingerprint)).scalar_one()


def utc_now() -> str:
    """Now, in UTC, to the millisecond: ``2026-01-31T12:00:00.000Z``."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
