"""Predictors of what others will do; they receive samples and states, never datasets."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveway.core.errors import UnknownNameError, UsageError
from giveway.core.registry import Registry
from giveway.predictors.commotions.config import NAMES as COMMOTIONS

if TYPE_CHECKING:
    from giveway.predictors.protocol import FittedPredictor, TrainsOnMotion

PREDICTORS: Registry[Any] = Registry(
    "predictor",
    {
        "constant_velocity": "giveway.predictors.constant_motion:CONSTANT_VELOCITY",
        "constant_acceleration": "giveway.predictors.constant_motion:CONSTANT_ACCELERATION",
        "constant_turn_rate": "giveway.predictors.simple:ConstantTurnRate",
        "echo": "giveway.predictors.simple:Echo",
        "oracle": "giveway.predictors.simple:Oracle",
        "idm_along_path": "giveway.predictors.idm_along_path:IdmAlongPath",
        "residual": "giveway.predictors.residual_paths:RESIDUAL_PATHS",
        "LR_1D": "giveway.predictors.logistic_regression:LR_1D",
        "LR_2D": "giveway.predictors.logistic_regression:LR_2D",
        "DDM": "giveway.predictors.drift_diffusion:DDM",
        "gru": "giveway.predictors.gru:GruPredictor",
        "TPP": "giveway.predictors.trajectron.recipe:TPP",
        "TPP_paper": "giveway.predictors.trajectron.recipe:TPP_PAPER",
        "TPP_small": "giveway.predictors.trajectron.recipe:TPP_SMALL",
        **{name: f"giveway.predictors.commotions.predictor:{name}" for name in COMMOTIONS},
    },
    group="giveway.predictors",
    aliases={"CV": "constant_velocity", "CA": "constant_acceleration", "CV_residual": "residual", "trajectron": "TPP"},
)
"""Predictors by name: objects, or classes that make one when called without arguments.

Aliases are published and earlier names; T++ stands for two of them, see :mod:`giveway.gaps.recipes`.
"""

PUBLISHED = {"constant_velocity": "CV", "constant_acceleration": "CA", "residual": "CV_residual"}
"""Names that tables of gap acceptance print and that their random streams are called after."""

NEEDS = {"LR_": ("models",), "TPP": ("learn",), "T++": ("learn",), "CM_": ("fit/torch", "fit/botorch")}
"""Beginning of a name to the optional libraries that fitting it needs; see :mod:`giveway.core.extras`."""


def needs_of(names: Iterable[str]) -> tuple[str, ...]:
    """What some predictors need together; nothing for those of others, who look after themselves."""
    return tuple(need for name in names for start, needs in NEEDS.items() if name.startswith(start) for need in needs)


def predictor_named(name: str) -> Any:
    """A predictor, not yet fitted, by registered name, alias, or as ``package.module:attribute``.

    Raises:
        UnknownNameError: nothing of that name.
        UsageError: an import path that does not lead to a predictor.
    """
    if name in PREDICTORS or ":" not in name:
        found = PREDICTORS.get(name)
    else:
        module, _, attribute = name.partition(":")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise UsageError("cannot import the predictor", where=name, found=str(error)) from error
    try:
        made = found() if isinstance(found, type) or not hasattr(found, "info") else found
    except TypeError as error:
        raise UsageError(f"cannot make the predictor {name!r}", found=str(error)) from error
    return made


@contextmanager
def registered(given: Iterable[Any]) -> Generator[list[str]]:
    """Names of predictors; those given as objects or classes are registered under ``info.name`` within the block.

    Raises:
        UsageError: something that is no predictor, or a name that another predictor has.
    """
    names: list[str] = []
    added: list[str] = []
    try:
        for one in given:
            name = one if isinstance(one, str) else _name_of(one)
            names.append(name)
            if isinstance(one, str) or (name in PREDICTORS and PREDICTORS.get(name) is one):
                continue
            if name in PREDICTORS:
                raise UsageError(
                    "another predictor has this name",
                    where="predictors",
                    found=f"{name!r} of {type(one).__name__}",
                    hint="give the object a name of its own in its info",
                )
            PREDICTORS.register(name, one)
            added.append(name)
        yield names
    finally:
        for name in added:
            PREDICTORS.forget(name)


def _name_of(given: Any) -> str:
    name = getattr(getattr(given, "info", None), "name", None)
    if not name or not (hasattr(given, "fit") or hasattr(given, "predict")):
        raise not_a_predictor(given, given)
    return str(name)


def named_file(name: str) -> tuple[str, Path | None]:
    """``"gru:FILE"`` as predictor and file; other names, import paths too, have no file."""
    known, colon, file = name.partition(":")
    return (known, Path(file)) if colon and known in PREDICTORS else (name, None)


def fitted_predictor(given: Any, checkpoint: Path | None = None) -> FittedPredictor:
    """A predictor that can predict: ``"echo"``, ``"gru:FILE"``, ``"package.module:Class"`` or an object.

    Args:
        given: name, class or object.
        checkpoint: for a predictor that learns and was named without a file.

    Raises:
        UnknownNameError: nothing of that name.
        UsageError: one that has to be fitted before, or something that is no predictor.
    """
    if isinstance(given, str):
        name, file = named_file(given)
        made = predictor_named(name)
        learns = getattr(getattr(made, "info", None), "learns", False)
        file = file or (checkpoint if learns else None)
        if file is not None:
            made = made.load(file)
        elif learns:
            raise UsageError(
                f"{name} has to be trained before it can predict",
                where=name,
                found="no file",
                hint=f"name the file with what it has learned: {name}:FILE",
            )
    else:
        made = given() if isinstance(given, type) else given
    return checked(made, given)


def make_predictor(given: Any, checkpoint: Path | None = None) -> FittedPredictor:
    """A predictor for drives; a fitted model of gap acceptance comes with the view that lets it drive.

    See :func:`fitted_predictor` and :func:`giveway.predictors.views.as_motion`.
    """
    from giveway.predictors.checkpoints import fingerprint_of_path
    from giveway.predictors.views import as_motion

    file = (named_file(given)[1] or checkpoint) if isinstance(given, str) else None
    fitted = fitted_predictor(given, checkpoint)
    return as_motion(fitted, "" if file is None else fingerprint_of_path(file))


def trainable(name: str) -> TrainsOnMotion:
    """A predictor that learns from windows of recordings.

    Raises:
        UnknownNameError: another one.
    """
    from giveway.predictors.protocol import TrainsOnMotion

    made = predictor_named(name)
    if not isinstance(made, TrainsOnMotion):
        raise UnknownNameError("predictor that can be trained", name, ("gru", "TPP"))
    return made


def checked(made: Any, given: Any) -> FittedPredictor:
    """Refuse what is no predictor.

    Raises:
        UsageError: it lacks ``info`` or ``predict``, or ``predict`` takes other arguments.
    """
    from giveway.predictors.protocol import FittedPredictor

    if isinstance(made, FittedPredictor) and not isinstance(made, type):
        try:
            inspect.signature(made.predict).bind(None, None)
        except TypeError as error:
            raise UsageError(
                "predict takes the inputs and a random generator",
                where=given,
                found=str(error),
                hint="predict(self, inputs, rng)",
            ) from error
        return made
    raise not_a_predictor(made, given)


def not_a_predictor(made: Any, given: Any) -> UsageError:
    """What to say about an object that lacks something."""
    return UsageError(
        "this is not a predictor",
        where=given,
        found=type(made).__name__,
        hint="it needs an attribute 'info' and a method 'predict'; see docs/drive/predictors.md",
    )
