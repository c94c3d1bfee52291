#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every call of the malloc family of a program with many threads, against the books that the
# program keeps itself: each event, in the order of each thread; over every malloc there is.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -fno-builtin -pthread -o heap_truth "$PROGS/heap_truth.c" ||
	no_program

# compare_books WHAT [VARIABLE=VALUE...]
compare_books()
{
	local what=$1
	shift
	rm -rf run
	train run "$@" TRAINPROF_PROGRAM=heap_truth TRAINPROF_SCHEDULE=always \
		TRAINPROF_RECORD=heap TRAINPROF_LOG=quiet ./heap_truth log 4 3 8000
	is "$what: the program is as without us" "$status $(cat run.out run.err)" "0 0 wrong"
	"$O/tests/progs/tptdump" run/*.tpt >dump
	like "$what: nothing is dropped" "$(cat dump)" '^END	dropped=0$'
	ok "$what: each call is an event, each event is a call" \
		"$PYTHON" "$TOP/tests/flow/lib/heap_compare.py" log dump
}

compare_books "no stacks"
unlike "without stacks there are no frames" "$(cut -f 1-2 dump)" '^EVENT	22$'
compare_books "native stacks" TRAINPROF_STACKS=heap,native
compare_books "clock without TSC" TRAINPROF_CLOCK=monotonic
preload=$LIB
for name in jemalloc tcmalloc_minimal; do
	found=$(ldconfig -p | sed -n "s,.*lib$name\\.so.*=> ,,p" | head -1)
	if [ -n "$found" ]; then
		LIB="$preload $found" compare_books "$name"
	else
		skip "$name" "it is not installed"
	fi
done
done_testing
