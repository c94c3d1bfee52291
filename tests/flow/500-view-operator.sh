#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The operator view says what torch.profiler's key_averages() says of the same steps: the
# same operators, calls, memory and input shapes, and times but for what each profiler costs.

. "$(dirname "$0")/lib/lib.sh"
need_torch

train run TRAINPROF_RECORD=ops,shapes,tensors TRAINPROF_STEP=optimizer \
	TRAINPROF_SCHEDULE=skip_first=3,wait=0,warmup=1,active=3,repeat=1,per=run \
	"$PYTHON" "$PROGS/averages.py" "$TMP/averages.json"
is "the training ends well" "$status" 0

while IFS= read -r line; do
	case $line in
	"ok - "*) pass "${line#ok - }" ;;
	"not ok - "*) fail "${line#not ok - }" ;;
	*) echo "$line" ;;
	esac
done < <("$PYTHON" "$(dirname "$0")/lib/view_operator.py" "$MERGE" "$TMP/run" "$TMP/averages.json" 2>&1)

done_testing
