#!/bin/sh
# The same as generate.py, with commands.
set -eu
giveway generate run --ego idm --budget 20 --driver cut_in --search random --no-perturb --out failures >&2
giveway generate report failures --limit 0 | grep -v '^failures/report.html'
