#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# torch_events.sh - builds the library with handles and runs torch_events.py with it
#
# usage: make bench T=torch_events     (gives O, PYTHON, CC, TMP)

set -eu
"$PYTHON" -c 'import torch' 2>/dev/null || { echo "no torch: nothing to measure"; exit 0; }
zstd=$("${CC:-cc}" -print-file-name=libzstd.a)
[ -e "$zstd" ] || zstd=-lzstd
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -iquote . -O2 -fPIC -fvisibility=hidden -pthread -shared -Wl,--exclude-libs,ALL \
	-Wl,--version-script=preload/versions.map \
	-o "$TMP/torch_driver.so" tests/progs/torch_driver.c "$O"/preload/*.o "$O"/runtime/*/*.o \
	"$zstd" -ldl -lm
rm -rf "$TMP/torch_events"
OMP_NUM_THREADS=1 TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=ops,shapes,tensors,pystacks,modules \
	TRAINPROF_DIR="$TMP/torch_events" TRAINPROF_BUFFER=128M \
	LD_PRELOAD="$TMP/torch_driver.so" "$PYTHON" tests/bench/torch_events.py "$@"
