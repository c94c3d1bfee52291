#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# TRAINPROF_SCHEDULE=at=...: windows begin at the listed steps of the run, the same on all ranks; the
# one that never came is said once, with its step.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
# Not sleep(1): it closes its standard error before it ends.
mkfifo never
exec 3<>never
export TRAINPROF_PROGRAM=bash TRAINPROF_STEP=clock:10 TRAINPROF_RECORD=heap,host

for rank in 0 1; do
	env RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank TRAINPROF_SCHEDULE=at=3,8,100000,warmup=1,active=2 \
		TRAINPROF_DIR="$TMP/run" LD_PRELOAD="$LIB" bash -c "read -rt 1 -u 3" 2>>run.err &
done
wait

# Steps that were active: phase 4.
active()
{
	awk '$1 ~ /^s/ && / p4 /{ printf "%s ", substr($1, 2) }' "$1"
}

is "rank 0 recorded the listed steps" "$(active run/rank0.steps)" "3 4 8 9 "
is "rank 1 recorded the same" "$(active run/rank1.steps)" "3 4 8 9 "
is "two windows of each rank" "$(find run -name '*.tpt' | wc -l)" 4
is "the step that never came is said once" "$(grep -c 'no window opened at step 100000' run.err)" 1
is "and nothing else" "$(wc -l <run.err)" 1
train bad TRAINPROF_SCHEDULE=at=8,3 bash -c "read -rt 0.2 -u 3"
like "steps that do not ascend are refused" "$(messages_of bad)" \
	"TRAINPROF_SCHEDULE: bad value 'at=8,3' at '3'; .*at=N,N\.\.\."
done_testing
