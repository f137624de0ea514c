#!/bin/sh
# The same as generate.py, with commands.
set -eu
giveway generate run --planner idm --budget 20 --driver cut_in --search random --no-perturb --out failures >&2
giveway generate table failures
