#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What several jobs left in one folder is never fused unasked: the merge says which there are, reads the
# newest, and others by name. Ranks of one job, and what they start, stay one.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
export TRAINPROF_PROGRAM=sleep TRAINPROF_STEP=clock:20 TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap,host

# ranks RUN N [VARIABLE=VALUE...]: a job of N ranks on this machine.
ranks()
{
	local run=$1 n=$2 rank
	shift 2
	for ((rank = 0; rank < n; rank++)); do
		env "$@" RANK="$rank" WORLD_SIZE="$n" LOCAL_RANK="$rank" TRAINPROF_DIR="$TMP/$run" \
			LD_PRELOAD="$LIB" sleep 0.6 2>>"$run.err" &
	done
	wait
}

# The processes that the merge read, by rank: "0 1"; "alone": one without a rank.
read_ranks()
{
	"$MERGE" -q -f jsonl -v health -o - "$@" 2>/dev/null |
		"$PYTHON" -c 'import json, sys
of = {r["process"] for r in map(json.loads, sys.stdin) if r.get("process")}
print(*sorted(p[5:] if p.startswith("rank ") else "alone" for p in of))'
}

ranks run 2 MASTER_PORT=29500
is "two ranks" "$(read_ranks run)" "0 1"
fuse one run
unlike "nobody speaks of several jobs" "$(cat one.err one.out)" 'jobs left files'
like "the job's name is in the ledger" "$(head -n 1 run/rank1.steps)" ' job=port:29500 '

env TRAINPROF_OVERWRITE=1 TRAINPROF_DIR="$TMP/run" LD_PRELOAD="$LIB" sleep 0.3 2>>run.err
fuse newest -v health run
is "then one process alone" "$status" 0
like "the merge says which jobs there are, and which it reads" "$(cat newest.err)" \
	"2 jobs left files here: '[-0-9]*' \(rank 1 of 2\) and '[-0-9]*' \(1 process without a rank\); the newest"
like "so does the health view" "$(cat newest.out)" '2 jobs left files here'
old=$(sed -n "s/.*2 jobs left files here: '\([-0-9]*\)'.*/\1/p" newest.err)
is "the newest" "$(read_ranks run)" "alone"
is "the other one, by its name" "$(read_ranks --job "$old" run)" "1"
is "all of them" "$(read_ranks --job all run)" "1 alone"
fuse wrong --job nobody run
is "a name that is none" "$status" 1
like "the names are said" "$(cat wrong.err)" "no job 'nobody' left files here: there are '$old'"

ranks named 2 TORCHELASTIC_RUN_ID=first
ranks named 1 TORCHELASTIC_RUN_ID=second TRAINPROF_OVERWRITE=1
fuse named -v health named
like "a launcher's names" "$(cat named.err)" \
	"'torchrun:first' \(rank 1 of 2\) and 'torchrun:second' \(rank 0 of 1\); the newest is read, 'torchrun:second'"
is "by the launcher's name" "$(read_ranks --job torchrun:first named)" "1"
fuse node -f tpn -o node.tpn named
is "a node file is of one job" "$(read_ranks node.tpn)" "0"

# Both jobs' rings are put in safety.
for name in a b; do
	env TORCHELASTIC_RUN_ID=$name RANK=0 TRAINPROF_DIR="$TMP/dead/$name" LD_PRELOAD="$LIB" \
		sleep 60 2>>dead.err &
	sleep 0.5
	kill -KILL $!
	wait $! 2>/dev/null
done
fuse recovered --recover dead
is "--recover is for all" "$status $(find dead -name '*.ring' | wc -l)" "0 0"
done_testing
