#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What stands before Python's allocator of objects, or follows its lines and calls, is counted, and the program
# computes what it does without us.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_tptdump

# case, mode, variable, totals
look() {
	bare "$1.bare" env "$3" "$PYTHON" "$PROGS/hooked.py" "$2"
	train "$1" TRAINPROF_SCHEDULE=wait=5,warmup=1,active=2,repeat=2 "$3" "$PYTHON" "$PROGS/hooked.py" "$2"
	is "$1: ends as without us" "$status" 0
	is "$1: and computes the same" "$(cat "$TMP/$1.out")" "$(cat "$TMP/$1.bare.out")"
	is "$1: windows at whose start it was there" \
		"$(for key in tracemalloc debug_memory memory_hooks trace profile monitoring; do
			n=$(last_total "$TMP/$1" python.$key)
			[ -z "$n" ] || echo "$key=$n"
		done | xargs)" "$4"
}

# From 3.12 on cProfile is a tool of sys.monitoring.
calls=$("$PYTHON" -c 'import sys; print("monitoring=2" if sys.version_info >= (3, 12) else "profile=2")')
look never never A=b ""
look traced tracemalloc A=b tracemalloc=2
look debug never PYTHONMALLOC=debug debug_memory=2
look plain never PYTHONMALLOC=malloc ""
look other hooks A=b memory_hooks=2
look lines trace A=b trace=2
look calls profile A=b profile=2
look cprofile cprofile A=b "$calls"
done_testing
