#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# A training that records host memory with all stacks, killed with SIGKILL at a random moment of its
# windows: --recover makes files of every record that had been published, each of its stacks is
# whole, and the code that they lie in is told. Two kills; twenty in make check-long.

. "$(dirname "$0")/lib/lib.sh"
need_torch
n_kills=2
[ -z "${LONG:-}" ] || n_kills=20

# kill_one NAME MILLISECONDS: a run that dies that long after its first window began.
kill_one()
{
	local dir=$TMP/$1 pid tries=0
	mkdir -p "$dir"
	TRAINPROF_DIR=$dir TRAINPROF_RECORD=heap TRAINPROF_STACKS=heap TRAINPROF_BUFFER=16M \
		TRAINPROF_SCHEDULE=wait=1,warmup=1,active=3,repeat=0 LD_PRELOAD=$LIB \
		"$PYTHON" "$PROGS/train_gpt.py" --size tiny --steps 2000 --workers 0 \
		>"$TMP/$1.out" 2>"$TMP/$1.err" &
	pid=$!
	until compgen -G "$dir/*.tpt*" >/dev/null; do
		tries=$((tries + 1))
		if [ $tries -gt 600 ] || ! kill -0 $pid 2>/dev/null; then
			kill -KILL $pid 2>/dev/null
			wait $pid 2>/dev/null
			return 1
		fi
		sleep 0.1
	done
	sleep "$(printf '%d.%03d' $(($2 / 1000)) $(($2 % 1000)))"
	kill -KILL $pid
	wait $pid 2>/dev/null
	return 0
}

for ((i = 0; i < n_kills; i++)); do
	after_ms=$((RANDOM % 1500))
	what="kill $i after $after_ms ms"
	if ! kill_one "kill$i" $after_ms; then
		fail "kill $i: the run made a trace before it was killed" "$(tail -n 5 "$TMP/kill$i.err")"
		continue
	fi
	published=$("$PYTHON" "$TOP/tests/flow/lib/ring_reader.py" "$TMP/kill$i" |
		"$PYTHON" -c 'import json, sys; print(sum(r["heap"] for r in json.load(sys.stdin)))')
	fuse "merge$i" --recover -v health "$TMP/kill$i"
	is "$what: --recover: exit status" "$status" 0
	said=
	n_dumped=0
	n_frames=0
	for trace in "$TMP/kill$i"/*.tpt; do
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
done
done_testing
