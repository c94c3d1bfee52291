#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The tables of views as rows for programs: figures as torch's own table has them.

. "$(dirname "$0")/lib/lib.sh"
need_torch

bare make "$PYTHON" "$PROGS/kineto_trace.py" "$TMP/real.json" "$TMP/table.json"
is "torch.profiler makes a trace" "$status" 0
fuse jsonl -q -f jsonl -v operator,steps --top 0 "$TMP/real.json"
is "rows of two views" "$status" 0
is "nothing else is said" "$(cat "$TMP/jsonl.err")" ''
fuse csv -q -f csv -v operator --top 0 -o "$TMP/rows.csv" "$TMP/real.json"
is "CSV into a file" "$status" 0
is "and not to the terminal" "$(cat "$TMP/csv.out")" ''

ok "calls and times of torch's table; both formats say the same" "$PYTHON" - \
	"$TMP/table.json" "$TMP/jsonl.out" "$TMP/rows.csv" <<'EOT'
import csv, json, sys

torch, lines, table = sys.argv[1:]
rows = [json.loads(line) for line in open(lines)]
ours = {row["operator"]: row for row in rows if row["table"] == "operator"}
assert len([row for row in rows if row["table"] == "steps"]) == 4, rows
bad = []
for name, count, self_us, total_us in json.load(open(torch)):
    row = ours.get(name.replace("\\", "/"))
    if name.startswith("ProfilerStep"):
        continue
    if not row or row["calls"] != count or abs(row["total_ns"] / 1000 - total_us) > 1 + count:
        bad.append((name, count, total_us, row))
assert not bad, bad
assert len(ours) > 20
with open(table, newline="") as file:
    from_csv = {row["operator"]: row for row in csv.DictReader(file)}
assert from_csv.keys() == ours.keys()
for name, row in from_csv.items():
    assert int(row["self_ns"]) == ours[name]["self_ns"], name
EOT
fuse both -f csv,jsonl "$TMP/real.json"
is "two formats of one output: refused" "$status" 2
fuse nowhere -q -f csv -o /nowhere/rows.csv "$TMP/real.json"
is "a file that cannot be written: an error" "$status" 1
like "that says so" "$(cat "$TMP/nowhere.err")" "cannot write '/nowhere/rows.csv'"

done_testing
