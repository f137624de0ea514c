"""The study file: everything that is decided before the first rater arrives.

``study.toml`` in the study folder is the declaration: question, order rules, quality checks and exclusion rules. Its
hash is stored with the first rater, and a changed file is reported, because rules must not change after the data.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from giveway.core.checked import Expect, read_toml
from giveway.core.errors import ConfigError, UnknownNameError
from giveway.core.files import write_text
from giveway.stats.agreement_summary import AgreementProfile
from giveway.study import printed_form
from giveway.study.orders import OrderPlan

STUDY_FILE = "study.toml"
MAX_CLIPS_PER_RATER = 40
MAX_MINUTES = 20.0

QUESTION = "How realistic is the surrounding vehicle's trajectory?"
OPTIONS = printed_form.OPTIONS

Fraction = Annotated[float, Field(ge=0, le=1)]
FalseIsOff = BeforeValidator(lambda value: None if value is False else value)
"""TOML has no null; a rule is switched off with ``false``."""
ShortText = Annotated[str, Field(max_length=400)]


class Section(BaseModel):
    """A table of the study file; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ClipStyle(Section):
    """How clips look; the same for every condition.

    Attributes:
        duration_s: length of every clip; 8 to 15 s is advised.
        rate_hz: instants per second after resampling.
        span_m: meters across the shorter side.
        up: orientation, fixed per study: north up or ego up.
        player: what raters see first; the other one is the fallback where it exists.
        focus: ``rated`` paints the car to judge orange and labels it; ``none`` gives all surrounding cars one color and
            no label, only the ego is colored.
    """

    duration_s: Annotated[float, Field(ge=0.5, le=60)] = 10.0
    rate_hz: Annotated[float, Field(ge=2, le=60)] = 10.0
    span_m: Annotated[float, Field(ge=10, le=500)] = 80.0
    up: Literal["north", "ego"] = "north"
    player: Literal["canvas", "video"] = "canvas"
    focus: Literal["rated", "none"] = "rated"


class OrderRules(Section):
    """What each rater sees, and in which order.

    Attributes:
        seed: root of all randomization.
        clips_per_rater: main clips one person sees; ``false`` for all, up to 40.
        fixed: show clips to everybody in the order of the manifest, as the published form did.
        repeat_share: share of main clips that are shown a second time.
        attention_checks: instructed-response items.
        practice_clips: clips with feedback before the main block.
    """

    seed: int = 0
    clips_per_rater: Annotated[Annotated[int, Field(ge=1, le=MAX_CLIPS_PER_RATER)] | None, FalseIsOff] = None
    fixed: bool = False
    repeat_share: Fraction = 0.1
    attention_checks: Annotated[int, Field(ge=0, le=10)] = 2
    practice_clips: Annotated[int, Field(ge=0, le=6)] = 2


class Exclusions(Section):
    """Rules for leaving raters out of the analysis, declared before data collection; ``false`` switches one off.

    Attributes:
        max_failed_checks: raters with more failed instructed-response items are excluded.
        min_median_rt_share: raters whose median response time is below this share of the clip length are excluded.
        min_rating_variance: raters whose answers vary less (straight-lining) are excluded.
        max_anchor_mean: raters whose mean rating of broken motion is above this are excluded.
        require_complete: raters who did not finish are excluded.
    """

    max_failed_checks: Annotated[Annotated[int, Field(ge=0)] | None, FalseIsOff] = 0
    min_median_rt_share: Annotated[Annotated[float, Field(ge=0, le=10)] | None, FalseIsOff] = 1.0
    min_rating_variance: Annotated[Annotated[float, Field(ge=0)] | None, FalseIsOff] = 0.05
    max_anchor_mean: Annotated[Annotated[float, Field(ge=1)] | None, FalseIsOff] = None
    require_complete: bool = True


class Flow(Section):
    """Pages around the main block.

    Attributes:
        consent_version: stored with every rater; raise it when the information text changes.
        eligibility: statements that must all be true for taking part.
        demographics: ask for coarse bands (age, driving experience), always optional.
        comment: ask for a comment at the end.
        access: ``open`` to everybody who knows the address, or by ``invite`` link only.
        completion_url: page to return to, e.g. that of the recruiting platform; shown as a link, never called.
    """

    consent_version: ShortText = "1"
    eligibility: tuple[ShortText, ...] = ("I am at least 18 years old.", "I hold a driving licence.")
    demographics: bool = True
    comment: bool = True
    access: Literal["open", "invite"] = "open"
    completion_url: Annotated[str, Field(max_length=400, pattern=r"^(https?://.*)?$")] = ""


class Limits(Section):
    """What the network may send.

    Attributes:
        joins_per_minute: new raters per client address.
        logins_per_minute: attempts at the researcher's login per client address.
        answers_per_second: sustained requests of one rater to the programming interface.
        max_raters: nobody can join after this many.
    """

    joins_per_minute: Annotated[int, Field(ge=1)] = 60
    logins_per_minute: Annotated[int, Field(ge=1)] = 10
    answers_per_second: Annotated[float, Field(gt=0)] = 5.0
    max_raters: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000


class StudyDesign(Section):
    """A study as declared.

    Attributes:
        id: short name, part of every export.
        title: what raters read first.
        contact: whom to ask.
        question: asked about every clip.
        options: answers from lowest to highest, coded 1 .. k.
        realistic_from: ratings from here on count as realistic in the plain summary.
        recorded: condition with recorded traffic; ``false`` if there is none. Studies without the key are older, and
            nobody knows.
        reference: condition which the others are compared with and which provided broken and practice clips; the
            recorded one, or the first one, without the key.
        origin: ``recorded`` is the researcher's word that files which nobody marked were recorded in real traffic.
        template: ``balanced``, or ``published``: the printed form of the SANDWICH user study, word for word (see
            :mod:`giveway.study.printed_form`).
        language: of the texts; a file ``texts.<language>.toml`` in the study folder overrides single texts.
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    title: ShortText = "How realistic is this traffic?"
    contact: ShortText = ""
    question: ShortText = QUESTION
    options: Annotated[tuple[ShortText, ...], Field(min_length=2, max_length=11)] = OPTIONS
    realistic_from: Annotated[int, Field(ge=1)] = 4
    recorded: ShortText | Literal[False] | None = None
    reference: ShortText | None = None
    origin: Literal["recorded"] | None = None
    template: Literal["balanced", "published"] = "balanced"
    language: Annotated[str, Field(pattern=r"^[a-z]{2}(-[A-Za-z]{2,4})?$")] = "en"
    clips: ClipStyle = ClipStyle()
    order: OrderRules = OrderRules()
    exclusions: Exclusions = Exclusions()
    flow: Flow = Flow()
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _check(self) -> StudyDesign:
        if len(set(self.options)) < len(self.options):
            raise ValueError("two options have the same text")
        if self.realistic_from > len(self.options):
            raise ValueError(f"realistic_from is {self.realistic_from}, there are {len(self.options)} options")
        if self.is_published and (changed := _changes_to_print(self)):
            raise ValueError(
                f"template published is the printed form and nothing else, but {changed} differs from it; "
                'use template = "balanced" for a form of your own'
            )
        return self

    @property
    def is_published(self) -> bool:
        """Whether raters see the printed form."""
        return self.template == "published"

    @property
    def profile(self) -> AgreementProfile:
        """Which kappa is the main one: the printed form goes with the printed formula."""
        return "printed" if self.is_published else "clean"

    @property
    def plan(self) -> OrderPlan:
        """Order rules as :mod:`giveway.study.orders` wants them."""
        return OrderPlan(
            seed=self.order.seed,
            clips_per_rater=self.order.clips_per_rater or MAX_CLIPS_PER_RATER,
            fixed=self.order.fixed,
            repeat_share=self.order.repeat_share,
            attention_checks=self.order.attention_checks,
            num_options=len(self.options),
        )

    @property
    def fingerprint(self) -> str:
        """Start of the SHA-256 of the declaration; the same for the same content."""
        content = self.model_dump(mode="json")
        for name in ("recorded", "reference", "origin"):  # as before the keys existed
            if content[name] is None:
                del content[name]
        if self.template == "balanced":
            del content["template"]
        if self.clips.focus == "rated":
            del content["clips"]["focus"]
        text = json.dumps(content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _changes_to_print(design: StudyDesign) -> str:
    """The first key in which a declaration differs from the printed form; empty if none does."""
    order, flow, rules = design.order, design.flow, design.exclusions
    checks = {
        "question": design.question == printed_form.QUESTION,
        "options": design.options == printed_form.OPTIONS,
        "language": design.language == "en",
        "clips.focus": design.clips.focus == "none",
        "order.fixed": order.fixed,
        "order.clips_per_rater": order.clips_per_rater is None,
        "order.repeat_share": order.repeat_share == 0,
        "order.attention_checks": order.attention_checks == 0,
        "order.practice_clips": order.practice_clips == 0,
        "flow.eligibility": not flow.eligibility,
        "flow.demographics": not flow.demographics,
        "flow.comment": not flow.comment,
        "exclusions": rules
        == Exclusions(
            max_failed_checks=None, min_median_rt_share=None, min_rating_variance=None, require_complete=False
        ),
    }
    return next((key for key, equal in checks.items() if not equal), "")


def read_design(folder: Path) -> StudyDesign:
    """The declaration in a study folder.

    Raises:
        ConfigError: naming file and key.
    """
    path = folder / STUDY_FILE
    if not path.is_file():
        raise ConfigError(
            "this is not a study folder",
            where=folder,
            found=f"no {STUDY_FILE}",
            hint="giveway study create DIR --out " + str(folder),
        )
    return parse_design(read_toml(path, expect=Expect(error=ConfigError, what="the study file")), where=path)


def parse_design(content: dict[str, Any], *, where: object) -> StudyDesign:
    """Validate a declaration; an unknown key is answered with the nearest known one."""
    try:
        return StudyDesign.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = _known_keys(first["loc"][:-1])
            raise UnknownNameError("key", str(first["loc"][-1]), known, where=f"{where}, {place}") from None
        found = repr(first["input"]) if first["loc"] else first["msg"]
        raise ConfigError(
            f"a value of the study file is refused: {first['msg']}", where=f"{where}, {place}", found=found
        ) from None


def _known_keys(path: tuple[int | str, ...]) -> list[str]:
    model: Any = StudyDesign
    for part in path:
        model = model.model_fields[str(part)].annotation
    return list(model.model_fields)


def write_design(folder: Path, design: StudyDesign) -> None:
    """Write ``study.toml`` atomically."""
    lines = ["# Declared before data collection; a change after the first rater is reported with the results.", ""]
    content = design.model_dump(mode="json")
    lines += [f"{key} = {_toml(value)}" for key, value in content.items() if not isinstance(value, dict | None)]
    for key, table in content.items():
        if isinstance(table, dict):
            lines += ["", f"[{key}]", *(f"{name} = {_toml(value)}" for name, value in table.items())]
    write_text(folder / STUDY_FILE, "\n".join(lines) + "\n")


def _toml(value: Any) -> str:
    if value is None:
        return "false"
    # JSON strings, numbers, booleans and arrays of strings are valid TOML; a DEL must be escaped by hand.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def study_id_from(name: str) -> str:
    """A valid id from a folder name."""
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).lstrip("-._").rstrip("-.")[:64]
    return cleaned or "study"
