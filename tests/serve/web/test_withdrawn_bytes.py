"""Who withdraws is gone from the bytes on the disk, while the server runs and after it: real servers, raw files."""

from __future__ import annotations

import random
import re
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from sqlalchemy import delete, insert, text

from giveway.study.forgetting import Forgetter, forget_deleted
from giveway.study.participation import Rater, assigned_items, find_rater, finish, join, withdraw
from giveway.study.rehearsal import answer_all, enroll_token
from giveway.study.tables import answers, assignments, raters
from giveway.study.workspace import Study, open_study
from support.postgres import PostgresUnavailableError, temporary_postgres
from support.servers import RunningServer, running_server
from support.studies import synthetic_study

SEED = 0
EXTERNAL = "platform-identifier"
FILLED = {"step": "done", "consent_version": "1", "consent_utc": "t", "language": "en", "last_seen_utc": "t"}
ITEM = {"kind": "clip", "repeat": 0, "expected": 0}
ANSWER = {"rating": 3, "rt_ms": 1, "plays": 1, "played_ms": 1, "visible_ms": 1, "ts_utc": "t", "app_version": "t"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return synthetic_study(tmp_path / "study", num_clips=8)


def finished(study: Study, comment: str) -> tuple[str, Rater]:
    """Token of a rater who answered everything and left a comment."""
    token = enroll_token(study)
    rater = find_rater(study, token)
    answer_all(study, rater, lambda clip: 3, limit=len(assigned_items(study, rater)[0]) - 1)
    with study.engine.begin() as connection:
        connection.execute(text("UPDATE raters SET step = 'comment' WHERE id = :id"), {"id": rater.id})
    rater = find_rater(study, token)
    finish(study, rater, comment=comment, age_band="25-34", driving_band=None)
    return token, rater


def traces(study: Study, rater: Rater, comment: str) -> list[bytes]:
    """Everything that was stored of a rater and is his alone."""
    with study.engine.connect() as connection:
        ids = connection.execute(text("SELECT id FROM answers WHERE rater_id = :id"), {"id": rater.id}).scalars().all()
    assert len(ids) > 5
    return [comment.encode(), rater.code.encode(), *(one.encode() for one in ids)]


def left_in(folder: Path, wanted: list[bytes]) -> list[tuple[str, bytes]]:
    """Files of a folder that hold one of the byte strings."""
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        content = path.read_bytes()
        found += [(path.name, one) for one in wanted if one in content]
    return found


def fetch(address: str, cookie: str = "", **form: str) -> tuple[str, str]:
    """A page and the visit cookie that came with it."""
    data = urlencode(form).encode() if form else None
    request = urllib.request.Request(address, data=data, headers={"Cookie": cookie})
    with urllib.request.urlopen(request, timeout=30) as answer:
        visit = re.search(r"gw_visit=[^;]+", answer.headers.get("set-cookie") or "")
        return answer.read().decode(), visit[0] if visit else ""


def withdraw_by_page(server: RunningServer, token: str) -> str:
    page, visit = fetch(f"{server.address}/withdraw", f"gw_rater={token}")
    csrf = re.search(r'name="csrf" value="([^"]+)"', page)
    assert csrf, page
    return fetch(f"{server.address}/withdraw", f"gw_rater={token}; {visit}", csrf=csrf[1])[0]


def test_nothing_of_a_withdrawn_rater_is_left_in_any_file_with_the_server_running(folder: Path) -> None:
    with running_server(folder) as server:
        study = open_study(folder)
        comment = f"my comment {uuid.uuid4().hex}"
        for n in range(5):
            finished(study, f"another comment {n}")
        token, rater = finished(study, comment)
        wanted = traces(study, rater, comment)
        study.engine.dispose()
        assert {one for _, one in left_in(folder, wanted)} == set(wanted), "otherwise this test could not fail"
        page = withdraw_by_page(server, token)
        assert "All your answers have been deleted. You can close this page." in page
        assert left_in(folder.parent, wanted) == []
        assert left_in(folder, [b"another comment 3"]), "the others are still there"
    assert left_in(folder.parent, wanted) == []


def test_a_busy_database_is_cleaned_as_soon_as_it_is_free(folder: Path) -> None:
    with running_server(folder) as server:
        study = open_study(folder)
        comment = f"my comment {uuid.uuid4().hex}"
        token, rater = finished(study, comment)
        wanted = traces(study, rater, comment)
        with study.reader.connect() as reading:  # a reader that does not end keeps the log from being truncated
            reading.execute(text("SELECT count(*) FROM answers")).scalar_one()
            assert "within a minute" in withdraw_by_page(server, token)
        study.engine.dispose()
        for _ in range(300):
            if not left_in(folder, wanted):
                break
            time.sleep(0.1)
        assert left_in(folder, wanted) == []


def test_a_server_that_was_killed_before_cleaning_up_is_made_good_at_the_next_start(folder: Path) -> None:
    study = open_study(folder)
    comment = f"my comment {uuid.uuid4().hex}"
    token, rater = finished(study, comment)
    wanted = traces(study, rater, comment)
    keep = study.engine.connect()  # as long as somebody is connected, closing does not clean up by itself
    withdraw(study, find_rater(study, token))
    assert left_in(folder, wanted)
    with running_server(folder) as server:
        fetch(f"{server.address}/health")
        assert left_in(folder, wanted) == []
    keep.close()
    study.engine.dispose()


def test_moved_rows_leave_nothing_behind_either(folder: Path) -> None:
    """secure_delete alone fails here: entries that moved to other pages leave bytes in those they came from."""
    study = open_study(folder)
    rng = random.Random(SEED)
    present: dict[int, list[str]] = {}
    left: list[tuple[str, bytes]] = []

    def number() -> str:
        return str(uuid.UUID(int=rng.getrandbits(128)))

    for step in range(150):
        with study.engine.begin() as connection:
            for rater in range(6 * step + 1, 6 * step + 7):
                person = {"code": number()[:8], "token_hash": number(), "visit_hash": number(), "comment": number()}
                connection.execute(insert(raters).values(id=rater, **person, **FILLED))
                places = [{"rater_id": rater, "position": n} for n in range(rng.randint(1, 9))]
                connection.execute(insert(assignments), [{**place, **ITEM, "item": number()} for place in places])
                rows = [{"id": number(), **place, **ANSWER} for place in places]
                connection.execute(insert(answers), rows)
                present[rater] = [*person.values(), *(row["id"] for row in rows)]
        chosen = [rng.choice(sorted(present)) for _ in range(3)]
        wanted = [one.encode() for rater in chosen for one in present.pop(rater, [])]
        with study.engine.begin() as connection:
            for column in (answers.c.rater_id, assignments.c.rater_id, raters.c.id):
                connection.execute(delete(column.table).where(column.in_(chosen)))
        assert forget_deleted(study.engine)
        database = (folder / "study.sqlite").read_bytes()
        left += [("study.sqlite", one) for one in wanted if one in database]
        assert (folder / "study.sqlite-wal").stat().st_size == 0
    assert left == []
    assert len(left_in(folder, [ids[-1].encode() for ids in present.values()])) == len(present)
    study.engine.dispose()


def test_forgetting_keeps_everything_else_and_says_when_it_cannot(folder: Path) -> None:
    study = open_study(folder)
    token, rater = finished(study, "stays")
    before = assigned_items(study, rater)
    gone = find_rater(study, join(study, external_id=EXTERNAL))
    withdraw(study, gone)
    with study.engine.begin() as connection:
        connection.execute(text("SELECT 1"))
        assert not forget_deleted(study.engine, wait_ms=50)
    assert forget_deleted(study.engine)
    assert assigned_items(study, find_rater(study, token)) == before
    assert find_rater(study, join(study)).id > gone.id, "the number of a withdrawn rater is never given again"
    study.engine.dispose()


def test_the_background_thread_ends_with_the_server(folder: Path) -> None:
    study = open_study(folder)
    forgetter = Forgetter(study.engine, retry_s=0.05)
    with study.engine.begin() as connection:
        connection.execute(text("SELECT 1"))
        assert not forgetter.forget()
    forgetter.close()
    assert forget_deleted(study.engine)
    study.engine.dispose()


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    try:
        with temporary_postgres() as url:
            yield url
    except PostgresUnavailableError as error:
        pytest.skip(str(error))


def test_postgresql_tables_hold_nothing_of_a_withdrawn_rater(folder: Path, postgres: str) -> None:
    study = open_study(folder, url=postgres)
    comment = f"my comment {uuid.uuid4().hex}"
    for n in range(5):
        finished(study, f"another comment {n}")
    token, rater = finished(study, comment)
    wanted = traces(study, rater, comment)
    with study.engine.connect() as connection:
        data = Path(connection.execute(text("SHOW data_directory")).scalar_one())

    def checkpoint() -> None:
        with study.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("CHECKPOINT"))

    checkpoint()
    assert {one for _, one in left_in(data / "base", wanted)} == set(wanted)
    with running_server(folder, database=postgres) as server:
        assert "You can close this page" in withdraw_by_page(server, token)
        checkpoint()
        assert left_in(data / "base", wanted) == []
        assert left_in(data / "base", [b"another comment 3"])
    study.engine.dispose()
