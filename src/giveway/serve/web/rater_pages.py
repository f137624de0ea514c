"""Pages of a rater, from consent to debrief."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from giveway.serve.web.context import RefusedError, WebContext
from giveway.serve.web.security import ARRIVAL_COOKIE, ARRIVAL_COOKIE_S, RATER_COOKIE, RATER_COOKIE_S, client_key
from giveway.study import printed_form
from giveway.study.participation import (
    AGE_BANDS,
    DRIVING_BANDS,
    MAX_EXTERNAL_ID,
    PLAYBACK_CHOICES,
    JoinRefusedError,
    count_items,
    find_rater,
    finish,
    finish_rating,
    join,
    record_eligibility,
    record_playback,
    start_rating,
    withdraw,
)
from giveway.study.workspace import Study, study_state

FormText = Annotated[str, Form(max_length=200)]
EXTERNAL_ID_NAMES = ("PROLIFIC_PID", "external_id")
SECONDS_PER_CLIP = 8


def rater_pages(web: WebContext) -> APIRouter:
    """Routes of the rater's pages."""
    router = APIRouter(include_in_schema=False)
    study = web.study
    clips = study.by_id()

    @router.get("/")
    def start(request: Request, invite: str = "") -> Response:
        external = next((request.query_params[n] for n in EXTERNAL_ID_NAMES if n in request.query_params), "")
        if invite or external:
            return _remember_arrival(web, invite, external)
        rater = web.rater(request)
        if rater is not None:
            return web.go(rater.step)
        state = study_state(study)
        if state != "open":
            return web.page(request, "message.html", title="consent_title", text=f"refused_{state}")
        return web.page(request, "consent.html", **_length(study), missing=False)

    @router.post("/consent")
    def consent(request: Request, csrf: FormText = "", agree: FormText = "") -> Response:
        web.require_form(request, csrf)
        rater = web.rater(request)
        if rater is not None:
            return web.go(rater.step)
        if agree != "yes":
            return web.page(request, "consent.html", status=422, **_length(study), missing=True)
        if not web.joins.allows(client_key(request)):
            raise RefusedError(429, "error_busy")
        arrival = _arrival(web, request)
        try:
            token = join(
                study,
                invite=arrival.get("invite"),
                external_id=arrival.get("external"),
                visit=web.cookies.visit(request),  # a second click may come before the browser has the first answer
            )
        except JoinRefusedError as error:
            return web.page(request, "message.html", status=403, title="consent_title", text=f"refused_{error.reason}")
        response = RedirectResponse("/eligibility", 303)
        web.cookies.put(response, RATER_COOKIE, token, max_age=RATER_COOKIE_S)
        web.cookies.drop(response, ARRIVAL_COOKIE)
        return response

    @router.get("/eligibility")
    def eligibility(request: Request) -> Response:
        rater = web.at_step(request, "eligibility")
        return rater if isinstance(rater, Response) else web.page(request, "eligibility.html")

    @router.post("/eligibility")
    def eligibility_answer(
        request: Request, csrf: FormText = "", confirmed: Annotated[list[str] | None, Form(max_length=50)] = None
    ) -> Response:
        web.require_form(request, csrf)
        rater = web.at_step(request, "eligibility")
        if isinstance(rater, Response):
            return rater
        wanted = {str(n) for n in range(len(study.design.flow.eligibility))}
        return web.go(record_eligibility(study, rater, confirmed=wanted <= set(confirmed or [])))

    @router.get("/ineligible")
    def ineligible(request: Request) -> Response:
        rater = web.at_step(request, "ineligible")
        if isinstance(rater, Response):
            return rater
        return web.page(request, "message.html", title="ineligible_title", text="ineligible_text")

    @router.get("/playback")
    def playback(request: Request) -> Response:
        rater = web.at_step(request, "playback")
        if isinstance(rater, Response):
            return rater
        return web.page(request, "playback.html", choices=range(1, PLAYBACK_CHOICES + 1), wrong=False)

    @router.post("/playback")
    def playback_answer(request: Request, csrf: FormText = "", number: FormText = "") -> Response:
        web.require_form(request, csrf)
        rater = web.at_step(request, "playback")
        if isinstance(rater, Response):
            return rater
        seen = int(number) if number.isascii() and number.isdigit() and len(number) < 3 else 0
        if record_playback(study, rater, seen=seen):
            return RedirectResponse("/", 303)
        return web.page(request, "playback.html", status=422, choices=range(1, PLAYBACK_CHOICES + 1), wrong=True)

    @router.get("/practice")
    def practice(request: Request) -> Response:
        rater = web.at_step(request, "practice")
        return rater if isinstance(rater, Response) else web.page(request, "practice.html")

    @router.post("/practice")
    def practice_done(request: Request, csrf: FormText = "") -> Response:
        web.require_form(request, csrf)
        rater = web.at_step(request, "practice")
        return rater if isinstance(rater, Response) else web.go(start_rating(study, rater))

    @router.get("/rate")
    def rate(request: Request) -> Response:
        rater = web.at_step(request, "rate")
        if isinstance(rater, Response):
            return rater
        total, answered = count_items(study, rater)
        if answered == total:
            return web.go(finish_rating(study, rater))
        values: dict[str, Any] = {"rater": rater, "total": total, "answered": answered}
        if study.design.is_published:
            return web.page(request, "published.html", form=printed_form, **values)
        return web.page(request, "rate.html", **values)

    @router.get("/v/{clip}")
    def video(request: Request, clip: str) -> Response:
        # The link of the printed form; elsewhere a clip is only seen where it is judged.
        found = clips.get(clip) if study.design.is_published else None
        if found is None:
            raise RefusedError(404, "error_missing")
        return RedirectResponse("/", 303) if web.rater(request) is None else web.page(request, "video.html", clip=found)

    @router.get("/comment")
    def comment(request: Request) -> Response:
        rater = web.at_step(request, "comment")
        if isinstance(rater, Response):
            return rater
        if study.design.is_published:
            return web.go(finish(study, rater, comment="", age_band="", driving_band=""))
        return web.page(request, "comment.html", age_bands=AGE_BANDS, driving_bands=DRIVING_BANDS)

    @router.post("/comment")
    def comment_answer(
        request: Request,
        csrf: FormText = "",
        comment: Annotated[str, Form(max_length=8000)] = "",
        age_band: FormText = "",
        driving_band: FormText = "",
    ) -> Response:
        web.require_form(request, csrf)
        rater = web.at_step(request, "comment")
        if isinstance(rater, Response):
            return rater
        return web.go(finish(study, rater, comment=comment, age_band=age_band, driving_band=driving_band))

    @router.get("/done")
    def done(request: Request) -> Response:
        rater = web.at_step(request, "done")
        if isinstance(rater, Response):
            return rater
        real = any(clip.origin in ("recorded", "unknown") for clip in web.study.clips)
        return web.page(request, "done.html", code=rater.completion_code, any_recorded=real)

    @router.get("/withdraw")
    def withdraw_page(request: Request) -> Response:
        rater = web.rater(request)
        return RedirectResponse("/", 303) if rater is None else web.page(request, "withdraw.html")

    @router.post("/withdraw")
    def withdraw_now(request: Request, csrf: FormText = "") -> Response:
        web.require_form(request, csrf)
        rater = web.rater(request)
        gone = True
        if rater is not None:
            withdraw(study, rater)
            web.forget(request)
            gone = web.forgetter.forget()
        said = "withdrawn_text" if gone else "withdrawn_soon_text"
        response = web.page(request, "message.html", title="withdrawn_title", text=said)
        web.cookies.drop(response, RATER_COOKIE)
        return response

    @router.get("/resume")
    def resume(request: Request) -> Response:
        # The token of this browser's own session may be shown: only its owner can see this page.
        token = request.cookies.get(RATER_COOKIE, "") if web.rater(request) is not None else ""
        return web.page(request, "resume.html", token=token, unknown=False)

    @router.post("/resume")
    def resume_now(request: Request, csrf: FormText = "", token: FormText = "") -> Response:
        web.require_form(request, csrf)
        if not web.logins.allows(client_key(request)):
            raise RefusedError(429, "error_busy")
        code = token.strip().rpartition("#")[2]
        if find_rater(study, code) is None:
            return web.page(request, "resume.html", status=404, token="", unknown=True)
        response = RedirectResponse("/", 303)
        web.cookies.put(response, RATER_COOKIE, code, max_age=RATER_COOKIE_S)
        return response

    return router


def _length(study: Study) -> dict[str, int]:
    """Clips and minutes, for the information page."""
    shown = min(len(study.stimuli), study.plan.clips_per_rater or len(study.stimuli))
    shown += round(shown * study.plan.repeat_share)
    minutes = shown * (study.design.clips.duration_s + SECONDS_PER_CLIP) / 60 + 2
    return {"clips": shown, "minutes": max(1, round(minutes))}


def _remember_arrival(web: WebContext, invite: str, external: str) -> Response:
    """Keep invite and external id, sealed, until consent; and clean the address line."""
    content: dict[str, Any] = {"invite": invite[:32] or None, "external": external[:MAX_EXTERNAL_ID] or None}
    response = RedirectResponse("/", 303)
    sealed = web.study.key.seal(json.dumps(content)).decode()
    web.cookies.put(response, ARRIVAL_COOKIE, sealed, max_age=ARRIVAL_COOKIE_S)
    return response


def _arrival(web: WebContext, request: Request) -> dict[str, str | None]:
    sealed = request.cookies.get(ARRIVAL_COOKIE)
    opened = None if sealed is None else web.study.key.unseal(sealed.encode(), max_age_s=ARRIVAL_COOKIE_S)
    return {} if opened is None else json.loads(opened)
