#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# long
# timeout: 3600
#
# The same trainings with worker processes again and again (RUNS of each, 3 unless set): every one ends, with
# the losses of the bare run, each worker with a trace of its own, and no ring is left.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/workers.sh"
need_torch
cd "$TMP" || exit 1
mkdir rings
runs=${RUNS:-3}
LIMIT=300

# often TRACES WORDS...: that many runs, each with so many traces of workers. any: the training ends by
# killing its workers, and what one leaves, a trace or a ring, is chance.
often()
{
	local traces=$1 name="${*:2}" wanted run wrong=
	shift
	limited "$LIMIT" bare bare "$PYTHON" "$PROGS/workers.py" "$@"
	wanted="$hung$status $(cat bare.out)"
	for run in $(seq "$runs"); do
		rm -rf often
		limited "$LIMIT" train often TRAINPROF_BUFFER_DIR="$TMP/rings" TRAINPROF_STACKS=heap \
			TRAINPROF_RECORD=ops,tensors,heap,host TRAINPROF_SCHEDULE=always \
			TRAINPROF_STEP=optimizer "$PYTHON" "$PROGS/workers.py" "$@"
		[ "$hung$status $(cat often.out)" = "$wanted" ] || wrong="$wrong run $run: $hung$status;"
		[ "$traces" = any ] || [ "$(find often -name '*worker*.tpt' | wc -l)" = "$traces" ] ||
			wrong="$wrong run $run: $(find often -name '*worker*.tpt' | wc -l) traces;"
		[ "$traces" = any ] || [ -z "$(find rings often -name '*.ring')" ] || wrong="$wrong run $run: rings are left;"
		rm -f rings/*
	done
	is "$name: $runs of $runs runs" "$wrong" ""
}

for how in fork spawn forkserver; do
	often 4 "$how"
	often 2 "$how" persistent
done
often 2 fork subprocess once
often 2 fork threads once
often any fork exit once
done_testing
