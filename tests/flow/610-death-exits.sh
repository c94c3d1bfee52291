#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# However a training ends, it ends as it would have without us: same standard output, same
# exit status, same standard error but for lines of ours; and what it had recorded is shown.

. "$(dirname "$0")/lib/lib.sh"
need_torch

# Standard error without our lines, and without what differs between any two runs: process
# numbers, addresses, the names of temporary folders.
errors_of()
{
	grep -v '^trainprof: ' "$TMP/$1.err" |
		sed -E -e 's/\bpid[= (s)]*[0-9]+/pid N/g' -e 's/0x[0-9a-f]+/0xN/g' -e 's/[0-9]{3,}/N/g'
}

# ends_alike NAME HOW: the same script, bare and under the preload.
ends_alike()
{
	local name=$1 how=$2 wanted
	bare "$name-bare" "$PYTHON" "$PROGS/train_and_end.py" "$how"
	wanted=$status
	train "$name" TRAINPROF_SCHEDULE=wait=2,warmup=1,active=20 \
		"$PYTHON" "$PROGS/train_and_end.py" "$how"
	is "$name: exit status" "$status" "$wanted"
	ok "$name: standard output" cmp "$TMP/$name-bare.out" "$TMP/$name.out"
	is "$name: standard error" "$(errors_of "$name")" "$(errors_of "$name-bare")"
}

# shows NAME STEPS: the merge works and the timeline has that many optimizer steps, or more.
shows()
{
	fuse "$1-merge" -v health -f chrome -o "$TMP/$1.json.gz" "$TMP/$1"
	is "$1: merge's exit status" "$status" 0
	local spans
	spans=$("$PYTHON" "$TOP/tests/flow/lib/chrome_counts.py" "$TMP/$1.json.gz" 'Optimizer.step#' 2>&1)
	ok "$1: ${spans##*$'\n'} optimizer steps in the timeline, $2 or more" test "$spans" -ge "$2"
}

ends_alike normal normal;         shows normal 18
ends_alike exit exit:3;           shows exit 5
ends_alike quick_exit _exit:7;    shows quick_exit 5
ends_alike raise raise;           shows raise 5
ends_alike sigterm kill:SIGTERM;  shows sigterm 5
ends_alike sigint kill:SIGINT;    shows sigint 5
ends_alike sigabrt kill:SIGABRT;  shows sigabrt 5
ends_alike sigsegv kill:SIGSEGV;  shows sigsegv 5
ends_alike exec exec;             shows exec 5
ends_alike fork fork;             shows fork 18

# Ctrl-C: Python raises KeyboardInterrupt, finalizes itself, and sends the signal again.
for name in normal exit quick_exit raise sigterm sigint; do
	is "$name: the end is in order, no ring is left" "$(find "$TMP/$name" -name '*.ring')" ""
	fuse "$name-strict" -q --strict -v health "$TMP/$name"
	is "$name: nothing was lost" "$status $(cat "$TMP/$name-strict.err")" "0 "
done

# Which of its workers' errors torch meets first is chance, bare or not.
train worker TRAINPROF_SCHEDULE=wait=2,warmup=1,active=20 \
	"$PYTHON" "$PROGS/train_and_end.py" worker
is 'a worker is killed: exit status' "$status" 1
like 'a worker is killed: the training says so' "$(cat "$TMP/worker.err")" \
	'^(object repr *: )?(RuntimeError: DataLoader worker|Connection(Reset|Refused)Error|FileNotFoundError|EOFError)'
shows worker 5
done_testing
