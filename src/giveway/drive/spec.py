"""What to drive: the specification, and the predictors, planner and cases it stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_serializer, model_validator

from giveway.core.case import Case, Role
from giveway.core.errors import UsageError
from giveway.drive.case_sets import BUNDLED, CaseScenes, open_cases
from giveway.drive.scenes import SceneSource
from giveway.experiments import content_key
from giveway.experiments.specs import not_for_workers
from giveway.metrics.challenge import rules_called
from giveway.planning import make_planner
from giveway.planning.protocol import Planner
from giveway.predictors import make_predictor, named_file, predictor_named
from giveway.predictors.protocol import FittedPredictor
from giveway.sim.case_sets import CaseSet
from giveway.sim.drivers import DRIVERS

MAX_THREADS = 64
"""Largest number of threads of the simulator."""


class DriveSpec(BaseModel):
    """What to drive.

    Attributes:
        predictors: registered names, ``NAME:FILE`` for trained ones, import paths, or objects with ``info`` and
            ``predict``.
        planner: registered name, import path, or an object with ``info`` and ``plan``; ``lattice``
            if not given, ``lattice-2`` in traffic ``paper``.
        cases: case file or folder, or a :class:`giveway.sim.case_sets.CaseSet`; the bundled set if None.
        data: folder with the recordings of the cases.
        metric: variant of the challenge metric: ``challenge``, ``challenge_coded`` or ``challenge_printed``.
        max_cases: drive at most this many cases, in file order.
        seed: root of all random streams.
        traffic: how other cars drive: ``clean`` (they give way and react, constants of people) or ``paper`` (as in the
            challenge: replay cars never react, IDM cars only follow).
        driver: registered driver of all cars that a case drives, the ego and cars that name their own excepted, e.g.
            ``idm`` or ``cognitive``; empty: by their role.
        checkpoint: file for trained predictors that are named without one.
        keep_predictions: whether logs keep predictions, which replays show as fans.
        threads: of the simulator; never changes a result.
        max_hours: start no further case after this time.
        deadline_s: for one answer of a planner in Python, which then has a process of its own; None: no deadline.
        warm_up_s: added to the deadline of its first answer.

    The last four are not part of what a plan is called by: threads and hours never change a result, and a deadline can
    only make a case fail.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    predictors: tuple[Any, ...] = Field(min_length=1)
    planner: Any = "lattice"
    cases: Path | CaseSet | None = None
    data: Path | None = None
    metric: str = "challenge"
    max_cases: int | None = Field(default=None, ge=1)
    seed: int = 0
    traffic: Literal["clean", "paper"] = "clean"
    driver: str = ""
    checkpoint: Path | None = None
    keep_predictions: bool = True
    threads: int = Field(default=1, ge=1, exclude=True)
    max_hours: float | None = Field(default=None, ge=0, exclude=True)
    deadline_s: float | None = Field(default=None, gt=0, exclude=True)
    warm_up_s: float = Field(default=20.0, ge=0, exclude=True)

    @field_serializer("predictors", when_used="json")
    def _plain_predictors(self, given: tuple[Any, ...]) -> list[str]:
        return [_text(one) for one in given]

    @model_validator(mode="before")
    @classmethod
    def _planner_of_traffic(cls, given: Any) -> Any:
        """In traffic ``paper`` nothing moves: where no planner is named, version 2 drives."""
        if isinstance(given, dict) and given.get("traffic") == "paper" and given.get("planner") is None:
            return {**given, "planner": "lattice-2"}  # pyright: ignore[reportUnknownVariableType]
        return given  # pyright: ignore[reportUnknownVariableType]

    @field_serializer("planner", when_used="json")
    def _plain_planner(self, given: Any) -> str:
        return _text(given)

    @field_serializer("cases", when_used="json")
    def _plain_cases(self, given: Path | CaseSet | None) -> str | None:
        return plain_cases(given)


def plain_cases(given: Path | CaseSet | None) -> str | None:
    """Where cases come from, as a specification says it in JSON."""
    if isinstance(given, CaseSet):
        return f"{len(given)} cases, {content_key([case.fingerprint for case in given])[:12]}"
    return None if given is None else str(given)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPredictor:
    """A predictor of a run.

    Attributes:
        model: whom to ask.
        text: how a worker process makes the same one; empty for an object of this process.
        checkpoint: file that it is made with, beside the text.
        variant: tells apart predictors of the same name, by the hash of a checkpoint.
    """

    model: FittedPredictor
    text: str = ""
    checkpoint: Path | None = None
    variant: str = ""

    @property
    def label(self) -> str:
        """Name and variant, as the parameters of a cell have them."""
        return label_of(self.model.info.name, self.variant)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDrives:
    """What a specification amounts to.

    Attributes:
        spec: validated.
        predictors: in the order of tables.
        planner: drives the ego.
        cases: in order.
        source: their recordings.
        roots: dataset to data root, for worker processes.
        one_by_one: the predictor must be asked about one case after the other.
    """

    spec: DriveSpec
    predictors: tuple[NamedPredictor, ...]
    planner: Planner
    cases: Sequence[Case]
    source: SceneSource
    roots: Mapping[str, Path] = field(default_factory=dict[str, Path])
    one_by_one: bool = False

    def __post_init__(self) -> None:
        """Refuse what two drives could not be told apart by.

        Raises:
            UsageError: two cases with one id, or two predictors with one name and variant.
        """
        _require_apart("cases with one id", [case.id for case in self.cases], "give each case an id of its own")
        _require_apart("predictors with one name", [p.label for p in self.predictors], "give them different names")


def _require_apart(what: str, names: Sequence[str], hint: str) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise UsageError(f"a run cannot tell apart two {what}", where="run", found=repr(twice), hint=hint)


def label_of(name: str, variant: str) -> str:
    """Name of a predictor with its variant."""
    return f"{name} {variant}".strip()


def planned(spec: DriveSpec, roots: Mapping[str, Path | str] | None = None) -> PlannedDrives:
    """Make predictors and planner and read the cases; nothing is driven.

    Args:
        spec: what to drive.
        roots: dataset to folder with its recordings, where ``spec.data`` does not say.

    Raises:
        UnknownNameError, UsageError: for a predictor or planner that cannot be made.
        FileFormatError: cases that cannot be read.
    """
    rules_called(spec.metric)
    chosen, folders = cases_and_folders(spec.cases, spec.data, spec.max_cases, roots)
    if spec.driver:
        DRIVERS.get(spec.driver)
        chosen = [driven_by(case, spec.driver) for case in chosen]
    return PlannedDrives(
        spec=spec,
        predictors=tuple(predictor_of(given, spec.checkpoint) for given in spec.predictors),
        planner=planner_of(spec.planner),
        cases=chosen,
        source=CaseScenes(folders),
        roots=folders,
    )


def driven_by(case: Case, driver: str) -> Case:
    """The same case with one driver for all its cars but the ego, those on replay and those that name their own."""
    kept = (Role.EGO, Role.REPLAY)
    cars = tuple(car if car.role in kept or car.driver else replace(car, driver=driver) for car in case.cars)
    return replace(case, cars=cars)


def cases_and_folders(
    given: Path | CaseSet | None,
    data: Path | None,
    max_cases: int | None,
    roots: Mapping[str, Path | str] | None = None,
) -> tuple[Sequence[Case], dict[str, Path]]:
    """The cases of a specification, and dataset to folder with their recordings.

    Args:
        given: case file or folder, or a case set; the bundled set if None.
        data: folder with the recordings.
        max_cases: at most this many, in file order.
        roots: dataset to folder, where ``data`` does not say.

    Raises:
        FileFormatError: cases that cannot be read.
        UsageError: no cases.
    """
    if isinstance(given, CaseSet):
        chosen, data = given.cases[:max_cases], data or given.recordings
    else:
        chosen, _ = open_cases(given, data, max_cases)
    if not chosen:
        raise UsageError("there are no cases to drive", where="cases", found=repr(given))
    known = {name: Path(folder) for name, folder in (roots or {}).items()}
    datasets = sorted({case.dataset for case in chosen} - {BUNDLED})
    return chosen, {name: data or known[name] for name in datasets if data is not None or name in known}


def require_names(plan: PlannedDrives) -> None:
    """Refuse objects of this process for an engine with worker processes.

    Raises:
        UsageError: naming the first one.
    """
    objects = [("predictor", p.model) for p in plan.predictors if not p.text]
    objects += [] if isinstance(plan.spec.planner, str) else [("planner", plan.planner)]
    for what, found in objects:
        raise not_for_workers(what, found)


def planner_of(given: Any) -> Planner:
    """The planner of a name, an import path, or the object itself.

    Raises:
        UnknownNameError, UsageError: there is none.
    """
    planner = make_planner(given) if isinstance(given, str) else given
    if not isinstance(planner, Planner):
        raise UsageError(
            "this is not a planner",
            where="planner",
            found=type(planner).__name__,
            hint="give a name, or an object with an attribute 'info' and a method 'plan'; see docs/drive/planner.md",
        )
    return planner


def predictor_of(given: Any, checkpoint: Path | None) -> NamedPredictor:
    """The predictor of a name, an import path, or the object itself.

    Raises:
        UnknownNameError, UsageError: there is none.
    """
    if not isinstance(given, str):
        model = make_predictor(given)
        return NamedPredictor(model=model, variant=getattr(model, "fingerprint", ""))
    name, file = named_file(given)
    learns = file is None and checkpoint is not None and predictor_named(name).info.learns
    model = make_predictor(given, checkpoint)
    return NamedPredictor(
        model=model,
        text=given,
        checkpoint=checkpoint if learns else None,
        variant=getattr(model, "fingerprint", ""),
    )


def _text(given: Any) -> str:
    return given if isinstance(given, str) else str(given.info.name)
