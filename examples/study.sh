#!/bin/sh
# The same as study.py, with commands.
set -eu
giveway drive run -p constant_velocity -p echo --max-cases 4 --out drives >&2
giveway study create drives --num-clips 6 --seconds 4 --out form >&2
giveway study rehearse form --raters 6 --out rehearsal >&2
giveway study analyze rehearsal --draws 500 --no-model
