"""The program itself."""

import json
import os
import subprocess
import sys

from giveway import __version__


def giveway(*words):
    command = [sys.executable, "-m", "giveway", *(str(word) for word in words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_package_runs_as_a_module():
    done = giveway("--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"giveway {__version__}")


def test_a_component_of_a_single_file_is_there_for_any_command(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import giveway as gw\n"
        "class Mine(gw.Planner, name='mine', version='1'):\n"
        "    '''Drives as I like.'''\n"
        "    def plan(self, situation):\n"
        "        return None\n"
    )
    (tmp_path / "bad.py").write_text("import giveway\nraise RuntimeError('no such thing')\n")
    found = giveway("list", "planners", "mine", "--plugin", tmp_path / "mine.py", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["result"]["planners"][0]["about"] == "Drives as I like."
    assert giveway("list", "planners", "mine").returncode == 2
    bad = giveway("list", "planners", "--plugin", tmp_path / "bad.py", "--json")
    assert (bad.returncode, json.loads(bad.stdout)["ok"]) == (2, False)
    assert "bad.py, line 2" in bad.stderr and "Traceback" not in bad.stderr


def test_the_shell_completes_commands_and_options():
    words = {"COMP_WORDS": "giveway gaps r", "COMP_CWORD": "2", "_GIVEWAY_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [sys.executable, "-c", "from giveway.cli.main import run; run([])"],
        capture_output=True,
        text=True,
        env={**os.environ, **words},
        check=False,
    )
    assert done.stdout.split() == ["run"], done.stderr
