#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The whole run at a low rate: the lines on which the training thread stands outside windows are counted in
# the ledger, in the shares that the program has them, also of a job that is killed; without samples nothing.

. "$(dirname "$0")/lib/lib.sh"
need_torch
"$PYTHON" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || skip_all "samples are of Python 3.11 only"

schedule=TRAINPROF_SCHEDULE=wait=2,warmup=1,active=2,repeat=1
bare alone "$PYTHON" "$PROGS/slow_saves.py"
wanted="$status $(cat "$TMP/alone.out")"
train run $schedule TRAINPROF_OUTSIDE_HZ=50 "$PYTHON" "$PROGS/slow_saves.py"
is "it ends as the bare run" "$status $(cat "$TMP/run.out")" "$wanted"
is "not a word" "$(messages_of run)" ""
"$MERGE" -q -v hot --top 0 -f jsonl "$TMP/run" >"$TMP/rows" 2>"$TMP/err"
is "nothing is said by the merge" "$(cat "$TMP/err")" ""
# Each of 4 saves sleeps 0.6 s in wait(), each of 53 steps outside the window 0.08 s in main().
shares=$("$PYTHON" - "$TMP/rows" "$PROGS/slow_saves.py" <<'EOT'
import json, sys

with open(sys.argv[2]) as file:
    sleeps = 1 + [line.strip() for line in file].index("time.sleep(0.08)")
n = {"wait": 0, "main": 0}
with open(sys.argv[1]) as file:
    for row in map(json.loads, file):
        if row.get("table") == "outside" and row["thread"] == "training":
            place, function = row["function"].rsplit(" ", 1)
            if function == "wait" or place.endswith("slow_saves.py:%d" % sleeps):
                n[function] += row["samples"]
share = n["wait"] / max(n["main"], 1)
print("as they should be" if sum(n.values()) > 100 and 0.4 < share < 0.8 else n)
EOT
)
is "lines have the shares that they take" "$shares" "as they should be"
"$MERGE" -q -v hot -o "$TMP/run.json" "$TMP/run" >"$TMP/text" 2>&1
like "a person reads it, too" "$(cat "$TMP/text")" '^Outside windows'

train usual $schedule "$PYTHON" "$PROGS/slow_saves.py" "$TMP/usual/rank0.steps" outside.
is "it was killed" "$status" "137"
like "of a job that was killed most of it is there" "$(grep '#fact outside\.' "$TMP/usual/rank0.steps")" \
	'#fact outside\.[0-9]+\.0=[0-9]+ t .*/slow_saves\.py:[0-9]+ (wait|main)'
ok "in few bytes" test "$(grep '#fact outside' "$TMP/usual/rank0.steps" | wc -c)" -lt 4096

train without $schedule TRAINPROF_RECORD=ops,host "$PYTHON" "$PROGS/slow_saves.py"
is "without samples nothing is counted" "$(grep -c '#fact outside' "$TMP/without/rank0.steps")" "0"
done_testing
