"""Storage and participation, on SQLite and on a real PostgreSQL server."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, delete, func, insert, make_url, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from giveway.core.errors import StoreError
from giveway.study.answer_writer import Answer, AnswerWriter, NotSavedError, Outcome, write_answers
from giveway.study.database import MIGRATIONS, open_database
from giveway.study.monitor import create_invite, delete_external_ids, list_invites, overview, payments
from giveway.study.participation import (
    JoinRefusedError,
    assigned_items,
    find_rater,
    finish,
    finish_rating,
    join,
    record_eligibility,
    record_playback,
    start_rating,
    withdraw,
)
from giveway.study.rehearsal import answer_all, enroll
from giveway.study.tables import answers, assignments, external_ids, meta, metadata, raters
from giveway.study.workspace import Study, open_study, set_study_state, study_state
from support.postgres import PostgresUnavailableError, temporary_postgres


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    server = temporary_postgres()
    try:
        url = server.__enter__()
    except PostgresUnavailableError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    yield url
    server.__exit__(None, None, None)


@pytest.fixture(params=["sqlite", "postgresql"])
def stored(request: pytest.FixtureRequest, study_folder: Path, tmp_path: Path) -> Iterator[Study]:
    """A fresh study on each kind of database."""
    folder = tmp_path / "study"
    shutil.copytree(study_folder, folder)
    url = None
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres")
        engine = open_database(url)
        with engine.begin() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())
        engine.dispose()
    opened = open_study(folder, url=url)
    assert opened.engine.dialect.name == request.param
    yield opened
    opened.engine.dispose()


def answer(rater_id: int, position: int, **changes: object) -> Answer:
    values = Answer(
        id=str(uuid.uuid4()),
        rater_id=rater_id,
        position=position,
        rating=4,
        rt_ms=9000,
        plays=1,
        played_ms=8000,
        visible_ms=9000,
        ts_utc="2026-01-01T00:00:00.000Z",
        app_version="test",
    )
    return replace(values, **changes)  # type: ignore[arg-type]


def save(study: Study, *given: Answer) -> list[Outcome]:
    with study.engine.begin() as connection:
        return write_answers(connection, given, study.key)


def test_sending_an_answer_twice_stores_it_once(stored: Study) -> None:
    rater = enroll(stored)
    given = answer(rater.id, 0)
    assert save(stored, given) == [Outcome.SAVED]
    assert save(stored, given, given) == [Outcome.DUPLICATE, Outcome.DUPLICATE]
    assert overview(stored).answers == 1


def test_a_second_answer_to_the_same_clip_is_refused_and_the_first_stays(stored: Study) -> None:
    rater = enroll(stored)
    save(stored, answer(rater.id, 0, rating=2))
    assert save(stored, answer(rater.id, 0, rating=5)) == [Outcome.CONFLICT]
    with stored.engine.connect() as connection:
        assert connection.execute(select(answers.c.rating)).scalars().all() == [2]


def test_the_database_itself_refuses_two_answers_per_rater_and_clip(stored: Study) -> None:
    rater = enroll(stored)
    save(stored, answer(rater.id, 0))
    row = {name: getattr(answer(rater.id, 0), name) for name in Answer.__dataclass_fields__}
    with pytest.raises(IntegrityError), stored.engine.begin() as connection:
        connection.execute(insert(answers).values(row))


def test_answers_to_places_that_do_not_exist_or_clips_not_played_are_refused(stored: Study) -> None:
    rater = enroll(stored)
    items, _ = assigned_items(stored, rater)
    clip = next(i.position for i in items if i.kind == "clip")
    check = next(i.position for i in items if i.kind == "check")
    assert save(stored, answer(rater.id, 999), answer(77, 0), answer(rater.id, clip, plays=0)) == [Outcome.REFUSED] * 3
    assert save(stored, answer(rater.id, check, plays=0)) == [Outcome.SAVED]


def test_paused_and_closed_studies_take_no_answers(stored: Study) -> None:
    rater = enroll(stored)
    set_study_state(stored, "paused")
    assert save(stored, answer(rater.id, 0)) == [Outcome.CLOSED]
    with pytest.raises(JoinRefusedError) as refusal:
        join(stored)
    assert refusal.value.reason == "paused"
    set_study_state(stored, "open")
    assert save(stored, answer(rater.id, 0)) == [Outcome.SAVED]


def test_many_threads_lose_and_double_nothing(stored: Study) -> None:
    people = [enroll(stored) for _ in range(4)]
    writer = AnswerWriter(stored.engine, stored.key)
    given = [answer(p.id, position) for p in people for position in range(8)]
    outcomes: list[Outcome] = []

    def send(part: list[Answer]) -> None:
        for one in part:
            outcomes.append(writer.save(one).result(30))
            outcomes.append(writer.save(one).result(30))

    threads = [threading.Thread(target=send, args=(given[n::4],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert outcomes.count(Outcome.SAVED) == outcomes.count(Outcome.DUPLICATE) == len(given)
    with stored.engine.connect() as connection:
        assert set(connection.execute(select(answers.c.id)).scalars()) == {a.id for a in given}


def test_joining_at_once_gives_everybody_another_slot(stored: Study) -> None:
    failures: list[BaseException] = []

    def come() -> None:
        try:
            enroll(stored)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=come) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with stored.engine.connect() as connection:
        assert sorted(connection.execute(select(raters.c.slot)).scalars()) == list(range(6))


def test_withdrawing_deletes_everything_and_frees_the_slot(stored: Study) -> None:
    rater = enroll(stored)
    enroll(stored)
    save(stored, answer(rater.id, 0))
    withdraw(stored, rater)
    assert overview(stored).answers == 0
    assert save(stored, answer(rater.id, 1)) == [Outcome.REFUSED]
    enroll(stored)
    with stored.engine.connect() as connection:
        assert sorted(connection.execute(select(raters.c.slot)).scalars()) == [0, 1]


def test_external_ids_are_sealed_apart_and_deletable(stored: Study) -> None:
    join(stored, external_id="5f1e2d3c4b5a")
    assert payments(stored) == [{"external_id": "5f1e2d3c4b5a", "completed": False, "completion_code": None}]
    with stored.engine.connect() as connection:
        assert b"5f1e2d3c4b5a" not in bytes(connection.execute(select(external_ids.c.sealed)).scalar_one())
        for table in ("raters", "answers", "assignments", "invites", "studies"):
            assert "5f1e2d3c4b5a" not in str(connection.execute(text(f"select * from {table}")).all())
    assert delete_external_ids(stored) == 1
    assert payments(stored) == []


def test_invites_end_with_their_quota(stored: Study) -> None:
    invite = create_invite(stored, label="friends", quota=2)
    join(stored, invite=invite.code)
    token = join(stored, invite=invite.code)
    with pytest.raises(JoinRefusedError) as refusal:
        join(stored, invite=invite.code)
    assert refusal.value.reason == "quota"
    with pytest.raises(JoinRefusedError):
        join(stored, invite="NOSUCHCODE")
    record_eligibility(stored, find_rater(stored, token), confirmed=False)  # gives the place back
    assert list_invites(stored)[0].used == 1


def test_steps_cannot_be_skipped_or_taken_twice(stored: Study) -> None:
    token = join(stored)
    fresh = find_rater(stored, token)
    assert start_rating(stored, fresh) == "eligibility"
    assert finish_rating(stored, fresh) == "eligibility"
    assert finish(stored, fresh, comment="", age_band=None, driving_band=None) == "eligibility"
    record_eligibility(stored, fresh, confirmed=True)
    assert not record_playback(stored, find_rater(stored, token), seen=99)
    assert find_rater(stored, token).step == "playback"
    rater = enroll(stored)
    answer_all(stored, rater, lambda clip: 3)
    with stored.engine.connect() as connection:
        code = connection.execute(select(raters.c.completion_code).where(raters.c.id == rater.id)).scalar_one()
    finish(stored, replace(rater, step="comment"), comment="late", age_band=None, driving_band=None)
    with stored.engine.connect() as connection:
        assert connection.execute(select(raters.c.completion_code).where(raters.c.id == rater.id)).scalar_one() == code


def test_tokens_are_not_stored(stored: Study) -> None:
    token = join(stored)
    with stored.engine.connect() as connection:
        assert token not in str(connection.execute(select(raters)).all())
    assert find_rater(stored, token) is not None
    assert find_rater(stored, token[:-1]) is None


def test_tables_of_the_migrations_are_the_tables_of_the_code(stored: Study) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    with stored.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_a_fact_about_a_database_can_only_be_added(stored: Study) -> None:
    statements = ["update meta set value = 'false'", "delete from meta"]
    statements += ["truncate meta"] if stored.engine.dialect.name == "postgresql" else []
    with stored.engine.connect() as connection, connection.begin() as transaction:
        connection.execute(insert(meta).values(name="simulated", value="true"))
        for statement in statements:
            with pytest.raises(DBAPIError, match="cannot be changed"), connection.begin_nested():
                connection.execute(text(statement))
        assert connection.execute(select(meta.c.value)).scalars().all() == ["true"]
        transaction.rollback()


def test_ids_of_raters_are_never_given_again(stored: Study) -> None:
    first = enroll(stored)
    withdraw(stored, first)
    assert enroll(stored).id > first.id


def test_joining_twice_on_one_visit_gives_the_same_rater_until_he_withdraws(stored: Study) -> None:
    tokens: list[str] = []
    threads = [threading.Thread(target=lambda: tokens.append(join(stored, visit="v" * 32))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tokens) == 4
    assert len(set(tokens)) == overview(stored).by_step["eligibility"] == 1
    assert join(stored, visit="w" * 32) != tokens[0]
    withdraw(stored, find_rater(stored, tokens[0]))
    assert join(stored, visit="v" * 32) != tokens[0]


def test_a_second_join_on_one_visit_succeeds_when_the_first_took_the_last_place(stored: Study) -> None:
    invite = create_invite(stored, label="friends", quota=1)
    first = join(stored, invite=invite.code, visit="v" * 32)
    assert join(stored, invite=invite.code, visit="v" * 32) == first
    assert list_invites(stored)[0].used == 1


@pytest.fixture(params=["sqlite", "postgresql"])
def first_tables(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a database as the first version made it, with one rater, one assignment and one answer."""
    url = f"sqlite:///{tmp_path / 'old.sqlite'}"
    if request.param == "postgresql":
        server = make_url(request.getfixturevalue("postgres")).set(drivername="postgresql+psycopg")
        maintenance = create_engine(server, isolation_level="AUTOCOMMIT")
        with maintenance.connect() as connection:
            connection.execute(text("create database old"))
        maintenance.dispose()
        url = server.set(database="old").render_as_string()
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        for row in (
            "studies values ('s', 'open', 'f', 'u')",
            "invites values ('i', 'friends', 3, 1, 'u')",
            "raters (id, code, token_hash, slot, step, invite, consent_version, consent_utc, language, last_seen_utc) "
            "values (7, 'c', 'h', 0, 'rate', 'i', '1', 'u', 'en', 'u')",
            "assignments values (7, 0, 'clip', 'x', 0, 0)",
            "answers values ('a', 7, 0, 4, 9, 1, 9, 9, 'u', 'v')",
        ):
            connection.execute(text(f"insert into {row}"))
        if request.param == "postgresql":
            connection.execute(text("select setval('raters_id_seq', 7)"))
    engine.dispose()
    return url


def test_databases_of_the_first_version_keep_their_answers(first_tables: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    engine = open_database(first_tables)
    with engine.begin() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        for table in (raters, assignments, answers):
            assert connection.execute(select(func.count()).select_from(table)).scalar_one() == 1
        connection.execute(delete(raters))
        assert connection.execute(select(func.count()).select_from(answers)).scalar_one() == 0  # keys still hold
        added = insert(raters).values(
            code="d",
            token_hash="k",
            step="rate",
            consent_version="1",
            consent_utc="u",
            language="en",
            last_seen_utc="u",
        )
        assert connection.execute(added.returning(raters.c.id)).scalar_one() > 7
    engine.dispose()


def test_sqlite_waits_for_the_disk(study: Study) -> None:
    with study.engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar_one() == 2
        assert connection.execute(text("PRAGMA foreign_keys")).scalar_one() == 1


def test_a_copy_taken_while_writing_opens_with_all_acknowledged_answers(study: Study, tmp_path: Path) -> None:
    rater = enroll(study)
    items, _ = assigned_items(study, rater)
    for item in items:
        save(study, answer(rater.id, item.position))
        copy = tmp_path / f"copy{item.position}"
        copy.mkdir()
        for path in study.folder.glob("study.sqlite*"):
            shutil.copy(path, copy)
        with sqlite3.connect(copy / "study.sqlite") as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert connection.execute("select count(*) from answers").fetchone() == (item.position + 1,)
        connection.close()


def test_a_full_disk_is_reported_and_nothing_is_half_saved(study: Study) -> None:
    rater = enroll(study)
    writer = AnswerWriter(study.engine, study.key)
    assert writer.save(answer(rater.id, 0)).result(10) == Outcome.SAVED
    with study.engine.connect() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
    from sqlalchemy import event

    def shrink(connection, *_) -> None:
        connection.execute(f"PRAGMA max_page_count={pages}")

    study.engine.dispose()
    event.listen(study.engine, "connect", shrink)
    big = "x" * 36
    outcomes = [writer.save(answer(rater.id, n, app_version="v" * 4000, id=f"{n:02d}{big[2:]}")) for n in range(1, 10)]
    errors = [future.exception(30) for future in outcomes]
    assert any(isinstance(error, NotSavedError) for error in errors)
    event.remove(study.engine, "connect", shrink)
    study.engine.dispose()
    with study.engine.connect() as connection:
        stored = connection.execute(select(answers.c.position)).scalars().all()
    assert sorted(stored) == [0, *(n for n, error in enumerate(errors, start=1) if error is None)]
    missing = next(n for n, error in enumerate(errors, start=1) if error is not None)
    assert writer.save(answer(rater.id, missing)).result(10) == Outcome.SAVED
    writer.close()


def test_bad_databases_are_a_sentence(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"this is not a database" * 100)
    for url in (f"sqlite:///{damaged}", "postgresql://nobody@127.0.0.1:1/none", "nonsense", "nosuch://x"):
        with pytest.raises(StoreError):
            open_database(url)


def test_databases_of_newer_versions_are_refused(study: Study) -> None:
    with study.engine.begin() as connection:
        connection.execute(text("update alembic_version set version_num = '9999'"))
    with pytest.raises(StoreError, match="newer version"):
        open_study(study.folder)


def test_state_survives_reopening(study: Study) -> None:
    set_study_state(study, "closed")
    again = open_study(study.folder)
    assert study_state(again) == "closed"
    again.engine.dispose()
