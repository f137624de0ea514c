"""Every command that writes, on a disk that is really too small, and then on one that has room again."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from giveway.cli.main import run
from giveway.synth.protocol import synthesize
from support.studies import synthetic_study

pytestmark = pytest.mark.slow

PAGE = 4096


def call(arguments: list[object], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        run([str(argument) for argument in arguments])
    return int(caught.value.code or 0), capsys.readouterr().err


@contextlib.contextmanager
def small_disk(folder: Path, pages: int) -> Generator[Path]:
    folder.mkdir()
    options = f"size={pages * PAGE}"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=False, capture_output=True
    )
    if os.geteuid() != 0 or mounted.returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def pages_of(folder: Path) -> int:
    """Room that the files of a folder take on a tmpfs."""
    return sum(-(-path.stat().st_size // PAGE) for path in folder.rglob("*") if path.is_file())


def leftovers(folder: Path) -> list[str]:
    """Temporary files and folders that a writer forgot; locks stay by design."""
    return [str(p) for p in folder.rglob("*") if (p.name.startswith(".") or p.suffix == ".tmp") and p.suffix != ".lock"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings, cases, drives, campaigns and a study for the commands to read."""
    root = tmp_path_factory.mktemp("made")
    synthesize("interaction", root / "interaction", seed=1, minutes=2.0)
    synthesize("lgap", root / "lgap", seed=1, count=12)
    synthetic_study(root / "study")
    for arguments in (
        ["drive", "mine", root / "interaction", "--out", root / "cases.json"],
        ["drive", "run", "--predictor", "echo", "--max-cases", 2, "--out", root / "drive"],
        ["generate", "run", "--budget", 12, "--road", "straight", "--out", root / "campaign"],
    ):
        with contextlib.suppress(SystemExit):
            run([str(argument) for argument in arguments])
    return root


COMMANDS = {
    "data synth": "--dataset lgap --size 3 --out {out}",
    "data convert": "{made}/interaction --dataset interaction --out {out}",
    "data show": "{made}/interaction --dataset interaction --out {out}",
    "gaps extract": "{made}/lgap --dataset lgap --out {out}/samples.parquet",
    "gaps run": "--preset quick --limit 6 --workers 1 --out {out}",
    "drive mine": "{made}/interaction --out {out}/cases.json --gallery {out}/gallery.html",
    "drive run": "--predictor echo --max-cases 4 --out {out}",
    "drive replay": "{made}/drive --predictor echo --out {out}/replay.html",
    "generate run": "--budget 12 --road straight --out {out}",
    "generate export": "{made}/campaign --out {out}",
    "study create": "{made}/interaction --seconds 3 --num-clips 8 --out {out}",
    "study export": "{made}/study --out {out}",
    "report": "{made}/drive --out {out}",
}


def words(command: str, made: Path, folder: Path) -> list[object]:
    """The command line, writing to a new folder inside ``folder``."""
    return [*command.split(), *(word.format(made=made, out=folder / "x") for word in COMMANDS[command].split())]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_one_sentence_and_the_same_command_finishes_after_making_room(
    command: str, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole: list[dict[str, str]] = []
    for name in ("first", "second"):
        code, err = call(words(command, made, tmp_path / name), capsys)
        assert code == 0, err
        whole.append(contents(tmp_path / name))
    stable = {name for name, digest in whole[0].items() if whole[1].get(name) == digest}
    assert stable, "nothing to compare"
    pages = pages_of(tmp_path / "first")
    stopped = 0
    for share in (0.0, 0.3, 0.6, 0.9):
        with small_disk(tmp_path / f"disk{share}", max(2, int(share * pages))) as disk:
            code, err = call(words(command, made, disk), capsys)
            assert "Traceback" not in err
            if code:
                stopped += 1
                assert code == 2, err
                assert "the disk is full" in err, err
                assert "make room" in err and str(disk) in err and "bytes are free" in err, err
                assert not leftovers(disk)
                subprocess.run(["mount", "-o", "remount,size=400m", str(disk)], check=True)
                code, err = call(words(command, made, disk), capsys)
                assert code == 0, err
            found = contents(disk)
            assert {name: found.get(name) for name in stable} == {name: whole[0][name] for name in stable}
    assert stopped >= 2


@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_that_can_only_be_read_is_one_sentence(
    command: str, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with small_disk(tmp_path / "disk", 1000) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        code, err = call(words(command, made, disk), capsys)
        assert code == 2, err
        assert "Traceback" not in err
        assert str(disk) in err and "Read-only file system" in err and "  try " in err
