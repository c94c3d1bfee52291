#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Trainings as people write them, by Lightning, Transformers and Accelerate: nothing about
# them changes, and every optimizer step is a step of ours, with its epoch.

. "$(dirname "$0")/lib/lib.sh"
need_torch

# steps_of NAME: "steps epochs" of a run's ledger. Columns: man trainprof-trace.
steps_of()
{
	cat "$TMP/$1"/*.steps | awk '!/^#/ {
		n++
		epoch = 0
		for (i = 1; i <= NF; i++)
			if ($i ~ /^e[0-9]/)
				epoch = substr($i, 2)
		epochs[epoch] = 1
	} END { for (e in epochs) m++; print n + 0, m + 0 }'
}

# world NAME MODULE STEPS EPOCHS [ARGUMENTS]
world()
{
	local name=$1 module=$2 steps=$3 epochs=$4
	shift 4
	if ! "$PYTHON" -c "import $module" 2>/dev/null; then
		skip "$name" "no Python module $module (make setup-long)"
		return
	fi
	bare "$name-bare" "$PYTHON" "$PROGS/world_$name.py" "$@"
	is "$name: bare exit status" "$status" 0
	train "$name" TRAINPROF_SCHEDULE=wait=2,warmup=1,active=4 \
		"$PYTHON" "$PROGS/world_$name.py" "$@"
	is "$name: exit status" "$status" 0
	ok "$name: same losses" cmp "$TMP/$name-bare.out" "$TMP/$name.out"
	is "$name: no message" "$(messages_of "$name")" ""
	is "$name: steps and epochs" "$(steps_of "$name")" "$steps $epochs"
	fuse "$name-merge" -f chrome -o "$TMP/$name.json.gz" -v overview -v health "$TMP/$name"
	is "$name: merge" "$status" 0
	is "$name: optimizer steps in the windows" \
		"$("$PYTHON" "$TOP/tests/flow/lib/chrome_counts.py" "$TMP/$name.json.gz" 'Optimizer.step#')" \
		"$((4 * epochs))"
}

world lightning lightning 20 2
world transformers transformers 10 1 "$TMP/hf"
world accelerate accelerate 12 1
done_testing
