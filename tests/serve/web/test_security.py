"""What must not be possible, tried against the real application."""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from giveway.serve.web.app import create_app
from giveway.serve.web.security import HEADERS, MAX_BODY_BYTES
from giveway.study.monitor import create_invite, list_invites, payments
from giveway.study.participation import find_rater
from giveway.study.rehearsal import enroll_token
from giveway.study.workspace import Study, open_study, set_study_state
from support.studies import published_study, synthetic_study

TOKEN = "researcher-token-for-tests"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_study(tmp_path_factory.mktemp("web") / "template")


@pytest.fixture
def study(template: Path, tmp_path: Path) -> Study:
    folder = tmp_path / "study"
    shutil.copytree(template, folder)
    return open_study(folder)


@pytest.fixture
def client(study: Study) -> Iterator[TestClient]:
    with TestClient(create_app(study, researcher_token=TOKEN), base_url="http://testserver") as opened:
        yield opened


def form_token(page: str) -> str:
    found = re.search(r'name="(?:csrf" value|form-token" content)="([^"]+)"', page)
    assert found, page[:500]
    return found[1]


def post(client: TestClient, path: str, form_page: str, **values: object):
    csrf = form_token(client.get(form_page).text)
    return client.post(path, data={"csrf": csrf, **values}, follow_redirects=False)


def become_rater(client: TestClient) -> None:
    assert post(client, "/consent", "/", agree="yes").status_code == 303
    assert post(client, "/eligibility", "/eligibility", confirmed=["0", "1"]).headers["location"] == "/playback"
    number = client.get("/api/playback").json()["agents"][1]["label"]
    assert post(client, "/playback", "/playback", number=number).status_code == 303
    assert post(client, "/practice", "/practice").headers["location"] == "/rate"


def answer(client: TestClient, position: int = 0, csrf: str | None = None, **changes: object):
    body = {
        "id": f"00000000-0000-4000-8000-{position:012d}",
        "position": position,
        "rating": 4,
        "rt_ms": 10,
        "plays": 1,
        "played_ms": 10,
        "visible_ms": 10,
    }
    csrf = form_token(client.get("/rate").text) if csrf is None else csrf
    return client.post("/api/answers", json={**body, **changes}, headers={"X-CSRF": csrf})


def log_in(client: TestClient) -> None:
    assert post(client, "/researcher/login", "/researcher/login", token=TOKEN).headers["location"] == "/researcher"


@pytest.mark.parametrize(
    "path", ["/", "/rate", "/researcher", "/researcher/login", "/nothing", "/api/session", "/static/rate.js"]
)
def test_every_answer_carries_the_protective_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    for name, value in HEADERS.items():
        assert headers[name] == value
    assert "unsafe" not in headers["content-security-policy"]


def test_pages_have_no_inline_script_or_style(client: TestClient) -> None:
    become_rater(client)
    log_in(client)
    for path in ("/", "/rate", "/resume", "/withdraw", "/researcher"):
        page = client.get(path).text
        assert not re.search(r"<script(?![^>]*(src=|application/json))", page)
        assert "<style" not in page
        assert not re.search(r"\s(style|on\w+)=", page)


def test_cookies_are_closed_to_scripts_and_secure_behind_https(study: Study, client: TestClient) -> None:
    cookie = client.get("/").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    with TestClient(create_app(study, researcher_token=TOKEN, https=True), base_url="https://x") as secure:
        first = secure.get("/")
        assert "Secure" in first.headers["set-cookie"]
        assert "max-age" in first.headers["strict-transport-security"]


def test_forms_need_the_proof_of_our_own_page(client: TestClient, study: Study) -> None:
    client.get("/")
    assert client.post("/consent", data={"agree": "yes"}).status_code == 403
    assert client.post("/consent", data={"agree": "yes", "csrf": "x" * 32}).status_code == 403
    with TestClient(create_app(study, researcher_token=TOKEN)) as other:
        stolen = form_token(other.get("/").text)
    assert client.post("/consent", data={"agree": "yes", "csrf": stolen}).status_code == 403


def test_requests_from_other_sites_are_refused(client: TestClient) -> None:
    csrf = form_token(client.get("/").text)
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        assert client.post("/consent", data={"csrf": csrf, "agree": "yes"}, headers=headers).status_code == 403


def test_answers_need_session_and_proof(client: TestClient) -> None:
    assert answer(client, csrf="x").status_code == 403
    become_rater(client)
    assert answer(client, csrf="x").status_code == 403
    assert answer(client).json() == {"outcome": "saved"}
    assert answer(client).json() == {"outcome": "duplicate"}
    assert answer(client, id="00000000-0000-4000-8000-999999999999").status_code == 409


@pytest.mark.parametrize(
    "changes",
    [
        {"position": -1},
        {"position": 10**30},
        {"position": 9999},
        {"rating": 6},
        {"rating": 0},
        {"rating": "4"},
        {"rating": 4.5},
        {"rt_ms": -5},
        {"rt_ms": 10**12},
        {"plays": 0},
        {"id": "1"},
        {"id": "0" * 10_000},
        {"extra": 1},
    ],
)
def test_impossible_answers_are_refused(client: TestClient, changes: dict[str, object]) -> None:
    become_rater(client)
    clip = next(i for i in client.get("/api/session").json()["items"] if "clip" in i)["position"]
    assert answer(client, **{"position": clip, **changes}).status_code == 422


def test_paused_study_keeps_the_browser_waiting(client: TestClient, study: Study) -> None:
    become_rater(client)
    csrf = form_token(client.get("/rate").text)
    set_study_state(study, "paused")
    assert answer(client, csrf=csrf).status_code == 423
    client.cookies.clear()
    assert "paused" in client.get("/").text


def test_clips_need_a_session_and_no_path_leads_elsewhere(client: TestClient, study: Study) -> None:
    clip = study.clips[0].clip
    assert client.get(f"/clips/{clip}.json").status_code == 401
    become_rater(client)
    assert client.get(f"/clips/{clip}.json").json()["format"] == "giveway-replay"
    for path in (
        f"/clips/{'0' * 24}.json",
        f"/clips/{clip}.mp4",
        "/clips/..%2fclips.json",
        "/clips/..%2f..%2fsecret.key.json",
        "/clips/../clips.json",
        "/clips/%2e%2e/study.sqlite",
        "/static/..%2f..%2f..%2fstudy%2fdesign.py",
        "/static/%2e%2e/app.py",
        "/secret.key",
        "/study.sqlite",
        "/openapi.json",
        "/docs",
    ):
        assert client.get(path).status_code in (404, 405), path


def test_nothing_a_rater_receives_names_a_condition(client: TestClient, study: Study) -> None:
    become_rater(client)
    received = client.get("/rate").text + client.get("/api/session").text
    received += "".join(client.get(f"/clips/{c.clip}.json").text for c in study.clips)
    words = {clip.condition for clip in study.clips} | {
        "broken",
        "anchor",
        "recorded",
        "generated",
        "teleport",
        "slide",
    }
    assert not [word for word in words if word in received]


@pytest.mark.parametrize(
    ("recorded", "expected"), [(None, ["generated", "broken"]), ("theirs", ["recorded", "broken"])]
)
def test_practice_calls_recorded_only_what_is(tmp_path: Path, recorded: str | None, expected: list[str]) -> None:
    folder = synthetic_study(tmp_path / "study", conditions=("ours", "theirs"), recorded=recorded)
    with TestClient(create_app(open_study(folder), researcher_token=TOKEN)) as client:
        post(client, "/consent", "/", agree="yes")
        post(client, "/eligibility", "/eligibility", confirmed=["0", "1"])
        number = client.get("/api/playback").json()["agents"][1]["label"]
        post(client, "/playback", "/playback", number=number)
        assert [clip["feedback"] for clip in client.get("/api/practice").json()] == expected
        page = client.get("/practice").text
        assert all(f"practice_feedback_{name}" in page for name in ("recorded", "broken", "other"))


def test_researcher_pages_are_closed_to_raters(client: TestClient) -> None:
    become_rater(client)
    assert client.get("/researcher", follow_redirects=False).headers["location"] == "/researcher/login"
    csrf = form_token(client.get("/rate").text)
    for path in ("answers.csv", "wide.csv", "counts.csv", "checks.csv", "raters.csv", "codebook.json", "x"):
        assert client.get(f"/researcher/download/{path}").status_code == 403
    for path in ("state", "invites", "external-ids/delete", "logout"):
        assert client.post(f"/researcher/{path}", data={"csrf": csrf, "state": "closed"}).status_code == 403


def test_forged_researcher_sessions_are_refused(client: TestClient) -> None:
    for value in ("9999999999.x", "9999999999.", ".", "x", "-1.x", "9" * 400 + ".x", "١٢٣.x"):
        client.cookies.clear()
        headers = {"Cookie": b"gw_researcher=" + value.encode()}
        assert client.get("/researcher/download/answers.csv", headers=headers).status_code == 403


def test_login_is_limited(client: TestClient) -> None:
    statuses = [post(client, "/researcher/login", "/researcher/login", token="wrong").status_code for _ in range(15)]
    assert statuses[0] == 403
    assert statuses[-1] == 429
    assert post(client, "/researcher/login", "/researcher/login", token=TOKEN).status_code == 429


def test_guessing_resume_codes_is_limited_and_tells_nothing(client: TestClient) -> None:
    pages = [post(client, "/resume", "/resume", token="A" * 43) for _ in range(15)]
    assert pages[0].status_code == 404
    assert pages[-1].status_code == 429


def test_joining_is_limited(template: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    shutil.copytree(template, folder)
    toml = folder / "study.toml"
    toml.write_text(toml.read_text().replace("joins_per_minute = 60", "joins_per_minute = 3"))
    with TestClient(create_app(open_study(folder), researcher_token=TOKEN)) as client:
        statuses = []
        for _ in range(5):
            client.cookies.clear()
            statuses.append(post(client, "/consent", "/", agree="yes").status_code)
    assert statuses == [303, 303, 303, 429, 429]


def test_large_bodies_and_long_addresses_are_refused(client: TestClient) -> None:
    assert client.post("/consent", content=b"x" * (MAX_BODY_BYTES + 1)).status_code == 413

    def chunks() -> Iterator[bytes]:
        for _ in range(80):
            yield b"x" * 1024

    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/consent", content=chunks(), headers=form).status_code in (400, 413)
    assert client.post("/api/answers", content=chunks()).status_code == 403  # not even read
    client.cookies["gw_rater"] = enroll_token(client.app.state.web.study)  # type: ignore[attr-defined]
    proof = client.get("/rate").text.split('name="form-token" content="')[1].split('"')[0]
    assert client.post("/api/answers", content=chunks(), headers={"X-CSRF": proof}).status_code == 413
    assert client.get("/?invite=" + "x" * 3000).status_code == 414


def test_log_has_no_tokens_addresses_or_queries(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="giveway.serve.web"):
        client.get("/?invite=SECRETINVITE&PROLIFIC_PID=SECRETPERSON", follow_redirects=False)
        client.cookies.clear()
        become_rater(client)
        log_in(client)
        token = client.cookies["gw_rater"]
        client.get("/resume")
    lines = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("POST /consent 303") for line in lines)
    everything = " ".join(lines)
    for secret in ("SECRET", token, TOKEN, "testclient", "127.0.0.1"):
        assert secret not in everything


def test_platform_id_is_sealed_until_consent_and_never_in_the_address(client: TestClient, study: Study) -> None:
    invite = create_invite(study, label="platform", quota=5)
    first = client.get(f"/?invite={invite.code}&PROLIFIC_PID=5f1e2d3c", follow_redirects=False)
    assert first.headers["location"] == "/"
    assert "5f1e2d3c" not in first.headers["set-cookie"]
    assert payments(study) == []
    become_rater(client)
    assert payments(study)[0]["external_id"] == "5f1e2d3c"


def test_no_address_or_browser_is_stored(client: TestClient, study: Study) -> None:
    client.headers["User-Agent"] = "RecognizableBrowser/9"
    become_rater(client)
    answer(client)
    with study.engine.connect() as connection:
        tables = connection.execute(text("select name from sqlite_master where type='table'")).scalars().all()
        content = " ".join(str(connection.execute(text(f'select * from "{t}"')).all()) for t in tables)
    assert "RecognizableBrowser" not in content
    assert "testclient" not in content


def test_invited_people_only(template: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    shutil.copytree(template, folder)
    toml = folder / "study.toml"
    toml.write_text(toml.read_text().replace('access = "open"', 'access = "invite"'))
    study = open_study(folder)
    with TestClient(create_app(study, researcher_token=TOKEN)) as client:
        assert post(client, "/consent", "/", agree="yes").status_code == 403
        invite = create_invite(study, label="x", quota=1)
        client.get(f"/?invite={invite.code}")
        assert post(client, "/consent", "/", agree="yes").status_code == 303


def test_first_page_is_small(client: TestClient) -> None:
    page = client.get("/")
    parts = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text)
    assert len(page.content) + sum(len(client.get(part).content) for part in parts) < 150_000
    become_rater(client)
    modules = ("rate.js", "clip.js", "queue.js", "stage.js", "scene.js", "replay.js", "tokens.css", "study.css")
    total = len(client.get("/rate").content) + sum(len(client.get(f"/static/{m}").content) for m in modules)
    assert total < 150_000


def test_researcher_sees_and_steers(client: TestClient, study: Study) -> None:
    become_rater(client)
    answer(client)
    log_in(client)
    assert "recorded" in client.get("/researcher").text
    assert post(client, "/researcher/invites", "/researcher", label="<b>x</b>", quota="7").status_code == 303
    page = client.get("/researcher").text
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert client.get("/researcher/download/answers.csv").text.count("\n") in (1, 2)
    assert post(client, "/researcher/state", "/researcher", state="paused").status_code == 303
    assert "State: paused" in client.get("/researcher").text
    assert post(client, "/researcher/invites", "/researcher", label="x", quota="-1").status_code == 422
    assert post(client, "/researcher/logout", "/researcher").status_code == 303
    assert client.get("/researcher/download/answers.csv").status_code == 403


def test_clips_have_pages_of_their_own_in_the_printed_form_only(client: TestClient, tmp_path: Path) -> None:
    become_rater(client)
    own = client.get("/api/session").json()["items"]
    clip = next(item["clip"] for item in own if "clip" in item)
    assert client.get(f"/v/{clip}").status_code == 404
    published = open_study(published_study(tmp_path / "published"))
    with TestClient(create_app(published, researcher_token=TOKEN), base_url="http://testserver") as form:
        clip = published.clips[0].clip
        assert form.get(f"/v/{clip}", follow_redirects=False).headers["location"] == "/"
        assert post(form, "/consent", "/", agree="yes").status_code == 303
        assert form.get("/", follow_redirects=False).headers["location"] == "/rate"
        assert form.get(f"/v/{clip}").status_code == 200
        for name in ("0" * 24, "..%2f..%2fstudy.toml", "x"):
            assert form.get(f"/v/{name}").status_code == 404


def test_answers_wait_for_the_clip_except_in_the_printed_form(client: TestClient, tmp_path: Path) -> None:
    become_rater(client)
    items = client.get("/api/session").json()["items"]
    first = next(item["position"] for item in items if "clip" in item)
    assert answer(client, position=first, plays=0).status_code == 422
    published = open_study(published_study(tmp_path / "published"))
    with TestClient(create_app(published, researcher_token=TOKEN), base_url="http://testserver") as form:
        assert post(form, "/consent", "/", agree="yes").status_code == 303
        assert answer(form, position=0, plays=0).status_code == 200


def test_withdrawal_deletes_and_ends_the_session(client: TestClient, study: Study) -> None:
    become_rater(client)
    answer(client)
    csrf = form_token(client.get("/rate").text)
    assert "deleted" in post(client, "/withdraw", "/withdraw").text
    assert answer(client, position=1, csrf=csrf).status_code in (401, 422)
    with study.engine.connect() as connection:
        assert connection.execute(text("select count(*) from answers")).scalar_one() == 0


def other_device(client: TestClient, *, app: object | None = None) -> TestClient:
    """The same rater on a second device, by default at the same server process."""
    device = TestClient(app or client.app, base_url="http://testserver")  # type: ignore[arg-type]
    device.cookies["gw_rater"] = client.cookies["gw_rater"]
    return device


def test_answers_of_a_withdrawn_rater_never_become_those_of_the_next_one(client: TestClient, study: Study) -> None:
    become_rater(client)
    phone = other_device(client)
    csrf = form_token(phone.get("/rate").text)
    assert answer(phone, position=0, csrf=csrf).status_code == 200
    post(client, "/withdraw", "/withdraw")
    become_rater(client)
    assert answer(phone, position=1, csrf=csrf).status_code == 401
    with study.engine.connect() as connection:
        assert connection.execute(text("select count(*) from answers")).scalar_one() == 0


def test_a_server_process_that_did_not_hear_of_a_withdrawal_saves_nothing_either(
    client: TestClient, study: Study
) -> None:
    become_rater(client)
    with TestClient(create_app(open_study(study.folder), researcher_token=TOKEN)) as process:
        phone = other_device(client, app=process.app)
        csrf = form_token(phone.get("/rate").text)
        assert answer(phone, position=0, csrf=csrf).status_code == 200
        post(client, "/withdraw", "/withdraw")
        become_rater(client)
        assert answer(phone, position=1, csrf=csrf).status_code == 422
    with study.engine.connect() as connection:
        assert connection.execute(text("select count(*) from answers")).scalar_one() == 0


def test_two_clicks_on_start_make_one_rater(client: TestClient, study: Study) -> None:
    invite = create_invite(study, label="platform", quota=1)
    csrf = form_token(client.get(f"/?invite={invite.code}&PROLIFIC_PID=5f1e2d3c").text)
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    client.cookies.clear()
    answers = []
    for _ in range(2):  # the second request leaves before the answer to the first is there
        form = {"csrf": csrf, "agree": "yes"}
        answers.append(client.post("/consent", data=form, headers={"Cookie": cookies}, follow_redirects=False))
        client.cookies.clear()
    assert [a.status_code for a in answers] == [303, 303]
    assert answers[0].cookies["gw_rater"] == answers[1].cookies["gw_rater"]
    assert len(payments(study)) == list_invites(study)[0].used == 1


def test_who_withdrew_can_take_part_again_as_somebody_else(client: TestClient, study: Study) -> None:
    become_rater(client)
    first = client.cookies["gw_rater"]
    post(client, "/withdraw", "/withdraw")
    become_rater(client)
    assert client.cookies["gw_rater"] != first
    assert find_rater(study, first) is None


def test_a_database_that_is_away_is_said_politely(client: TestClient, study: Study) -> None:
    become_rater(client)
    csrf = form_token(client.get("/rate").text)
    with study.engine.begin() as connection:
        connection.execute(text("alter table answers rename to hidden"))
    assert answer(client, csrf=csrf).status_code == 503
    page = client.get("/rate")
    assert page.status_code == 503
    assert "Traceback" not in page.text
