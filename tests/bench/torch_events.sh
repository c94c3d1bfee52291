#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# torch_events.sh - runs torch_events.py with the library that has handles
#
# usage: make bench T=torch_events     (gives DRIVER, PYTHON, TMP)

set -eu
"$PYTHON" -c 'import torch' 2>/dev/null || { echo "no torch: nothing to measure"; exit 0; }
OMP_NUM_THREADS=1 TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=ops,shapes,tensors,pystacks,modules \
	TRAINPROF_DIR="$TMP/torch_events" TRAINPROF_BUFFER=128M \
	LD_PRELOAD="$DRIVER" "$PYTHON" tests/bench/torch_events.py "$@"
