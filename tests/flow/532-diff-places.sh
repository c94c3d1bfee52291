#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two runs of a program in which a function changed: the first line of --compare names it.

. "$(dirname "$0")/lib/lib.sh"
need_torch

# Yesterday's program in its folder and today's in another one: a function takes longer, and its lines moved.
mkdir "$TMP/yesterday" "$TMP/today"
cat >"$TMP/yesterday/data.py" <<'EOT'
def jitter(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def augment(x):
    jitter(50000)
    return x + 0.01
EOT
cat >"$TMP/yesterday/train.py" <<'EOT'
import time

import torch

import data

time.sleep(1)  # the thread that samples may get no processor for a while
net = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(80):
    x = data.augment(torch.full((16, 64), i / 80))
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()
EOT
cp "$TMP/yesterday/train.py" "$TMP/today"
{
	printf '# New.\n\n\n'
	sed 's/50000/900000/' "$TMP/yesterday/data.py"
} >"$TMP/today/data.py"
for record in ops,samples,pystacks samples; do
	for day in yesterday today; do
		train "$day-$record" TRAINPROF_RECORD=$record \
			TRAINPROF_SCHEDULE=wait=3,warmup=1,active=70,repeat=1 "$PYTHON" "$TMP/$day/train.py"
	done
	COLUMNS=200 "$MERGE" -q --compare "$TMP/yesterday-$record" "$TMP/today-$record" >"$TMP/$record.out"
done
for record in ops,samples,pystacks samples; do
	like "recorded $record: the first line names the function" "$(sed -n 3p "$TMP/$record.out")" \
		'^Step time \+.* % \(median .* -> .*\): jitter\(\) at (today/)?data\.py:[67] \+[0-9.]+ ms per step \(samples\)\.$'
done
like "less time: the other way round" "$(COLUMNS=200 "$MERGE" -q --compare "$TMP/today-samples" "$TMP/yesterday-samples" |
	sed -n 3p)" '^Step time -.*: jitter\(\) at ((yesterday/)?data\.py:[34]|(today/)?data\.py:[67]) -[0-9.]+ ms per step \(samples\)\.$'

done_testing
