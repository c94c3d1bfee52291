#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
#
# What is recorded of a window equals what torch.profiler sees in the same steps: operators and
# ranges with their nesting, links from backward to forward, every block of tensor memory. And
# neither the training nor torch.profiler can tell that we were there.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_tptdump

schedule=TRAINPROF_SCHEDULE=wait=1,warmup=1,active=3,repeat=1,per=run
record=TRAINPROF_RECORD=ops,shapes,tensors
export TORCHINDUCTOR_CACHE_DIR=$TMP/inductor

# truth CASE [ARGUMENT]: alone, under us, under both; under torch.profiler alone in those where
# two runs do the same (batches of worker processes arrive when they arrive).
truth()
{
	local case=$1
	shift
	bare "$case-alone" "$PYTHON" "$PROGS/truth.py" "$case" "$@"
	is "$case: runs" "$status" 0
	train "$case-ours" "$schedule" "$PYTHON" "$PROGS/truth.py" "$case" "$@"
	is "$case: same losses and status with the preload" \
		"$status $(cat "$TMP/$case-ours.out")" "0 $(cat "$TMP/$case-alone.out")"
	is "$case: not a word" "$(messages_of "$case-ours")" ""
	train "$case-both" "$schedule" "$record" "$PYTHON" "$PROGS/truth.py" "$case" "$@" \
		--shapes --profile "$TMP/$case-both.json"
	is "$case: same losses and status with both profilers" \
		"$status $(cat "$TMP/$case-both.out")" "0 $(cat "$TMP/$case-alone.out")"
	"$DUMP" "$TMP/$case-both/rank0.0.tpt" >"$TMP/$case.tsv"
	set -- "$TMP/$case.tsv" "$TMP/$case-both.json"
	if [[ $case =~ mlp|lstm|gan ]]; then
		bare "$case-theirs" "$PYTHON" "$PROGS/truth.py" "$case" \
			--shapes --profile "$TMP/$case-theirs.json"
		set -- "$@" "$TMP/$case-theirs.json"
	fi
	said=$(python3 "$TOP/tests/flow/lib/truth_compare.py" "$@" 2>&1)
	like "$case: as torch.profiler saw it" "$said" 'equal$'
	diag "$said"
}

for case in mlp lstm gan lbfgs accumulate; do
	truth "$case"
done
if command -v "${CXX:-g++}" >/dev/null; then
	truth compiled --inductor
else
	truth compiled
fi
done_testing
