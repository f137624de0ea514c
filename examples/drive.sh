#!/bin/sh
# The same as drive.py, with commands.
set -eu
giveway drive run -p constant_velocity -p echo --limit 6 --out drives | grep -v '^logs and results in'
