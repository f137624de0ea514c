from __future__ import annotations

import json
from pathlib import Path

import pytest

from giveway.cli.main import run


def call(*args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        run(list(args))
    return int(ended.value.code or 0)


def test_synth_then_verify_is_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "räume und mehr"
    assert call("data", "synth", "--dataset", "interaction", "--out", str(out), "--minutes", "1", "--json") == 0
    written = json.loads(capsys.readouterr().out)["result"]
    assert written["written"][0]["counts"]["sites"] == 3
    assert call("data", "verify", str(out), "--dataset", "interaction", "--json") == 0
    verified = json.loads(capsys.readouterr().out)["result"]
    assert verified["num_tracks"] == written["written"][0]["counts"]["tracks"]


def test_synth_says_what_to_try_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("data", "synth", "-d", "lgap", "-o", str(tmp_path / "l"), "--size", "9") == 0
    said = capsys.readouterr().out
    assert f"giveway data verify {tmp_path / 'l'} --dataset lgap" in said and "9 trials" in said


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--dataset", "interactoin"], "did you mean 'interaction'"),
        (["--dataset", "lgap", "--size", "0"], "between 1 and"),
        (["--dataset", "all", "--size", "3"], "default size"),
    ],
)
def test_nonsense_gets_a_sentence_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: list[str], words: str
) -> None:
    assert call("data", "synth", "--out", str(tmp_path / "d"), *args) == 2
    heard = capsys.readouterr()
    assert words in heard.err and "writing" not in heard.out
    assert list(tmp_path.iterdir()) == []
