#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
#
# What is recorded of a window equals what torch.profiler sees in the same steps: operators and
# ranges with their nesting, links from backward to forward, every block of tensor memory. And
# neither the training nor torch.profiler can tell that we were there.

. "$(dirname "$0")/lib.sh"
need_torch
DUMP=$O/tests/progs/tptdump
[ -x "$DUMP" ] || make -s -C "$TOP" O="$O" "$DUMP" || skip_all "cannot build tptdump"

schedule=TRAINPROF_SCHEDULE=wait=1,warmup=1,active=3,repeat=1,per=run

# truth CASE [ARGUMENT]: alone, profiled by us, by torch, by both.
truth()
{
	local case=$1 other=${2:-}
	bare "$case-alone" "$PYTHON" "$PROGS/truth.py" "$case" $other
	is "$case: runs" "$status" 0
	train "$case-ours" "$schedule" "$PYTHON" "$PROGS/truth.py" "$case" $other
	is "$case: same losses and status with the preload" \
		"$status $(cat "$TMP/$case-ours.out")" "0 $(cat "$TMP/$case-alone.out")"
	is "$case: not a word" "$(messages_of "$case-ours")" ""
	bare "$case-theirs" "$PYTHON" "$PROGS/truth.py" "$case" $other --profile "$TMP/$case-theirs.json"
	train "$case-both" "$schedule" "$PYTHON" "$PROGS/truth.py" "$case" $other \
		--profile "$TMP/$case-both.json"
	is "$case: same losses and status with both profilers" \
		"$status $(cat "$TMP/$case-both.out")" "0 $(cat "$TMP/$case-alone.out")"
	"$DUMP" "$TMP/$case-both/"*.0.tpt >"$TMP/$case.tsv"
	# Batches from worker processes arrive when they arrive: no two runs are the same there.
	if [ "$case" = accumulate ]; then
		said=$(python3 "$TOP/tests/flow/truth_compare.py" "$TMP/$case.tsv" \
			"$TMP/$case-both.json" 2>&1)
	else
		said=$(python3 "$TOP/tests/flow/truth_compare.py" "$TMP/$case.tsv" \
			"$TMP/$case-both.json" "$TMP/$case-theirs.json" 2>&1)
	fi
	like "$case: as torch.profiler saw it" "$said" 'equal$'
	diag "$said"
}

for case in mlp lstm gan lbfgs accumulate compiled; do
	truth "$case"
done
done_testing
