#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A run set up as Composer's trace handler is, by environment: its folder and file names, its windows by epoch,
# how many files it keeps, and a folder that is used already.

. "$(dirname "$0")/lib/lib.sh"
need_torch
cd "$TMP" || exit 1

# record KEEP OVERWRITE: two epochs of six batches.
record()
{
	# The folder is a template, so not lib.sh's.
	env RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 NODE_RANK=0 LD_PRELOAD="$LIB" TRAINPROF_RUN_NAME=gpt \
		TRAINPROF_DIR="$TMP/{run_name}/traces" TRAINPROF_TRACE_NAME='ep{epoch}-ba{batch}-rank{rank}.tpt' \
		TRAINPROF_SCHEDULE=skip_first=1,wait=1,warmup=1,active=2,repeat=1 TRAINPROF_KEEP="$1" \
		TRAINPROF_OVERWRITE="$2" "$PYTHON" "$PROGS/loops.py" plain >record.out 2>record.err
	status=$?
}

# traces: those that there are, in order of their names.
traces()
{
	find gpt/traces -name '*.tpt' -printf '%f\n' | sort | tr '\n' ' '
}

record -1 new
is "folder and names: a file for each epoch's window" "$status $(traces)" "0 ep0-ba3-rank0.tpt ep1-ba9-rank0.tpt "
fuse merged -q -o node0.json gpt/traces
is "one timeline of all of a node's ranks" "$status $(grep -c '"traceEvents"' node0.json)" "0 1"
fuse steps -q -v steps -f jsonl gpt/traces
is "the steps that were active: two of each epoch" "$("$PYTHON" - steps.out <<'EOT'
import json, sys

rows = [row for row in map(json.loads, open(sys.argv[1])) if row["table"] == "steps"]
print([row["step"] for row in rows if row.get("phase") == "active"])
EOT
)" "[3, 4, 9, 10]"

record 1 1
is "of a run in the same folder that replaces it: the newest file only" "$status $(traces)" "0 ep1-ba9-rank0.tpt "
record -1 0
is "overwrite=False: nothing is recorded, the training goes on" "$status $(traces)" "0 ep1-ba9-rank0.tpt "
like "and it is said" "$(cat record.err)" "gpt/traces"

done_testing
