"""A study notices what was not written by it: rows, clips, the list of clips."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, text, update

from giveway.core.errors import StoreError
from giveway.serve.web.app import create_app
from giveway.serve.web.security import RATER_COOKIE
from giveway.study.analysis import analyze_study
from giveway.study.export import export_study, long_answers
from giveway.study.integrity import check_rows, seal_old_rows
from giveway.study.manifest import read_manifest
from giveway.study.participation import find_rater, withdraw
from giveway.study.rehearsal import answer_all, enroll, enroll_token
from giveway.study.secrets import StudyKey
from giveway.study.tables import answers, raters
from giveway.study.workspace import Study, open_study

TOKEN = "researcher-token-for-tests"


@pytest.fixture
def answered(study: Study) -> Study:
    for _ in range(2):
        answer_all(study, enroll(study), lambda clip: 3)
    check_rows(study.engine, study.key)
    return study


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE answers SET rating = 5 WHERE position = 1 AND rater_id = 1",
        "UPDATE answers SET rt_ms = rt_ms + 1 WHERE position = 1",
        "UPDATE answers SET mac = NULL WHERE position = 1",
        "UPDATE assignments SET expected = expected + 1 WHERE position = 2",
        "UPDATE raters SET age_band = '65+' WHERE id = 2",
        "UPDATE raters SET slot = 9 WHERE id = 2",
        "UPDATE studies SET design_fingerprint = 'x'",
    ],
)
def test_a_row_changed_behind_our_back_is_noticed_by_export_analysis_and_opening(
    answered: Study, tmp_path: Path, statement: str
) -> None:
    with answered.engine.begin() as connection:
        assert connection.execute(text(statement)).rowcount
    for reading in (lambda: export_study(answered, tmp_path / "out"), lambda: analyze_study(answered)):
        with pytest.raises(StoreError, match="damaged") as caught:
            reading()
        assert "rows that were not written here" in str(caught.value.found)
    assert not (tmp_path / "out").exists()
    answered.engine.dispose()
    with pytest.raises(StoreError, match="damaged"):
        open_study(answered.folder)


def test_everything_a_rater_does_leaves_rows_that_are_sealed(answered: Study) -> None:
    token = enroll_token(answered)
    rater = find_rater(answered, token)
    assert rater is not None
    answer_all(answered, rater, lambda clip: 2, limit=1)
    check_rows(answered.engine, answered.key)
    withdraw(answered, rater)
    check_rows(answered.engine, answered.key)


def test_another_key_is_said_to_be_the_reason(answered: Study) -> None:
    with pytest.raises(StoreError) as caught:
        check_rows(answered.engine, StudyKey(b"x" * 40))
    assert "key" in str(caught.value.hint)


def test_rows_of_the_first_release_are_sealed_once_and_then_compared(answered: Study) -> None:
    before = long_answers(answered)
    with answered.engine.begin() as connection:
        for table in ("studies", "raters", "assignments", "answers"):
            connection.execute(text(f"UPDATE {table} SET mac = NULL"))
    answered.engine.dispose()
    opened = open_study(answered.folder)
    assert long_answers(opened).equals(before)
    with opened.engine.begin() as connection:
        assert None not in connection.execute(select(answers.c.mac)).scalars().all()
        connection.execute(update(raters).values(mac=None))
    seal_old_rows(opened.engine, opened.key)  # only a database that was never sealed
    with pytest.raises(StoreError, match="damaged"):
        check_rows(opened.engine, opened.key)
    opened.engine.dispose()


def test_a_lost_index_entry_is_noticed_at_opening(answered: Study) -> None:
    path = answered.folder / "study.sqlite"
    answered.engine.dispose()
    connection = sqlite3.connect(path)
    page = connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE name LIKE 'sqlite_autoindex_answers%'"
    ).fetchone()
    size = connection.execute("PRAGMA page_size").fetchone()[0]
    connection.close()
    data = bytearray(path.read_bytes())
    data[page[0] * size - 2] ^= 1  # the last bytes of a page are the first entry
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        open_study(answered.folder)


def _flip(path: Path) -> None:
    before, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_server_does_not_start_with_a_damaged_clip_and_the_answers_can_still_be_exported(
    answered: Study, tmp_path: Path
) -> None:
    _flip(answered.folder / "clips" / f"{answered.clips[0].clip}.json")
    with pytest.raises(StoreError, match="a clip of the study is not what was written"):
        create_app(answered, researcher_token=TOKEN)
    assert export_study(answered, tmp_path / "out")


def test_a_clip_that_is_damaged_while_serving_is_not_shown_and_the_others_are(
    study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    with TestClient(create_app(study, researcher_token=TOKEN), base_url="http://testserver") as client:
        client.cookies.set(RATER_COOKIE, enroll_token(study))
        bad, good = study.clips[0].clip, study.clips[1].clip
        _flip(study.folder / "clips" / f"{bad}.json")
        assert client.get(f"/clips/{bad}.json").status_code == 503
        assert client.get(f"/clips/{good}.json").status_code == 200
    assert any(bad in record.getMessage() for record in caplog.records)


def test_a_changed_list_of_clips_is_refused_and_one_of_the_first_release_is_read(study: Study) -> None:
    path = study.folder / "clips.json"
    clips = read_manifest(study.folder)
    document = json.loads(path.read_text())
    path.write_text(path.read_text().replace('"scene": "', '"scene": "x', 1))
    with pytest.raises(StoreError, match="damaged"):
        read_manifest(study.folder)
    path.write_text(json.dumps(document["clips"]))
    assert read_manifest(study.folder) == clips
