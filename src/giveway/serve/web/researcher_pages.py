"""The researcher's view: progress, agreement, distributions, invites, pausing, download."""

from __future__ import annotations

import io
import json
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from giveway.core.errors import UsageError
from giveway.reports.rendering import blocks_html
from giveway.serve.web.context import RefusedError, WebContext
from giveway.serve.web.security import RESEARCHER_COOKIE, RESEARCHER_SESSION_S, client_key
from giveway.study.export import check_answers, code_book, count_table, long_answers, rater_table, wide_matrix
from giveway.study.integrity import check_rows
from giveway.study.monitor import create_invite, delete_external_ids, list_invites, overview
from giveway.study.pages import live_blocks
from giveway.study.workspace import set_study_state

FormText = Annotated[str, Form(max_length=200)]
HOME = "/researcher"


def researcher_pages(web: WebContext) -> APIRouter:
    """Routes of the researcher's pages; all but the login need a session."""
    router = APIRouter(prefix=HOME, include_in_schema=False)
    study = web.study

    def guard(request: Request, csrf: str | None = None) -> None:
        if not web.cookies.is_researcher(request):
            raise RefusedError(403, "error_expired")
        if csrf is not None:
            web.require_form(request, csrf)

    @router.get("")
    def dashboard(request: Request) -> Response:
        if not web.cookies.is_researcher(request):
            return RedirectResponse(f"{HOME}/login", 303)
        found = overview(study)
        return web.page(
            request,
            "researcher.html",
            overview=found,
            seen=live_blocks(study, found),
            blocks=blocks_html,
            invites=list_invites(study),
            root=str(request.base_url).rstrip("/"),
        )

    @router.get("/login")
    def login_page(request: Request) -> Response:
        return web.page(request, "login.html", wrong=False)

    @router.post("/login")
    def login(request: Request, csrf: FormText = "", token: FormText = "") -> Response:
        web.require_form(request, csrf)
        if not web.logins.allows(client_key(request)):
            raise RefusedError(429, "error_busy")
        session = web.cookies.researcher_session(token.strip())
        if session is None:
            return web.page(request, "login.html", status=403, wrong=True)
        response = RedirectResponse(HOME, 303)
        web.cookies.put(response, RESEARCHER_COOKIE, session, max_age=RESEARCHER_SESSION_S, strict=True)
        return response

    @router.post("/logout")
    def logout(request: Request, csrf: FormText = "") -> Response:
        guard(request, csrf)
        response = RedirectResponse(f"{HOME}/login", 303)
        web.cookies.drop(response, RESEARCHER_COOKIE)
        return response

    @router.post("/state")
    def change_state(request: Request, csrf: FormText = "", state: FormText = "") -> Response:
        guard(request, csrf)
        if state == "open" or state == "paused" or state == "closed":
            set_study_state(study, state)
        return RedirectResponse(HOME, 303)

    @router.post("/invites")
    def invite(request: Request, csrf: FormText = "", label: FormText = "", quota: FormText = "") -> Response:
        guard(request, csrf)
        try:
            create_invite(study, label=label, quota=int(quota) if quota.isascii() and quota.isdigit() else 0)
        except (UsageError, ValueError):
            raise RefusedError(422, "error_title") from None
        return RedirectResponse(HOME, 303)

    @router.post("/external-ids/delete")
    def forget(request: Request, csrf: FormText = "", sure: FormText = "") -> Response:
        guard(request, csrf)
        if sure == "yes":
            delete_external_ids(study)
            web.forgetter.forget()
        return RedirectResponse(HOME, 303)

    @router.get("/download/{name}")
    def download(request: Request, name: str) -> Response:
        guard(request)
        if name == "codebook.json":
            return _attachment(json.dumps(code_book(study), indent=1, ensure_ascii=False), name, "application/json")
        check_rows(study.reader, study.key)
        long = long_answers(study)
        main = [clip.clip for clip in study.clips if clip.role == "main"]
        tables = {
            "answers.csv": lambda: long,
            "wide.csv": lambda: wide_matrix(long, main),
            "counts.csv": lambda: count_table(long, main, len(study.design.options)),
            "checks.csv": lambda: check_answers(study),
            "raters.csv": lambda: rater_table(study),
        }
        if name not in tables:
            raise RefusedError(404, "error_missing")
        buffer = io.BytesIO()
        tables[name]().write_csv(buffer)
        return _attachment(buffer.getvalue(), name, "text/csv")

    return router


def _attachment(content: str | bytes, name: str, media_type: str) -> Response:
    return Response(content, media_type=media_type, headers={"Content-Disposition": f'attachment; filename="{name}"'})
