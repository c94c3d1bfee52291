#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Fork storms, vfork, posix_spawn, forks of many threads, odd habits: with the library, in
# programs it leaves alone and in one that it profiles, all children end as they should.

. "$(dirname "$0")/lib/lib.sh"
cc=${CC:-cc}
cd "$TMP" || exit 1
mkdir rings
export TRAINPROF_BUFFER_DIR=$TMP/rings

for prog in forks heap_family odd_habits; do
	"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -fno-builtin -pthread -o "$prog" "$PROGS/$prog.c" -ldl || no_program
done

# both WHAT WANTED COMMAND...: passed through, then as the program that is profiled.
both()
{
	local what=$1 wanted=$2
	shift 2
	rm -rf passed profiled
	train passed "$@"
	is "$what, passed through" "$status $(cat passed.out passed.err)" "$wanted"
	ok "$what, passed through: no file" test ! -e passed
	train profiled "TRAINPROF_PROGRAM=$(basename "$1")" TRAINPROF_SCHEDULE=always \
		TRAINPROF_STEP=clock:50 "$@"
	is "$what, profiled" "$status $(cat profiled.out)" "$wanted"
	is "$what, profiled: no message" "$(messages_of profiled)" ""
	is "$what, profiled: no ring is left" "$(ls "$TMP/rings")" ""
}

both "1,000 forks" "0 1000 of 1000" ./forks fork 1000
both "300 vforks" "0 300 of 300" ./forks vfork 300
both "300 spawns" "0 300 of 300" ./forks spawn 300
both "2,000 forks of two threads beside two that allocate" "0 2000 of 2000" ./forks threads 2000
both "workers that live together" "0 16 of 16" ./forks loader 16
both "every function of malloc, 1,000 threads" "0 0 wrong" ./heap_family 1000
both "malloc in a signal handler" "0 300 signals" ./odd_habits signals
both "dlopen a hundred times" "0 100 times" ./odd_habits dlopen
both "a library that prefers its own names" "0 1 times" ./odd_habits deepbind
bare descriptors ./odd_habits descriptors
both "all descriptors closed, the lowest counted on" "0 $(cat descriptors.out)" ./odd_habits descriptors
done_testing
