#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# torch.profiler's own traces as input: nothing of them is missing, in any dialect, and damage
# costs no more than what is damaged.

. "$(dirname "$0")/lib/lib.sh"
need_torch
check=$(dirname "$0")/lib/kineto_input.py

bare make "$PYTHON" "$PROGS/kineto_trace.py" "$TMP/real.json" "$TMP/table.json" "$TMP/stacks.json" \
	"$TMP/calls.json"
is "torch.profiler makes traces" "$status" 0

# back NAME FILE: the file through the merge, as JSON in $TMP/NAME.json.
back()
{
	fuse "$1" -q -f chrome -o "$TMP/$1.json" "$2"
}

back ours "$TMP/real.json"
is "the merge takes it" "$status" 0
is "and has nothing to say" "$(cat "$TMP/ours.err")" ''
ok "every event is there, to the ns" "$PYTHON" "$check" same "$TMP/real.json" "$TMP/ours.json"
ok "operators are called as often as torch's table says" \
	"$PYTHON" "$check" table "$TMP/table.json" "$TMP/ours.json"

# ---- dialects ----

for dialect in old array rank_last; do
	unit=
	[ $dialect != old ] || unit=-u
	"$PYTHON" "$check" dialect $dialect "$TMP/real.json" "$TMP/$dialect.in.json.gz"
	back $dialect "$TMP/$dialect.in.json.gz"
	is "$dialect: taken" "$status" 0
	ok "$dialect: every event is there" \
		"$PYTHON" "$check" $unit same "$TMP/$dialect.in.json.gz" "$TMP/$dialect.json"
done
fuse rank -q -v overview --ranks 3 "$TMP/rank_last.in.json.gz"
like "a rank that stands behind the events is known" "$(cat "$TMP/rank.out")" '1 of 8 ranks'

# ---- stacks and modules ----

stacks=$(dirname "$0")/lib/kineto_stacks.py
"$PYTHON" "$check" dialect shuffled "$TMP/stacks.json" "$TMP/shuffled.json"
for trace in stacks shuffled; do
	fuse modules -q -v module -f jsonl -o "$TMP/modules.jsonl" "$TMP/$trace.json"
	ok "$trace: modules are called as often as forward hooks are" \
		"$PYTHON" "$stacks" modules "$TMP/calls.json" "$TMP/modules.jsonl"
	fuse torch -q -f torch -o "$TMP/torch-$trace" "$TMP/$trace.json"
	ok "$trace: operators have their stacks" \
		"$PYTHON" "$stacks" stacks "$TMP/stacks.json" "$TMP/torch-$trace"/*.json.gz
	is "$trace: nothing to say" "$(cat "$TMP/torch.err")" ''
done
fuse lines -q -v overview "$TMP/stacks.json"
like "the user's own lines" "$(sed -n '/^Which source lines/,$p' "$TMP/lines.out" | sed -n 3p)" \
	'kineto_trace.py:[0-9]+ (stacks|forward)'

# ---- many ranks ----

"$PYTHON" "$check" ranks "$TMP/even" 4 2 0
"$PYTHON" "$check" ranks "$TMP/uneven" 4 2 4
fuse comm -q -v comm -f jsonl -o "$TMP/comm.jsonl" "$TMP/uneven"
for format in chrome torch torch:tb; do
	fuse "comm-$format" -q -f "$format" -o "$TMP/comm-$format/" "$TMP/uneven"
	ok "collectives: metadata in $format" "$PYTHON" "$check" metadata "$TMP/uneven" \
		"$TMP/comm-$format"
done
ok "collectives: kinds, bytes, types, groups" "$PYTHON" "$check" comm "$TMP/comm.jsonl" 4
fuse uneven -q -v overview "$TMP/uneven"
like "the uneven rank is named" "$(cat "$TMP/uneven.out")" 'uneven-ranks +rank 2 is the straggler, 4\.0. ms'
fuse diff -q -v diff --compare "$TMP/even" --fail-if 'step>5%' "$TMP/uneven"
is "against another folder: slower" "$status" 4
like "by so much" "$(cat "$TMP/diff.out")" 'median +12\.0 ms +16\.0 ms +4\.00 ms'

cut=$(echo "$TMP"/uneven/here_42.*)
head -c 900 "$cut" >"$TMP/part"
cp "$TMP/part" "$cut"
fuse cut_rank -q -v overview "$TMP/uneven"
like "one of them cut: said in a line" "$(cat "$TMP/cut_rank.err")" \
	'here_42.*the compressed data end in the middle'
like "the others are whole" "$(cat "$TMP/cut_rank.out")" '4 of 4 ranks'

# ---- folders ----

mkdir "$TMP/folder"
for rank in 0 1; do
	sed "s/\"traceEvents\"/\"distributedInfo\": {\"rank\": $rank, \"world_size\": 2}, &/" \
		"$TMP/real.json" >"$TMP/folder/host_1$rank.123.pt.trace.json"
done
cp "$TMP/ours.json" "$TMP/folder/node0.json"
fuse folder -q -v overview "$TMP/folder"
like "a folder of ranks is one run" "$(cat "$TMP/folder.out")" '2 of 2 ranks'
is "and other JSON in it is left alone" "$(cat "$TMP/folder.err")" ''

# ---- damage ----

"$PYTHON" "$check" cut "$TMP/real.json" "$TMP/cut.in.json" 0.6
back cut "$TMP/cut.in.json"
is "a cut file: taken" "$status" 0
like "said in a line" "$(cat "$TMP/cut.err")" 'cut.in.json.*the file ends in the middle'
n_whole=$(grep -c '"ph":"X"' "$TMP/ours.json")
n_cut=$(grep -c '"ph":"X"' "$TMP/cut.json")
ok "what came before is read" test "$n_cut" -gt 10 -a "$n_cut" -lt "$n_whole"

"$PYTHON" "$check" hole "$TMP/real.json" "$TMP/hole.in.json"
back hole "$TMP/hole.in.json"
is "a damaged event: taken" "$status" 0
like "said in a line" "$(cat "$TMP/hole.err")" 'hole.in.json.*damaged'
n_hole=$(grep -c '"ph":"X"' "$TMP/hole.json")
ok "only it is missing" test "$n_hole" -ge $((n_whole - 2)) -a "$n_hole" -le "$n_whole"

gzip -c "$TMP/real.json" | head -c 4000 >"$TMP/torn.json.gz"
back torn "$TMP/torn.json.gz"
like "torn gzip: said in a line" "$(cat "$TMP/torn.err")" 'torn.json.gz.*compressed data end'

echo '{"schemaVersion": 1, "traceEvents": []}' >"$TMP/empty.json"
back empty "$TMP/empty.json"
is "no event: nothing usable" "$status" 1
like "said in a line" "$(cat "$TMP/empty.err")" 'empty.json.*no event'

n_random=0
for part in 0.001 0.01 0.1 0.2 0.3 0.5 0.7 0.9 0.99 0.999; do
	"$PYTHON" "$check" cut "$TMP/real.json" "$TMP/part.json" $part
	back part_out "$TMP/part.json"
	[ "$status" -le 1 ] && [ "$(wc -l <"$TMP/part_out.err")" -le 3 ] && n_random=$((n_random + 1))
done
is "cut anywhere: never worse" $n_random 10

# torch on ROCm: a GPU is a device of type 6, or of type 1 as CUDA's.
cat >"$TMP/rocm.json" <<'EOF'
{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 100, "dur": 50, "args": {}},
{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 110,
 "args": {"Device Type": 6, "Device Id": 1, "Addr": 4096, "Bytes": 512, "Total Allocated": 512,
          "Total Reserved": 1024}}
]}
EOF
fuse rocm -q -v memory -f csv "$TMP/rocm.json"
like "ROCm's GPU is called one" "$(cat "$TMP/rocm.out")" '^tensor_[a-z]*,.*,GPU 1,'

TMPDIR=/nowhere fuse nowhere -q -f chrome -o "$TMP/nowhere.json" "$TMP/real.json"
is "no room for the copy: an error" "$status" 1
like "that says so" "$(cat "$TMP/nowhere.err")" 'No such file'

done_testing
