#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Children of raw clone(2) and of _Fork, of which no fork handler hears: they end as they should,
# and of what their parent does each call is recorded, none of theirs.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -fno-builtin -o strangers "$PROGS/strangers.c" ||
	skip_all "no C compiler, or no _Fork"
mkdir rings
export TRAINPROF_BUFFER_DIR=$TMP/rings

# events_of BYTES: allocations of that size in the dump.
events_of()
{
	awk -F'\t' -v bytes="$1" '$1 == "EVENT" && $2 == 18 && $4 == bytes' dump | wc -l
}

for how in syscall clone _Fork newpid; do
	rm -rf run
	train passed ./strangers $how 30
	if [ $status = 77 ]; then
		skip "$how" 'no permission to make a pid namespace'
		continue
	fi
	is "$how: passed through" "$status $(cat passed.out passed.err)" "0 30 of 30"
	train run TRAINPROF_PROGRAM=strangers TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap \
		TRAINPROF_STEP=clock:50 ./strangers $how 300
	is "$how: profiled" "$status $(cat run.out run.err)" "0 300 of 300"
	is "$how: no ring is left" "$(ls rings)" ""
	"$O/tests/progs/tptdump" run/*.tpt >dump
	like "$how: nothing was dropped" "$(cat dump)" '^END	dropped=0$'
	is "$how: each call of the program is an event" "$(events_of 1234)" 30000
	is "$how: none of its children's is" "$(events_of 4321)" 0
	fuse merged --strict run
	is "$how: nothing was lost" "$status $(cat merged.err)" "0 "
done
done_testing
