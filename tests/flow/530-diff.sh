#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A run against another: what changed is named, what did not is not, and limits fail a build.

. "$(dirname "$0")/lib/lib.sh"
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
    end, extra = event["ts"] + event["dur"], max(20000, event["dur"])
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
	"$(grep -A2 '^Which operators changed most' "$TMP/slow.out")" '^aten::addmm '
like "one that is gone" "$(cat "$TMP/slow.out")" '^aten::relu .* gone'
like "one that is new" "$(cat "$TMP/slow.out")" '^aten::gelu .* new'
fuse fast -q --compare "$TMP/slow.json" --fail-if 'step>5%' "$TMP/base.json"
is "the other way round: faster is not worse" "$status" 0

# One layer is of another kind, one is called twice.
for tree in base now; do
	train "tree-$tree" TRAINPROF_RECORD=modules,pystacks,tensors TRAINPROF_SCHEDULE=wait=1,warmup=1,active=3,repeat=1 \
		"$PYTHON" "$PROGS/two_trees.py" $tree
done
"$MERGE" -q -v diff --compare "$TMP/tree-base" --top 0 -f jsonl "$TMP/tree-now" >"$TMP/tree.rows"
is "modules of both runs: one tree, calls in a step" "$("$PYTHON" - "$TMP/tree.rows" <<'EOT'
import json, sys

rows = [row for row in map(json.loads, open(sys.argv[1])) if row["table"] == "diff_modules"]
assert all(row["difference_ns"] == row["now_ns"] - row["base_ns"] or abs(row["difference_ns"] - (
    row["now_ns"] - row["base_ns"])) == 1 for row in rows)
print(" ".join(f"{row['module']}:{row['class']}:{row['base_calls']:.0f}:{row['now_calls']:.0f}" for row in rows))
EOT
)" "Net:Net:1:1 0:Block:1:1 up:Linear:1:1 down:Linear:1:1 1:Block:1:2 up:Linear:1:2 down:Linear:1:2 last:Linear:0:1 last:LayerNorm:1:0"
fuse tree -q --compare "$TMP/tree-base" --top 1 "$TMP/tree-now"
like "text has what is new and gone" "$(cat "$TMP/tree.out")" '^Modules, per step: 1 new, 1 gone$'
like "the limit leaves rows out, and says how many" "$(sed -n '/^Modules/,$p' "$TMP/tree.out")" '^[5-8] more modules'
fuse tree.page -q -f html -o "$TMP/tree.html" --compare "$TMP/tree-base" "$TMP/tree-now"
if command -v node >/dev/null; then
	is "the page's graph of modules: coloured as the table has it" \
		"$(node "$TOP/tests/flow/lib/html_dom.js" "$TMP/tree.html" changes)" "8 lines compared"
else
	skip "the page's graph of modules" "no node"
fi
fuse tree.same -q --compare "$TMP/tree-now" "$TMP/tree-now"
like "a tree against itself" "$(cat "$TMP/tree.same.out")" '^Modules: no difference$'

# Kineto demangles names of kernels up to 1 KiB, and leaves longer ones as they are; live traces have all
# mangled. Here each is once so and once so; what is in none of the two is cut.
"$PYTHON" - "$TMP/names" <<'EOT'
import json, sys

n = (40, 500, 900)
mangled = ["_Z1fIJ%sEEvv" % ("j" * k) for k in n]
readable = ["void f<%s>()" % ", ".join(["unsigned int"] * k) for k in n]
for at, names in enumerate((mangled, readable)):
    events = [{"ph": "X", "cat": "kernel", "name": name, "ts": 100 + 10 * i, "dur": 5, "pid": 0, "tid": 7,
               "args": {"device": 0, "context": 1, "stream": 7, "correlation": i + 1,
                        "grid": [1, 1, 1], "block": [32, 1, 1]}} for i, name in enumerate(names)]
    events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 90, "dur": 90,
                   "pid": 4, "tid": 4})
    with open("%s%d.json" % (sys.argv[1], at), "w") as file:
        json.dump({"schemaVersion": 1, "baseTimeNanoseconds": 10**18, "traceEvents": events}, file)
with open(sys.argv[1], "w") as file:
    file.write("\n".join(readable))
EOT
for base in 0 1; do
	fuse names$base -q --compare "$TMP/names$base.json" --top 0 "$TMP/names$((1 - base)).json"
	unlike "a long name, mangled or not: the same kernel" "$(cat "$TMP/names$base.out")" 'gone *$|new *$'
	fuse rows$base -q -f jsonl -v kernel -o "$TMP/rows$base.jsonl" "$TMP/names$base.json"
	for format in chrome perfetto; do
		fuse long -q -f $format -o "$TMP/long$base.$format" "$TMP/names$base.json"
	done
	is "rows and timelines have it whole" "$(for file in rows$base.jsonl long$base.chrome long$base.perfetto; do
		grep -acFf <(tail -n 1 "$TMP/names") "$TMP/$file"
	done | tr '\n' ' ')" "1 1 1 "
done

flow=$TOP/tests/flow/lib

# compare NAME BASE NOW: rows of the difference, each figure against diff_reference.py's.
compare()
{
	local line
	diag "$1"
	fuse "$1" -q -f jsonl --compare "$2" --top 0 "$3"
	while IFS= read -r line; do
		case $line in
		"ok - "*) pass "${line#ok - }" ;;
		"not ok - "*) fail "${line#not ok - }" ;;
		*) echo "$line" ;;
		esac
	done < <("$PYTHON" "$flow/diff_reference.py" "$2" "$3" "$TMP/$1.out" 2>&1)
}
compare host "$TMP/base.json" "$TMP/slow.json"

# With a GPU: kernels by another name, slower ones, more memory.
"$PYTHON" "$flow/kineto_synth.py" "$TMP/gpu.json" new
"$PYTHON" - "$TMP/gpu.json" "$TMP/gpu_now.json" <<'EOT'
import json, sys

trace = json.load(open(sys.argv[1]))
for event in trace["traceEvents"]:
    if event.get("cat") == "kernel" and "sgemm" in event["name"]:
        event["name"] = "another_gemm"
    if event.get("cat") == "kernel" and "relu" in event["name"]:
        event["dur"] += 3
    if event.get("name") == "[memory]":
        event["args"]["Total Allocated"] += 64 << 20
json.dump(trace, open(sys.argv[2], "w"))
EOT
compare gpu "$TMP/gpu.json" "$TMP/gpu_now.json"
fuse kernels -q --compare "$TMP/gpu.json" --top 2 \
	--fail-if 'step>5%,kernel>1%,memory>5%,backward>5%,heap-peak>5%' "$TMP/gpu_now.json"
is "of several limits each is looked at" "$status $(grep -c '^FAILED' "$TMP/kernels.out")" "4 3"
like "kernels: more than before" "$(cat "$TMP/kernels.out")" 'FAILED: the kernels .* over the limit of 1 %'
like "memory of the device: more than before" "$(cat "$TMP/kernels.out")" 'FAILED: .* on a device takes 6\.'
like "a limit on what was not recorded is not kept" "$(cat "$TMP/kernels.out")" \
	"FAILED: cannot compare 'heap-peak': the base has no"
like "kernels that appear and vanish" "$(cat "$TMP/kernels.out")" \
	'^Which kernels changed .*: 1 new, 1 gone'
fuse page -q --compare "$TMP/gpu.json" -f html -o "$TMP/diff.html" "$TMP/gpu_now.json"
is "the page has it, too" "$(grep -o 'diff_each_step\|diff_parts\|diff_kernels' "$TMP/diff.html" |
	sort -u | wc -l)" 3

# Few recorded steps, many that were not: the lengths are of these, and the line is told that sleeps longer,
# which few samples meet.
cat >"$TMP/sleeps.py" <<'END'
import sys, time
import torch
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def load():
    time.sleep(float(sys.argv[1]))
    return torch.randn(64, 64)
for i in range(60):
    model(load()).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
END
for ms in 4 8; do
	train "sleeps$ms" TRAINPROF_SCHEDULE=wait=5,warmup=1,active=4,repeat=1 TRAINPROF_SAMPLE_HZ=10 \
		"$PYTHON" "$TMP/sleeps.py" 0.00$ms
done
fuse bare -q --compare "$TMP/sleeps4" "$TMP/sleeps8"
like "few samples: the line by the time before its operators" "$(tr -s '\n ' ' ' <"$TMP/bare.out")" \
	'Step time \+.* of 5[0-9] and 5[0-9] steps outside windows .*: load\(\) at .*sleeps.py:7 \+[0-9.]+ ms per step'
like "steps outside windows are what is compared" "$(cat "$TMP/bare.out")" \
	'^How long steps take outside windows: 5[0-9] in base, 5[0-9] now'
fuse bare -q --compare "$TMP/sleeps4" --fail-if 'step>300%' "$TMP/sleeps8"
is "and what a limit is of" "$status" 0
fuse windows -q --compare-windows 0 --windows 0 --compare "$TMP/sleeps4" "$TMP/sleeps8"
like "windows alone: their steps" "$(cat "$TMP/windows.out")" '^How long steps take: 4 recorded in base, 4 now'

# Steps of one run, and windows of one run.
fuse steps -q --compare-steps 2-3 --steps 4-5 "$TMP/base.json"
like "steps of the same run" "$(tr -s '\n ' ' ' <"$TMP/steps.out")" \
	'What changed: steps 4-5 of .*base.json against steps 2-3 of'
like "two beside two" "$(cat "$TMP/steps.out")" '^How long steps take: 2 recorded in base, 2 now'
if (cd "$TOP" && "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -iquote . -pthread -o "$TMP/a.marks" \
	tests/progs/marks.c); then
	train marks TRAINPROF_SCHEDULE=wait=0,warmup=1,active=2,repeat=2,per=run \
		TRAINPROF_PROGRAM=a.marks "$TMP/a.marks" own 8
	fuse windows -q --compare-windows 0 --windows 1 "$TMP/marks"
	like "windows of the same run, in their order" "$(cat "$TMP/windows.out")" \
		'^How each step changed, in their order'
	like "the first beside the first" "$(cat "$TMP/windows.out")" '^ +1 +4 '
fi

fuse alone -q -v diff "$TMP/base.json"
is "diff without a second run: usage" "$status" 2
fuse list -q --compare-windows x "$TMP/base.json"
is "no list of windows: usage" "$status" 2
fuse limit -q --compare "$TMP/base.json" --fail-if 'speed>5' "$TMP/base.json"
is "no such limit: usage" "$status" 2
fuse gone -q --compare "$TMP/nothing.json" --fail-if 'step>5%' "$TMP/base.json"
is "nothing to compare with, and a limit: not passed silently" "$status" 1

done_testing
