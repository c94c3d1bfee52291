#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# torchrun starts the ranks again after one of them died: each start has files of its own, the
# merge tells them apart, and nothing of the first is lost or in the way.

. "$(dirname "$0")/lib/lib.sh"
need_torch
cd "$TMP" || exit 1

train elastic TRAINPROF_SCHEDULE=wait=2,warmup=1,active=3,per=run TRAINPROF_RECORD=ops \
	"$PYTHON" -m torch.distributed.run --nproc_per_node 2 --max-restarts 1 \
	--rdzv_backend c10d --rdzv_endpoint localhost:0 \
	"$PROGS/elastic_ranks.py" "$TMP/elastic"
is "the second start ends well" "$status $(grep -c 'done' elastic.out)" "0 2"
is "each start has files of its own" \
	"$(find elastic -name '*.tpt' -o -name '*.steps' | sed 's,.*/,,' | LC_ALL=C sort | tr '\n' ' ')" \
	"rank0.0.restart1.tpt rank0.0.tpt rank0.restart1.steps rank0.steps rank1.0.restart1.tpt \
rank1.0.tpt rank1.restart1.steps rank1.steps "
unlike "nobody finds the folder used" "$(messages_of elastic)" 'holds traces|nothing is recorded'
fuse merged -v overview,health,steps elastic
is "the merge" "$status" 0
like "it tells of the restart" "$(cat merged.out)" 'started again, the last time as restart 1'
for rank in 0 1; do
	like "rank $rank: its starts are told apart" "$(cat merged.out)" "rank $rank \(restart 1\)"
	like "rank $rank: its starts are told apart, the first too" "$(cat merged.out)" \
		"rank $rank \(first start\)"
done
unlike "no rank is missing, none counts differently" "$(cat merged.out)" 'no trace|counts [0-9]'
fuse timeline -f chrome -o timeline.json.gz elastic
is "four processes in the timeline, with numbers of their own" \
	"$(gzip -dc timeline.json.gz | grep '"process_sort_index"' |
		sed 's/.*"pid":\([0-9]*\).*/\1/' | sort -u | wc -l)" 4
like "the second start says so" "$(gzip -dc timeline.json.gz)" '"process_name".*"rank 1.*restart 1'
rm elastic/rank1*restart1*
fuse missing -v overview,health elastic
is "a rank of the last start whose files are gone: named, and not fatal" \
	"$status $(grep -c 'rank 1 of 2 has no trace' missing.out)" "0 2"
done_testing
