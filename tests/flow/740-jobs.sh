#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A job of two ranks with two groups, buckets of DDP and messages: what its own books say is in the
# trace with the default settings, each group on its own, each collective matched one to one.

. "$(dirname "$0")/lib/lib.sh"
need_torch
. "$(dirname "$0")/lib/jobs.sh"

BARE=none torchrun ddp 2 "$PROGS/job_dist.py" ddp
like "ddp: buckets are told apart" "$(cat "$TMP/ddp-comm.out")" '^all_reduce +10.3 KiB.* default +DDP +2 '
ok "ddp: groups" "$PYTHON" - "$TMP/ddp-rows.out" <<-'EOT'
	import json, sys

	rows = [json.loads(line) for line in open(sys.argv[1])]
	groups = {r["group"]: r for r in rows if r["table"] == "comm_groups"}
	assert sorted(groups) == ["default", "group 1"], groups
	# A step: a bucket, a broadcast, two messages; an all-reduce and an all-gather.
	assert (groups["default"]["calls"], groups["default"]["matched"]) == (32, 16), groups
	assert (groups["group 1"]["calls"], groups["group 1"]["matched"]) == (16, 8), groups
	assert all(g["members"] == "0-1" and g["missing"] == 0 for g in groups.values()), groups
EOT

# The page's timeline: each rank's collectives on a lane of their own.
fuse page -q -f html -o "$TMP/page.html" "$TMP/ddp"
ok "ddp: asynchronous collectives are on the page" "$PYTHON" \
	"$TOP/tests/flow/lib/html_lanes.py" "$TMP/page.html" 'collectives' gloo:all_reduce n 2
done_testing
