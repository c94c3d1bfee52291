#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
#
# A training killed with SIGKILL at a random moment of its windows: the merge shows every
# record that had been published, once, says what each thread was inside of, and invents
# nothing. Three kills; fifty in make check-long. One that is killed in its first step has nothing
# to show, and is not said to be no recording.

. "$(dirname "$0")/lib/lib.sh"
need_torch
n_kills=3
[ -z "${LONG:-}" ] || n_kills=50

# kill_one NAME MILLISECONDS: a run that dies that long after its first window began.
kill_one()
{
	local dir=$TMP/$1 pid tries=0
	mkdir -p "$dir"
	TRAINPROF_DIR=$dir TRAINPROF_RECORD=ops TRAINPROF_BUFFER=8M \
		TRAINPROF_SCHEDULE=wait=1,warmup=1,active=5,repeat=0 LD_PRELOAD=$LIB \
		"$PYTHON" "$PROGS/train_gpt.py" --size tiny --steps 2000 --workers 0 \
		>"$TMP/$1.out" 2>"$TMP/$1.err" &
	pid=$!
	# The first trace file is there: its windows have begun.
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
	# $RANDOM, printed: a failure can be looked at again, if not repeated.
	after_ms=$((RANDOM % 900))
	if ! kill_one "kill$i" $after_ms; then
		fail "kill $i: the run made a trace before it was killed" "$(tail -n 5 "$TMP/kill$i.err")"
		continue
	fi
	"$PYTHON" "$TOP/tests/flow/lib/ring_reader.py" "$TMP/kill$i" >"$TMP/kill$i.ring"
	fuse "merge$i" -f chrome -o "$TMP/kill$i.json.gz" -v health "$TMP/kill$i"
	is "kill $i after $after_ms ms: merge's exit status" "$status" 0
	said=$("$PYTHON" "$TOP/tests/flow/lib/compare_dead.py" "$TMP/kill$i.ring" \
		"$TMP/kill$i.json.gz" "$TMP/merge$i.out" 2>&1)
	is "kill $i after $after_ms ms: every published record is shown once, nothing else" \
		"$?" 0
	[ -z "$said" ] || diag "$said"
done

TRAINPROF_DIR=$TMP/first LD_PRELOAD=$LIB "$PYTHON" -c '
import os, torch
w = torch.ones(8, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
w.sum().backward()
os.kill(os.getpid(), 9)' 2>"$TMP/first.err"
is "killed in its first step: there is a buffer file" "$(find "$TMP/first" -name '*.ring' | wc -l)" 1
fuse first-merge "$TMP/first"
is "... nothing to show is the merge's exit status" "$status" 1
is "... and it says why" "$(sed 's/process [0-9]*/process N/' "$TMP/first-merge.err")" \
	"trainprof-merge: process N did not exit cleanly, before its first step had ended: it had recorded nothing yet
trainprof-merge: nothing to show in '$TMP/first': no window had begun there and no step had ended"
rm "$TMP"/first/*.ring
fuse first-alone "$TMP/first"
like "... nor without it is it said that there is no step log" "$(cat "$TMP/first-alone.err")" \
	"^trainprof-merge: nothing to show in "
done_testing
