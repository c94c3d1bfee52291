#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# In which types of numbers operators compute, by those of one step; the first advice names double precision,
# and only that.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_tptdump

for kind in float32:float float64:double bfloat16:bfloat16; do
	type=${kind%:*} name=${kind#*:}
	bare "$type.bare" "$PYTHON" "$PROGS/number_types.py" "$type"
	train "$type" TRAINPROF_SCHEDULE=wait=2,warmup=1,active=12 "$PYTHON" "$PROGS/number_types.py" "$type"
	is "$type: ends as without us" "$status" 0
	is "$type: and computes the same" "$(cat "$TMP/$type.out")" "$(cat "$TMP/$type.bare.out")"
	n=$(last_total "$TMP/$type" torch.types)
	n_all=$("$MERGE" -q -v operator -f jsonl "$TMP/$type" 2>/dev/null | "$PYTHON" -c '
import json, sys
print(sum(row.get("calls") or 0 for row in map(json.loads, sys.stdin)))')
	diag "$type: $n of $n_all operators were looked at"
	ok "$type: those of a step were looked at, of thirteen" \
		test "$((n * 40))" -ge "$n_all" -a "$((n * 9))" -le "$n_all"
	most=$(for t in half float double bfloat16; do
		echo "$(last_total "$TMP/$type" "torch.elements.$t") $t"
	done | sort -n | tail -n 1)
	is "$type: most numbers are of that type" "${most#* }" "$name"
	"$MERGE" -q -v overview -f jsonl "$TMP/$type" >"$TMP/$type.said" 2>/dev/null
	is "$type: called double precision or not" "$(grep -c '"double-precision"' "$TMP/$type.said")" \
		"$([ "$type" = float64 ] && echo 1 || echo 0)"
done
done_testing
