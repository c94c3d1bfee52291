#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Host memory by stack in the formats of other tools: what a program is known to allocate is in all
# of them, on the functions that it allocates it in, and two runs compare.

. "$(dirname "$0")/lib/lib.sh"
need_module google.protobuf
command -v g++ >/dev/null || skip_all "no g++ here (make setup)"
g++ -O2 -g -o "$TMP/heap_stacks" "$PROGS/heap_stacks.cc" 2>"$TMP/build.log" ||
	skip_all "g++ cannot build: $(tail -n 1 "$TMP/build.log")"
files=$TOP/tests/flow/lib/flame_files.py
export TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap TRAINPROF_STACKS=heap
export TRAINPROF_PROGRAM=heap_stacks DEBUGINFOD_URLS=

# cost RUN COST FUNCTION: in folded and in the profile.
cost()
{
	"$PYTHON" "$files" cost "$TMP/$1/folded" "$TMP/$1/node0.pb.gz" "$2" "$3"
}

# well_formed RUN
well_formed()
{
	fuse "$1.files" -f folded,speedscope,pprof "$TMP/$1"
	is "$1: three formats" "$status" 0
	ok "$1: all read by their own rules, and the same in each" "$PYTHON" "$files" check \
		"$TMP/$1/folded" "$TMP/$1/node0.speedscope.json" "$TMP/$1/node0.pb.gz"
}

train base "$TMP/heap_stacks" 10 1000000
is "a program of C++" "$status" 0
well_formed base
is "bytes at the peak: what is kept" "$(cost base peak 'work::keep(')" "10000 10000"
is "and what is held then" "$(cost base peak 'work::hold(')" "1000000 1000000"
is "nothing that came later" "$(cost base peak 'work::churn(')" "0 0"
is "allocations" "$(cost base allocations 'work::churn(')" "1000 1000"
is "alive at the end" "$(cost base leaked 'work::keep(')" "10000 10000"
is "and not what was freed" "$(cost base leaked 'work::hold(')" "0 0"
is "freed before the next allocation" "$(cost base temporary 'work::churn(')" "1000 1000"
is "and not what stays" "$(cost base temporary 'work::keep(')" "0 0"
is "names are whole functions, inlined ones inside" \
	"$(grep -c ';main;work::keep(int);\(work::\)\?take[^;]* 10000$' "$TMP/base/folded/leaked.folded")" 1
line=$(grep -n 'block = malloc' "$PROGS/heap_stacks.cc" | cut -d: -f1)
like "lines of inlined functions" "$(grep '"name":"[^"]*take' "$TMP/base/node0.speedscope.json")" \
	'"name":"(work::)?take[^"]*","file":"[^"]*heap_stacks.cc","line":'"$line"

# The page: of a program without operators, too, graphs of its stacks.
fuse page -q -f html -o "$TMP/base.html" "$TMP/base"
if command -v node >/dev/null; then
	like "flame graphs of the page" "$(node "$TOP/tests/flow/lib/html_dom.js" "$TMP/base.html")" '^0 lines compared'
else
	skip "flame graphs of the page" "no node (make setup)"
fi

# Timelines.
fuse lines -q -f chrome,perfetto -o "$TMP/base" "$TMP/base"
is "timelines" "$status" 0
ok "the curve of host memory, its peak marked" "$PYTHON" - "$TMP/base/node0.json.gz" <<'EOT'
import gzip, json, sys

events = json.load(gzip.open(sys.argv[1]))["traceEvents"]
live = [e["args"]["B"] for e in events if e["name"] == "host memory (heap)"]
rate = [e["args"]["/ms"] for e in events if e["name"] == "host allocations"]
peak, = [e for e in events if e["name"] == "peak of host memory (heap)"]
assert max(live) == peak["args"]["Bytes"] >= 1010000, (live, peak)
assert live[-1] >= 10000 and min(live) >= 0, live
assert sum(rate) >= 1011 and len(live) < 200, (rate, len(live))
at_peak = [e for e in events if e["name"] == "host memory (heap)" and e["ts"] == peak["ts"]]
assert [e["args"]["B"] for e in at_peak] == [max(live)], at_peak
EOT
if "$PYTHON" -c 'import perfetto.protos' 2>/dev/null; then
	ok "every packet as Perfetto's schema has it" "$PYTHON" \
		"$TOP/tests/flow/lib/pftrace_decode.py" "$TMP/base/node0.pftrace.gz"
else
	skip "every packet as Perfetto's schema has it" "no Python module perfetto"
fi
fuse torch -q -f torch -o "$TMP/torch" "$TMP/base"
is "torch's format knows nothing of it" \
	"$(cat "$TMP"/torch/*.gz | gzip -dc | grep -c 'host memory (heap)\|host allocations')" 0

# Two processes of one run.
for rank in 0 1; do
	train ranks RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank \
		"$TMP/heap_stacks" $((rank + 1)) 5000
done
well_formed ranks
is "processes are the outermost frames" \
	"$(sed 's/;.*;/ /; s/pid [0-9]*/pid N/' "$TMP/ranks/folded/leaked.folded" | grep -c '^rank [01]: .*(pid N) ')" 2
like "each with its own" "$(cat "$TMP/ranks/folded/leaked.folded")" '^rank 1: .*keep.* 2000'

# Against an earlier run.
train more "$TMP/heap_stacks" 30 1000000
fuse same -q --compare "$TMP/base" --fail-if 'heap-peak>1%,heap-allocs>1%,heap-leaked>1%' "$TMP/base"
is "a run against itself: nothing is worse" "$status" 0
unlike "and no stack differs" "$(cat "$TMP/same.out")" 'Stacks by change'
fuse diff -q --compare "$TMP/base" --fail-if 'heap-peak>5%,heap-leaked>100%' "$TMP/more"
is "three times as much is left: status 4" "$status" 4
like "the limit that is passed" "$(cat "$TMP/diff.out")" 'FAILED: host memory alive at the end'
unlike "not the one that is not" "$(cat "$TMP/diff.out")" 'FAILED: host memory at its peak'
sed -n '/^Which stacks hold more or less at the end/,$p' "$TMP/diff.out" >"$TMP/grew.out"
like "the stack that grew comes first" "$(sed -n 3p "$TMP/grew.out")" \
	'9.77 KiB +29.3 KiB +19.5 KiB +\+200.0 %'
like "the whole of it" "$(sed -n "/first one's stack/,\$p" "$TMP/grew.out")" 'work::keep heap_stacks.cc:'
fuse rows -q -f jsonl --compare "$TMP/base" "$TMP/more"
like "rows for programs" "$(cat "$TMP/rows.out")" \
	'"table":"diff_heap_leaked".*"base_bytes":10000,"now_bytes":30000,"difference_bytes":20000'

# Nothing to write.
train none TRAINPROF_RECORD=host "$TMP/heap_stacks" 1 1
fuse none -q -f folded,speedscope,pprof "$TMP/none"
is "a run without allocations: status 1" "$status" 1
is "a line for each format" "$(grep -c 'nor allocations of host memory were recorded' "$TMP/none.err")" 3
is "and no file" "$(find "$TMP/none" -name '*folded*' -o -name '*speedscope*' -o -name '*.pb.gz')" ""
fuse limit -q --compare "$TMP/none" --fail-if 'heap-peak>5%' "$TMP/base"
is "nothing to compare with, and a limit: not passed silently" "$status" 4

# Python.
"$PYTHON" -c 'import torch' 2>/dev/null || {
	skip "Python's functions" "$PYTHON has no torch (make setup)"
	done_testing
}
train python TRAINPROF_PROGRAM=heap_hold "$PYTHON" "$PROGS/heap_hold.py"
is "a program of Python" "$status" 0
fuse files -q -f folded,speedscope "$TMP/python"
is "two formats of it" "$status" 0
grep ';hold (progs/heap_hold.py);' "$TMP/python/folded/peak.folded" >"$TMP/held.out"
held=$(awk '{ sum += $NF } END { print sum + 0 }' "$TMP/held.out")
ok "what a function of Python holds is under its name" [ "$held" -ge 8388608 ]
head -n 1 "$TMP/held.out" | cut -c 1-2000 >"$TMP/hold.out"
like "in its place between its caller and the interpreter" "$(cat "$TMP/hold.out")" \
	'<module> \(progs/heap_hold.py\);(.*;)?Loader.load \(progs/heap_hold.py\);(.*;)?hold \('
like "with its line" "$(grep '"name":"hold"' "$TMP/python/node0.speedscope.json" | head -n 3)" \
	'"name":"hold","file":"[^"]*/heap_hold.py","line":[12][0-9]'

done_testing
