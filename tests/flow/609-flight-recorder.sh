#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# TRAINPROF_RECORDER: the last steps are there when something happened, and only then: an exception, a status,
# signals, a step that is slow, a hang, an allocation that fails.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/hangs.sh"
need_torch
need_tptdump
cd "$TMP" || exit 1
recorder=TRAINPROF_RECORDER=steps=8
quiet=TRAINPROF_SCHEDULE=wait=1000

# parts_in PATH: the numbers of the steps whose ranges a merge of it shows.
parts_in()
{
	"$MERGE" -q -f chrome -o parts.json "$1" >/dev/null 2>parts.err
	grep -o '"part [0-9]*"' parts.json | sort -u | tr -dc '0-9\n' | sort -n | tr '\n' ' '
}

# why PATH: what opened that window.
why()
{
	"$DUMP" "$1" | sed -n 's/^META\topened_\(by\|why\)=//p' | tr '\n' ' '
}

begin hang pause $recorder
declare -A reason=([raise]="the program ended with status 1" [status]="the program ended with status 3"
	[term]="the program ended by signal 15")
last="52 53 54 55 56 57 58 59 "

train end $recorder $quiet "$PYTHON" "$PROGS/flight.py" end
is "a run that ends well leaves no trace" "$status $(find end -name '*.tpt*')" "0 "
is "and no ring" "$(find end -name '*.ring')" ""

for how in raise status term; do
	bare "bare-$how" "$PYTHON" "$PROGS/flight.py" $how
	wanted=$status
	train $how $recorder $quiet "$PYTHON" "$PROGS/flight.py" $how
	is "$how: ends as without us" "$status" "$wanted"
	is "$how: the last eight steps are in a window" "$(parts_in $how/rank0.0.tpt)" "$last"
	is "$how: which says why" "$(why $how/rank0.0.tpt)" "recorder ${reason[$how]} "
done

for how in kill fault; do
	train $how $recorder $quiet "TRAINPROF_BUFFER_DIR=$TMP" "$PYTHON" "$PROGS/flight.py" $how
	like "$how: the merge finds the last eight steps in the ring, or more" "$(parts_in $how)" "$last\$"
	fuse $how.merged -q -v overview,health -o merged.json $how
	is "$how: and reads it" "$status" 0
	fuse $how.recovered -q --recover -o merged.json $how
	is "$how: --recover makes a trace of it" "$(find $how -name '*.tpt' | wc -l) $(find $how -name '*.ring')" "1 "
	like "$how: with the same steps" "$(parts_in "$(find $how -name "*.tpt")")" "$last\$"
done

# More steps than the ring has room for: what is left names its own stacks.
train small $recorder $quiet TRAINPROF_BUFFER=1M "$PYTHON" "$PROGS/flight.py" raise 420
is "small: the last eight steps of 420" "$(parts_in small/rank0.0.tpt)" "412 413 414 415 416 417 418 419 "
fuse small.merged -q -v overview -o merged.json small
like "small: the operators of all eight have their line" "$(cat small.merged.out)" \
	'flight.py:[0-9]+ train +[0-9.]+ [mu]s +[0-9.]+ [mu]s +72$'

train slow $recorder $quiet TRAINPROF_TRIGGER=slow=4x,steps=2 "$PYTHON" "$PROGS/flight.py" end 200
like "slow: the slow step is in the window before the trigger's" "$(parts_in slow/rank0.0.tpt)" '(^| )40 '
is "slow: two windows" "$(find slow -name '*.tpt' | wc -l)" 2

like "slow: which says why" "$(why slow/rank0.0.tpt)" '^recorder step 40 took [0-9.]+ times'

train oom $recorder $quiet "$PYTHON" "$PROGS/out_of_memory.py" tensor
is "out of memory: the steps before it" "$(why oom/rank0.0.tpt)" "recorder an allocation failed "

await hang.err "$told"
is "hang: the steps before it" "$(why hang/rank0.0.tpt)" \
	"recorder no step has ended for the time of TRAINPROF_HANG "
kill -KILL "${pid[@]}" 2>/dev/null

done_testing
