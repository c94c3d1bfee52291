#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A user range around the whole body of a step crosses every boundary: the one at a window's
# beginning, the one at its end, and it may end before the drain thread has looked.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_tptdump
cd "$TMP" || exit 1

cat >outer.py <<'PYTHON'
import torch

torch.set_num_threads(1)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    with torch.profiler.record_function("outer"):
        optimizer.zero_grad()
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()
PYTHON

train run TRAINPROF_SCHEDULE=wait=1,warmup=1,active=2,repeat=1 "$PYTHON" outer.py
is "it runs" "$status" 0
EARLY=2 OPEN=4
is "the range that began before the window, the one inside, the one still open at its end" \
	"$("$DUMP" run/rank0.0.tpt | awk -F'\t' '$1 == "EVENT" && $7 == "outer" { print $5 }' | sort | tr '\n' ' ')" \
	"0 $EARLY $OPEN "
done_testing
