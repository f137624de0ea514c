"""Which optional libraries a command line needs, known before the command is imported.

What depends on the models of a run is asked when its specification is read (:func:`giveway.predictors.needs_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from giveway.core.extras import require
from giveway.core.urls import is_url

STUDY = ("study",)
PLOT = ("plot",)
ALWAYS: dict[str, tuple[str, ...]] = {
    "demo": ("models", "learn", "fit/botorch", "generate/pymoo", "study", "plot"),
    "gaps figure": PLOT,
    "gaps learning": PLOT,
    "gaps calibration": PLOT,
    "drive serve": ("rpc",),
    "drive train-predictor": ("learn",),
    "generate train": ("generate/torch", "generate/safetensors"),
    "generate bench": ("generate/safetensors", "generate/pymoo", "generate/cma"),
    "generate sanity": ("generate/safetensors", "generate/pymoo", "generate/cma"),
    "study create": STUDY,
    "study serve": STUDY,
    "study export": STUDY,
    "study analyze": STUDY,
    "study rehearse": STUDY,
    "study payments": STUDY,
}
"""Command to what it needs whatever its options are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A need that an option brings.

    Attributes:
        command: a command, a group, or empty for all.
        options: spellings of the option; empty for all arguments.
        asks: whether a value (empty for a flag) asks for it; without the option its default is asked.
        needs: see :mod:`giveway.core.extras`.
        default: value of the option where it is not given; None if nothing is needed then.
    """

    command: str
    options: tuple[str, ...] = ()
    asks: Callable[[str], bool]
    needs: tuple[str, ...]
    default: str | None = None


def _given(_: str) -> bool:
    return True


def _one_of(*names: str) -> Callable[[str], bool]:
    return lambda value: value in names


def _begins(*beginnings: str) -> Callable[[str], bool]:
    return lambda value: value.startswith(beginnings)


def _ends(*ends: str) -> Callable[[str], bool]:
    return lambda value: value.lower().endswith(ends)


def _object_store(value: str) -> bool:
    return is_url(value) and not value.startswith(SCHEDULERS)


SCHEDULERS = ("tcp://", "tls://", "ucx://", "ws://", "wss://")
OUT = ("--out", "-o")
PICTURES = (".png", ".pdf", ".svg")
FILMS = (".mp4", ".gif", ".webm")
RULES = (
    Rule(command="", options=("--engine",), asks=_one_of("dask"), needs=("cluster/distributed",)),
    Rule(command="gaps", asks=_object_store, needs=("cluster/fsspec",)),
    Rule(command="gaps", asks=_begins("s3://"), needs=("cluster/s3fs",)),
    Rule(command="", options=("--database",), asks=_begins("postgresql"), needs=("postgres",)),
    Rule(command="data show", options=OUT, asks=_ends(*PICTURES), needs=PLOT),
    Rule(command="gaps explain", options=OUT, asks=_ends(*PICTURES), needs=PLOT),
    Rule(command="gaps run", options=("--device",), asks=_begins("cuda", "mps"), needs=("learn/torch",)),
    Rule(
        command="drive",
        options=("--predictor", "-p"),
        asks=_begins("gru", "trajectron"),
        needs=("learn/safetensors",),
    ),
    Rule(command="drive", options=("--predictor", "-p"), asks=_begins("grpc"), needs=("rpc",)),
    Rule(command="drive train-predictor", options=("--figure",), asks=_given, needs=PLOT),
    Rule(command="drive replay", options=OUT, asks=_ends(*FILMS), needs=("plot", "video/imageio_ffmpeg")),
    Rule(
        command="generate run",
        options=("--driver",),
        asks=_one_of("policy"),
        needs=("generate/safetensors",),
        default="policy",
    ),
    Rule(
        command="generate run",
        options=("--search",),
        asks=_one_of("nsga2"),
        needs=("generate/pymoo",),
        default="nsga2",
    ),
    Rule(command="generate run", options=("--search",), asks=_one_of("cma_es"), needs=("generate/cma",)),
    Rule(command="generate bench", options=("--trainings",), asks=_given, needs=("generate/torch",)),
    Rule(command="study create", options=("--video",), asks=_given, needs=("video",)),
)
"""What options need; several may apply."""


def needs_of(args: Sequence[str]) -> tuple[str, ...]:
    """What a command line needs, in the order of the tables; nothing for ``--help``."""
    if not args or {"--help", "-h"} & set(args):
        return ()
    command = " ".join(word for word in args[:2] if not word.startswith("-"))
    command = command if command in ALWAYS or command.partition(" ")[0] not in ALWAYS else command.partition(" ")[0]
    needs = list(ALWAYS.get(command, ()))
    for rule in RULES:
        if (command + " ").startswith(f"{rule.command} " if rule.command else "") and _applies(rule, args):
            needs.extend(rule.needs)
    return tuple(dict.fromkeys(needs))


def check_needs(args: Sequence[str]) -> None:
    """Complain about everything that a command line needs and that is not installed.

    Raises:
        MissingDependencyError: naming all of it and the one line that installs it.
    """
    needs = needs_of(args)
    if needs:
        require(needs, purpose=f"giveway {' '.join(word for word in args[:2] if not word.startswith('-'))}")


def _applies(rule: Rule, args: Sequence[str]) -> bool:
    if not rule.options:
        return any(rule.asks(word.partition("=")[2] if word.startswith("-") else word) for word in args)
    values = _values(args, rule.options)
    return any(map(rule.asks, values if values or rule.default is None else [rule.default]))


def _values(args: Sequence[str], options: Sequence[str]) -> list[str]:
    values: list[str] = []
    for position, word in enumerate(args):
        name, equals, value = word.partition("=")
        if name in options:
            values.append(value if equals else "".join(args[position + 1 : position + 2]))
        elif len(word) > 2 and word[:2] in options and not word.startswith("--"):
            values.append(word[2:])
    return values
