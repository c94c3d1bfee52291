#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# engines.sh - one question of a run of many ranks, by the merge alone and by local clusters of Dask and Spark
# with one and two workers: wall and CPU time; the answers must be equal
#
# usage: engines.sh   (with O, TMP, MERGE, PYTHON; RANKS=64 EVENTS=20000, of each rank)

set -eu
"$PYTHON" -c 'import psutil, pyarrow' 2>/dev/null || { echo "no pyarrow, psutil: make setup-long"; exit 0; }
run=$TMP/engines
"$O/tests/bench/gen_traces" "$run" "${RANKS:-64}" "${EVENTS:-20000}" 4
PYTHONPATH=$PWD/scripts/python:$PWD/tests/flow/lib "$PYTHON" tests/bench/engines.py "$run"
rm -rf "$run"
