#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pystack.sh - builds the reader of Python stacks with a clock and runs pystack.py with it
#
# usage: make bench T=pystack     (gives O, PYTHON, CC, TMP)

set -eu
zstd=$("${CC:-cc}" -print-file-name=libzstd.a)
[ -e "$zstd" ] || zstd=-lzstd
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -iquote . -O2 -fPIC -fvisibility=hidden -pthread -shared -Wl,--exclude-libs,ALL \
	-o "$TMP/pystack_driver.so" tests/progs/pystack_driver.c "$O"/runtime/*/*.o "$zstd" -ldl -lm
"$PYTHON" tests/bench/pystack.py "$TMP/pystack_driver.so" "$TMP" "$@"
