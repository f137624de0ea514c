"""The study application: routes, static files, error pages."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as StarletteHTTPException

from giveway import __version__
from giveway.reports.rendering import static_text
from giveway.serve.web.context import RefusedError, WebContext, page_environment
from giveway.serve.web.rater_api import rater_api
from giveway.serve.web.rater_pages import rater_pages
from giveway.serve.web.researcher_pages import researcher_pages
from giveway.serve.web.security import Cookies, Gate, RateLimiter
from giveway.study.answer_writer import AnswerWriter
from giveway.study.forgetting import Forgetter
from giveway.study.manifest import check_clips
from giveway.study.simulated import is_marked
from giveway.study.workspace import Study

log = logging.getLogger("giveway.serve.web")
STATIC = Path(__file__).parent / "static"


def create_app(study: Study, *, researcher_token: str, https: bool = False) -> FastAPI:
    """The study as a web application.

    Args:
        study: opened study.
        researcher_token: what a researcher logs in with.
        https: the application is reached through HTTPS; cookies are then marked as secure.

    Raises:
        StoreError: a clip is not what was written.
    """
    check_clips(study.folder, study.clips)
    limits = study.design.limits
    web = WebContext(
        study=study,
        writer=AnswerWriter(study.engine, study.key, min_plays=0 if study.design.is_published else 1),
        forgetter=Forgetter(study.engine),
        cookies=Cookies(study.key, https=https, researcher_token=researcher_token),
        joins=RateLimiter(per_second=limits.joins_per_minute / 60, burst=limits.joins_per_minute),
        logins=RateLimiter(per_second=limits.logins_per_minute / 60, burst=limits.logins_per_minute),
        requests=RateLimiter(per_second=limits.answers_per_second, burst=100),
        pages=page_environment({"language": study.design.language}),
        simulated=is_marked(study),
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        # A server that was killed between a withdrawal and the end of its clean-up left that to us.
        if study.engine.dialect.name == "sqlite":
            await run_in_threadpool(web.forgetter.forget)
        yield
        web.writer.close()
        web.forgetter.close()
        study.engine.dispose()

    app = FastAPI(
        title="Give Way study",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
    )
    app.state.web = web
    app.include_router(rater_api(web))  # first: routes are tried in order, and these are asked for most
    app.include_router(rater_pages(web))
    app.include_router(researcher_pages(web))
    _static(app)
    _errors(app, web)
    app.add_middleware(Gate, https=https)
    return app


def _static(app: FastAPI) -> None:
    shared = {name: static_text(name) for name in ("tokens.css", "replay.js", "scene.js", "stage.js")}

    @app.get("/health")
    def health() -> dict[str, str]:  # pyright: ignore[reportUnusedFunction]
        """Whether the server answers."""
        return {"status": "ok"}

    def served(name: str) -> Callable[[], Response]:
        """Tokens and player are those of the reports."""
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return lambda: Response(shared[name], media_type=kind, headers={"Cache-Control": "private, max-age=3600"})

    for name in shared:
        app.get(f"/static/{name}", include_in_schema=False)(served(name))
    app.mount("/static", StaticFiles(directory=STATIC), name="static")


def _errors(app: FastAPI, web: WebContext) -> None:
    def answer(request: Request, status: int, text: str) -> Response:
        if request.url.path.startswith(("/api/", "/clips/")):
            return JSONResponse({"detail": text}, status)
        return web.page(request, "message.html", status=status, title="error_title", text=text)

    @app.exception_handler(RefusedError)
    def refused(request: Request, error: RefusedError) -> Response:  # pyright: ignore[reportUnusedFunction]
        return answer(request, error.status, error.text)

    @app.exception_handler(StarletteHTTPException)
    def http(request: Request, error: HTTPException) -> Response:  # pyright: ignore[reportUnusedFunction]
        if request.url.path.startswith(("/api/", "/clips/")):
            return JSONResponse({"detail": error.detail}, error.status_code, error.headers)
        return answer(request, error.status_code, "error_missing" if error.status_code == 404 else "error_title")

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:  # pyright: ignore[reportUnusedFunction]
        if request.url.path.startswith("/clips/"):
            return JSONResponse({"detail": "no such clip"}, 404)
        if request.url.path.startswith("/api/"):
            places = [".".join(str(part) for part in e["loc"]) + ": " + e["msg"] for e in error.errors()[:5]]
            return JSONResponse({"detail": places}, 422)
        return answer(request, 422, "error_title")

    @app.exception_handler(SQLAlchemyError)
    def database(request: Request, error: SQLAlchemyError) -> Response:  # pyright: ignore[reportUnusedFunction]
        log.error("the database refused: %s", type(error).__name__)
        return answer(request, 503, "error_internal")
