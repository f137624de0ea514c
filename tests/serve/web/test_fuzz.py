"""Nonsense in every form and in the programming interface: refused, never a failure of the server."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from giveway.serve.web.app import create_app
from giveway.study.rehearsal import enroll_token
from giveway.study.workspace import open_study
from support.studies import synthetic_study

TOKEN = "researcher-token-for-tests"
NO_LIMITS = {"joins_per_minute": 10**6, "logins_per_minute": 10**6, "answers_per_second": 1e6}
FORMS = (
    "/consent",
    "/eligibility",
    "/playback",
    "/practice",
    "/comment",
    "/withdraw",
    "/resume",
    "/researcher/login",
    "/researcher/logout",
    "/researcher/state",
    "/researcher/invites",
    "/researcher/external-ids/delete",
)
FIELDS = ("agree", "confirmed", "number", "comment", "age_band", "token", "state", "label", "quota", "sure", "other")
TEXT = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["yes", "0", "1", "-1", "9" * 40, "\x00", "open", "'; drop table raters;--", "٣"]),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    study = open_study(synthetic_study(tmp_path_factory.mktemp("fuzz") / "study", limits=NO_LIMITS))
    app = create_app(study, researcher_token=TOKEN)
    with TestClient(app, raise_server_exceptions=False) as opened:
        yield opened


def csrf(client: TestClient) -> str:
    page = client.get("/researcher/login").text
    return page.split('name="csrf" value="')[1].split('"')[0]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(FORMS),
    values=st.dictionaries(st.sampled_from(FIELDS), TEXT, max_size=4),
    signed=st.booleans(),
    role=st.sampled_from(["nobody", "rater", "researcher"]),
)
def test_no_form_breaks_the_server(
    client: TestClient, path: str, values: dict[str, str], signed: bool, role: str
) -> None:
    client.cookies.clear()
    token = csrf(client)
    if role == "rater":
        client.post("/consent", data={"csrf": token, "agree": "yes"})
    if role == "researcher":
        client.post("/researcher/login", data={"csrf": token, "token": TOKEN})
    data = {**values, "csrf": token} if signed else values
    assert client.post(path, data=data, follow_redirects=False).status_code < 500


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from([*FORMS, "/", "/rate", "/api/session", "/api/answers", "/clips/x.json", "/researcher"]),
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"]),
    content=st.binary(max_size=200),
    kind=st.sampled_from(
        ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "x/y", ""]
    ),
    cookie=st.binary(max_size=60),
    query=st.text(max_size=30),
)
def test_no_bytes_break_the_server(client: TestClient, path, method, content, kind, cookie, query) -> None:
    client.cookies.clear()
    headers = {b"content-type": kind.encode(), b"cookie": b"gw_rater=" + cookie.replace(b"\n", b"").replace(b"\r", b"")}
    answer = client.request(
        method, path, content=content, headers=headers, params={"invite": query}, follow_redirects=False
    )
    assert answer.status_code < 500


def test_schemathesis_finds_no_failure(client: TestClient) -> None:
    """Requests made from the interface's own description, with a rater's session."""
    schemathesis = pytest.importorskip("schemathesis")
    client.cookies.clear()
    client.cookies["gw_rater"] = enroll_token(client.app.state.web.study)  # type: ignore[attr-defined]
    proof = client.get("/rate").text.split('name="form-token" content="')[1].split('"')[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = schemathesis.openapi.from_dict(client.app.openapi())  # type: ignore[attr-defined]
        operations = [result.ok() for result in schema.get_all_operations()]
    assert {f"{o.method.upper()} {o.path}" for o in operations} >= {
        "POST /api/answers",
        "GET /api/session",
        "GET /clips/{clip}.json",
    }
    tried = 0
    for operation in operations:

        @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def run(case) -> None:
            nonlocal tried
            tried += 1
            request = case.as_transport_kwargs(base_url="http://testserver")
            body = {k: request[k] for k in ("json", "data") if request.get(k) is not None}
            answer = client.request(
                request["method"],
                request["url"],
                params=request.get("params"),
                headers={"X-CSRF": proof},
                **({"content": body["data"]} if isinstance(body.get("data"), bytes | str) else body),
            )
            assert answer.status_code < 500

        run()
    assert tried > 50
