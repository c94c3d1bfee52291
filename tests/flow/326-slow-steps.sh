#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A step outside windows that is slow is looked at while it runs: the ledger says in which functions it
# stood, and the overview whose fault every tenth step is. Without samples nothing is looked at.

. "$(dirname "$0")/lib/lib.sh"
need_torch
"$PYTHON" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || skip_all "samples are of Python 3.11 only"

line=$(grep -n 'wait(0.6)' "$PROGS/slow_saves.py" | cut -d: -f1)
schedule=TRAINPROF_SCHEDULE=wait=2,warmup=1,active=2,repeat=1
bare alone "$PYTHON" "$PROGS/slow_saves.py"
wanted="$status $(cat "$TMP/alone.out")"
train slow $schedule "$PYTHON" "$PROGS/slow_saves.py"
is "it ends as the bare run" "$status $(cat "$TMP/slow.out")" "$wanted"
is "not a word" "$(messages_of slow)" ""
like "the ledger says where a slow step stood" "$(cat "$TMP/slow/rank0.steps")" \
	'#fact slow\.[2-5]0=[0-9]+ /.*/slow_saves\.py:[0-9]+ main > /.*/slow_saves\.py:'$line' save > /.*/slow_saves\.py:[0-9]+ wait'
"$MERGE" -q -o "$TMP/slow.json" "$TMP/slow" >"$TMP/text" 2>"$TMP/err"
is "nothing is said by the merge" "$(cat "$TMP/err")" ""
like "the overview says it of every tenth step" "$(tr -s ' \n' ' ' <"$TMP/text")" \
	'every-n-steps every 10th step takes .* steps [1-5]0, .*: .*slow_saves\.py:'$line' save > slow_saves\.py:[0-9]+ wait'
like "and of the slowest step" "$(tr -s ' \n' ' ' <"$TMP/text")" 'not recorded; it stood in .*slow_saves\.py:'$line' save'

train without $schedule TRAINPROF_RECORD=ops,host "$PYTHON" "$PROGS/slow_saves.py"
is "without samples nothing is said of it" "$(grep -c '#fact slow' "$TMP/without/rank0.steps")" "0"

# Slow steps in which there is time for one sample: those of several add up.
cat >"$TMP/short.py" <<'EOT'
import time

import torch


def report():
    time.sleep(0.003)


model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(3000):
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    time.sleep(0.001)
    if step % 5 == 4:
        report()
EOT
train short $schedule "$PYTHON" "$TMP/short.py"
like "short ones have a function, too" "$(cat "$TMP/short/rank0.steps")" '#fact slow\.[0-9]+=[3-9] /.*short\.py:[0-9]+ report'

# A line is in the file soon, not at the end.
train killed $schedule "$PYTHON" "$PROGS/slow_saves.py" "$TMP/killed/rank0.steps" slow.
is "it was killed" "$status" "137"
like "of a job that was killed, too" "$(cat "$TMP/killed/rank0.steps")" '#fact slow\.[2-5]0=.*save'
done_testing
