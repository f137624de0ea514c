"""``python -m giveway``."""

from giveway.cli.main import run

run()
