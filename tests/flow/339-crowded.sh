#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Steps outside windows in which the training was ready to run and other programs had its core: the ledger has
# them, and the overview says it of the slowest step.

. "$(dirname "$0")/lib/lib.sh"
need_torch
[ -r /proc/self/schedstat ] || skip_all "this kernel has no schedstat"

# Steps of Python alone; from step 60 to the last one eight others share the core, but for one long step that
# sleeps.
cat >"$TMP/shared.py" <<'END'
import os, subprocess, sys, time
import torch
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
torch.set_num_threads(1)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
others = []
for step in range(260):
    if step == 60:
        quiet = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        others = [subprocess.Popen(["sh", "-c", "while :; do :; done"], env=quiet) for _ in range(8)]
    if step == 120:
        time.sleep(3)
    sum(i * i for i in range(30000))
    model(torch.randn(8, 8)).sum().backward()
    optimizer.step()
for other in others:
    other.kill()
print("done", sum(other.wait() != 0 for other in others))
END

bare alone "$PYTHON" "$TMP/shared.py"
wanted="$status $(cat "$TMP/alone.out")"
train shared TRAINPROF_SCHEDULE=wait=2,warmup=1,active=2,repeat=1 "$PYTHON" "$TMP/shared.py"
is "it ends as the bare run" "$status $(cat "$TMP/shared.out")" "$wanted"
is "not a word" "$(messages_of shared)" ""
# Of the steps from 70 on the percentage that the lines have; of each line what is wrong with it.
sed -n 's/^#fact crowded\.\([0-9]*\)=\([0-9]*\) \([0-9]*\)$/\1 \2 \3/p' "$TMP/shared/rank0.steps" >"$TMP/lines"
awk '{ if ($1 > $2 || $3 < 19 || $3 > 100) print "wrong:", $0
       for (i = $1; i <= $2; i++) at[i] = $3 }
     END { for (i = 70; i < 255; i++) if (i in at) { n++; sum += at[i] }
	   print "sleeps", (120 in at) ? "crowded" : "not"
	   print "steps", (n >= 100) ? "most" : n
	   print "waited", (n && sum / n >= 50) ? "more than half" : sum / (n + 1) }' "$TMP/lines" >"$TMP/judged"
is "the ledger has the steps, and not the one that slept" "$(cat "$TMP/judged")" \
	"sleeps not
steps most
waited more than half"
diag "$(cat "$TMP/lines")"
# Which step was the slowest is the machine's choice: one of those that waited half of the time or more
# becomes it.
slowest=$(awk '$2 >= 60 && $3 >= 50 && $3 < 100 { print $2; exit }' "$TMP/lines")
sed -i -E -e '/^s([0-9]|[1-5][0-9]|120) /d' -e "s/^(s${slowest:-none} .*) d[0-9]+ (.*)/\1 d1000000000 \2/" "$TMP/shared/rank0.steps"
"$MERGE" -q "$TMP/shared" >"$TMP/text" 2>"$TMP/err"
like "the overview says it of the slowest step" "$(tr -s ' \n' ' ' <"$TMP/text")" \
	"slowest step $slowest .*not recorded; around it the training thread was runnable but waited for a core [5-9][0-9] % of the time"

train without TRAINPROF_SCHEDULE=wait=2,warmup=1,active=2,repeat=1 TRAINPROF_RECORD=ops "$PYTHON" "$TMP/shared.py"
is "without the source 'host' nothing is said of it" "$(grep -c '#fact crowded' "$TMP/without/rank0.steps")" "0"
done_testing
