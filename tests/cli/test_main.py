"""The program itself."""

import subprocess
import sys

from giveway import __version__


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "giveway", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, f"giveway {__version__}")
