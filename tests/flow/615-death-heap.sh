#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 1800
#
# Programs that record host memory with all stacks, killed with SIGKILL at a random moment of their
# windows: --recover makes files of every record that had been published, once, each of its stacks is
# whole, and the code that they lie in is told. A training twice, a program of four threads that do
# nothing but allocate five times; in make check-long 20 and 220 times.

. "$(dirname "$0")/lib/lib.sh"
need_torch
n_kills=${TRAININGS:-2}
n_quick=${KILLS:-5}
[ -z "${LONG:-}" ] || n_kills=20 n_quick=220
cd "$TMP" || exit 1
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -g -O1 -fno-builtin -pthread -I"$TOP" -o held "$PROGS/held.c" -ldl ||
	no_program

# kill_one NAME MILLISECONDS COMMAND...: a run that dies that long after its first window began.
kill_one()
{
	local name=$1 ms=$2 dir=$TMP/$1 pid tries=0
	shift 2
	mkdir -p "$dir"
	TRAINPROF_DIR=$dir TRAINPROF_RECORD=heap TRAINPROF_STACKS=heap TRAINPROF_BUFFER=16M \
		TRAINPROF_SCHEDULE=wait=1,warmup=1,active=3,repeat=0 LD_PRELOAD=$LIB \
		"$@" >"$TMP/$name.out" 2>"$TMP/$name.err" &
	pid=$!
	until compgen -G "$dir/*.tpt*" >/dev/null; do
		tries=$((tries + 1))
		if [ $tries -gt 3000 ] || ! kill -0 $pid 2>/dev/null; then
			kill -KILL $pid 2>/dev/null
			wait $pid 2>/dev/null
			return 1
		fi
		sleep 0.02
	done
	sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
	kill -KILL $pid
	wait $pid 2>/dev/null
	return 0
}

# check_one NAME WHAT: what a run that was killed left, and what is made of it.
check_one()
{
	local dir=$TMP/$1 what=$2 published said='' n_dumped=0 n_frames=0 trace counts
	published=$("$PYTHON" "$TOP/tests/flow/lib/ring_reader.py" "$dir" |
		"$PYTHON" -c 'import json, sys; print(sum(r["heap"] for r in json.load(sys.stdin)))')
	fuse "$1.merge" --recover -v health "$dir"
	is "$what: --recover: exit status" "$status" 0
	for trace in "$dir"/*.tpt; do
		"$O/tests/progs/tptdump" "$trace" >"$TMP/dump"
		n_dumped=$((n_dumped + $(grep -acP '^EVENT\t(1[89]|2[0-2])\t' "$TMP/dump")))
		counts=$("$PYTHON" "$TOP/tests/flow/lib/stacks_whole.py" "$TMP/dump") ||
			said="$said$trace: $counts; "
		[[ $counts =~ frames=([0-9]+).*modules=([0-9]+)$ ]]
		n_frames=$((n_frames + BASH_REMATCH[1]))
		[ "${BASH_REMATCH[1]}" = 0 ] || [ "${BASH_REMATCH[2]}" != 0 ] ||
			said="$said$trace has frames and no modules; "
	done
	is "$what: every record that was published is in a file" "$n_dumped" "$published"
	is "$what: stacks are whole" "$said" ''
	like "$what: there are some" "$n_frames" '^[1-9]'
	n_records=$((n_records + n_dumped))
}

n_records=0
for ((i = 0; i < n_kills; i++)); do
	after_ms=$((RANDOM % 1500))
	if ! kill_one "kill$i" $after_ms "$PYTHON" "$PROGS/train_gpt.py" --size tiny --steps 2000 --workers 0; then
		fail "kill $i: the run made a trace before it was killed" "$(tail -n 5 "$TMP/kill$i.err")"
		continue
	fi
	check_one "kill$i" "kill $i after $after_ms ms"
done
# One window: what allocates every 20 ns does so, too, while a window begins, by stacks from before it.
for ((i = 0; i < n_quick; i++)); do
	after_ms=$((RANDOM % 60))
	if ! kill_one "quick$i" $after_ms env TRAINPROF_PROGRAM=held TRAINPROF_STEP=clock:10 \
		TRAINPROF_SCHEDULE=always ./held allocate; then
		fail "quick kill $i: the run made a trace before it was killed" "$(tail -n 5 "$TMP/quick$i.err")"
		continue
	fi
	check_one "quick$i" "quick kill $i after $after_ms ms"
	rm -rf "$TMP/quick$i"
done
diag "$n_records records of $((n_kills + n_quick)) runs compared"
done_testing
