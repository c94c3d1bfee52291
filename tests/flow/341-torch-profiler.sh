#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A profiler of PyTorch's that is on all the time is told of; one that records few steps, in which no window of
# ours begins, is not.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_tptdump

for when in always:2 schedule: never:; do
	wanted=${when#*:} when=${when%:*}
	bare "$when.bare" "$PYTHON" "$PROGS/profiled.py" "$when"
	train "$when" TRAINPROF_SCHEDULE=wait=7,warmup=1,active=2,repeat=2 "$PYTHON" "$PROGS/profiled.py" "$when"
	is "$when: ends as without us" "$status" 0
	is "$when: and computes the same" "$(cat "$TMP/$when.out")" "$(cat "$TMP/$when.bare.out")"
	is "$when: windows in whose first step it was on" \
		"$(last_total "$TMP/$when" torch.profiled)" "$wanted"
	"$MERGE" -q -v overview -f jsonl "$TMP/$when" >"$TMP/$when.said" 2>/dev/null
	is "$when: told or not" "$(grep -c '"torch-profiler"' "$TMP/$when.said")" "$([ -n "$wanted" ] && echo 1 || echo 0)"
done
done_testing
