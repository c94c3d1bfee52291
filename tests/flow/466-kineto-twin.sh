#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A trace of ours and one of torch.profiler of the same process in one merge: one host, one clock, and each
# step once.

. "$(dirname "$0")/lib/lib.sh"
need_torch
cd "$TMP" || exit 1
cat >twin.py <<'EOT'
import sys
import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=5, warmup=1, active=3, repeat=1),
             on_trace_ready=tensorboard_trace_handler(sys.argv[1])) as profiler:
    for _ in range(12):
        optimizer.zero_grad()
        model(torch.ones(8, 64)).sum().backward()
        optimizer.step()
        profiler.step()
EOT
train run TRAINPROF_SCHEDULE=wait=1,warmup=1,active=8 TRAINPROF_RECORD=ops "$PYTHON" twin.py "$TMP/theirs"
is "the program ends well" "$status" 0
fuse ours -v overview,health "$TMP/run"
fuse both -v overview,health "$TMP/run" "$TMP"/theirs/*.json
is "both together: taken" "$status" 0
recorded=$(grep -o '[0-9]* of [0-9]* steps' "$TMP/ours.out")
is "as many steps as in ours alone" "$(grep -o '[0-9]* of [0-9]* steps' "$TMP/both.out")" "$recorded"
like "one clock, with a bound" "$(cat "$TMP/both.out")" 'clock .*error between processes at most'
unlike "not two hosts, not without a bound" "$(cat "$TMP/both.out" "$TMP/both.err")" 'hosts|not bounded'
like "that it is one process is said" "$(cat "$TMP/both.err")" \
	"torch.profiler's trace of process [0-9]*, which trainprof recorded, too"
fuse trace -q -f chrome -o "$TMP/both.json" "$TMP/run" "$TMP"/theirs/*.json
ok "their operators lie among ours" "$PYTHON" - "$TMP/both.json" <<-'EOT'
	import json, sys

	begins = {}
	for event in json.load(open(sys.argv[1]))["traceEvents"]:
	    if event.get("name") == "aten::addmm":
	        begins.setdefault(event["pid"], []).append((event["ts"], event["dur"]))
	theirs, ours = sorted(begins.values(), key=len)
	assert len(theirs) == 3 and len(ours) == 8, begins
	# Theirs are of the steps in the middle: with time to spare on both sides.
	first, last = min(begin for begin, _ in ours), max(begin for begin, _ in ours)
	assert all(first <= begin <= last for begin, _ in theirs), begins
EOT
done_testing
