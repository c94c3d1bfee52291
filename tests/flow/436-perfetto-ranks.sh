#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
#
# The node trace of two ranks in Perfetto: slices, steps and counters stand at their rank, and a
# query returns what the views say of it, to the nanosecond; Perfetto's own page shows both ranks.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_perfetto
flow=$TOP/tests/flow/lib
port=$((29100 + RANDOM % 800))

train late TRAINPROF_RECORD=ops,shapes,tensors,host TRAINPROF_HOST_PERIOD=10 \
	TRAINPROF_SCHEDULE=wait=2,warmup=1,active=8 \
	"$PYTHON" -m torch.distributed.run --nproc_per_node 2 --master_port "$port" \
	"$PROGS/late_rank.py" --late host
is "two ranks: exit status" "$status" 0
fuse late -q -f chrome,perfetto "$TMP/late"
is "merge" "$status" 0
for rank in 0 1; do
	"$MERGE" -q -f jsonl -v overview,operator,memory --top 0 --ranks $rank "$TMP/late" \
		>"$TMP/rank$rank.jsonl"
done
said=$("$PYTHON" "$flow/perfetto_ranks.py" "$web_dist" "$TMP/rank0.jsonl" "$TMP/rank1.jsonl" \
	"$TMP/late/node0.json.gz" "$TMP/late/node0.pftrace.gz" 2>&1)
is "a query returns what the views say, of each rank, in both formats" "$?" 0
diag "$(printf '%s\n' "$said" | cut -c 1-300)"

# That the comparison can fail: the ranks exchanged.
said=$("$PYTHON" "$flow/perfetto_ranks.py" "$web_dist" "$TMP/rank1.jsonl" "$TMP/rank0.jsonl" \
	"$TMP/late/node0.pftrace.gz" 2>&1)
is "ranks exchanged are found" "$?" 1
like "... by their operators" "$said" 'rank 0: .* in Perfetto, '

browser=$(command -v chromium || command -v chromium-browser)
if [ -n "$browser" ]; then
	text=$(timeout 120 node "$flow/perfetto_page.js" "${web_dist%/*}" \
		"$TMP/late/node0.pftrace.gz" "$TMP/late.png" "$browser" 2>"$TMP/page.err")
	is "opens in Perfetto's page" "$?" 0
	diag "$(head -n 5 "$TMP/page.err")"
	for rank in 0 1; do
		like "rank $rank is there" "$text" "rank $rank: late_rank.py"
	done
else
	skip "opens in Perfetto's page" "no chromium (make setup-long)"
fi
done_testing
