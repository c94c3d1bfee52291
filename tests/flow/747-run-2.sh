#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A folder that holds another run: the next goes into a folder beside it, all its ranks into the same
# one; TRAINPROF_OVERWRITE=0 refuses, 1 replaces, with what was merged; TRAINPROF_KEEP counts.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
export TRAINPROF_PROGRAM=sleep TRAINPROF_STEP=clock:20 TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap,host

# alone [VARIABLE=VALUE...]: a process without a rank, into run.
alone()
{
	env "$@" TRAINPROF_DIR="$TMP/run" LD_PRELOAD="$LIB" sleep 0.4 2>>run.err
}

# ranks N [VARIABLE=VALUE...]: a job of N ranks, the last of which come late.
ranks()
{
	local n=$1 rank pids=()
	shift
	for ((rank = 0; rank < n; rank++)); do
		env "$@" RANK="$rank" WORLD_SIZE="$n" LOCAL_RANK="$rank" TRAINPROF_DIR="$TMP/run" \
			LD_PRELOAD="$LIB" sleep $((n - rank)) 2>>run.err &
		pids+=($!)
		sleep 0.5
	done
	wait "${pids[@]}"
}

alone
is "the first run" "$(ls run)" "rank0.0.tpt
rank0.steps"
is "says nothing" "$(cat run.err)" ""
alone
is "the next goes beside it" "$(ls run-2)" "rank0.0.tpt
rank0.steps"
like "and says so" "$(cat run.err)" "'.*/run' holds files of another run: this one is recorded into '.*/run-2'\$"
ranks 3 MASTER_PORT=29500
is "three ranks go to one folder, also those whose number was free" "$(ls run-3)" "$(for rank in 0 1 2; do
	printf 'rank%d.0.tpt\nrank%d.steps\n' $rank $rank
done)"
is "which one of them says" "$(grep -c 'run-3' run.err)" 1
is "and nothing else came" "$(ls -d run* | tr '\n' ' ')" "run run-2 run-3 run.err "
alone TRAINPROF_OVERWRITE=0
is "OVERWRITE=0 refuses" "$(ls -d run-* | wc -l) $(ls run | wc -l)" "2 2"
like "and says how to go on" "$(tail -n 1 run.err)" "'.*/run' holds traces of this rank already .*; nothing is recorded\$"
fuse merged run
ls run >before
is "there is a node file" "$(grep -c '^node0.json.gz$' before)" 1
old=$(cat run/rank0.steps | head -n 1)
alone TRAINPROF_OVERWRITE=1
is "OVERWRITE=1 replaces" "$(ls run)" "rank0.0.tpt
rank0.steps"
unlike "what was there" "$(head -n 1 run/rank0.steps)" "^$old\$"

# The launcher finds it.
trainprof=$TOP/scripts/trainprof
if cmp -s "$LIB" "$("$trainprof" lib 2>/dev/null)"; then
	TRAINPROF_DIR="$TMP/run" PYTHONDONTWRITEBYTECODE=1 "$trainprof" run -- sleep 0.4 >launched.out 2>launched.err
	is "trainprof run merges the folder that was used" "$(ls run-4)" "node0.json.gz
rank0.0.tpt
rank0.steps"
	# The next run tidies up what one that was killed left: its folder is not the next one's all the same.
	for seconds in 5 0.4; do
		TRAINPROF_DIR="$TMP/killed" PYTHONDONTWRITEBYTECODE=1 "$trainprof" run -- \
			timeout -s KILL 1 sleep $seconds >>killed.out 2>>killed.err
	done
	is "of a run that was killed, too" "$(ls killed-2) $(grep -c 'jobs left files' killed.err)" "node0.json.gz
rank0.0.tpt
rank0.steps 0"
else
	skip "trainprof run merges the folder that was used" "the checkout's build is not the one that is tested"
fi

mkdir several && cp -r run several/run
cp -r several/run several/run-2 && cp -r several/run several/run-3
fuse newest -v steps several/run/
like "a later run beside it is named" "$(cat newest.err)" "^trainprof-merge: 'several/run' is not the newest run here: 'several/run-3' is\$"
fuse newest -q -v steps several/run
is "not with -q" "$(cat newest.err)" ""
fuse newest -v steps several/run-3
unlike "nor of the newest" "$(cat newest.err)" 'newest'

# KEEP: windows, and what was removed is counted.
export TRAINPROF_SCHEDULE=wait=1,warmup=0,active=1,repeat=5,per=run
for keep in -1 0 2; do
	env TRAINPROF_KEEP=$keep TRAINPROF_DIR="$TMP/keep$keep" LD_PRELOAD="$LIB" sleep 1.5 2>>keep.err
done
is "KEEP=-1: all" "$(find keep-1 -name '*.tpt' | wc -l)" 5
is "KEEP=0: all, until they are delivered" "$(find keep0 -name '*.tpt' | wc -l)" 5
is "KEEP=2: the newest" "$(ls keep2 | tr '\n' ' ')" "rank0.3.tpt rank0.4.tpt rank0.steps "
is "nothing is said" "$(cat keep.err)" ""
fuse health -v health keep2
like "the view of health counts what is gone" "$(cat health.out)" '2 traces of windows had been removed by TRAINPROF_KEEP when'
done_testing
