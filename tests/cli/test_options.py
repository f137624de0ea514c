"""One name, one letter, one meaning; old spellings; nearest names."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from cli.typed import commands, typed
from giveway.cli.main import COMMANDS, GROUPS
from giveway.cli.old_spellings import COMMANDS as OLD_COMMANDS
from giveway.cli.old_spellings import OPTIONS as OLD_OPTIONS
from giveway.cli.old_spellings import rewritten
from giveway.cli.options import ENGINE, EVERY, RUN, SHARED

OWN = {
    "data synth": "minutes variant",
    "data verify": "accept_implausible",
    "data show": "recording scene start duration follow accept_implausible",
    "data convert": "accept_implausible",
    "data lanes": "site width",
    "gaps extract": "t0 n_input n_input_max relaxed allow_occlusion pages",
    "gaps run": "paths again",
    "gaps table": "t0 paper split",
    "gaps figure": "t0",
    "gaps compare": "t0",
    "gaps explain": "sample samples t0 parameters path",
    "drive mine": "site kind min_interest per_recording max_gap gallery standard verify",
    "drive train": "site epochs exclude stride patience picture demonstrator rounds split",
    "drive run": "checkpoint decide looks predictions traffic",
    "drive realism": "roll_outs",
    "drive score": "legacy partial",
    "drive table": "partial",
    "drive power": "effect pair power",
    "drive openloop": "against checkpoint recording site stride",
    "drive replay": "case theme whole",
    "drive serve": "compat token_env tls_cert tls_key once name check wait proto role",
    "generate train": "traffic algorithm reward actions observation round_steps warm_steps prior max_rounds",
    "generate run": "search perturb campaigns",
    "generate bench": "sanity arena method trainings train_seeds seeds against prior",
    "generate harden": "generations",
    "generate table": "realism",
    "generate export": "counting",
    "study create": "num_clips anchors practice checks repeats per_rater seconds up recorded origin template video "
    "title contact language texts",
    "study rehearse": "raters",
    "study power": "raters clips rater_sd clip_sd alpha wanted",
    "study serve": "https behind_proxy",
    "study analyze": "no_model one_way",
    "study payments": "delete",
    "agree": "counts long categories weights over level",
    "status": "verify",
    "report": "title recorded samples",
    "warmup": "group",
}
LETTERS = {
    "-o": "--out",
    "-d": "--dataset",
    "-p": "--predictor",
    "-e": "--planner",
    "-r": "--road",
    "-c": "--cases",
    "-s": "--set",
    "-w": "--workers",
    "-f": "--format",
    "-q": "--quiet",
}


def options(command: Any) -> list[Any]:
    return [parameter for parameter in command.params if parameter.param_type_name == "option"]


def test_every_option_is_shared_or_a_known_one_of_its_own() -> None:
    shared = {*SHARED, *RUN, *ENGINE, *EVERY, "help"}
    found = {name: {o.name for o in options(command)} - shared for name, command in commands()}
    assert {name: own for name, own in found.items() if own} == {name: set(own.split()) for name, own in OWN.items()}


def test_a_letter_means_one_thing_and_only_those_of_the_table_exist() -> None:
    meanings: dict[str, set[str]] = defaultdict(set)
    for _, command in commands():
        for option in options(command):
            for letter in (word for word in option.opts if not word.startswith("--")):
                meanings[letter].add(next(word for word in option.opts if word.startswith("--")))
    assert {letter: names.pop() for letter, names in meanings.items() if len(names) == 1} == LETTERS


def test_every_command_has_help_json_and_quiet() -> None:
    for name, command in commands():
        words = {word for option in options(command) for word in option.opts}
        assert {"--json", "--quiet", "--plugin"} <= words, name


def test_help_lines_are_short_and_begin_with_a_verb() -> None:
    lines = {name: (command.help or "").split("\n")[0] for name, command in commands()}
    lines |= {name: summary for name, (_, summary) in COMMANDS.items()}
    for name, line in lines.items():
        assert 10 < len(line) <= 72, f"{name}: {len(line)} characters"
        assert line[0].isupper() and line.endswith("."), name
        assert line.split()[0] not in ("A", "An", "The", "All", "What", "How", "Is"), name


OLD_LINES = [
    ("data list", "list datasets"),
    ("gaps switches", "list switches"),
    ("gaps status R --json", "status R --json"),
    ("gaps plan --preset quick -w 8", "gaps run --dry-run --preset quick -w 8"),
    ("gaps learning R -o f.png", "gaps figure R -o f.png learning"),
    ("gaps calibration R --model CV", "gaps figure R --predictor CV calibration"),
    ("drive train-predictor --data D -k gru", "drive train D --predictor gru"),
    ("generate report R --limit 0", "generate table R"),
    ("generate sanity -n 20", "generate bench --sanity --budget 20"),
    ("data verify -d lgap --root=R", "data verify -d lgap R"),
    ("data verify -d lgap -rR", "data verify -d lgap R"),
    ("data convert -d lgap -r R -j 2", "data convert -d lgap R --workers 2"),
    ("data synth -d lgap -n9", "data synth -d lgap --size 9"),
    ("gaps run S.toml --root lgap=R", "gaps run S.toml --data lgap=R"),
    ("gaps table R --format json", "gaps table R --json"),
    ("gaps run S.toml --set horizon_cap=none", "gaps run S.toml --set horizon_cap=null"),
    ("gaps compare R A B --resamples 9", "gaps compare R A B --draws 9"),
    ("gaps explain --model CM_IIJ11", "gaps explain --predictor CM_IIJ11"),
    ("drive run -p echo --limit 3", "drive run -p echo --max-cases 3"),
    ("drive mine --data D --limit 2", "drive mine D --max-recordings 2"),
    ("drive score R --format legacy", "drive score R --legacy"),
    ("drive serve --deadline-ms 250", "drive serve --deadline 0.25"),
    (
        "generate run --ego idm -p P -n 3 -k 2 --episode-steps 50",
        "generate run --planner idm --policy P --budget 3 --cars 2 --ticks 50",
    ),
    (
        "generate train -w 8 --steps 100 --weight escape=1",
        "generate train --worlds 8 --env-steps 100 --set weights.escape=1",
    ),
    ("generate bench --train-set gamma=0.9 -m idm", "generate bench --set learning.gamma=0.9 --method idm"),
    ("study create --clips D --out S", "study create D --out S"),
    ("report R --replays 3", "report R --max-replays 3"),
]


@pytest.mark.parametrize(("old", "new"), OLD_LINES)
def test_old_spellings_are_rewritten_with_a_note(old: str, new: str) -> None:
    words, notes = rewritten(old.split())
    assert words == new.split()
    assert notes
    assert rewritten(words) == (words, [])


def test_new_spellings_exist_and_old_ones_do_not() -> None:
    known = {name: {word for o in options(command) for word in o.opts} for name, command in commands()}
    for command, old in OLD_OPTIONS.items():
        assert command in known
        for name, new in old.items():
            if callable(new):
                continue
            assert new == "ARGUMENT" or new in known[command]
            assert name not in known[command], f"{command} {name} has a meaning today"
    for old, (new, _) in OLD_COMMANDS.items():
        assert " ".join(old) not in known
        assert " ".join(new[: 2 if new[0] in GROUPS else 1]) in known


def test_an_old_spelling_works_and_says_so(small: Path) -> None:
    new = typed("data", "verify", small / "lgap", "-d", "lgap", "--json")
    old = typed("data", "verify", "-d", "lgap", "--root", small / "lgap", "--json")
    assert (old.code, old.document["result"]) == (new.code, new.document["result"])
    assert new.document["warnings"] == [] and "note:" not in new.err
    assert "now an argument" in old.err and "now an argument" in old.document["warnings"][0]
    assert typed("gaps", "status", small / "gaps", "--json").document["command"] == "status"


@pytest.mark.parametrize(
    ("line", "wrong", "near"),
    [
        ("gaps run {small}/gaps.toml -o R --set ddoff=0", "ddoff", "ddof"),
        ("gaps run {small}/gaps.toml -o R --set switches.ddoff=0", "switches.ddoff", "switches.ddof"),
        ("gaps run {small}/gaps.toml -o R --set modls=CV", "modls", "models"),
        ("gaps extract {small}/lgap -d lgap -s horizon_cp=3", "horizon_cp", "horizon_cap"),
        ("drive run -p echo -o R --set planer=idm", "planer", "planner"),
        ("generate run -o R --set bugdet=3", "bugdet", "budget"),
        ("generate train -o R --set gama=0.9", "gama", "gamma"),
        ("generate train -o R --set learning.gama=0.9", "learning.gama", "learning.gamma"),
        ("generate bench -o R --trainings T --set gama=0.9", "gama", "gamma"),
    ],
)
def test_a_typo_in_a_setting_is_named_with_the_nearest(
    line: str, wrong: str, near: str, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = typed(*line.format(small=small).split())
    assert answer.code == 2
    assert repr(wrong) in answer.err and repr(near) in answer.err
    assert list(tmp_path.iterdir()) == []


def test_a_misspelt_command_suggests_the_nearest() -> None:
    for line, near in (("gpas run", "gaps"), ("gaps rnu", "run"), ("list planers", "planners")):
        answer = typed(*line.split())
        assert answer.code == 2
        assert repr(near) in answer.err
