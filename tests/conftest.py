"""Set before numerical libraries are imported: several test processes must not fight over cores."""

import os
import signal
import threading

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.pop("COLUMNS", None)  # tables are as wide as they are, whatever the terminal of the tests

# Shells start background jobs with Ctrl-C ignored, and programs that tests start would inherit that.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from hypothesis import settings  # noqa: E402 - after the environment is set

# One profile for all properties: a busy machine never fails a run, and a failure can be repeated from its output.
settings.register_profile("giveway", deadline=None, print_blob=True, derandomize=bool(os.environ.get("CI")))
settings.load_profile("giveway")
