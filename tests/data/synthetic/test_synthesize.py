from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from giveway.core.errors import UsageError
from giveway.synth.protocol import synthesize


def digest(folder: Path) -> dict[str, str]:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_the_same_seed_gives_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    synthesize("lgap", tmp_path / "here", seed=11, count=9)
    code = (
        "import sys; from pathlib import Path; from giveway.synth.protocol import synthesize; "
        "synthesize('lgap', Path(sys.argv[1]), seed=11, count=9)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "99"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there")], check=True, env=environment)
    assert digest(tmp_path / "here") == digest(tmp_path / "there")


def test_another_seed_gives_other_trials(tmp_path: Path) -> None:
    for seed in (1, 2):
        synthesize("lgap", tmp_path / str(seed), seed=seed, count=9)
    assert digest(tmp_path / "1")["processed_data.csv"] != digest(tmp_path / "2")["processed_data.csv"]


def test_a_folder_with_files_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        synthesize("lgap", tmp_path, count=9)
    assert digest(tmp_path).keys() == {"mine.txt"}


def test_force_replaces_our_files_and_keeps_those_of_others(tmp_path: Path) -> None:
    out = tmp_path / "d"
    synthesize("round", out, count=2, minutes=0.5)
    (out / "data" / "notes.txt").write_text("mine")
    synthesize("round", out, count=1, minutes=0.5, force=True)
    names = {p.name for p in out.rglob("*") if p.is_file()}
    assert "notes.txt" in names and "00_tracks.csv" in names
    assert not any(name.startswith("01_") for name in names)
    assert json.loads((out / "synthetic.json").read_text())["parameters"]["size"] == 1


@pytest.mark.parametrize("name", ["data/00_tracks.csv", "data", "synthetic.json"])
def test_force_refuses_to_replace_a_file_that_no_earlier_synthesis_wrote(tmp_path: Path, name: str) -> None:
    mine = tmp_path / "d" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    before = digest(tmp_path)
    with pytest.raises(UsageError, match="not written by an earlier synthesis") as caught:
        synthesize("round", tmp_path / "d", count=1, minutes=0.5, force=True)
    assert caught.value.found == name
    assert digest(tmp_path) == before


def test_nothing_is_left_behind_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("giveway.synth.lgap.files.write_table", fail)
    with pytest.raises(KeyboardInterrupt):
        synthesize("lgap", tmp_path / "d", count=9)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"count": 0}, "between 1"),
        ({"minutes": 3.0}, "no length"),
        ({"variant": "ancient"}, "no variant"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        synthesize("lgap", tmp_path / "d", **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        synthesize("lgap", tmp_path / "d", count=9)
