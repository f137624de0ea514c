"""What the rater's scripts ask for: the session, practice, clips; and where answers go."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from pathlib import Path as FilePath
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Header, HTTPException, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool

from giveway import __version__
from giveway.core.errors import StoreError
from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import Tracks
from giveway.reports.player.document import replay_document
from giveway.serve.web.context import STEP_PAGES, WebContext
from giveway.study.answer_writer import Answer, NotSavedError, Outcome
from giveway.study.manifest import CLIP_FOLDER, Clip, check_video, read_drawing
from giveway.study.participation import Rater, assigned_items, finish_rating, playback_number
from giveway.study.texts import feedback_of
from giveway.study.workspace import utc_now

log = logging.getLogger("giveway.serve.web")
MAX_MS = 86_400_000  # a day; longer is no reading time
STATUS = {
    Outcome.SAVED: 200,
    Outcome.DUPLICATE: 200,
    Outcome.CONFLICT: 409,
    Outcome.REFUSED: 422,
    Outcome.CLOSED: 423,
}
IMMUTABLE = {"Cache-Control": "private, max-age=31536000, immutable"}
ClipName = Annotated[str, Path(pattern=r"^[0-9a-f]{24}$")]


class AnswerIn(BaseModel):
    """An answer as the browser sends it; the id is made there, so that sending again is harmless."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")]
    position: Annotated[int, Field(ge=0, le=10_000)]
    rating: Annotated[int, Field(ge=1, le=11)]
    rt_ms: Annotated[int, Field(ge=0, le=MAX_MS)]
    plays: Annotated[int, Field(ge=0, le=10_000)]
    played_ms: Annotated[int, Field(ge=0, le=MAX_MS)]
    visible_ms: Annotated[int, Field(ge=0, le=MAX_MS)]


ANSWER_DESCRIPTION: dict[str, Any] = {
    "parameters": [{"name": "X-CSRF", "in": "header", "schema": {"type": "string", "maxLength": 100}}],
    "requestBody": {"required": True, "content": {"application/json": {"schema": AnswerIn.model_json_schema()}}},
}
"""What a request to save an answer looks like, for the description of the interface."""


class AnswerOut(BaseModel):
    """What became of an answer."""

    outcome: str


class SessionOut(BaseModel):
    """What the rating page shows, in order."""

    total: int
    items: list[dict[str, Any]]


async def known_rater(request: Request) -> int:
    """Row of the rater who asks; every request counts against his limit."""
    web: WebContext = request.app.state.web
    rater_id = await web.rater_id(request)
    if rater_id is None:
        raise HTTPException(401, "no session")
    if not web.requests.allows(str(rater_id)):
        raise HTTPException(429, "too many requests", headers={"Retry-After": "2"})
    return rater_id


async def same_page(request: Request, x_csrf: Annotated[str, Header(max_length=100)] = "") -> None:
    """Refuse what does not come from our own pages."""
    web: WebContext = request.app.state.web
    if not web.cookies.proves(request, x_csrf):
        raise HTTPException(403, "not from our page")


def current_rater(request: Request) -> Rater:
    """The rater who asks."""
    web: WebContext = request.app.state.web
    rater = web.rater(request)
    if rater is None:
        raise HTTPException(401, "no session")
    return rater


class Drawings:
    """Canvas documents, kept in memory: they are small, never change, and everybody asks for the same ones.

    Only names of the manifest reach the file system, so no path can be smuggled in.
    """

    MAX_BYTES = 64 * 1024 * 1024

    def __init__(self, folder: FilePath) -> None:
        self._folder = folder
        self._known: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    async def get(self, clip: str) -> bytes:
        """The document of a clip of the manifest.

        Raises:
            StoreError: it is not what was written.
        """
        if clip not in self._known:
            content = await run_in_threadpool(read_drawing, self._folder, clip)
            self._size += len(content) if clip not in self._known else 0
            self._known[clip] = content
            while self._size > self.MAX_BYTES and len(self._known) > 1:
                self._size -= len(self._known.popitem(last=False)[1])
        return self._known[clip]


RaterId = Annotated[int, Depends(known_rater)]
CurrentRater = Annotated[Rater, Depends(current_rater)]


def rater_api(web: WebContext) -> APIRouter:
    """Routes of the programming interface."""
    router = APIRouter()
    study = web.study
    clips = study.by_id()
    drawings = Drawings(study.folder)
    num_options = len(study.design.options)

    def feedback(clip: Clip) -> str:
        declared = clip.condition == study.recorded
        return feedback_of(clip.origin, clip.declared_by, is_broken=clip.broken, is_declared=declared)

    @router.post(
        "/api/answers",
        response_model=AnswerOut,
        responses={401: {}, 403: {}, 409: {}, 422: {}, 423: {}, 429: {}, 503: {}},
        openapi_extra=ANSWER_DESCRIPTION,
    )
    async def save_answer(request: Request) -> Response:
        """Save one answer; a success is only reported when it is on the disk."""
        # The busiest request of all: read and checked by hand, at a third of the cost of declared parameters.
        await same_page(request, request.headers.get("x-csrf", ""))
        rater_id = await known_rater(request)
        try:
            answer = AnswerIn.model_validate_json(await request.body())
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_context=False, include_input=False)) from None
        if answer.rating > num_options:
            raise HTTPException(422, "no such option")
        record = Answer(rater_id=rater_id, ts_utc=utc_now(), app_version=__version__, **answer.model_dump())
        try:
            outcome = await asyncio.wrap_future(web.writer.save(record))
        except NotSavedError:
            return JSONResponse({"outcome": "not saved"}, 503, {"Retry-After": "5"})
        return JSONResponse({"outcome": outcome.value}, STATUS[outcome])

    @router.get("/api/session", response_model=SessionOut, responses={401: {}})
    def session(rater: CurrentRater) -> dict[str, Any]:
        """The items that are still to be answered, in order."""
        items, done = assigned_items(study, rater)
        open_items = [item for item in items if item.position not in done]
        return {
            "total": len(items),
            "items": [
                {"position": item.position, "check": item.expected}
                if item.kind == "check"
                else {"position": item.position, **_clip(clips[item.item])}
                for item in open_items
            ],
        }

    @router.post("/api/finish", dependencies=[Depends(same_page)], responses={401: {}, 403: {}})
    def finish_main(rater: CurrentRater) -> dict[str, str]:
        """Leave the main block if everything is answered; tells where to go."""
        return {"next": STEP_PAGES[finish_rating(study, rater)]}

    @router.get("/api/practice", responses={401: {}})
    def practice(rater: CurrentRater) -> list[dict[str, Any]]:
        """Practice clips with what to say about them; only while practicing."""
        if rater.step != "practice":
            return []
        return [{**_clip(clip), "feedback": feedback(clip)} for clip in study.practice]

    @router.get("/api/playback", responses={401: {}})
    def playback(rater: CurrentRater) -> dict[str, Any]:
        """A short clip in which a car carries this rater's number."""
        return playback_clip(playback_number(study, rater))

    @router.get("/clips/{clip}.json", responses={401: {}, 404: {}, 503: {}})
    async def clip_document(clip: ClipName, request: Request) -> Response:
        """Drawing of a clip."""
        await known_rater(request)
        if clip not in clips:
            raise HTTPException(404, "no such clip")
        try:
            return Response(await drawings.get(clip), media_type="application/json", headers=IMMUTABLE)
        except StoreError as error:
            raise _damaged(clip, error) from error

    @router.get("/clips/{clip}.mp4", responses={401: {}, 404: {}, 206: {}, 416: {}, 503: {}})
    async def clip_video(clip: ClipName, rater_id: RaterId) -> Response:
        """Video of a clip."""
        if clip not in clips or not clips[clip].video:
            raise HTTPException(404, "no such clip")
        try:
            await run_in_threadpool(check_video, study.folder, clip)
        except (StoreError, OSError) as error:
            raise _damaged(clip, error) from error
        return FileResponse(study.folder / CLIP_FOLDER / f"{clip}.mp4", media_type="video/mp4", headers=IMMUTABLE)

    return router


def _damaged(clip: str, error: Exception) -> HTTPException:
    """A clip that must not be shown: nobody rates what nobody made."""
    log.error("clip %s is damaged and is not shown: %s", clip, getattr(error, "found", None) or error)
    return HTTPException(503, "this clip cannot be shown", headers={"Retry-After": "60"})


def _clip(clip: Clip) -> dict[str, Any]:
    return {"clip": clip.clip, "video": clip.video}


def playback_clip(number: int) -> dict[str, Any]:
    """Two seconds of a car that drives past the center with a number on it."""
    time_s = np.arange(21) / 10
    x = np.stack([np.zeros(21), -18 + 18 * time_s])
    xy = np.stack([x, np.stack([np.full(21, -4.0), np.full(21, 4.0)])], axis=-1)
    tracks = Tracks(
        time_s=time_s,
        xy=xy,
        heading=np.zeros((2, 21)),
        velocity=np.stack([np.zeros((21, 2)), np.tile([18.0, 0.0], (21, 1))]),
        observed=np.ones((2, 21), dtype=np.bool_),
        size=np.array([[4.5, 1.8], [4.5, 1.8]]),
        kind=np.array([1, 1]),
        ids=np.array(["ego", "rated"]),
    )
    scene = Scene(tracks=tracks, provenance=Provenance(dataset="", recording=""))
    document = replay_document(scene, ego="ego", roles={"ego": "ego", "rated": "prio"}, labels={"rated": f"{number}"})
    return {**document, "view": {"span": 50, "up": "north"}}
