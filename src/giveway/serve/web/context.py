"""What every route needs: the study, the answer writer, cookies, limits and the page renderer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool

from giveway import __version__
from giveway.serve.web.security import RATER_COOKIE, RATER_COOKIE_S, VISIT_COOKIE, Cookies, RateLimiter
from giveway.study.answer_writer import AnswerWriter
from giveway.study.forgetting import Forgetter
from giveway.study.participation import Rater, find_rater
from giveway.study.workspace import Study

STEP_PAGES = {
    "eligibility": "/eligibility",
    "playback": "/playback",
    "practice": "/practice",
    "rate": "/rate",
    "comment": "/comment",
    "done": "/done",
    "ineligible": "/ineligible",
}
KNOWN_RATERS = 20_000


class RefusedError(Exception):
    """A request that ends in a page with one sentence.

    Args:
        status: HTTP status.
        text: key of the text to show.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(slots=True, kw_only=True)
class WebContext:
    """Shared by all routes of one application."""

    study: Study
    writer: AnswerWriter
    forgetter: Forgetter
    cookies: Cookies
    joins: RateLimiter
    logins: RateLimiter
    requests: RateLimiter
    pages: Environment
    simulated: bool = False
    rater_ids: OrderedDict[str, int] = field(default_factory=lambda: OrderedDict[str, int]())

    def text(self, key: str, **values: object) -> str:
        """A text of the study in its language."""
        return self.study.texts[key].format(**values) if values else self.study.texts[key]

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a page; the visit cookie is set where it is missing."""
        visit = self.cookies.visit(request)
        content = self.pages.get_template(template).render(
            t=self.text,
            design=self.study.design,
            form_token=self.cookies.form_token(visit),
            version=__version__,
            simulated=self.simulated,
            **values,
        )
        response = HTMLResponse(content, status_code=status)
        if request.cookies.get(VISIT_COOKIE) != visit:
            self.cookies.put(response, VISIT_COOKIE, visit, max_age=RATER_COOKIE_S)
        return response

    def rater(self, request: Request) -> Rater | None:
        """The rater of this browser."""
        token = request.cookies.get(RATER_COOKIE, "")
        return find_rater(self.study, token) if 20 <= len(token) <= 100 else None

    async def rater_id(self, request: Request) -> int | None:
        """Row of the rater of this browser; remembered, since it never changes.

        Who withdrew at another server process may still be remembered; as ids are never given again, the database
        then refuses the answer.
        """
        token = request.cookies.get(RATER_COOKIE, "")
        if token not in self.rater_ids:
            found = await run_in_threadpool(self.rater, request)
            if found is None:
                return None
            self.rater_ids[token] = found.id
            while len(self.rater_ids) > KNOWN_RATERS:
                self.rater_ids.popitem(last=False)
        return self.rater_ids[token]

    def forget(self, request: Request) -> None:
        """Know the rater of this browser no longer; on all his devices, since they share the token."""
        self.rater_ids.pop(request.cookies.get(RATER_COOKIE, ""), None)

    def at_step(self, request: Request, *steps: str) -> Rater | Response:
        """The rater if he is at one of the steps, else the way to the page where he is."""
        rater = self.rater(request)
        if rater is None:
            return RedirectResponse("/", 303)
        return rater if rater.step in steps else self.go(rater.step)

    def go(self, step: str) -> RedirectResponse:
        """The way to the page of a step."""
        return RedirectResponse(STEP_PAGES[step], 303)

    def require_form(self, request: Request, token: str) -> None:
        """Refuse a form that does not come from our own page."""
        if not self.cookies.proves(request, token):
            raise RefusedError(403, "error_expired")


def page_environment(globals_: Mapping[str, Any]) -> Environment:
    """Templates of this package; everything is escaped, a misspelt name is an error."""
    environment = Environment(
        loader=PackageLoader("giveway.serve.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(globals_)
    return environment
