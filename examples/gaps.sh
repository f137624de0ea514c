#!/bin/sh
# The same as gaps.py, with commands. Needs gaps.toml from the folder of this file.
set -eu
here=$(dirname "$0")
giveway data synth --dataset lgap --size 200 --out recordings >&2
giveway gaps run "$here/gaps.toml" --data lgap=recordings --workers 1 --out results >&2
giveway gaps table results --metric auc --t0 constant
giveway gaps compare results LR_1D CV --metric auc --draws 200
