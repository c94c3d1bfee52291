#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A run against another: what changed is named, what did not is not, and limits fail a build.

. "$(dirname "$0")/lib.sh"
need_torch

bare make "$PYTHON" "$PROGS/kineto_trace.py" "$TMP/base.json" "$TMP/table.json"
is "torch.profiler makes a trace" "$status" 0

# The same run with one operator twice as long (all after it is later), and one of another name.
"$PYTHON" - "$TMP/base.json" "$TMP/slow.json" <<'EOT'
import json, sys

text = open(sys.argv[1]).read().replace('"a "range" /', '"a range /')
trace = json.loads(text)
events = [e for e in trace["traceEvents"] if e.get("ph") in ("X", "i") and "ts" in e]
slow = sorted((e for e in events if e.get("name") == "aten::addmm"), key=lambda e: e["ts"])
for event in slow:
    end, extra = event["ts"] + event["dur"], max(200, event["dur"])
    for other in events:
        if other["ts"] >= end:
            other["ts"] += extra
        elif other["ts"] <= event["ts"] and other["ts"] + other.get("dur", 0) >= end:
            other["dur"] += extra
for event in events:
    if event.get("name") == "aten::relu":
        event["name"] = "aten::gelu"
json.dump(trace, open(sys.argv[2], "w"))
EOT

fuse same -q --compare "$TMP/base.json" --fail-if 'step>1%,memory>1%' "$TMP/base.json"
is "a run against itself: nothing is worse" "$status" 0
unlike "and nothing differs" "$(cat "$TMP/same.out")" '[+-][0-9.]*[1-9] %|gone|new *$'

fuse slow -q --compare "$TMP/base.json" --fail-if 'step>5%' --top 0 "$TMP/slow.json"
is "a slower run: exit status 4" "$status" 4
like "the limit that is passed is named" "$(cat "$TMP/slow.out")" 'FAILED: the median step'
like "the operator that changed most comes first" \
	"$(grep -A2 '^Operators by change' "$TMP/slow.out")" '^aten::addmm '
like "one that is gone" "$(cat "$TMP/slow.out")" '^aten::relu .* gone'
like "one that is new" "$(cat "$TMP/slow.out")" '^aten::gelu .* new'
fuse fast -q --compare "$TMP/slow.json" --fail-if 'step>5%' "$TMP/base.json"
is "the other way round: faster is not worse" "$status" 0

fuse rows -q -f jsonl --compare "$TMP/base.json" --top 0 "$TMP/slow.json"
ok "figures as counted from the traces themselves" "$PYTHON" - \
	"$TMP/base.json" "$TMP/slow.json" "$TMP/rows.out" <<'EOT'
import json, sys

def steps(path):
    trace = json.loads(open(path).read().replace('"a "range" /', '"a range /'))
    return sorted(e["dur"] for e in trace["traceEvents"]
                  if e.get("ph") == "X" and e["name"].startswith("ProfilerStep"))

rows = [json.loads(line) for line in open(sys.argv[3])]
row = next(r for r in rows if r["table"] == "diff_steps" and r["what"] == "median")
for path, key in ((sys.argv[1], "base"), (sys.argv[2], "now")):
    some = steps(path)
    want = some[(len(some) - 1) // 2] * 1000
    assert abs(row[key] - want) <= 1, (path, row, want)
parts = sum(r["difference"] for r in rows if r["table"] == "diff_categories" and r["what"] != "step")
whole = next(r["difference"] for r in rows if r["table"] == "diff_categories" and r["what"] == "step")
assert abs(parts - whole) <= 10, (parts, whole)
EOT

fuse alone -q -v diff "$TMP/base.json"
is "diff without a second run: usage" "$status" 2
fuse limit -q --compare "$TMP/base.json" --fail-if 'speed>5' "$TMP/base.json"
is "no such limit: usage" "$status" 2
fuse gone -q --compare "$TMP/nothing.json" --fail-if 'step>5%' "$TMP/base.json"
is "nothing to compare with, and a limit: not passed silently" "$status" 4

done_testing
