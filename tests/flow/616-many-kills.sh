#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
# timeout: 1800
#
# A small program that does nothing but allocate, killed with SIGKILL 500 times (KILLS=N) in the first
# thousandths of a second of its window, into a ring of 4 MiB: all that was published is in files after
# --recover, nothing twice.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -g -O1 -fno-builtin -pthread -I"$TOP" -o held "$PROGS/held.c" -ldl ||
	no_program
export LIB MERGE O
relay "" < <("$PYTHON" "$TOP/tests/flow/lib/many_kills.py" "${KILLS:-500}" held)
done_testing
