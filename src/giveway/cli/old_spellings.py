"""Old spellings of the command line, which work for one release with a note that names the new one.

Rewritten before anything is parsed, so that no command knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

ARGUMENT = "ARGUMENT"
"""New spelling of an option whose value is now an argument of the command."""
New = str | Callable[[str], list[str]]
"""New name of an option that keeps its value, :data:`ARGUMENT`, or the words that replace option and value."""

COMMANDS: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("data", "list"): (("list", "datasets"), ()),
    ("gaps", "switches"): (("list", "switches"), ()),
    ("gaps", "status"): (("status",), ()),
    ("gaps", "plan"): (("gaps", "run", "--dry-run"), ()),
    ("gaps", "learning"): (("gaps", "figure"), ("learning",)),
    ("gaps", "calibration"): (("gaps", "figure"), ("calibration",)),
    ("drive", "train-predictor"): (("drive", "train"), ()),
    ("generate", "report"): (("generate", "table"), ()),
    ("generate", "sanity"): (("generate", "bench", "--sanity"), ()),
}
"""Old command to the words that replace it and words at the end of the line."""


def _per_mille(value: str) -> list[str]:
    try:
        return ["--deadline", f"{float(value) / 1000:g}"]
    except ValueError:
        return ["--deadline", value]


def _inside(part: str) -> Callable[[str], list[str]]:
    return lambda value: ["--set", f"{part}.{value}"]


def _legacy(value: str) -> list[str]:
    return ["--legacy"] if value == "legacy" else [] if value == "native" else ["--format", value]


def _json(value: str) -> list[str]:
    return ["--json"] if value == "json" else ["--format", value]


def _metric(value: str) -> list[str]:
    old = {"default": "challenge", "as_coded": "challenge_coded", "as_documented": "challenge_printed"}
    return ["--metric", old.get(value, value)]


def _null(value: str) -> list[str]:
    return ["--set", "horizon_cap=null" if value == "horizon_cap=none" else value]


OPTIONS: dict[str, dict[str, New]] = {
    "data verify": {"--root": ARGUMENT, "-r": ARGUMENT},
    "data show": {"--root": ARGUMENT, "-r": ARGUMENT, "--ego": "--follow"},
    "data convert": {"--root": ARGUMENT, "-r": ARGUMENT, "--jobs": "--workers", "-j": "--workers"},
    "data synth": {"-n": "--size"},
    "gaps extract": {"--root": ARGUMENT, "-r": ARGUMENT, "--set": _null},
    "gaps run": {"--root": "--data", "--set": _null},
    "gaps table": {"--model": "--predictor", "--format": _json},
    "gaps figure": {"--model": "--predictor"},
    "gaps compare": {"--resamples": "--draws"},
    "gaps explain": {"--model": "--predictor"},
    "drive run": {"--limit": "--max-cases", "--metric": _metric},
    "drive mine": {"--data": ARGUMENT, "--limit": "--max-recordings"},
    "drive train": {
        "--data": ARGUMENT,
        "--limit": "--max-recordings",
        "--figure": "--picture",
        "--kind": "--predictor",
        "-k": "--predictor",
    },
    "drive score": {"--format": _legacy, "--metric": _metric},
    "drive serve": {"--deadline-ms": _per_mille, "--limit": "--max-cases", "--metric": _metric},
    "generate prior": {"--root": ARGUMENT, "-r": ARGUMENT, "--limit": "--max-recordings"},
    "generate run": {
        "--ego": "--planner",
        "-p": "--policy",
        "-n": "--budget",
        "-k": "--cars",
        "--episode-steps": "--ticks",
    },
    "generate train": {
        "--ego": "--planner",
        "-k": "--cars",
        "-a": "--algorithm",
        "-w": "--worlds",
        "--steps": "--env-steps",
        "--episode-steps": "--ticks",
        "--weight": _inside("weights"),
    },
    "generate bench": {
        "--ego": "--planner",
        "-p": "--policy",
        "-n": "--budget",
        "-m": "--method",
        "--train-steps": "--env-steps",
        "--train-worlds": "--worlds",
        "--train-set": _inside("learning"),
        "--train-weight": _inside("weights"),
    },
    "generate table": {"--recorded": "--data", "--limit": lambda value: []},
    "study create": {"--clips": ARGUMENT},
    "report": {"--replays": "--max-replays"},
}
"""Command to its old options."""


def rewritten(args: list[str]) -> tuple[list[str], list[str]]:
    """A command line in today's spelling, and a note for each old one.

    An option whose value looks like an old option is taken for one; all values here are names, numbers and paths.
    """
    words, notes, end = list(args), list[str](), tuple[str, ...]()
    old = tuple(words[:2])
    if old in COMMANDS:
        new, end = COMMANDS[old]
        words[:2] = new
        notes.append(_note(f"giveway {' '.join(old)}", f"giveway {' '.join((*new, *end))}"))
    known: Mapping[str, New] = OPTIONS.get(" ".join(words[:2]), OPTIONS.get(words[0], {}) if words else {})
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if not word.startswith("--") and len(word) > 2 and word[:2] in known and word[0] == "-":
            name, equals, value = word[:2], "=", word[2:]
        if name not in known:
            found.append(word)
            continue
        value = value if equals else next(rest, "")
        new = known[name]
        replaced = [value] if new == ARGUMENT else new(value) if callable(new) else [new, value]
        found += replaced
        if replaced == [name, value]:
            continue
        shown = f"an argument: {value}" if new == ARGUMENT else " ".join(replaced) or "gone"
        notes.append(_note(f"{name} {value}", shown))
    return [*found, *end], notes


def _note(old: str, new: str) -> str:
    return f"{old!r} is now {new if new.startswith('an argument') or new == 'gone' else repr(new)}"
