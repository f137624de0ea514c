#!/bin/sh
# The same as drive.py, with commands.
set -eu
giveway drive run -p constant_velocity -p echo --max-cases 6 --out drives >&2
giveway drive table drives
